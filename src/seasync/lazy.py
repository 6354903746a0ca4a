"""Names that a package offers, each loaded from its module when it is first used.

Heavy libraries (onnxruntime, PyAV, FastAPI, torch) then load only where something needs them, so that
``seasync --help`` answers at once.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def loader(package: str, homes: Mapping[str, Sequence[str]]) -> Callable[[str], Any]:
    """A package's ``__getattr__``.

    Parameters
    ----------
    package
        Name of the package.
    homes
        The names that the package offers, by the module below it that defines them.
    """

    home_of = {name: home for home, names in homes.items() for name in names}

    def load(name: str) -> Any:
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"{package}.{home_of[name]}"), name)
        setattr(sys.modules[package], name, value)  # the next look finds it without a call
        return value

    return load
