"""Find, in a sea of footage, the clip that moves in step with yours, and sync it frame by frame."""

from __future__ import annotations

import sys
import warnings
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from seasync.clip import Clip
from seasync.errors import SeasyncError
from seasync.pair import align

if TYPE_CHECKING:
    __version__: str
    from seasync import render, sample
    from seasync.alignment import MOTION, PAPER, Alignment, Recipe, Warp
    from seasync.encoders import encode_clip, get_encoder
    from seasync.encoders.body import Body, find_body
    from seasync.encoding import Encoding
    from seasync.film import FoundSpan, find
    from seasync.group import Group, align_group
    from seasync.sea.sea import Sea
    from seasync.sea.search import Match

_HOMES = {
    "MOTION": "seasync.alignment",
    "PAPER": "seasync.alignment",
    "Alignment": "seasync.alignment",
    "Body": "seasync.encoders.body",
    "Encoding": "seasync.encoding",
    "FoundSpan": "seasync.film",
    "Group": "seasync.group",
    "Match": "seasync.sea.search",
    "Recipe": "seasync.alignment",
    "Sea": "seasync.sea.sea",
    "Warp": "seasync.alignment",
    "align_group": "seasync.group",
    "encode_clip": "seasync.encoders",
    "find": "seasync.film",
    "find_body": "seasync.encoders.body",
    "get_encoder": "seasync.encoders",
}
_ROOMS = ("render", "sample")

__all__ = [
    "MOTION",
    "PAPER",
    "Alignment",
    "Body",
    "Clip",
    "Encoding",
    "FoundSpan",
    "Group",
    "Match",
    "Recipe",
    "Sea",
    "SeasyncError",
    "Warp",
    "align",
    "align_group",
    "encode_clip",
    "find",
    "find_body",
    "get_encoder",
    "render",
    "sample",
]


def __getattr__(name: str) -> Any:
    """What needs onnxruntime or PyAV is loaded when it is first used."""
    if name == "__version__":
        from importlib.metadata import version

        return version("seasync")
    if name in _ROOMS:
        return import_module(f"seasync.{name}")
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'seasync' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


class _FormerRoom(ModuleType):
    """`from seasync.align import …`, as it was before the room was named `seasync.alignment`."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        warnings.warn(
            f"seasync.align is the function alone now: import {name} from seasync.alignment",
            DeprecationWarning,
            stacklevel=2,
        )
        return getattr(import_module("seasync.alignment"), name)


# The import statement looks here first, so `seasync.align` itself stays the function.
sys.modules["seasync.align"] = _FormerRoom("seasync.align")
