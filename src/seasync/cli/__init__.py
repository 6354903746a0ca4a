"""The command line: each command parses, calls, prints."""

import codecs
import errno
import io
import os
import sys
import warnings
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from seasync.cli.output import StandardError, end_in_order, exit_code, print, print_downloads
from seasync.cli.parameters import add_command
from seasync.errors import SeasyncError

app = typer.Typer(
    name="seasync",
    help="Find, in a sea of footage, the clip that moves in step with yours, and sync it frame by frame.",
    epilog="Examples:\n\nseasync align mine.mp4 reference.mp4\n\nseasync demo",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)

_PANELS = {
    "Two videos": ("pair.align", "pair.render", "pair.export", "pair.transfer", "group.group", "group.reps"),
    "A sea of footage": (
        *("sea.add", "search.search", "search.find", "search.replace", "search.sound"),
        *("sea.sea", "sea.calibrate", "serve.serve", "serve.mcp"),
    ),
    "Encoders and measurements": ("about.models", "evaluate.train", "evaluate.evaluate"),
    "About Seasync": ("about.demo", "about.doctor", "about.version"),
}

for _panel, _places in _PANELS.items():
    for _place in _places:
        _file, _, _name = _place.partition(".")
        _module = import_module(f"seasync.cli.{_file}")
        _found = getattr(_module, _name)
        if isinstance(_found, typer.Typer):
            app.add_typer(_found, name=_name, rich_help_panel=_panel)
        else:
            add_command(app, _found, _name, panel=_panel)


def _print_version(asked: bool) -> None:
    if asked:
        import seasync

        print(f"seasync {seasync.__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Show results and errors only: no progress, no warnings.")
    ] = False,
    log_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Append what is shown on stderr to this file, with the time."),
    ] = None,
) -> None:
    """Options of the program itself, before the command's name."""
    if quiet or log_file:
        sys.stderr = StandardError(sys.stderr, quiet=quiet, log_file=log_file)


# Usage errors, by the class that typer itself uses: newer versions bring their own copy of click.
_UsageError: Any = typer.BadParameter.__mro__[1]


def main() -> None:
    """Run the command line: exit code 0, 2 for bad usage, 1 with one line on stderr for a failure."""
    warnings.showwarning = _one_line_warning
    print_downloads()
    end_in_order()
    codecs.register_error("seasync", _write_anyway)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="seasync")
    try:
        sys.exit(app(standalone_mode=False))
    except _UsageError as error:
        if isinstance(sys.stderr, StandardError):
            sys.stderr = sys.stderr.stream
        error.show()
        sys.exit(2)
    except typer.Abort as error:
        _end("interrupted")
        sys.exit(exit_code(error.__cause__))
    except SeasyncError as error:
        _end(str(error))
        sys.exit(1)
    except BrokenPipeError:  # the reader of our output went away, as `| head` does
        sys.stderr.close()
        sys.exit(0)
    except OSError as error:  # a full disk, a folder without permission: the system's own words, and advice
        named = f"{error.filename}: " if error.filename else ""
        _end(f"{named}{error.strerror or error}{_advice(error)}")
        sys.exit(1)


def _end(text: str) -> None:
    """Say why a command ends, in one line that `--quiet` does not hide."""
    if isinstance(sys.stderr, StandardError):
        sys.stderr.end(f"seasync: {text}")
    else:
        print(f"seasync: {text}", file=sys.stderr)


def _advice(error: OSError) -> str:
    """What to do about an error of the system, where its own words do not say enough."""
    import tempfile

    from seasync.files import cache_folder

    cache = cache_folder()
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        places = "" if error.filename else " where you write to,"
        return f"; make room{places} in {cache} (SEASYNC_CACHE) or in {tempfile.gettempdir()} (TMPDIR)"
    forbidden = error.errno in (errno.EACCES, errno.EPERM, errno.EROFS)
    if forbidden and error.filename and Path(str(error.filename)).is_relative_to(cache):
        return "; set SEASYNC_CACHE to a folder that you can write to"
    return ""


def _write_anyway(error: UnicodeError) -> tuple[str | bytes, int]:
    """What a file name has that the terminal's encoding has not: its bytes if it is no UTF-8, else a code."""
    try:
        return codecs.lookup_error("surrogateescape" if os.name == "posix" else "backslashreplace")(error)
    except UnicodeError:
        return codecs.backslashreplace_errors(error)


def _one_line_warning(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
    print(f"seasync: warning: {message}", file=sys.stderr)
