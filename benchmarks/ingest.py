"""Ingest: clips a second, and how much of the time the encoder has: `python -m benchmarks.ingest [--quick]`

Videos made here (H.264, 640×360, 30 fps) go into a new sea with the default encoder; beside it the same work
without overlap: read a clip whole, then encode it, then write its row.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from benchmarks.goals import Goals, parser
from benchmarks.turns import against, work
from seasync.encoders import get_encoder
from seasync.encoders.encoder import TakesFrames
from seasync.encoding import Encoding
from seasync.sea.sea import Sea
from seasync.video import Frames, Writer, read


class Timed:
    """An encoder that counts the seconds it spends encoding, without those it waits for frames."""

    def __init__(self, encoder: TakesFrames) -> None:
        self.name, self.fingerprint, self.dimension = encoder.name, encoder.fingerprint, encoder.dimension
        self.input_size, self.fps, self.fit = encoder.input_size, encoder.fps, encoder.fit
        self.seconds = self.frames = 0.0
        self._encoder = encoder

    def encode(self, batches: Iterable[Frames]) -> Encoding:
        begin, waited = time.perf_counter(), 0.0

        def counted() -> Iterator[Frames]:
            nonlocal waited
            batch_iterator = iter(batches)
            while True:
                asked = time.perf_counter()
                batch = next(batch_iterator, None)
                waited += time.perf_counter() - asked
                if batch is None:
                    return
                self.frames += len(batch)
                yield batch

        encoding = self._encoder.encode(counted())
        self.seconds += time.perf_counter() - begin - waited
        return encoding


def make_videos(folder: Path, count: int, seconds: float) -> list[Path]:
    """Discs that wander over a textured ground."""
    rng = np.random.default_rng(0)
    height, width = 360, 640
    rows, columns = np.mgrid[:height, :width]
    files = []
    for n in range(count):
        ground = rng.integers(0, 120, (height // 8, width // 8, 3), np.uint8).repeat(8, 0).repeat(8, 1)
        steps = rng.normal(0, 12, (int(seconds * 30), 2))
        course = np.array([height / 2, width / 2]) + steps.cumsum(0)
        files.append(folder / f"{n}.mp4")
        with Writer(files[-1], fps=30, size=(width, height)) as writer:
            for y, x in course:
                image = ground.copy()
                image[(rows - y) ** 2 + (columns - x) ** 2 < 1600] = (240, 200, 60)
                writer.write(image)
    return files


def one_after_the_other(files: list[Path], encoder: Timed, folder: Path) -> float:
    """Seconds for the same without overlap."""
    begin = time.perf_counter()
    for file in files:
        frames = list(read(file, fps=encoder.fps, size=encoder.input_size, batch=8))
        np.save(folder / f"{file.stem}.npy", encoder.encode(frames).features)
    return time.perf_counter() - begin


def main() -> int:
    options = parser(__doc__, quick="few short clips, within 45 seconds", against=True).parse_args()
    goals = Goals(options)
    count, seconds = (5, 2.0) if options.quick or options.against else (30, 4.0)
    model = get_encoder()
    assert isinstance(model, TakesFrames)
    encoder, baseline = Timed(model), Timed(model)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = make_videos(folder, count, seconds)
        if options.against:
            return against(options.against, work("add_clips", folder), goals)
        Sea(folder / "warm.sea", Timed(model)).add(files[0], split=seconds / 4)  # imports and first calls
        begin = time.perf_counter()
        added = Sea(folder / "s.sea", encoder).add(*files)
        spent = time.perf_counter() - begin
        assert (added.added, added.failed) == (count, [])
        plain = one_after_the_other(files, baseline, folder)
    share = encoder.seconds / spent
    print(f"{count} clips of {seconds:g} s, {encoder.frames:.0f} frames encoded")
    print("                     clips/s  frames/s  share of the encoder")
    rows = (("sea.add", spent, encoder.seconds), ("one after the other", plain, baseline.seconds))
    for title, took, inside in rows:
        print(f"{title:21}{count / took:7.2f}  {encoder.frames / took:8.1f}  {inside / took:.1%}")
    goals.at_least("share of ingest time spent in the encoder", share, 0.9)
    return goals.finish({title: {"seconds": took, "in the encoder": inside} for title, took, inside in rows})


if __name__ == "__main__":
    sys.exit(main())
