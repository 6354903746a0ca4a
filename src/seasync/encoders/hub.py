"""`timm:NAME` and `hf:REPO`: image models of the two large hubs, prepared for as their own configs say.

Pictures are squashed to the model's input rather than cropped: what moves is often at the side.
"""

from __future__ import annotations

import importlib.abc
import importlib.util
import json
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

from seasync.encoders.encoder import FrameEncoder
from seasync.encoders.torch_model import (
    IMAGENET,
    Preparation,
    TorchModel,
    best_device,
    digest,
    require_torch,
    torch_encoder,
)
from seasync.errors import EncoderError, MissingExtra


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
