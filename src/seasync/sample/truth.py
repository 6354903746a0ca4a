"""The truth about a sample: what each frame shows, and so which frames of two clips belong together."""

import csv
import json
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seasync.errors import DataError

Array = NDArray[np.float64]
TRUTH, PHASES = "truth.json", "phases.csv"


@dataclass(frozen=True, eq=False)
class SampleClip:
    """One generated clip and all that is known of it.

    Attributes
    ----------
    look : int
        Number of performer and place: clips with the same number share their look.
    distractor : str
        "look": has the look of a clip of another action; "motion": has a look like no other; else empty.
    action_time : array [shape=(N,)]
        How far the action is in each frame, 0 to 1, never falling.
    phases : array [shape=(N,)]
        Number of the phase in each frame; its name is phase_names[number].
    key_seconds : array [shape=(K,)]
        When each phase but the last ends: a click is heard there.
    tone : float
        Hertz of the tone heard all along.
    """

    file: Path
    action: str
    look: int
    distractor: str
    fps: Fraction
    action_time: Array
    phases: NDArray[np.int64]
    phase_names: tuple[str, ...]
    key_seconds: Array
    tone: float

    def __repr__(self) -> str:
        return (
            f"SampleClip({self.action!r}, {self.file.name}, {len(self.action_time)} frames at {self.fps} fps)"
        )

    @property
    def seconds(self) -> Array:
        """(N,) when each frame is shown."""
        return np.arange(len(self.action_time)) / float(self.fps)

    @property
    def moving(self) -> NDArray[np.bool_]:
        """(N,) whether the action is under way: false in the still lead-in and tail, and where it is held."""
        step = np.diff(self.action_time)
        goes = step > 0.1 * step.mean()
        return np.concatenate([[False], goes[:-1] & goes[1:], [False]])

    def to_json(self, folder: Path) -> dict[str, Any]:
        plain = {
            name: getattr(self, name) for name in ("action", "look", "distractor", "tone", "phase_names")
        }
        return plain | {
            "file": self.file.relative_to(folder).as_posix(),
            "fps": str(self.fps),
            "key_seconds": self.key_seconds.round(6).tolist(),
            "phases": self.phases.tolist(),
            "action_time": self.action_time.round(7).tolist(),
        }

    @classmethod
    def from_json(cls, truth: dict[str, Any], folder: Path) -> "SampleClip":
        known = truth | {name: np.array(truth[name], np.float64) for name in ("action_time", "key_seconds")}
        known |= {"file": folder / truth["file"], "fps": Fraction(truth["fps"])}
        known |= {"phases": np.array(truth["phases"], np.int64), "phase_names": tuple(truth["phase_names"])}
        return cls(**known)


@dataclass(frozen=True, eq=False)
class Sample:
    """A folder of generated clips, `<action>/<clip>.mp4`, with their truth.

    Attributes
    ----------
    folder : Path
        The folder.
    clips : tuple of SampleClip
        Its clips, in the order they were made.
    """

    folder: Path
    clips: tuple[SampleClip, ...]

    def __repr__(self) -> str:
        return f"Sample({str(self.folder)!r}, {len(self.clips)} clips of {len(self.actions)} actions)"

    @property
    def actions(self) -> tuple[str, ...]:
        """The actions that the clips show."""
        return tuple(dict.fromkeys(clip.action for clip in self.clips))

    @classmethod
    def load(cls, folder: str | Path) -> "Sample":
        """The sample that `make` put into `folder`."""
        folder = Path(folder)
        try:
            known = json.loads((folder / TRUTH).read_text(encoding="utf-8"))
            return cls(folder, tuple(SampleClip.from_json(clip, folder) for clip in known["clips"]))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise DataError(
                f"{folder}: no sample with a readable {TRUTH} here; make one there first"
            ) from error

    def save(self) -> None:
        """Write truth.json and, `phases.csv` with the labels only: the frame each phase begins with."""
        with (self.folder / PHASES).open("w", newline="", encoding="utf-8") as file:
            rows = csv.writer(file)
            rows.writerow(["clip", "frame", "phase", "name"])
            for clip in self.clips:
                name = clip.file.relative_to(self.folder).as_posix()
                phases, begins = np.unique(clip.phases, return_index=True)
                for phase, frame in zip(phases.tolist(), begins.tolist(), strict=True):
                    rows.writerow([name, frame, phase, clip.phase_names[phase]])
        truth = {"clips": [clip.to_json(self.folder) for clip in self.clips]}
        (self.folder / TRUTH).write_text(json.dumps(truth), encoding="utf-8")


def true_warp(query: SampleClip, match: SampleClip) -> Array:
    """When the match is as far in the action as the query is.

    Parameters
    ----------
    query, match
        Clips of one action.

    Returns
    -------
    array [shape=(N,)]
        For each frame of the query, seconds of the match. NaN where the query's action stands still: any
        frame of the match's own stillness would be right there.

    Raises
    ------
    DataError
        If the clips are of different actions.
    """
    if query.action != match.action:
        raise DataError(
            f"true_warp: clips of one action are needed, got {query.action!r} and {match.action!r}"
        )
    seconds = np.interp(query.action_time, match.action_time, match.seconds)
    return np.where(query.moving, seconds, np.nan)


def alignment_error(
    query: SampleClip,
    match: SampleClip,
    warp: Callable[[Array], Array],
    *,
    fps: float | Fraction | None = None,
) -> Array:
    """How far a warp is from the truth, in frames.

    Parameters
    ----------
    query, match
        Clips of one action.
    warp
        From seconds of the query to seconds of the match.
    fps
        Frames per second to count in. Default: the match's own.

    Returns
    -------
    array [shape=(M,)]
        One value for each moving frame of the query. NaN from the warp, at a moment that it does not cover,
        stays NaN.
    """
    moving = query.moving
    away = np.abs(np.asarray(warp(query.seconds[moving])) - true_warp(query, match)[moving])
    return np.asarray(away * float(fps or match.fps))
