"""A data set for evaluation: labeled clips, their features, and phases or events if there are any."""

import csv
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from seasync.clip import Clip
from seasync.encoding import Encoding
from seasync.errors import DataError
from seasync.files import Location, write_text
from seasync.marks import MarkTable

Frames = NDArray[np.int64]
VIDEO_SUFFIXES = frozenset({".mp4", ".avi", ".mkv", ".webm", ".mov", ".m4v", ".mpg", ".mpeg", ".gif"})


class IncompleteData(UserWarning):
    """Part of a data set is missing; the message says how much."""


@dataclass(frozen=True, eq=False)
class Phases:
    """The phase of every frame of a clip.

    Attributes
    ----------
    starts : numpy.ndarray [shape=(P,)]
        First frame of each phase.
    ids : numpy.ndarray [shape=(P,)]
        Its number; a negative one means that the frames are not labeled.
    length : int, optional
        Number of labeled frames, if known; asking for a later frame is an error.
    clip : str
        The clip's name, for that error.
    """

    starts: Frames
    ids: Frames
    length: int | None = None
    clip: str = "a clip"

    @classmethod
    def per_frame(cls, ids: Frames, *, clip: str = "a clip") -> "Phases":
        """Phases given for every frame, shape (T,)."""
        return cls(np.arange(len(ids)), np.asarray(ids, np.int64), len(ids), clip)

    @classmethod
    def between(cls, events: Frames) -> "Phases":
        """Phases between key moments: 0 before the first, then one more at each."""
        return cls(np.append(0, events), np.arange(len(events) + 1))

    def at(self, frames: Frames) -> Frames:
        """The phases of these frames, shape (len(frames),)."""
        if self.length is not None and len(frames) and frames.max() >= self.length:
            raise DataError(
                f"{self.clip}: phases for {self.length} frames, but it has a frame {frames.max()}; "
                "the labels belong to another version of it"
            )
        found = np.searchsorted(self.starts, frames, side="right") - 1
        return np.asarray(np.where(found >= 0, self.ids[np.maximum(found, 0)], -1))


@dataclass(frozen=True, eq=False)
class Item:
    """One clip of a data set.

    Attributes
    ----------
    name : str
        Unique within the set.
    label : str
        Its action.
    split : {"train", "test"}, optional
        None if the set has no split.
    group : str, optional
        Clips of one group (a player, a recording) stay on one side when Seasync splits a set.
    clip : Clip, optional
        The video, if it is there.
    ready : mapping of str to callable
        Encoders that need no video, by name; each returns the encoding.
    phases : Phases, optional
    events : numpy.ndarray [shape=(E,)], optional
        Frame numbers of the key moments.
    """

    name: str
    label: str
    split: str | None = None
    group: str | None = None
    clip: Clip | None = None
    ready: Mapping[str, Callable[[], Encoding]] = field(default_factory=dict)
    phases: Phases | None = None
    events: Frames | None = None

    def encode(self, encoder: str, fps: float | None = None) -> Encoding:
        """Encode the clip, sampled at `fps` frames per second; ready features come as they are."""
        if encoder in self.ready:
            return self.ready[encoder]()
        if self.clip is None:
            usable = ", ".join(sorted(self.ready)) or "none"
            raise DataError(f"{self.name}: no video to encode with {encoder}; usable without one: {usable}")
        from seasync.encoders import encode_clip

        return encode_clip(self.clip, encoder, fps=fps)


@dataclass(frozen=True, eq=False)
class Dataset:
    """Labeled clips.

    Attributes
    ----------
    name : str
    items : tuple of Item
    encoder : str
        The default encoder for this set.
    paper : str, optional
        The paper's name for this set.

    Raises
    ------
    DataError
        If there are no clips, or two with the same name.
    """

    name: str
    items: tuple[Item, ...]
    encoder: str
    paper: str | None = None

    def __post_init__(self) -> None:
        if not self.items:
            raise DataError(f"{self.name}: no clips found")
        names = [item.name for item in self.items]
        if len(set(names)) < len(names):
            double = next(name for name in names if names.count(name) > 1)
            raise DataError(f"{self.name}: two clips are called {double}; names must be unique")

    def __repr__(self) -> str:
        counts = {s: sum(i.split == s for i in self.items) for s in ("train", "test")}
        return (
            f"Dataset({self.name!r}, {len(self.items)} clips, {counts['train']} train, {counts['test']} test)"
        )

    @property
    def labels(self) -> tuple[str, ...]:
        """All actions, sorted."""
        return tuple(sorted({item.label for item in self.items}))

    def only(self, split: str) -> tuple[Item, ...]:
        """The clips of one side of the split."""
        return tuple(item for item in self.items if item.split == split)

    def limited(self, per_split: int | None, *, seed: int = 0) -> "Dataset":
        """The set with at most `per_split` clips per split, drawn evenly over the labels."""
        if per_split is None:
            return self
        kept: list[Item] = []
        for split in sorted({item.split or "" for item in self.items}):
            kept += _draw([i for i in self.items if (i.split or "") == split], per_split, seed)
        order = {item.name: at for at, item in enumerate(self.items)}
        return replace(self, items=tuple(sorted(kept, key=lambda item: order[item.name])))

    def halved(self) -> "Dataset":
        """The set with a split: if it has none, every other group becomes test."""
        if any(item.split for item in self.items):
            return self
        groups = sorted({item.group or item.name for item in self.items})
        test = set(groups[1::2])
        items = (replace(i, split="test" if (i.group or i.name) in test else "train") for i in self.items)
        return replace(self, items=tuple(items))


def _draw(items: Sequence[Item], count: int, seed: int) -> list[Item]:
    """`count` items, taken in turn from each label in a fixed random order."""
    random = np.random.default_rng(seed)
    shuffled = [items[i] for i in random.permutation(len(items))]
    turn: dict[str, int] = {}
    ranked = []
    for item in shuffled:
        turn[item.label] = turn.get(item.label, -1) + 1
        ranked.append((turn[item.label], item.label, item))
    return [item for _, _, item in sorted(ranked, key=lambda entry: entry[:2])[:count]]


def find_videos(folder: Path) -> dict[str, Path]:
    """All video files below `folder`, by their path relative to it."""
    files = (f for f in sorted(folder.rglob("*")) if f.suffix.lower() in VIDEO_SUFFIXES and f.is_file())
    return {f.relative_to(folder).as_posix(): f for f in files}


def require(path: Path, what: str, where_from: str) -> Path:
    """Return `path` if it exists, else raise DataError that says where to get it."""
    if not path.exists():
        raise DataError(f"{path}: {what} is missing; {where_from}")
    return path


def parse_integers(text: str, *, where: str) -> NDArray[np.int64]:
    """Parse integers separated by spaces, semicolons or commas."""
    try:
        return np.array([int(part) for part in text.replace(";", " ").replace(",", " ").split()], np.int64)
    except (ValueError, OverflowError):
        raise DataError(f"{where}: expected whole numbers separated by spaces, got {text!r}") from None


def read_csv(file: Path, required: Sequence[str]) -> list[dict[str, str]]:
    """Read a CSV file whose header has at least the `required` columns."""
    try:
        with file.open(newline="", encoding="utf-8-sig") as opened:
            reader = csv.DictReader(opened)
            header = reader.fieldnames or []
            rows = [{k: v or "" for k, v in row.items() if k is not None} for row in reader]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{file}: not a readable CSV file ({error})") from None
    missing = [column for column in required if column not in header]
    if missing:
        raise DataError(
            f"{file}: no column {', '.join(missing)}; its header is {', '.join(header) or 'empty'}"
        )
    return rows


# Key moments in CSV files, as GolfDB gives them.


EVENTS_FORMAT = "it has one row per clip: `clip`, then the frame number of each event"


def load_events(root: Path) -> Dataset:
    """Load clips with events; they are of one action unless a `label` column or their folders differ."""
    file = require(root / "events.csv", "the events file", EVENTS_FORMAT)
    events = read_events(file)
    rows = {row["clip"]: row for row in read_csv(file, ("clip",))}
    folder = root / "clips" if (root / "clips").is_dir() else root
    videos = find_videos(folder)
    items = []
    for clip, moments in events.items():
        if clip not in videos:
            raise DataError(f"{folder / clip}: named in {file.name} but not there")
        row = rows[clip]
        label = row.get("label") or Path(clip).parent.name or root.resolve().name
        split, group = row.get("split") or None, row.get("group") or row.get("player") or None
        footage, phases = Clip(str(videos[clip]), label=label), Phases.between(moments)
        items.append(Item(clip, label, split, group=group, clip=footage, phases=phases, events=moments))
    return Dataset(root.resolve().name, tuple(items), "dinov2-small")


def read_events(file: Path) -> dict[str, Frames]:
    """Read the frame numbers of each clip's events."""
    rows = read_csv(file, ("clip",))
    if not rows:
        raise DataError(f"{file}: no rows; {EVENTS_FORMAT}")
    table = MarkTable(Location(file), list(rows[0]), rows)
    events: dict[str, list[tuple[str, str]]] = {}
    for row in rows:  # a clip each, or an event each
        found = table.event_frames(row) if table.has_events else [(row.get("name", ""), row.get("frame", ""))]
        events.setdefault(row["clip"], []).extend(found)
    names = {name for found in events.values() for name, _ in found}
    if not names and "events" not in table.columns:
        raise DataError(f"{file}: no column of events; {EVENTS_FORMAT}")
    count = None if "events" in table.columns else len(names)
    lengths = {row["clip"]: row.get("frames") or "" for row in rows}
    moments = {}
    for clip, found in events.items():
        where = f"{file}, {clip}"
        numbers = parse_integers(" ".join(frame for _, frame in found), where=where)
        frames = parse_integers(lengths[clip], where=where)
        if not len(numbers):
            raise DataError(f"{where}: no events; mark at least one, or leave the clip out")
        if count is not None and len(numbers) != count:
            raise DataError(f"{where}: {len(numbers)} of {count} events; every clip needs all of them")
        if (numbers < 0).any() or (np.diff(numbers) < 0).any():
            raise DataError(f"{where}: events must be frame numbers in order, got {numbers.tolist()}")
        if len(frames) and numbers[-1] >= frames[0]:
            raise DataError(f"{where}: an event at frame {numbers[-1]} of a clip of {frames[0]} frames")
        moments[clip] = numbers
    return moments


# Marking key moments on clips: a page that needs no server and saves a CSV file.


def write_page(folder: Path, page: Path, *, marks: Path | None = None) -> int:
    """Write a page for marking the clips of a folder.

    The page contains every frame's time, so that frame numbers are the file's own.

    Parameters
    ----------
    folder : pathlib.Path
    page : pathlib.Path
        The HTML file to write.
    marks : pathlib.Path, optional
        A CSV file of earlier marks to continue from.

    Returns
    -------
    int
        Number of clips.

    Raises
    ------
    DataError
        If there are no videos, the marks name other clips, or the page cannot be written.
    """
    from seasync.video.source import frame_table

    videos = find_videos(folder)
    if not videos:
        raise DataError(f"{folder}: no videos to mark")
    earlier = read_events(marks) if marks else {}
    unknown = sorted(set(earlier) - set(videos))
    if unknown:
        raise DataError(f"{marks}: names {unknown[0]}, which is not below {folder}")
    clips = []
    for name, file in videos.items():
        times = [round(float(second), 4) for second in frame_table(file).seconds]
        clips.append({"clip": name, "src": _address(file, page), "times": times, "events": []})
        if name in earlier:
            clips[-1]["events"] = earlier[name].tolist()
    data = json.dumps(clips).replace("<", "\\u003c")
    template = files("seasync.evaluate").joinpath("annotate.html").read_text(encoding="utf-8")
    write_text(page, template.replace("/*CLIPS*/[]", data), error=DataError)
    return len(clips)


def _address(file: Path, page: Path) -> str:
    """The clip's address for the page: relative if it lies below the page, so that both can move."""
    try:
        relative = os.path.relpath(file.resolve(), page.resolve().parent)
    except ValueError:  # another drive
        relative = ".."
    return file.resolve().as_uri() if relative.startswith("..") else quote(Path(relative).as_posix())
