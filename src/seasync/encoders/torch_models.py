"""Image models that run in torch, and `torch:FILE`: TorchScript and exported programs."""

import hashlib
import json
import math
import re
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seasync.encoders.encoder import FrameEncoder, Split, find_file
from seasync.encoders.onnx import allowed_threads
from seasync.encoders.weights import file_hash
from seasync.encoding import Floats
from seasync.errors import EncoderError, MissingExtra
from seasync.files import Location, exists, fetch

IMAGENET = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


@dataclass(frozen=True)
class Preparation:
    """What a model wants done to 8-bit RGB: its (height, width), then · scale, − mean, / std."""

    size: tuple[int, int] = (224, 224)
    mean: tuple[float, ...] = IMAGENET[0]
    std: tuple[float, ...] = IMAGENET[1]
    scale: float = 1 / 255

    @classmethod
    def from_json(cls, file: Path) -> "Preparation":
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

    def __init__(self, forward: Callable[[Any], Any], prepare: Preparation, device: str) -> None:
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
    name: str, model: TorchModel, fingerprint: str, *, prefix: int | None = None, grid: int | None = None
) -> FrameEncoder:
    """A frame encoder on `model`; the places of its map, or its last tokens, are its patches.

    prefix  how many tokens come before the patches (class, registers), or
    grid    how many patches there are; by default the largest square that fits
    """
    height, width = model.input_size
    try:
        output = model.run(np.zeros((2, height, width, 3), np.uint8))
    except Exception as error:  # whatever the model's own code raises
        refused = f"the model does not take pictures of {height} × {width} ({_first_line(error)})"
        raise EncoderError(f"{name}: {refused}") from error
    if output.ndim not in (2, 3, 4) or len(output) != 2:
        raise EncoderError(
            f"{name}: expected one vector, map or token list per picture, got {output.shape[1:]}"
        )
    if prefix is None and output.ndim == 3:
        prefix = max(0, output.shape[1] - (grid or math.isqrt(output.shape[1]) ** 2))
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
    path = find_file("torch", file, "TorchScript or a program of torch.export")
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
    model = TorchModel(forward, prepare, device)
    return torch_encoder(f"torch:{file}", model, f"torch/{file_hash(path)[:16]}")


# `timm:NAME` and `hf:REPO`: image models of the two large hubs, prepared for as their own configs say.


def timm_encoder(name: str) -> FrameEncoder:
    """`timm:NAME`: a pretrained timm model, `local-dir:FOLDER` for one on disk."""
    require_torch("timm:NAME", extra="timm")
    try:
        import timm
    except ImportError as error:
        raise MissingExtra("timm", "timm:NAME") from error
    except (RuntimeError, OSError) as error:  # a torchvision that was built for another torch
        raise EncoderError(
            f"timm:{name}: timm cannot be imported ({_first_line(error)}); install a torch and a torchvision "
            "that belong together, such as those of pip install 'seasync[timm]'"
        ) from error
    try:
        model = timm.create_model(name, pretrained=True, num_classes=0)
    # Unknown names, no access, files that do not fit: all are errors of timm's and the hub's own.
    except Exception as error:
        raise EncoderError(f"timm:{name}: cannot be loaded ({_first_line(error)})") from error
    config = timm.data.resolve_model_data_config(model)
    prepare = Preparation(tuple(config["input_size"][1:]), tuple(config["mean"]), tuple(config["std"]))
    device = best_device()
    model = model.eval().to(device)

    def forward(pictures: Any) -> Any:
        """The model's unpooled features; maps with channels last are turned to channels first."""
        features = model.forward_features(pictures)
        last = features.ndim == 4 and features.shape[1] != model.num_features
        return features.permute(0, 3, 1, 2) if last else features

    prefix = getattr(model, "num_prefix_tokens", 0)
    torch_model = TorchModel(forward, prepare, device)
    return torch_encoder(f"timm:{name}", torch_model, f"timm/{digest(model.state_dict())}", prefix=prefix)


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

    height, width = prepare.size
    patch = getattr(config, "patch_size", None)
    grid = (height // patch) * (width // patch) if isinstance(patch, int) else None
    torch_model = TorchModel(forward, prepare, device)
    return torch_encoder(f"hf:{repo}", torch_model, f"hf/{digest(model.state_dict())}", grid=grid)


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
        mean = tuple(settings.get("image_mean", IMAGENET[0]))
        std = tuple(settings.get("image_std", IMAGENET[1]))
    scale = settings.get("rescale_factor", 1 / 255) if settings.get("do_rescale", True) else 1.0
    return Preparation((int(height), int(width)), mean, std, scale)


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


# Torch checkpoints, read as weights only: nothing in them is run.


class _Mapping:
    """Stands in for a kind of dict that is saved beside weights: its values come out in a plain one."""

    def __new__(cls, *_: Any) -> Any:
        return OrderedDict()  # torch fills no other subclass of dict


class _Ignored:
    """Stands in for what else is saved beside weights; it keeps nothing."""

    def __init__(self, *_: Any) -> None: ...

    def __setstate__(self, _: Any) -> None: ...


_BESIDE_WEIGHTS = [
    (_Mapping, "easydict.EasyDict"),
    (_Mapping, "lightning.fabric.utilities.data.AttributeDict"),
    (_Mapping, "pytorch_lightning.utilities.parsing.AttributeDict"),
    (_Mapping, "argparse.Namespace"),
    (_Ignored, "numpy.dtype"),
    (_Ignored, "numpy.core.multiarray.scalar"),
    (_Ignored, "numpy._core.multiarray.scalar"),
]


def read_checkpoint(file: Path) -> Any:
    """What torch.save wrote: containers, numbers and tensors; settings beside them as plain mappings.

    Raises
    ------
    EncoderError
        If it is no checkpoint, or asks for anything that weights do not need, such as code to run.
    """
    torch = require_torch(f"{file}, a torch checkpoint,")
    try:
        with torch.serialization.safe_globals(_BESIDE_WEIGHTS), warnings.catch_warnings(action="ignore"):
            return torch.load(file, map_location="cpu", weights_only=True)
    except Exception as error:  # pickle, zip and torch errors of a file that is something else
        parts = str(error).split("\n\n")  # the reason, and around it how to run what is in the file
        said = " ".join(parts[1:-1] or parts).strip()
        if asked_for := re.search(r"GLOBAL (\S+) w", said):
            refused = f"it asks for {asked_for[1]}, which no weights need"
            raise EncoderError(f"{file}: refused as a checkpoint: {refused}") from error
        kind = type(error).__name__
        raise EncoderError(f"{file}: not a torch checkpoint ({kind}: {said})") from error


def tensors(checkpoint: Any, prefix: str = "") -> Iterator[tuple[str, NDArray[Any]]]:
    """All tensors in nested mappings as arrays, with their dotted names."""
    import torch

    for name, value in checkpoint.items() if isinstance(checkpoint, Mapping) else ():
        if isinstance(value, torch.Tensor):
            half = value.dtype == torch.bfloat16  # unknown to numpy
            yield f"{prefix}{name}", (value.float() if half else value).detach().numpy()
        elif isinstance(value, Mapping):
            yield from tensors(value, f"{prefix}{name}.")
