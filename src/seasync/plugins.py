"""What other installed packages add to Seasync, through entry points (docs/plugins.md).

A package names a function in one of the groups `seasync.encoders`, `seasync.timelines`, `seasync.datasets`
and `seasync.storage`. Built-in names come first: a package cannot replace one.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Literal, TypeVar

from seasync.errors import BrokenPlugin, PluginError, SeasyncError

Kind = Literal["encoders", "timelines", "datasets", "storage"]
KINDS: tuple[Kind, ...] = ("encoders", "timelines", "datasets", "storage")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Plugin:
    """A function that a package offers under a name."""

    kind: Kind
    name: str
    package: str
    function: Callable[..., Any]

    def run(self, work: Callable[[Callable[..., Any]], Result]) -> Result:
        """Give the function to `work` and return what it returns.

        Raises
        ------
        PluginError
            If anything but an error of Seasync is raised.
        """
        try:
            return work(self.function)
        except SeasyncError:
            raise
        except Exception as error:
            said = f"{type(error).__name__}: {error}".splitlines()[0]
            raise PluginError(
                f"{self.name}: the package {self.package} failed ({said}); report it to its authors"
            ) from error


def names(kind: Kind) -> tuple[str, ...]:
    """The names that installed packages add, sorted. Nothing of theirs is imported."""
    return tuple(sorted(_installed(kind)))


def described() -> list[str]:
    """Each plugin with its kind and package, such as `gait (encoders, seasync-gait 1.0)`."""
    return [
        f"{point.name} ({kind}, {point.dist.name} {point.dist.version})" if point.dist else point.name
        for kind in KINDS
        for _, point in sorted(_installed(kind).items())
    ]


@lru_cache
def find(kind: Kind, name: str) -> Plugin | None:
    """What is installed under this name.

    None if nothing is, or if it does not load: a warning then says why, once.
    """
    point = _installed(kind).get(name)
    if point is None:
        return None
    package = point.dist.name if point.dist else point.module
    try:
        function = point.load()
        if not callable(function):
            raise TypeError(f"{point.value} is not a function")
    except Exception as error:  # noqa: BLE001  whatever the package does when it is imported
        said = f"{type(error).__name__}: {error}".splitlines()[0]
        text = f"{kind} plugin {name!r} of the package {package} does not load and is ignored ({said})"
        warnings.warn(text, BrokenPlugin, stacklevel=2)
        return None
    return Plugin(kind, name, package, function)


@lru_cache
def _installed(kind: Kind) -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=f"seasync.{kind}")}
