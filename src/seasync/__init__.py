"""Find, in a sea of footage, the clip that moves in step with yours, and sync it frame by frame."""

import sys
import warnings
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from seasync.clip import Clip
from seasync.errors import SeasyncError
from seasync.lazy import loader
from seasync.pair import align

if TYPE_CHECKING:
    __version__: str
    from seasync import render, sample
    from seasync.alignment import MOTION, PAPER, Alignment, Recipe, Warp
    from seasync.encoders import encode_clip, get_encoder
    from seasync.encoders.pose import Body, find_body
    from seasync.encoding import Encoding
    from seasync.film import FoundSpan, find
    from seasync.group import Group, RepeatedMovement, align_group, find_repetitions
    from seasync.sea.sea import Sea
    from seasync.sea.search import Match

_HOMES = {
    "alignment": ("MOTION", "PAPER", "Alignment", "Recipe", "Warp"),
    "encoders": ("encode_clip", "get_encoder"),
    "encoders.pose": ("Body", "find_body"),
    "encoding": ("Encoding",),
    "film": ("FoundSpan", "find"),
    "group": ("Group", "RepeatedMovement", "align_group", "find_repetitions"),
    "sea.sea": ("Sea",),
    "sea.search": ("Match",),
}
_load = loader(__name__, _HOMES)

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
    "RepeatedMovement",
    "Sea",
    "SeasyncError",
    "Warp",
    "align",
    "align_group",
    "encode_clip",
    "find",
    "find_body",
    "find_repetitions",
    "get_encoder",
    "render",
    "sample",
]


def __getattr__(name: str) -> Any:
    """What needs heavy libraries is loaded when it is first used."""
    if name == "__version__":
        from importlib.metadata import version

        return version("seasync")
    return import_module(f"seasync.{name}") if name in ("render", "sample") else _load(name)


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
