"""The command line: one small module per command; each parses, calls, prints."""

from __future__ import annotations

import io
import os
import sys
import warnings
from importlib import import_module

import typer

from seasync.errors import SeasyncError

app = typer.Typer(
    name="seasync",
    help="Find, in a sea of footage, the clip that moves in step with yours, and sync it frame by frame.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_COMMANDS = (
    "demo",
    "add",
    "search",
    "align",
    "find",
    "render",
    "export",
    "transfer",
    "replace",
    "sea",
    "calibrate",
    "evaluate",
    "train",
    "serve",
    "models",
    "version",
)

for _name in _COMMANDS:
    _found = getattr(import_module(f"seasync.cli.{_name}"), _name)
    if isinstance(_found, typer.Typer):
        app.add_typer(_found, name=_name)
    else:
        app.command(_name)(_found)


def main() -> None:
    """Run the command line. What goes wrong is one line on stderr and exit code 1."""
    warnings.showwarning = _one_line_warning
    if isinstance(sys.stdout, io.TextIOWrapper):  # file names may hold bytes that are not UTF-8
        sys.stdout.reconfigure(errors="surrogateescape" if os.name == "posix" else "backslashreplace")
    try:
        app()
    except SeasyncError as error:
        print(f"seasync: {error}", file=sys.stderr)
        sys.exit(1)
    except BrokenPipeError:  # the reader of our output went away, as `| head` does
        sys.stderr.close()
        sys.exit(0)
    except OSError as error:  # a full disk, a folder without permission: the system's own words will do
        named = f"{error.filename}: " if error.filename else ""
        print(f"seasync: {named}{error.strerror or error}", file=sys.stderr)
        sys.exit(1)


def _one_line_warning(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
    print(f"seasync: warning: {message}", file=sys.stderr)
