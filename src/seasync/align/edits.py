"""Clips put together of samples of another clip, and paths through them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from seasync.align.matrix import Path
from seasync.align.prepare import PreparedClip, prepare
from seasync.align.recipe import Recipe
from seasync.encoding import Encoding, Indices, Stream


def edited(clip: PreparedClip, samples: Indices, recipe: Recipe) -> tuple[PreparedClip, NDArray[np.int32]]:
    """Prepare some samples of a clip with one stream, in the order given, as if they had been filmed so.

    Parameters
    ----------
    clip : PreparedClip
    samples : numpy.ndarray [shape=(T,)]
        Samples of its leading stream. Where one does not follow the one before it in the clip, it comes a
        sampling step later, and no shot begins there.
    recipe : Recipe

    Returns
    -------
    PreparedClip
        With n grid points.
    numpy.ndarray [shape=(n,)]
        The grid point of the clip that each of them is.
    """
    lead = clip.lead
    joints = np.diff(samples, prepend=samples[0] - 1) != 1
    original = lead.seconds[samples]
    steps = np.where(joints, clip.step, np.diff(original, prepend=original[0]))
    seconds = original[0] + np.cumsum(steps) - steps[0]
    begins = np.isin(samples, lead.shots) & ~joints
    begins[0] = True
    stream = Stream(
        lead.name,
        seconds,
        np.arange(len(samples)),
        lead.features[samples],
        np.flatnonzero(begins),
        lead.found,
    )
    made = prepare(Encoding(clip.encoder, (stream,), clip.mean, clip.trajectory), recipe)
    # The sample at or before each grid point; times are rounded.
    sample = np.maximum(np.searchsorted(seconds, made.seconds + clip.step / 4) - 1, 0)
    wanted = made.seconds + (original - seconds)[sample]
    middles = (clip.seconds[1:] + clip.seconds[:-1]) / 2
    return made, np.searchsorted(middles, wanted).astype(np.int32)


def pieces_of(path: Path, pieces: list[Path]) -> None:
    """Append the stretches of a path (L, 2) between its jumps to `pieces`, which come before it.

    A frame on both sides of a jump belongs to the piece before it.
    """
    moves = np.diff(path, axis=0)
    path = path[np.append(True, moves.any(1))]  # two grid points may be one of the clip
    moves = np.diff(path, axis=0)
    for part in np.split(path, np.flatnonzero(((moves < 0) | (moves > 1)).any(1)) + 1):
        new = part
        if pieces:
            row, column = pieces[-1][-1]
            new = part[(part[:, 0] > row) & (part[:, 1] != column)]
        if len(new):
            pieces.append(new)
