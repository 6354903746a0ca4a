"""Names that a package offers, each loaded from its module when it is first used.

Heavy libraries (onnxruntime, PyAV, FastAPI, torch) then load only where something needs them, so that
``seasync --help`` answers at once.
"""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def loader(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """A package's ``__getattr__``.

    Parameters
    ----------
    package
        Name of the package.
    homes
        For each name that the package offers, the module that defines it, below the package or anywhere.
    """

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = homes[name]
        value = getattr(import_module(home if home.startswith("seasync.") else f"{package}.{home}"), name)
        setattr(sys.modules[package], name, value)  # the next look finds it without a call
        return value

    return load
