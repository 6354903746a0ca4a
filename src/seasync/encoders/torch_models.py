"""Image models that run in torch, and `torch:FILE`: TorchScript and exported programs."""

from __future__ import annotations

import hashlib
import importlib.abc
import importlib.util
import json
import math
import sys
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
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


# `timm:NAME` and `hf:REPO`: image models of the two large hubs, prepared for as their own configs say.


def timm_encoder(name: str) -> FrameEncoder:
    """`timm:NAME`: a pretrained timm model, `local-dir:FOLDER` for one on disk."""
    require_torch("timm:NAME", extra="timm")
    timm = _import_timm()
    try:
        model = timm.create_model(name, pretrained=True, num_classes=0)
    except (
        Exception
    ) as error:  # unknown names, no access, files that do not fit: all of timm's and the hub's own
        raise EncoderError(f"timm:{name}: cannot be loaded ({_first_line(error)})") from error
    config = timm.data.resolve_model_data_config(model)
    prepare = Preparation(tuple(config["input_size"][1:]), tuple(config["mean"]), tuple(config["std"]))
    device = best_device()
    model = model.eval().to(device)
    return torch_encoder(
        f"timm:{name}",
        TorchModel(_timm_features(model), prepare, device=device),
        fingerprint=f"timm/{digest(model.state_dict())}",
        prefix=getattr(model, "num_prefix_tokens", 0),
    )


def _timm_features(model: Any) -> Any:
    """The model's unpooled features; maps with channels last are turned to channels first."""

    def forward(pictures: Any) -> Any:
        features = model.forward_features(pictures)
        last = features.ndim == 4 and features.shape[1] != model.num_features
        return features.permute(0, 3, 1, 2) if last else features

    return forward


def hf_encoder(repo: str) -> FrameEncoder:
    """`hf:REPO`: a vision model of transformers, or the vision half of a two-tower one; also a folder."""
    require_torch("hf:REPO")
    try:
        from transformers import AutoModel
        from transformers.utils import cached_file, logging
    except ImportError as error:
        raise MissingExtra("models", "hf:REPO") from error
    logging.disable_progress_bar()
    try:
        # The user names the repository; transformers runs no code of it and reads safetensors first.
        model = AutoModel.from_pretrained(repo)  # nosec B615
        found = cached_file(repo, "preprocessor_config.json", _raise_exceptions_for_missing_entries=False)
    except (OSError, ValueError, ImportError, RuntimeError) as error:
        raise EncoderError(f"hf:{repo}: cannot be loaded ({_first_line(error)})") from error
    model = getattr(model, "vision_model", model)
    config = model.config
    if not hasattr(config, "num_channels"):
        raise EncoderError(f"hf:{repo}: {type(model).__name__} does not take pictures")
    settings = json.loads(Path(found).read_text()) if found else {}
    prepare = _hf_preparation(settings, getattr(config, "image_size", 224))
    device = best_device()
    model = model.eval().to(device)

    def forward(pictures: Any) -> Any:
        return model(pixel_values=pictures).last_hidden_state

    return torch_encoder(
        f"hf:{repo}",
        TorchModel(forward, prepare, device=device),
        fingerprint=f"hf/{digest(model.state_dict())}",
        grid=_grid(prepare.size, getattr(config, "patch_size", None)),
    )


def _hf_preparation(settings: dict[str, Any], image_size: Any) -> Preparation:
    """As preprocessor_config.json says; what it does not say is the model's own input size and ImageNet's."""
    size: Any = settings.get("crop_size") if settings.get("do_center_crop") else settings.get("size")
    size = size or image_size
    if isinstance(size, dict):
        shortest = size.get("shortest_edge")
        size = (size.get("height", shortest), size.get("width", shortest))
    height, width = (size, size) if isinstance(size, int) else size
    mean, std = (0.0,) * 3, (1.0,) * 3
    if settings.get("do_normalize", True):
        mean, std = (
            tuple(settings.get(f"image_{n}", d)) for n, d in zip(("mean", "std"), IMAGENET, strict=True)
        )
    scale = settings.get("rescale_factor", 1 / 255) if settings.get("do_rescale", True) else 1.0
    return Preparation((int(height), int(width)), mean, std, scale)


def _grid(size: tuple[int, int], patch: Any) -> int | None:
    """How many patches a picture has, if the config tells."""
    return (size[0] // patch) * (size[1] // patch) if isinstance(patch, int) else None


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def _import_timm() -> Any:
    """timm. Its models need no torchvision, but importing it does: where torchvision is missing, or was built
    for another torch, placeholders stand in for it during that one import."""
    try:
        import torchvision  # noqa: F401
    except (ImportError, RuntimeError, OSError):
        stand_in: list[Any] = [_Placeholders()]
    else:
        stand_in = []
    sys.meta_path[:0] = stand_in
    try:
        import timm

        return timm
    except ImportError as error:
        raise MissingExtra("timm", "timm:NAME") from error
    finally:
        if stand_in:
            sys.meta_path.remove(stand_in[0])
            for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
                del sys.modules[name]


class _Placeholder(type):
    """A class whose every attribute is another such class: enough to be imported, subclassed and compared."""

    def __getattr__(cls, name: str) -> type:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Placeholder(name, (), {})


class _Placeholders(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds torchvision and everything in it, and fills it with placeholders."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name.partition(".")[0] != "torchvision":
            return None
        return importlib.util.spec_from_loader(name, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        module.__getattr__ = lambda name: getattr(_Placeholder("torchvision", (), {}), name)  # type: ignore[method-assign]
