"""Which way things move: the optical flow of a coarse picture, beside what an image model sees.

An image model says what is where: two people who make the same gesture look more different to it than one
person who makes two gestures. Flow knows nothing of looks, and tells left from right.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from seasync.encoding import FLOW_CHANNELS, Floats, Indices, windows

SIDE = 56  # pixels of the coarse picture
CELLS = 4  # squares on each side of the picture, each with one flow
BLUR = 1.0  # standard deviation in coarse pixels
FLAT = 3.0  # mean squared gradient below which a square counts as flat: its flow is not known
# The step of a fast limb is beyond what a coarse picture shows, so its length counts less than its direction.
POWER = 0.5
LEAST = 0.1  # spread below which nothing moves: noise is not scaled up further
APART = 2  # samples between flows that are compared to see how steady it is: they share no picture


class FlowMeter:
    """Takes frames in order, gives the flow of each; it holds one coarse picture."""

    def __init__(self) -> None:
        self._before: Floats | None = None
        self._steps: list[Floats] = []

    def push(self, frames: NDArray[np.uint8]) -> None:
        """Take the next frames, shape (B, H, W, 3)."""
        pictures = _coarse(frames)
        if self._before is not None:
            pictures = np.concatenate([self._before[None], pictures])
        self._before = pictures[-1]
        if len(pictures) > 1:
            self._steps.append(step_flow(pictures))

    def flow(self, shots: Indices) -> Floats:
        """The flow of each frame, shape (T, 32): the mean of the steps to and from it within its shot."""
        steps = np.concatenate([np.zeros((0, FLOW_CHANNELS), np.float32), *self._steps])
        count = len(steps) + 1
        known = np.ones((count + 1, 1), np.float32)  # of the step from frame t − 1 to frame t
        known[count] = known[shots] = 0
        around = np.pad(steps, ((1, 1), (0, 0))) * known
        mean = (around[:-1] + around[1:]) / np.maximum(known[:-1] + known[1:], 1)
        pairs = mean.reshape(count, -1, 2)
        length = np.linalg.norm(pairs, axis=2, keepdims=True)
        shortened = pairs * np.maximum(length, 1e-6) ** (POWER - 1)
        return np.asarray(shortened.reshape(count, -1), np.float32)


def step_flow(pictures: Floats) -> Floats:
    """Flow from each coarse picture, shape (T, SIDE, SIDE), to the next: (T − 1, 32), in coarse pixels.

    Lucas and Kanade's least squares in each square. What all squares share is the camera's, and left out.
    """
    before, after = pictures[:-1], pictures[1:]
    between, change = (before + after) / 2, after - before
    down, right = (np.asarray(np.gradient(between, axis=axis), np.float32) for axis in (1, 2))
    xx, xy, yy = _squares(right * right) + FLAT, _squares(right * down), _squares(down * down) + FLAT
    xt, yt = _squares(right * change), _squares(down * change)
    flow = np.stack([xy * yt - yy * xt, xy * xt - xx * yt], axis=-1) / (xx * yy - xy * xy)[..., None]
    own = flow - np.median(flow, axis=1, keepdims=True)
    return np.asarray(own.reshape(len(flow), -1), np.float32)


def with_flow(features: Floats, flow: Floats, shots: Indices) -> Floats:
    """Image features, shape (T, d), and flow, shape (T, 32), side by side in one scale: (T, d + 32).

    Steady flow spreads as widely as the image features do. The less it persists from one moment to the next,
    the more of it is noise, and the less it counts: hardly at all in a golf swing, which is faster than the
    samples, nearly in full for the arm of a robot.
    """
    scaled = np.zeros_like(flow)
    for first, last in zip(shots, [*shots[1:], len(features)], strict=True):
        for a, b, begin, end in windows(int(first), int(last)):
            window = flow[begin:end]
            scale = _steadiness(window) * _spread(features[begin:end]) / max(_spread(window), LEAST)
            scaled[a:b] = flow[a:b] * np.float32(scale)
    return np.concatenate([features, scaled], axis=1)


def _spread(rows: Floats) -> float:
    return float(np.sqrt(rows.var(axis=0, dtype=np.float64).sum()))


def _steadiness(flow: Floats) -> float:
    """How much of the flow is still there two samples later, 0–1."""
    power = float((flow**2).sum())
    return max(float((flow[APART:] * flow[:-APART]).sum()) / power, 0.0) if power > 0 else 0.0


def _squares(values: Floats) -> Floats:
    """Means over each square, shape (T, CELLS²)."""
    side = SIDE // CELLS
    means = values.reshape(len(values), CELLS, side, CELLS, side).mean(axis=(2, 4))
    return np.asarray(means.reshape(len(values), -1), np.float32)


def _coarse(frames: NDArray[np.uint8]) -> Floats:
    """Frames (B, H, W, 3) as small, blurred pictures in gray, shape (B, SIDE, SIDE)."""
    count, height, width, _ = frames.shape
    tall, wide = height, width
    if height % SIDE == width % SIDE == 0:  # sums of whole numbers take a tenth of the time of products
        frames = frames.reshape(count, SIDE, -1, 3 * width).sum(2, dtype=np.uint32)
        tall = wide = SIDE
    gray = frames.reshape(count, tall, wide, -1).sum(-1, dtype=np.uint32).astype(np.float32)
    gray *= np.float32(tall * wide / (3 * height * width))
    return np.asarray(_shrink(tall) @ gray @ _shrink(wide).T)


@lru_cache(maxsize=8)
def _shrink(size: int) -> Floats:
    """(SIDE, size): averages areas, then blurs."""
    edges = np.linspace(0, size, SIDE + 1)
    cells = np.arange(size)
    areas = np.clip(np.minimum(edges[1:, None], cells + 1) - np.maximum(edges[:-1, None], cells), 0, None)
    places = np.arange(SIDE)
    blur = np.exp(-((places[:, None] - places) ** 2) / (2 * BLUR**2))
    return np.asarray((blur / blur.sum(1, keepdims=True)) @ (areas * SIDE / size), np.float32)
