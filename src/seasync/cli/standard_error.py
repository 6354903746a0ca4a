"""`--quiet` and `--log-file`: what is shown on standard error, and a copy of it."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TextIO

_SECRET = ("--token", "--storage-option")
_SHOWN_ANYWAY = "failed: "  # files that could not be used: no success to be quiet about


class StandardError:
    """A stream in the place of standard error.

    quiet     shows only which files failed, and the error that ends a command
    log_file  whole lines are appended to it, with the time; moving bars are not
    """

    def __init__(self, stream: TextIO, *, quiet: bool = False, log_file: Path | None = None) -> None:
        self.stream = stream
        self._quiet = quiet
        self._log = log_file.open("a", encoding="utf-8", errors="backslashreplace") if log_file else None
        self._rest = ""
        self._note(f"$ seasync {' '.join(_without_secrets(sys.argv[1:]))}")

    def write(self, text: str) -> int:
        *lines, self._rest = (self._rest + text).split("\n")
        for line in lines:
            if line.strip() and "\x1b" not in line:
                self._note(line)
            if self._quiet and line.startswith(_SHOWN_ANYWAY):
                self.stream.write(f"{line}\n")
        if not self._quiet:
            self.stream.write(text)
        return len(text)

    def end(self, text: str) -> None:
        """Show the line that ends a command."""
        self._note(text)
        print(text, file=self.stream)

    def _note(self, line: str) -> None:
        if self._log:
            self._log.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {line}\n")
            self._log.flush()

    def flush(self) -> None:
        self.stream.flush()

    def isatty(self) -> bool:
        return not self._quiet and self.stream.isatty()

    def fileno(self) -> int:
        return self.stream.fileno()

    def close(self) -> None:
        self.stream.close()

    @property
    def encoding(self) -> str:
        return self.stream.encoding

    @property
    def errors(self) -> str | None:
        return self.stream.errors


def _without_secrets(arguments: list[str]) -> list[str]:
    kept = []
    for before, argument in zip(["", *arguments], arguments, strict=False):
        name, equals, _ = argument.partition("=")
        if equals and name in _SECRET:
            kept.append(f"{name}=***")
        else:
            kept.append("***" if before in _SECRET else argument)
    return kept
