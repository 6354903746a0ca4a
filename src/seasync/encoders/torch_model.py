"""Image models that run in torch, and `torch:FILE`: TorchScript and exported programs."""

from __future__ import annotations

import hashlib
import json
import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seasync.encoders.device import allowed_threads
from seasync.encoders.encoder import FrameEncoder
from seasync.encoding import Floats
from seasync.errors import EncoderError, MissingExtra
from seasync.files import Location, exists, fetch

Split = Callable[[Floats], tuple[Floats, Floats | None]]
IMAGENET = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


@dataclass(frozen=True)
class Preparation:
    """What a model wants done to 8-bit RGB: its (height, width), then · scale, − mean, / std."""

    size: tuple[int, int] = (224, 224)
    mean: tuple[float, ...] = IMAGENET[0]
    std: tuple[float, ...] = IMAGENET[1]
    scale: float = 1 / 255

    @classmethod
    def from_json(cls, file: Path) -> Preparation:
        """Of a file with some of the fields above."""
        try:
            fields = json.loads(file.read_text())
            known: dict[str, Any] = {n: tuple(v) if isinstance(v, list) else v for n, v in fields.items()}
            return cls(**known)
        except (ValueError, TypeError, AttributeError) as error:
            raise EncoderError(f"{file}: expected size, mean, std and scale as JSON ({error})") from error


def require_torch(needed_for: str, *, extra: str = "models") -> Any:
    """torch, or an error that says how to get it."""
    try:
        import torch
    except ImportError as error:
        raise MissingExtra(extra, needed_for) from error
    if threads := allowed_threads():
        torch.set_num_threads(threads)
    return torch


class TorchModel:
    """`forward` (B, 3, H, W) → features, on the GPU if there is one; uint8 frames in, float32 out."""

    def __init__(self, forward: Callable[[Any], Any], prepare: Preparation, *, device: str) -> None:
        self.input_size = prepare.size
        self._forward, self._prepare, self._device = forward, prepare, device

    def run(self, frames: NDArray[np.uint8]) -> Floats:
        import torch

        how = self._prepare
        values = torch.from_numpy(np.ascontiguousarray(frames)).to(self._device).permute(0, 3, 1, 2).float()
        shift, spread = (torch.tensor(v, device=self._device).view(3, 1, 1) for v in (how.mean, how.std))
        with torch.inference_mode():
            output = self._forward((values * how.scale - shift) / spread)
        return np.asarray(output.float().cpu().numpy())


def best_device() -> str:
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def torch_encoder(
    name: str, model: TorchModel, *, fingerprint: str, prefix: int | None = None, grid: int | None = None
) -> FrameEncoder:
    """A frame encoder on `model`; the places of its map, or its last tokens, are its patches.

    prefix  how many tokens come before the patches (class, registers), or
    grid    how many patches there are; by default the largest square that fits
    """
    height, width = model.input_size
    try:
        output = model.run(np.zeros((2, height, width, 3), np.uint8))
    except Exception as error:  # whatever the model's own code raises
        said = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise EncoderError(
            f"{name}: the model does not take pictures of {height} × {width} ({said})"
        ) from error
    if output.ndim not in (2, 3, 4) or len(output) != 2:
        raise EncoderError(
            f"{name}: expected one vector, map or token list per picture, got {output.shape[1:]}"
        )
    if prefix is None and output.ndim == 3:
        tokens = output.shape[1]
        prefix = max(0, tokens - (grid or math.isqrt(tokens) ** 2))
    split = places(prefix or 0)
    pooled, _ = split(output)
    return FrameEncoder(name, model, dimension=pooled.shape[1], fingerprint=fingerprint, split=split)


def places(prefix: int) -> Split:
    """Splits vectors (B, d), maps (B, d, h, w) and tokens (B, prefix + P, d) into pooled and patches."""

    def split(output: Floats) -> tuple[Floats, Floats | None]:
        if output.ndim == 2:
            return output, None
        if output.ndim == 4:
            patches = output.reshape(*output.shape[:2], -1).swapaxes(1, 2)
        else:
            patches = output[:, prefix:]
        return output[:, 0] if output.ndim == 3 and prefix else patches.mean(axis=1), patches

    return split


def digest(weights: Mapping[str, Any]) -> str:
    """A short hash of a state dict's tensors."""
    total = hashlib.sha256()
    for name, tensor in sorted(weights.items()):
        total.update(name.encode())
        total.update(np.ascontiguousarray(tensor.detach().float().cpu().numpy()).tobytes())
    return total.hexdigest()[:16]


def torch_file_encoder(file: str) -> FrameEncoder:
    """`torch:FILE`: TorchScript, or a program saved by torch.export, from (B, 3, H, W) to features.

    Pictures are prepared as FILE.json says (size, mean, std, scale); by default 224 × 224 and ImageNet's.
    """
    torch = require_torch("torch:FILE")
    path = fetch(file)
    if not path.is_file():
        raise EncoderError(f"torch:{file}: no such file; expected TorchScript or a program of torch.export")
    place = Location(file)
    beside = place.with_name(f"{place.name}.json")
    prepare = Preparation.from_json(fetch(beside)) if exists(beside) else Preparation()
    device = best_device()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # torch would rather see torch.export
            forward = torch.jit.load(path, map_location=device).eval()
    except RuntimeError:
        try:
            forward = torch.export.load(path).module()
        except Exception as error:  # zip, pickle and torch errors of a file that is something else
            raise EncoderError(
                f"torch:{file}: neither TorchScript nor torch.export; weights alone are not enough"
            ) from error
        device = "cpu"
    fingerprint = f"torch/{hashlib.sha256(path.read_bytes()).hexdigest()[:16]}"
    return torch_encoder(
        f"torch:{file}", TorchModel(forward, prepare, device=device), fingerprint=fingerprint
    )
