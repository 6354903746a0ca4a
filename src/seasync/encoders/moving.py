"""Encode what moves in every frame, and the still part of the picture only now and then.

Frame features weigh patches by how much they change, so still patches count for almost nothing; they matter
as surroundings of the moving ones. In a window of at most SPAN frames a few reference frames are encoded
whole. Of the others only the class token and the moving patches pass through the network; in every layer they
attend to themselves and to the still patches of the nearest reference. Still patches keep that reference's
tokens.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from seasync.encoders.dinov2 import Dinov2, Pixels, Reference, patches_of
from seasync.encoders.dinov2_tensors import WIDTH
from seasync.encoders.encoder import FrameEncoder, Look, class_and_patches, is_cut
from seasync.encoding import FLOW_CHANNELS, Floats, Indices

if TYPE_CHECKING:
    from seasync.video import Frames

SPAN = 64  # frames of a window
STEP = 32  # frames from one reference to the next
SHARE = 0.9  # of the sum of squared scores that the moving patches hold
FEWEST = 64  # patches, of 256; with 32 the average APA on golf falls by .018
MOST = 0.75  # of the patches: where more move, whole pictures cost no more
# 1 − correlation of two frames' brightness, patch by patch, from which both are encoded whole to see whether
# a shot begins. Of 1,440 pairs of pictures that their class tokens set apart none is below .2; inside single
# clips .4 % of the steps are above .15.
MAYBE_CUT = 0.15


class MovingPatchEncoder(FrameEncoder):
    """DINOv2 with patches weighted by their variance, the still ones encoded once per reference; and flow.

    Attributes
    ----------
    pair_fps : float
        The sampling rate for two clips that are aligned by themselves (`seasync.pair.pair_fps`).
    """

    pair_fps = 15.0

    def __init__(self, name: str, model: Dinov2, *, fingerprint: str) -> None:
        width = WIDTH + FLOW_CHANNELS
        super().__init__(
            name, model, dimension=width, fingerprint=fingerprint, split=class_and_patches, flow=True
        )
        self._dinov2 = model

    def looks(self, batches: Iterable[Frames]) -> Iterator[Look]:
        window = Window(self._dinov2)
        for batch in batches:
            for pixels in patches_of(batch.data):
                yield from window.push(pixels)
        yield from window.end()


class Window:
    """Takes frames one by one, as patches (P, 588), and gives their looks in order, a window at a time.

    Attributes
    ----------
    encoded, frames : int
        How many patches passed through the network so far, and of how many frames.
    """

    def __init__(self, model: Dinov2) -> None:
        self.encoded = self.frames = 0
        self._model = model
        self._pixels: list[Pixels] = []  # of the frames held; the first is `_reference`, already given
        self._brightness: list[Floats] = []
        self._reference: Reference | None = None

    def push(self, pixels: Pixels) -> Iterator[Look]:
        """Take the next frame; give the looks that are settled by it."""
        self.frames += 1
        brightness = _sampled(pixels).mean(-1)
        if self._pixels and not _maybe_cut(self._brightness[-1], brightness):
            self._pixels.append(pixels)
            self._brightness.append(brightness)
            if len(self._pixels) > SPAN:
                yield from self.end()
            return
        yield from self.end()
        before, reference = self._reference, self._refer(pixels)
        self._hold(pixels, brightness, reference)
        begins = before is not None and is_cut(before.tokens[0], reference.tokens[0])
        yield Look(reference.tokens[0], reference.tokens[1:], begins)

    def end(self) -> Iterator[Look]:
        """The looks still owed. The last frame becomes the first of the next window."""
        count = len(self._pixels)
        if count < 2:
            return
        pixels = np.stack(self._pixels)
        assert self._reference is not None
        marks = np.linspace(0, count - 1, max(1, round((count - 1) / STEP)) + 1).round().astype(int)
        references = [self._reference, *(self._refer(pixels[at]) for at in marks[1:])]
        moving = moving_patches(pixels, np.stack([reference.tokens[1:] for reference in references]))
        tokens = self._encode(pixels, marks, references, moving)
        self._hold(pixels[-1], self._brightness[-1], references[-1])
        for frame in tokens[1:]:
            yield Look(frame[0], frame[1:])

    def _encode(self, pixels: Pixels, marks: Indices, references: list[Reference], moving: Indices) -> Floats:
        """(L, 1 + P, 384): the tokens of all frames of the window."""
        nearest = np.abs(np.arange(len(pixels))[:, None] - marks).argmin(1)
        tokens = np.stack([references[n].tokens for n in nearest])
        still = np.setdiff1d(np.arange(self._model.patches), moving)
        own = np.append(0, moving + 1)
        for n, reference in enumerate(references):
            frames = np.setdiff1d(np.flatnonzero(nearest == n), marks)
            if len(frames) and len(moving):
                self.encoded += len(frames) * len(moving)
                parts = pixels[frames[:, None], moving]
                tokens[frames[:, None], own] = self._model.encode(parts, moving, reference.seen(still))
        return tokens

    def _refer(self, pixels: Pixels) -> Reference:
        self.encoded += self._model.patches
        return self._model.reference(pixels)

    def _hold(self, pixels: Pixels, brightness: Floats, reference: Reference) -> None:
        self._pixels, self._brightness, self._reference = [pixels], [brightness], reference


def moving_patches(pixels: Pixels, tokens: Floats) -> Indices:
    """The places of the patches that move, in order.

    Parameters
    ----------
    pixels : ndarray of uint8, shape (L, P, 588)
        All frames of a window.
    tokens : ndarray of float32, shape (R, P, d)
        The patch tokens of its reference frames.

    Returns
    -------
    ndarray of int64, shape (M,)
        As few as are expected to carry SHARE of the weight, between FEWEST and all.
    """
    count = tokens.shape[1]
    score = _relative(_sampled(pixels).var(0).sum(-1)) + _relative(tokens.var(0).sum(-1))
    order = np.argsort(-score, kind="stable")
    weight = np.cumsum(score[order] ** 2)
    if weight[-1] <= 0:
        return order[:0]
    needed = int(np.searchsorted(weight, SHARE * weight[-1])) + 1
    needed = max(needed, round(count * FEWEST / 256))
    return np.sort(order[: count if needed > MOST * count else needed])


def _relative(variance: Floats) -> Floats:
    mean = variance.mean()
    return variance / mean if mean > 0 else variance


def _sampled(pixels: Pixels) -> Floats:
    """Every third green pixel of each patch: enough to see what changes."""
    return pixels[..., 1::9].astype(np.float32)


def _maybe_cut(before: Floats, after: Floats) -> bool:
    """Whether two frames differ so much in brightness (P,) that a shot may begin between them."""
    if np.abs(after - before).mean() < 1:
        return False
    a, b = before - before.mean(), after - after.mean()
    return float(a @ b) < (1 - MAYBE_CUT) * float(np.linalg.norm(a) * np.linalg.norm(b))
