"""Takes from files, folders or a sea, encoded and put on the clock of a reference."""

from collections.abc import Callable, Sequence
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from seasync.alignment import MOTION, Alignment, Recipe, align_many, score_many
from seasync.alignment.consensus import apply_consensus
from seasync.alignment.judge import LIKELY
from seasync.clip import Clip
from seasync.encoders import DEFAULT, Encoder, encode_clip, get_encoder
from seasync.encoding import Encoding
from seasync.errors import FeatureError, SeasyncError
from seasync.files import Place, is_uri
from seasync.group.clock import AlignedTake, Group, Judge, LeftOut, Take, frame_length
from seasync.pair import end_of
from seasync.sea.calibration import judged_pair
from seasync.sea.snapshot import StoredClips
from seasync.sea.sources import find_videos

if TYPE_CHECKING:
    from seasync.sea.sea import Sea

Progress = Callable[[str, int, int], None]
Asked = Clip | Place
PairProgress = Callable[[int, int], None]
# Takes are aligned this many at a time: enough to be solved together, few enough to bound the memory.
BATCH = 64
# A medoid is judged by its scores with this many other takes, so that its cost grows with the takes, not
# with their square.
PROBES = 12
# A take that fits the reference must also fit those takes that fit it best, if there are enough of them.
WITNESSES, FEWEST_WITNESSES = 9, 3
# DRAQ may be so much higher than among the witnesses; those that are all but copies of each other count as
# this tight. Chosen on the sample sea, gestures, actions, robots and falls: no take of the same movement is
# lost by it there.
MUCH_WORSE, TIGHT_DRAQ = 0.15, 0.35


def align_group(
    reference: Asked | None,
    takes: "Asked | Sequence[Asked] | Sea",
    *,
    label: str | None = None,
    encoder: Encoder | str = DEFAULT,
    recipe: Recipe = MOTION,
    fps: float | None = None,
    consensus: bool = True,
    cache: bool = True,
    progress: Progress | None = None,
) -> Group:
    """Put several takes of one movement on one clock.

    Parameters
    ----------
    reference : str, Path, Clip or None
        The take whose clock the group uses: a file, or in a sea also a clip's id. None: the take that fits
        the others best.
    takes : str, Path, Clip, sequence of these, or Sea
        Video files and folders; or a sea, whose stored features are used without opening the videos.
    label : str, optional
        Only clips of the sea with this label.
    encoder : str or Encoder
        What makes the frame features of files. A sea uses its own encoder.
    recipe : Recipe
    fps : float, optional
        Frames of files to sample per second. Default: the encoder's own.
    consensus : bool
        Let the takes correct each other's alignment.
    cache : bool
        Keep the encodings of files in the cache folder, and use those that are there.
    progress : callable, optional
        Called with what is being done, how much is done, and of how much.

    Returns
    -------
    Group
        Takes that do not align, or cannot be read, are listed in its `left_out`.

    Raises
    ------
    FeatureError
        If there are no takes, or none aligns with the reference.
    VideoError
        If the reference cannot be read.

    Examples
    --------
    >>> group = seasync.align_group("model.mp4", "pupils/")
    >>> tempo = group.tempo_mean  # at each moment, beside the reference
    """
    from seasync.sea.sea import Sea

    judge: Judge | None = None
    if isinstance(takes, Sea):
        found, left_out, own = _of_sea(takes, reference, label)
        judge = partial(judged_pair, takes.record.snapshot())
    else:
        model = get_encoder(encoder) if isinstance(encoder, str) else encoder
        found, left_out, own = _of_files(reference, takes, model, fps, cache, progress)
    if own is None and found:
        own = found.pop(medoid(found, recipe=recipe))
    if own is None:
        where = f" with the label {label!r}" if label else ""
        raise FeatureError(f"an empty group: expected at least two takes{where}")
    report = None if progress is None else (lambda done, total: progress("aligning", done, total))
    return group_of(
        own, found, recipe=recipe, consensus=consensus, left_out=left_out, judge=judge, progress=report
    )


def _of_files(
    reference: Asked | None,
    takes: Asked | Sequence[Asked],
    model: Encoder,
    fps: float | None,
    cache: bool,
    progress: Progress | None,
) -> tuple[list[Take], list[LeftOut], Take | None]:
    """The takes that can be read, those that cannot, and the reference."""

    def encoded(clip: Clip) -> Take:
        return Take(clip, encode_clip(clip, model, fps=fps, cache=cache), end_of(clip))

    own = None if reference is None else encoded(Clip.of(reference))
    asked = [takes] if isinstance(takes, Clip | str | PathLike) else list(takes)
    clips = [clip for each in asked for clip in ([each] if isinstance(each, Clip) else clips_in(each))]
    clips = [clip for clip in clips if own is None or not _same(clip, own.clip)]
    found: list[Take] = []
    left_out: list[LeftOut] = []
    for number, clip in enumerate(clips, 1):
        try:
            found.append(encoded(clip))
        except SeasyncError as error:
            left_out.append(LeftOut(clip, str(error)))
        if progress:
            progress("encoding", number, len(clips))
    return found, left_out, own


def clips_in(path: Place) -> list[Clip]:
    """The videos of a file, folder, pattern or list, as clips."""
    return [
        Clip(str(source.file), source.start or 0.0, source.end, label=source.label)
        for source in find_videos([path])
    ]


def _of_sea(
    sea: "Sea", reference: Asked | None, label: str | None
) -> tuple[list[Take], list[LeftOut], Take | None]:
    own = None
    if reference is not None:
        query = sea.query(reference if isinstance(reference, Clip) else str(reference))
        own = Take(query.clip or Clip(str(reference)), query.encoding, query.end)
    stored = StoredClips.of(sea.record.snapshot(), label=label)
    chosen = [n for n, clip in enumerate(stored.clips) if own is None or not _same(clip, own.clip)]
    takes = [
        Take(stored.clips[n], encoding, float(stored.ends[n]))
        for n, encoding in zip(chosen, stored.encodings(chosen) if chosen else (), strict=True)
    ]
    reason = "the sea keeps only its clip vector; add it again with frame features"
    return takes, [LeftOut(clip, reason) for clip in stored.without_features], own


def _same(one: Clip, other: Clip) -> bool:
    if one.id is not None and other.id is not None:
        return one.id == other.id
    first, second = (clip.file if is_uri(clip.file) else Path(clip.file).absolute() for clip in (one, other))
    return first == second and (one.start, one.end) == (other.start, other.end)


def group_of(
    reference: Take,
    takes: Sequence[Take],
    *,
    recipe: Recipe = MOTION,
    consensus: bool = True,
    left_out: Sequence[LeftOut] = (),
    judge: Judge | None = None,
    progress: PairProgress | None = None,
) -> Group:
    """Put encoded takes on the reference's clock.

    Parameters
    ----------
    reference : Take
    takes : sequence of Take
        All but the reference.
    recipe : Recipe
    consensus : bool
        Let the takes correct each other's alignment, and leave out those that fit the reference alone. The
        cost grows with the takes times twenty.
    left_out : sequence of LeftOut
        Takes that could not be read, to be reported with those that do not align.
    judge : callable, optional
        Gives an alignment the verdict of a sea that is calibrated. Default: the verdict of the pair alone.
    progress : callable, optional
        Called with the takes done and their number.

    Raises
    ------
    FeatureError
        If there are no takes, or none aligns with the reference.
    """
    if not takes:
        reasons = f" ({left_out[0].clip.name}: {left_out[0].reason})" if left_out else ""
        raise FeatureError(f"an empty group: expected at least one take beside the reference{reasons}")
    encodings = [take.encoding for take in takes]
    alignments = align_judged(reference.encoding, encodings, recipe, judge, progress)
    fitting = [n for n, alignment in enumerate(alignments) if alignment.alignable]
    alone = _fit_alone(encodings, alignments, fitting, recipe, judge) if consensus else set()
    refused = [
        LeftOut(take.clip, "does not align with the other takes" if n in alone else alignment.verdict)
        for n, (take, alignment) in enumerate(zip(takes, alignments, strict=True))
        if n in alone or not alignment.alignable
    ]
    fitting = [n for n in fitting if n not in alone]
    if not fitting:
        raise FeatureError(
            f"{reference.clip.name}: none of {len(takes)} takes aligns with this reference; "
            "choose another reference, or takes of the same movement"
        )
    chosen = [alignments[n] for n in fitting]
    if consensus:
        chosen = apply_consensus(chosen, [encodings[n] for n in fitting])
    aligned = tuple(
        AlignedTake(takes[n].clip, each.of(reference.clip, takes[n].clip, ends=(reference.end, takes[n].end)))
        for n, each in zip(fitting, chosen, strict=True)
    )
    return Group(
        reference.clip,
        aligned,
        (*left_out, *refused),
        chosen[0].query_seconds,
        frame_length(reference.encoding.seconds, reference.encoding.frames),
        (reference, *(takes[n] for n in fitting)),
        recipe,
        judge,
    )


def align_judged(
    query: Encoding,
    others: Sequence[Encoding],
    recipe: Recipe,
    judge: Judge | None,
    progress: PairProgress | None = None,
) -> list[Alignment]:
    """One encoding aligned with others, a batch at a time, each with its verdict."""
    alignments: list[Alignment] = []
    for first in range(0, len(others), BATCH):
        batch = others[first : first + BATCH]
        found = align_many(query, batch, recipe=recipe)
        if judge is not None:
            found = [judge(alignment, query, other) for alignment, other in zip(found, batch, strict=True)]
        alignments += found
        if progress:
            progress(len(alignments), len(others))
    return alignments


def _fit_alone(
    encodings: Sequence[Encoding],
    alignments: Sequence[Alignment],
    fitting: Sequence[int],
    recipe: Recipe,
    judge: Judge | None,
) -> set[int]:
    """The takes that fit the reference but not its company: the takes that fit it best.

    One pair is judged by little evidence. A take must be likely the same movement as its witnesses too, and
    must not fit them much worse than they fit each other.
    """
    witnesses = sorted(fitting, key=lambda n: -_likelihood(alignments[n]))[:WITNESSES]
    heard: dict[int, list[Alignment]] = {n: [] for n in fitting}
    among: list[float] = []  # DRAQ of the witnesses with each other
    for witness in witnesses:
        others = [n for n in fitting if n != witness]
        found = align_judged(encodings[witness], [encodings[n] for n in others], recipe, judge)
        for n, alignment in zip(others, found, strict=True):
            heard[n].append(alignment)
            among += [alignment.draq] if n in witnesses else []
    if len(among) < FEWEST_WITNESSES:
        return set()
    limit = max(float(np.median(among)), TIGHT_DRAQ) + MUCH_WORSE

    def fits(said: Sequence[Alignment]) -> bool:
        likely = np.mean([_likelihood(alignment) for alignment in said]) >= LIKELY
        return bool(likely and np.median([alignment.draq for alignment in said]) <= limit)

    return {n for n, said in heard.items() if len(said) >= FEWEST_WITNESSES and not fits(said)}


def _likelihood(alignment: Alignment) -> float:
    """How likely both show the same movement; where that is not known, whether they align."""
    return float(alignment.alignable) if alignment.likelihood is None else alignment.likelihood


def medoid(takes: Sequence[Take], *, recipe: Recipe = MOTION) -> int:
    """The number of the take that fits the others best: the lowest mean score with some of them."""
    if len(takes) < 2:
        return 0
    probes = np.sort(np.random.default_rng(0).permutation(len(takes))[:PROBES])
    total, count = np.zeros(len(takes)), np.zeros(len(takes))
    for probe in probes.tolist():
        others = [n for n in range(len(takes)) if n != probe]
        for first in range(0, len(others), BATCH):
            batch = others[first : first + BATCH]
            encodings = [takes[n].encoding for n in batch]
            total[batch] += score_many(takes[probe].encoding, encodings, recipe=recipe, partial=None).score
            count[batch] += 1
    return int(np.argmin(total / np.maximum(count, 1)))
