"""Files that appear whole or not at all, an older one of the same name staying until then."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from seasync.errors import RenderError


@contextmanager
def whole(file: str | Path) -> Iterator[Path]:
    """A path to write to, beside `file`: it gets that name if the block ends well, and goes if it does not.

    with whole("edit.otio") as part:
        part.write_text(text)
    """
    path = Path(file)
    expect_place(path)
    part = path.with_name(f".{path.stem}.{os.getpid()}.part{path.suffix}")
    try:
        yield part
        os.replace(part, path)
    except OSError as error:
        raise RenderError(f"{file}: cannot be written ({error.strerror or error})") from error
    finally:
        part.unlink(missing_ok=True)


def expect_place(file: str | Path, *, sources: Iterable[str | Path] = ()) -> None:
    """An error unless a file of this name can be made, or made anew without losing one of the `sources`.

    Worth asking before long work.
    """
    path = Path(file)
    if not path.parent.is_dir():
        raise RenderError(f"{file}: there is no folder {path.parent}; make it, or name another")
    if path.exists() and not path.is_file():
        raise RenderError(f"{file}: is not a file; name one to write to")
    if path.exists() and any(Path(source).exists() and path.samefile(source) for source in sources):
        raise RenderError(f"{file}: would be written over what it is made from; name another file")
    if not os.access(path.parent, os.W_OK):
        raise RenderError(f"{file}: the folder {path.parent} cannot be written to; name another")


def write_text(file: str | Path, text: str) -> None:
    """Write `text` as UTF-8, whole or not at all."""
    with whole(file) as part:
        part.write_text(text, encoding="utf-8")
