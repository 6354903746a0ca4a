"""A package that adds to Seasync one thing of each kind. Copy what you need."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np


class _Grid:
    """The mean brightness of each cell of a grid over the picture."""

    input_size = (64, 64)

    def __init__(self, cells):
        self._cells = cells

    def run(self, frames):
        """uint8 (B, 64, 64, 3) → float32 (B, cells²)"""
        side = 64 // self._cells
        gray = frames.mean(-1).reshape(len(frames), self._cells, side, self._cells, side)
        return (gray.mean((2, 4)).reshape(len(frames), -1) / 255).astype(np.float32)


def brightness(rest):
    """`--encoder brightness:8`"""
    from seasync.encoders.encoder import FrameEncoder, pooled_output

    cells = int(rest)
    return FrameEncoder(
        f"brightness:{rest}",
        _Grid(cells),
        dimension=cells**2,
        fingerprint=f"brightness/1/{cells}",  # raise the 1 when the same name gives other features
        split=pooled_output,
    )


def write_text(alignment, place, *, keep):
    """`--to warp.txt`: a line for each second of the kept clip."""
    from seasync.files import write_text

    warp = alignment.warp(keep=keep)
    seconds = np.arange(warp.spans[0][0], warp.spans[-1][1])
    write_text(place, "".join(f"{at:.3f} {float(warp.at(at)):.3f}\n" for at in seconds))
    return [place]


def flat(rest):
    """`seasync evaluate agreement flat:FOLDER`: files named LABEL_NUMBER.mp4."""
    from seasync.clip import Clip
    from seasync.evaluate.dataset import Dataset, Item

    files = sorted(Path(rest).glob("*_*.mp4"))
    items = [Item(file.name, file.stem.partition("_")[0], clip=Clip(str(file))) for file in files]
    return Dataset(f"flat {rest}", tuple(items), "brightness:8")


def here(options):
    """`here://clips/a.mp4`: files below the folder that the option `here_root` or HERE_ROOT names."""
    from pyarrow.fs import LocalFileSystem, SubTreeFileSystem

    return SubTreeFileSystem(options.get("here_root") or os.environ["HERE_ROOT"], LocalFileSystem())
