"""Reports of damaged files: a warning, or an entry in a log where one collects them.

`warnings.catch_warnings` changes the whole process, so it cannot tell two threads that read videos apart.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextvars import ContextVar, copy_context
from typing import ParamSpec, TypeVar

from seasync.errors import PartlyDecoded

P = ParamSpec("P")
T = TypeVar("T")
_reports: ContextVar[list[str] | None] = ContextVar("seasync_damage", default=None)


class DamageLog:
    """Collects what functions called through `run` report, also from threads they start with `ahead`."""

    def __init__(self) -> None:
        self.reports: list[str] = []
        self._context = copy_context()
        self._context.run(_reports.set, self.reports)

    def run(self, function: Callable[P, T], *args: P.args, **options: P.kwargs) -> T:
        """Call a function."""
        return self._context.run(function, *args, **options)


def report_damage(text: str, *, stacklevel: int) -> None:
    """Put a report into the log, or warn `PartlyDecoded` where there is none."""
    log = _reports.get()
    if log is None:
        warnings.warn(text, PartlyDecoded, stacklevel=stacklevel + 1)
    else:
        log.append(text)
