"""DINOv2 ViT-S/14, ready to run: whole pictures, or some patches of them beside others known before."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from seasync.encoders.device import active_device, open_session
from seasync.encoders.dinov2_graph import PATCH, dinov2_graph
from seasync.encoders.dinov2_tensors import LAYERS, SHA256, WIDTH
from seasync.encoders.weights import cache_folder
from seasync.encoding import Floats, Indices
from seasync.errors import EncoderError
from seasync.files import atomic_write

Pixels = NDArray[np.uint8]

_FORM = 3  # raised when the same weights are prepared in another way
_CACHED = [f"{kind}.{n}" for n in range(LAYERS) for kind in ("key", "value")]


@dataclass(frozen=True, eq=False)
class Reference:
    """A picture encoded whole: its tokens (1 + P, 384) and what each layer lets other tokens see of it."""

    tokens: Floats
    cache: Sequence[Floats]  # (1, 1 + P, 384) each: key and value of every layer

    def seen(self, places: Indices) -> dict[str, Floats]:
        """Keys and values of some patches, as the network takes them."""
        rows = places + 1
        return {name: values[:, rows] for name, values in zip(_CACHED, self.cache, strict=True)}


class Dinov2:
    """The network for square pictures of one size.

    Attributes
    ----------
    input_size : (int, int)
        Height and width of the pictures it takes.
    patches : int
        How many patches a picture has.
    """

    def __init__(self, size: int = 224) -> None:
        if size % PATCH or not 56 <= size <= 518:
            raise EncoderError(
                f"dinov2-small@{size}: the input size must be a multiple of {PATCH} from 56 to 518"
            )
        self.input_size = size, size
        self.patches = (size // PATCH) ** 2
        device = active_device()
        self.batch, self._tokens_at_once = device.batch, device.tokens_at_once
        self._session = open_session(prepared_graph(size))
        self._nothing = {name: np.empty((1, 0, WIDTH), np.float32) for name in _CACHED}

    def run(self, frames: Pixels) -> Floats:
        """Tokens (B, 1 + P, 384) of whole pictures (B, H, W, 3)."""
        return self.encode(patches_of(frames), np.arange(self.patches), self._nothing)

    def reference(self, pixels: Pixels) -> Reference:
        """Encode one picture, given as patches (P, 588), and keep what others may attend to."""
        fed = {"pixels": pixels[None], "keep": np.arange(self.patches)} | self._nothing
        tokens, *cache = self._session.run(["tokens", *(f"own_{name}" for name in _CACHED)], fed)
        return Reference(tokens[0], cache)

    def encode(self, pixels: Pixels, places: Indices, seen: dict[str, Floats]) -> Floats:
        """Tokens (B, 1 + M, 384) of some patches of each picture, beside the patches `seen` of a reference.

        Parameters
        ----------
        pixels : ndarray of uint8, shape (B, M, 588)
        places : ndarray of int64, shape (M,)
            Where in the picture the patches are.
        seen : dict
            Keys and values of other patches: `Reference.seen`.
        """
        at_once = max(1, self._tokens_at_once // (1 + len(places)))
        parts = [
            self._session.run(["tokens"], {"pixels": pixels[first : first + at_once], "keep": places} | seen)[
                0
            ]
            for first in range(0, len(pixels), at_once)
        ]
        return np.concatenate(parts)


def patches_of(frames: Pixels) -> Pixels:
    """(B, H, W, 3) → (B, P, 588): the patches row by row, each 14 × 14 × 3."""
    count, height, width, _ = frames.shape
    rows, columns = height // PATCH, width // PATCH
    grid = frames.reshape(count, rows, PATCH, columns, PATCH, 3).transpose(0, 1, 3, 2, 4, 5)
    return grid.reshape(count, rows * columns, 3 * PATCH**2)


def precision() -> str:
    """`int8` or `fp32`: as `SEASYNC_PRECISION` says, else what the active device is good at.

    It is no part of the fingerprint: encodings of either precision serve together (docs/models.md).
    """
    named = os.environ.get("SEASYNC_PRECISION") or active_device().precision
    if named not in ("int8", "fp32"):
        raise EncoderError(f"SEASYNC_PRECISION={named}: expected int8 or fp32")
    return named


def prepared_graph(size: int) -> Path:
    """The ONNX file for this input size, precision and device; made once and kept in the cache."""
    bits = precision()
    name = f"dinov2_vits14-{SHA256[:8]}-{size}-{bits}-{_FORM}.onnx"
    file = cache_folder() / "models" / "prepared" / name
    if not file.is_file():
        from seasync.encoders.weights import dinov2_tensors

        model = dinov2_graph(dinov2_tensors(), size, int8=bits == "int8")
        with atomic_write(file, make_folder=True, error=EncoderError) as part:
            part.write_bytes(model.SerializeToString())
    return file
