"""Encoders by name."""

import os
import re
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from importlib import import_module

from seasync import plugins
from seasync.encoders.encoder import Encoder, FrameEncoder, class_and_patches, class_token, onnx_encoder
from seasync.errors import EncoderError
from seasync.options import TrainKind, values

DEFAULT = "dinov2-small"
WHOLE_FRAMES = "0cd026c8"  # in fingerprints of DINOv2 on whole frames


def _dinov2(name: str, size: str) -> Encoder:
    from seasync.encoders.dinov2 import Dinov2, MovingPatchEncoder
    from seasync.encoders.weights import DINOV2_SMALL

    if size and not size.isdigit():
        raise EncoderError(f"{name}@{size}: the input size must be a whole number of pixels, such as @168")
    pixels = int(size or 224)
    named = f"{name}@{size}" if size else name
    model = Dinov2(pixels)
    if name == DEFAULT:
        return MovingPatchEncoder(named, model, fingerprint=f"{name}/{DINOV2_SMALL.sha256[:8]}/{pixels}/flow")
    # The fingerprints of before the still part was encoded once: seas made then open with these encoders.
    before = name.replace("-whole", "")
    fingerprint = f"{before}/{WHOLE_FRAMES}/{pixels}"
    split = class_token if name.endswith("-cls") else class_and_patches
    return FrameEncoder(named, model, dimension=384, fingerprint=fingerprint, split=split, detects_cuts=True)


def _tinyvit(name: str, size: str) -> FrameEncoder:
    from seasync.encoders.weights import TINYVIT_5M, fetch

    if size:
        raise EncoderError(f"{name}@{size}: this encoder has one input size, 224; leave @{size} out")
    return onnx_encoder(name, fetch(TINYVIT_5M), f"{name}/{TINYVIT_5M.sha256[:8]}")


def _pose(name: str, size: str) -> Encoder:
    from seasync.encoders.pose import PoseEncoder

    if size:
        raise EncoderError(f"{name}@{size}: {name} takes pictures of any size; leave @{size} out")
    return PoseEncoder(heavy=name == "pose-heavy")


_BUILT_IN: dict[str, Callable[[str, str], Encoder]] = {
    **dict.fromkeys(("dinov2-small", "dinov2-small-whole", "dinov2-small-cls"), _dinov2),
    "tinyvit-5m": _tinyvit,
    **dict.fromkeys(("pose", "pose-heavy"), _pose),
}


def _lazily(module: str, function: str) -> Callable[[str], Encoder]:
    """A maker whose module, and what it needs, is imported when it is first asked."""

    def make(rest: str) -> Encoder:
        encoder: Encoder = getattr(import_module(f"seasync.encoders.{module}"), function)(rest)
        return encoder

    return make


_SCHEMES: dict[str, Callable[[str], Encoder]] = {
    "onnx": _lazily("encoder", "onnx_file_encoder"),
    "timm": _lazily("torch_models", "timm_encoder"),
    "hf": _lazily("torch_models", "hf_encoder"),
    "torch": _lazily("torch_models", "torch_file_encoder"),
    "features": _lazily("encode", "features_encoder"),
    "byol": _lazily("temporal", "byol_encoder"),
}
# `A+nms:FILE` stands on A, `nms:FILE` on the encoder it was trained on.
_TEMPORAL = tuple(f"{kind}:" for kind in values(TrainKind))


def register(scheme: str, make: Callable[[str], Encoder]) -> None:
    """Let `get_encoder("SCHEME:REST")` make an encoder by `make(REST)`."""
    _SCHEMES[scheme] = make


def names() -> list[str]:
    """Names of the built-in encoders and the forms of the others."""
    schemes = (*_SCHEMES, *values(TrainKind), *plugins.names("encoders"))
    return [*_BUILT_IN, "dinov2-small@SIZE", "dinov2-small+pose", *(f"{scheme}:…" for scheme in schemes)]


def _parts(name: str) -> list[str]:
    """The terms of a sum; a plus that no encoder's name follows belongs to a file's name."""
    known = [*_BUILT_IN, *(f"{scheme}:" for scheme in (*_SCHEMES, *plugins.names("encoders"))), *_TEMPORAL]
    return re.split(rf"\+(?={'|'.join(map(re.escape, known))})", name)


def _composed(parts: list[str]) -> Encoder:
    """Encoders side by side; a temporal one stands on the one before it."""
    from seasync.encoders.encode import SumEncoder
    from seasync.encoders.temporal import temporal_encoder

    sides: list[Encoder] = []
    for part in parts:
        if part.startswith(_TEMPORAL):
            kind, _, rest = part.partition(":")
            sides.append(temporal_encoder(kind, sides.pop() if sides else None, rest))
        else:
            sides.append(get_encoder(part))
    return SumEncoder(sides) if len(sides) > 1 else sides[0]


def get_encoder(name: str = DEFAULT) -> Encoder:
    """The encoder of this name, with its weights loaded (fetched first, if need be).

    It is kept for the next call, as long as the files that it is made of do not change.

    Parameters
    ----------
    name
        Such as ``dinov2-small``, ``dinov2-small+pose`` or ``onnx:FILE``.

    Raises
    ------
    EncoderError
        If no encoder has this name, or its model cannot be loaded.

    Examples
    --------
    >>> seasync.get_encoder("dinov2-small").name
    'dinov2-small'
    """
    return loaded(name, _written(name))


def encoder_for(name: str, fingerprint: str) -> Encoder:
    """The encoder `name` as it was when encodings with this fingerprint were made.

    Before the still part of the picture was encoded once, `dinov2-small` encoded whole frames. What was made
    then keeps its features under that name; the encoder that goes with them is `dinov2-small-whole`.
    """
    return get_encoder(name_for(name, fingerprint))


def name_for(name: str, fingerprint: str) -> str:
    """The name by which `get_encoder` gives the encoder of this name and fingerprint."""
    if f"dinov2-small/{WHOLE_FRAMES}/" not in fingerprint:
        return name
    return re.sub(r"\bdinov2-small(?=$|[@+])", "dinov2-small-whole", name)


def _written(name: str) -> tuple[tuple[int, int], ...]:
    """When the files in a name were written, and how large they are."""
    written = []
    for part in _parts(name):
        rest = part.partition(":")[2]
        for file in (rest, rest.rpartition("@")[0]):  # nms:FILE, carl:FILE@WINDOW/STRIDE
            with suppress(OSError, ValueError):
                stat = os.stat(file)
                written.append((stat.st_mtime_ns, stat.st_size))
    return tuple(written)


@lru_cache(maxsize=4)
def loaded(name: str, written: tuple[tuple[int, int], ...]) -> Encoder:
    """The encoder of this name, of files written then."""
    if len(parts := _parts(name)) > 1 or parts[0].startswith(_TEMPORAL):
        return _composed(parts)
    scheme, colon, rest = name.partition(":")
    if colon and scheme in _SCHEMES:
        return _SCHEMES[scheme](rest)
    plain, at, size = name.partition("@")
    if plain in _BUILT_IN and not colon:
        if at and not size:
            raise EncoderError(f"{name}: no size follows the @; expected {plain}, or dinov2-small@168")
        return _BUILT_IN[plain](plain, size)
    if colon and (plugin := plugins.find("encoders", scheme)):
        return plugin.run(lambda make: _expect_encoder(name, make(rest)))
    raise EncoderError(f"{name}: no such encoder; expected one of {', '.join(names())}")


def _expect_encoder(name: str, made: object) -> Encoder:
    if not isinstance(made, Encoder):
        raise EncoderError(f"{name}: expected an encoder (docs/plugins.md), got {made!r}")
    return made
