"""The sets of the data folder, as `benchmarks.world` measures them: clips, labels, key events, seas."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from seasync import Sea
from seasync.clip import Clip
from seasync.encoders import encode_clip, get_encoder
from seasync.encoders.encoder import Progress, stream_vector_parts
from seasync.encoding import Encoding, Stream
from seasync.evaluate.tables.planted import draw_warp
from seasync.video import Writer, probe, read

Doubles = NDArray[np.float64]
EVENT_SETS = {"falls": "falls", "drawer": "robots/drawer", "bottle": "robots/bottle", "golf": "golf"}
CLASS_SETS = {"gestures": "gestures", "actions": "actions"}
VIEWS = (("arms-cam1", "arms-cam2"), ("hand-cam0", "hand-cam1"), ("mouse-camE", "mouse-camL"))
FULL_RATE = 30
CUT_CRF = 12  # of films that are cut: nearly as they were


@dataclass(frozen=True, eq=False)
class FootageSet:
    """Clips of one set, each with a label and, where they are known, its key events as frame numbers (E,)."""

    name: str
    files: tuple[Path, ...]
    labels: tuple[str, ...]
    events: tuple[Doubles, ...] | None = None

    def some(self, count: int) -> FootageSet:
        """At most `count` clips, evenly spaced."""
        chosen = np.unique(np.linspace(0, len(self.files) - 1, min(count, len(self.files))).astype(int))
        files, labels = (tuple(of[n] for n in chosen) for of in (self.files, self.labels))
        return FootageSet(
            self.name, files, labels, self.events and tuple(self.events[n] for n in chosen.tolist())
        )


def load_sets(folder: Path) -> list[FootageSet]:
    """All sets of the folder that are there."""
    sets = [_with_events(name, folder / place) for name, place in EVENT_SETS.items()]
    for name, place in CLASS_SETS.items():
        files = sorted((folder / place).rglob("*.mp4"))
        labels = tuple(f"{name}/{file.parent.name}" for file in files)
        sets.append(FootageSet(name, tuple(files), labels))
    return [each for each in sets if each.files]


def drawn_at_even_odds(
    rng: np.random.Generator, labels: NDArray[np.str_], own: NDArray[np.str_], at: int, count: int
) -> NDArray[np.int64]:
    """Numbers of clips to pair with clip `at`, 4 · `count` at most: half of them show the same movement.

    Of the others, half are of the same set (`own` names it), where that has several movements.
    """
    alike, inside = labels == labels[at], own == own[at]
    others = np.arange(len(labels)) != at
    kinds = [alike & others, ~alike & inside, ~alike & ~inside]
    counts = [2 * count, count, count] if kinds[1].any() else [2 * count, 0, 2 * count]
    drawn = zip(kinds, counts, strict=True)
    return np.concatenate([rng.permutation(np.flatnonzero(kind))[:most] for kind, most in drawn])


def _with_events(name: str, folder: Path) -> FootageSet:
    if not (folder / "events.csv").is_file():
        return FootageSet(name, (), (), ())
    clips = folder / "clips" if (folder / "clips").is_dir() else folder
    names, events = load_events(folder / "events.csv")
    return FootageSet(name, tuple(clips / clip for clip in names), (name,) * len(names), tuple(events * 1.0))


def load_events(file: Path) -> tuple[list[str], NDArray[np.int64]]:
    """Clip names and the frame numbers (clips, events) of their key events."""
    with file.open(newline="") as opened:
        header, *rows = csv.reader(opened)
    first = header.index("frames") + 1
    return [row[0] for row in rows], np.array([row[first:] for row in rows], np.int64)


def cut_pairs(films: Path, folder: Path) -> FootageSet:
    """The two clips of each film that shows a query above its match.

    They become `query.mp4` and `match.mp4` in a folder of `folder` that has the film's name, which is also
    their label. Queries and matches alternate.
    """
    files = []
    for film in sorted(films.glob("*.mp4")):
        info = probe(film)
        size, place = (info.width, info.height // 2), folder / film.stem
        place.mkdir(parents=True)
        files += [place / "query.mp4", place / "match.mp4"]
        above, below = (
            Writer(file, fps=info.fps or FULL_RATE, size=size, crf=CUT_CRF) for file in files[-2:]
        )
        with above, below:
            for picture in chain.from_iterable(frames.data for frames in read(film)):
                above.write(picture[: size[1]])
                below.write(picture[-size[1] :])
    return FootageSet("pairs", tuple(files), tuple(file.parent.name for file in files))


class CachedEncoder:
    """An encoder that takes encodings from the cache, also while a sea is filled."""

    def __init__(self, name: str) -> None:
        self._encoder = get_encoder(name)
        self.name, self.fingerprint = self._encoder.name, self._encoder.fingerprint
        self.dimension, self.fps = self._encoder.dimension, self._encoder.fps

    def encode_clip(
        self, clip: Clip, *, fps: float | None, cache: bool, progress: Progress | None = None
    ) -> Encoding:
        return encode_clip(clip, self._encoder, fps=fps, progress=progress)


@dataclass(frozen=True, eq=False)
class FilledSea:
    """A sea of one or more sets, and its clips' ids by file."""

    sea: Sea
    ids: dict[str, str]

    def id_of(self, file: Path) -> str:
        return self.ids[str(file.resolve())]


def fill(folder: Path, sets: Sequence[FootageSet], encoder: CachedEncoder) -> FilledSea:
    """Make a sea in `folder` of all clips of the sets, labelled."""
    folder.mkdir(parents=True)
    listed = folder / "clips.csv"
    with listed.open("w", newline="") as opened:
        writer = csv.writer(opened)
        writer.writerow(("file", "label"))
        for each in sets:
            rows = zip(each.files, each.labels, strict=True)
            writer.writerows((str(file.resolve()), label) for file, label in rows)
    sea = Sea(folder / "world.sea", encoder)
    added = sea.add(listed)
    if added.failed:
        raise SystemExit(f"{len(added.failed)} files could not be read, first {added.failed[0]}")
    return FilledSea(sea, {clip.file: clip.id or "" for clip in sea.clips()})


@dataclass(frozen=True, eq=False)
class PlantedView:
    """Two cameras of one take; the second replayed so that its second `replayed[k]` shows `true[k]`."""

    name: str
    query: Encoding
    match: Encoding
    replayed: Doubles
    true: Doubles


def planted_views(folder: Path, encoder: CachedEncoder, curves: int) -> Iterator[PlantedView]:
    """Each pair of cameras with several planted speed curves.

    The second camera is encoded at a high rate, and the frames that a replay at changing speed would show
    are taken out of that.
    """
    for first, second in VIEWS:
        files = folder / f"{first}.mp4", folder / f"{second}.mp4"
        if not all(file.is_file() for file in files):
            continue
        query, dense = (
            encoder.encode_clip(Clip.of(file), fps=fps, cache=True)
            for file, fps in zip(files, (encoder.fps, FULL_RATE), strict=True)
        )
        length = float(min(query.seconds[-1], dense.seconds[-1]))
        for seed in range(curves):
            times, true = draw_warp(np.random.default_rng(seed), length)
            shown = np.arange(0, times[-1], 1 / encoder.fps)
            picked = np.searchsorted(dense.seconds, np.interp(shown, times, true)).clip(
                max=len(dense.seconds) - 1
            )
            stream = Stream(dense.streams[0].name, shown, np.arange(len(shown)), dense.features[picked])
            match = Encoding(dense.encoder, (stream,), *stream_vector_parts(stream))
            yield PlantedView(first.partition("-")[0], query, match, shown, dense.seconds[picked])
