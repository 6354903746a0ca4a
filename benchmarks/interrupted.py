"""Real videos interrupted by foreign footage: `python -m benchmarks.interrupted DIR… [--clips N]`.

`benchmarks.partial` puts encodings together. Here the films themselves are put together and encoded: half of
a clip, footage of another folder, the other half. So the encoder sees three shots, as it would in an edited
film. Pairs, moments and what counts as good are those of `benchmarks.partial`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.goals import Goals, parser
from benchmarks.partial import GOOD_FRAMES, Take, clip_files, load, moments, partner
from seasync.alignment import align_encodings
from seasync.encoders import Encoder, encode_clip, get_encoder
from seasync.encoding import Encoding
from seasync.options import Partial
from seasync.video import Writer, read

WAYS: dict[str, Partial] = {"whole": "never", "seasync": "auto"}


def main() -> int:
    arguments = parser(__doc__)
    arguments.add_argument("folders", type=Path, nargs="+", help="two or more, as for benchmarks.partial")
    arguments.add_argument("--clips", type=int, default=40, help="how many of each folder are the query")
    options = arguments.parse_args()
    sets = {folder: load(folder) for folder in options.folders}
    files = {folder: clip_files(folder) for folder in sets}
    figures = {}
    for folder, takes in sets.items():
        foreign = [file for other in sets if other != folder for file in files[other]]
        good = list(measure(takes, files[folder], foreign, options.clips))
        shares = ", ".join(f"{way} {share:.3f}" for way, share in zip(WAYS, np.mean(good, 0), strict=True))
        print(f"{folder.name}: {len(good)} clips, share good: {shares}")
        figures[folder.name] = {"clips": len(good)} | dict(zip(WAYS, np.mean(good, 0).tolist(), strict=True))
    return Goals(options).finish(figures)


def measure(
    takes: list[Take], files: list[Path], foreign: list[Path], count: int
) -> Iterator[tuple[bool, ...]]:
    """Whether each way is good, for evenly spaced queries whose moments are known."""
    rng, encoder = np.random.default_rng(0), get_encoder("dinov2-small")
    known = [(one, other, both) for one in takes if (both := moments(one, other := partner(one, takes)))]
    for at in np.unique(np.linspace(0, len(known) - 1, count).astype(int)).tolist():
        one, other, (asked, moments_of_other) = known[at]
        pictures, seconds = _film(files[takes.index(other)])
        between, _ = _film(foreign[rng.integers(len(foreign))], pictures.shape[1:3])
        between = between[: int(len(pictures) * rng.uniform(0.5, 1.0))]
        cut, fps = int(len(pictures) * rng.uniform(0.35, 0.65)), round(1 / float(np.median(np.diff(seconds))))
        match = _encoded(np.concatenate([pictures[:cut], between, pictures[cut:]]), fps, encoder)
        frames = np.interp(moments_of_other, seconds, np.arange(len(seconds)))
        truth = (frames + len(between) * (frames >= cut)) / fps
        found = (
            align_encodings(one.encoding, match, partial=how).warp(keep="query") for how in WAYS.values()
        )
        off = [np.abs(warp.at(asked) - truth).mean() * 30 for warp in found]
        yield tuple(bool(each <= GOOD_FRAMES) for each in off)


def _film(file: Path, size: tuple[int, ...] | None = None) -> tuple[NDArray[np.uint8], NDArray[np.float64]]:
    """The frames of a video, (T, H, W, 3), stretched to (H, W) if that is given, and their seconds, (T,)."""
    batches = list(read(file, size=None if size is None else (size[0], size[1])))
    return np.concatenate([each.data for each in batches]), np.concatenate([each.seconds for each in batches])


def _encoded(pictures: NDArray[np.uint8], fps: int, encoder: Encoder) -> Encoding:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "film.mp4"
        with Writer(file, fps=Fraction(fps), size=(pictures.shape[2], pictures.shape[1])) as writer:
            for picture in pictures:
                writer.write(picture)
        return encode_clip(file, encoder, cache=False)


if __name__ == "__main__":
    raise SystemExit(main())
