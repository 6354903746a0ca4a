"""Altered views of a clip (cropped, mirrored, recolored), to break shortcuts through appearance."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from seasync.encoders.encoder import TakesFrames
from seasync.encoding import Encoding
from seasync.errors import EncoderError
from seasync.video import Frames


class View:
    """An encoder that alters pictures first: one alteration per clip, drawn from its first picture.

    Parameters
    ----------
    encoder : Encoder
        One that takes frames.
    number : int
        Each number gives another alteration of the same clip.
    """

    def __init__(self, encoder: object, number: int) -> None:
        if not isinstance(encoder, TakesFrames):
            raise EncoderError(f"{encoder!r}: views need an encoder that takes frames")
        self.name, self.fingerprint = f"{encoder.name}/view{number}", f"{encoder.fingerprint}/view{number}"
        self.dimension, self.fps = encoder.dimension, encoder.fps
        self.input_size, self.fit = encoder.input_size, encoder.fit
        self._encoder, self._number = encoder, number

    def encode(self, batches: Iterable[Frames]) -> Encoding:
        """Encode the altered frames."""
        encoding = self._encoder.encode(self._altered(batches))
        return Encoding(self.fingerprint, encoding.streams, encoding.mean, encoding.trajectory)

    def _altered(self, batches: Iterable[Frames]) -> Iterator[Frames]:
        alteration: Alteration | None = None
        for batch in batches:
            if alteration is None:
                seed = zlib.crc32(batch.data[0].tobytes(), self._number)
                alteration = Alteration(np.random.default_rng(seed), batch.data.shape[1:3])
            yield Frames(alteration(batch.data), batch.seconds, batch.numbers)


class Alteration:
    """A random crop (half to all of the area), mirror, brightness, contrast, color mix or gray."""

    def __init__(self, rng: np.random.Generator, size: tuple[int, ...]) -> None:
        share = np.sqrt(rng.uniform(0.5, 1.0)) * np.exp(rng.uniform(-0.1, 0.1, 2))
        height, width = np.minimum(np.round(np.array(size) * share), size).astype(int)
        top, left = rng.integers(0, size[0] - height + 1), rng.integers(0, size[1] - width + 1)
        self._rows = top + (np.arange(size[0]) * height / size[0]).astype(int)
        self._columns = left + (np.arange(size[1]) * width / size[1]).astype(int)
        if rng.random() < 0.5:
            self._columns = self._columns[::-1]
        mix = np.diag(rng.uniform(0.8, 1.2, 3))
        if rng.random() < 0.2:
            mix = np.full((3, 3), 1 / 3)
        self._colors = (mix * rng.uniform(0.6, 1.4)).astype(np.float32)
        self._grey = rng.uniform(-40, 40)

    def __call__(self, pictures: NDArray[np.uint8]) -> NDArray[np.uint8]:
        cropped = pictures[:, self._rows][:, :, self._columns].astype(np.float32)
        return np.asarray(np.clip(cropped @ self._colors + self._grey, 0, 255), np.uint8)
