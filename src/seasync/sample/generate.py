"""A whole sample made."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from seasync.errors import DataError
from seasync.sample.clip_plan import Plan, plan
from seasync.sample.clip_writer import write
from seasync.sample.truth import TRUTH, Sample, SampleClip


def make(
    folder: str | Path,
    *,
    clips: int = 60,
    seed: int = 0,
    seconds: tuple[float, float] = (3.0, 6.0),
    size: tuple[int, int] = (480, 360),
    jobs: int | None = None,
    progress: Callable[[SampleClip], None] | None = None,
) -> Sample:
    """Film a sample: clips in `<action>/<clip>.mp4`, their truth in truth.json and phases.csv.

    The eight actions take turns. From 17 clips on there are distractors by look, from 25 on by motion too.
    A larger sample begins with the clips of a smaller one of the same seed.

    Parameters
    ----------
    folder
        Where to put it.
    clips
        How many.
    seed
        One seed always makes the same sample.
    seconds
        The shortest and the longest clip.
    size
        (width, height) in pixels.
    jobs
        Clips made at once. Default: one for each core.
    progress
        Called with each clip that is done.

    Returns
    -------
    Sample

    Raises
    ------
    DataError
        If an argument is out of range.

    Examples
    --------
    >>> sample = seasync.sample.make("sample", clips=2, seconds=(2, 3), size=(160, 120))
    >>> [clip.action for clip in sample.clips]
    ['squat', 'jumping-jack']
    """
    if clips < 1 or not 1 <= seconds[0] <= seconds[1] or min(size) < 32:
        wanted = "clips ≥ 1, seconds (shortest ≥ 1, longest) and a size ≥ 32 × 32"
        raise DataError(f"sample: expected {wanted}, got {clips = }, {seconds = }, {size = }")
    folder = Path(folder)
    plans = [plan(index, seed=seed, seconds=seconds) for index in range(clips)]
    for each in plans:
        (folder / each.name).parent.mkdir(parents=True, exist_ok=True)
    (folder / TRUTH).unlink(missing_ok=True)  # what is there speaks of other clips until all are made

    def film(each: Plan) -> SampleClip:
        write(each, folder / each.name, size)
        return _known(each, folder)

    done = []
    with ThreadPoolExecutor(jobs or os.cpu_count()) as pool:
        for clip in pool.map(film, plans):
            done.append(clip)
            if progress:
                progress(clip)
    sample = Sample(folder, tuple(done))
    sample.save()
    return sample


def _known(plan: Plan, folder: Path) -> SampleClip:
    return SampleClip(
        file=folder / plan.name,
        action=plan.action.name,
        look=plan.look.number,
        distractor=plan.distractor,
        fps=plan.fps,
        action_time=plan.action_time,
        phases=plan.action.phase(plan.action_time),
        phase_names=plan.action.phases,
        key_seconds=plan.key_seconds,
        tone=plan.tone,
    )
