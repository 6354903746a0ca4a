"""Running an ONNX image model on uint8 frames."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seasync.encoders.device import open_session
from seasync.encoding import Floats
from seasync.errors import EncoderError

_MEAN = np.array([0.485, 0.456, 0.406], np.float32) * 255
_STD = np.array([0.229, 0.224, 0.225], np.float32) * 255


class ImageModel:
    """An ONNX model that takes a batch of RGB pictures, (B, 3, H, W) or (B, H, W, 3), ImageNet-normalized.

    `run(frames)` takes uint8 (B, H, W, 3) of `input_size` and gives the model's first output as float32.
    """

    def __init__(self, file: str | Path, *, threads: int | None = None) -> None:
        try:
            self._session = open_session(Path(file), threads=threads)
        except Exception as error:  # onnxruntime's own classes share no base
            said = str(error).splitlines()[0]
            raise EncoderError(f"{file}: not an ONNX model that onnxruntime can load ({said})") from error
        self._file = file
        entry = self._session.get_inputs()[0]
        self._name: str = entry.name
        self._channels_first, self.input_size = _layout(file, entry)

    def run(self, frames: NDArray[np.uint8]) -> Floats:
        values = (frames.astype(np.float32) - _MEAN) / _STD
        if self._channels_first:
            values = np.ascontiguousarray(values.transpose(0, 3, 1, 2))
        try:
            output: Floats = self._session.run(None, {self._name: values})[0]
        except Exception as error:  # onnxruntime's own classes share no base
            shape = "x".join(map(str, values.shape))
            said = " ".join(str(error).split())[:200]
            raise EncoderError(
                f"{self._file}: the model fails on pictures of shape {shape} ({said})"
            ) from error
        return output


def _layout(file: str | Path, entry: Any) -> tuple[bool, tuple[int, int]]:
    """Whether channels come first, and (height, width); free sides are taken as 224."""
    shape = list(entry.shape)
    if len(shape) != 4 or "float" not in entry.type or 3 not in (shape[1], shape[3]):
        raise EncoderError(
            f"{file}: expected an image model with float input (B, 3, H, W) or (B, H, W, 3), "
            f"got {entry.type} {shape}"
        )
    first = shape[1] == 3
    height, width = (side if isinstance(side, int) else 224 for side in (shape[2:] if first else shape[1:3]))
    return first, (height, width)
