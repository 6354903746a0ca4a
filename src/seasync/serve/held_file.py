"""Send the bytes of the very file that was checked, whatever is put in its place meanwhile."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path
from typing import Any, BinaryIO

from starlette.responses import FileResponse
from starlette.types import Receive, Scope, Send

from seasync.errors import ServeError


def open_held(path: Path) -> BinaryIO:
    """Open a file by its real path, and make sure that it is the file opened.

    Somebody who can write to a served folder could put a link in place of a file, or of a folder on its
    path, after the path was resolved and found to lie inside. On Linux an open file shows where it really
    lies; elsewhere only a link in place of the file itself is noticed.

    Parameters
    ----------
    path
        A path without links, as `Roots.resolve` returns it.

    Raises
    ------
    ServeError
        If the path leads somewhere else now, or to something that is not a file.
    """
    # Without waiting: it may have become a FIFO.
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        number = os.open(path, flags | getattr(os, "O_BINARY", 0))
    except OSError as error:
        raise _changed(path) from error
    held = os.fdopen(number, "rb")
    leads_here = sys.platform != "linux" or os.readlink(f"/proc/self/fd/{number}") == str(path)
    if not leads_here or not stat.S_ISREG(os.fstat(number).st_mode):
        held.close()
        raise _changed(path)
    return held


def _changed(path: Path) -> ServeError:
    return ServeError(f"{path.name}: this file has been moved or replaced; try again", status=404)


class HeldFileResponse(FileResponse):
    """`FileResponse` for a file that users can reach: sends what `open_held` has opened."""

    def __init__(self, path: Path, **options: Any) -> None:
        self._held = open_held(path)
        again = f"/proc/self/fd/{self._held.fileno()}" if sys.platform == "linux" else path
        super().__init__(again, stat_result=os.fstat(self._held.fileno()), **options)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._held:
            await super().__call__(scope, receive, send)
