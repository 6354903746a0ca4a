"""The file that FFmpeg writes a film to, opened by Python."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import av
from av.container.output import OutputContainer


@contextmanager
def open_output(path: Path, *, options: Mapping[str, str]) -> Iterator[OutputContainer]:
    """A container to write to; what went wrong first is what is raised."""
    with closing(Sink(path)) as sink:
        container = av.open(sink, "w", options=dict(options))
        try:
            yield container
        except BaseException:
            with suppress(av.FFmpegError, OSError):
                container.close()
            raise
        container.close()


class Sink:
    """A file for `av.open(sink, "w")`, closed whatever happens.

    A container that FFmpeg opens by its path stays open if its end cannot be written, as on a full disk: the
    space is not given back while the process lives, and Windows cannot delete the file.

    Use `open_output`, unless the film is not written in one block.
    """

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        # Unbuffered: for `faststart` FFmpeg reads the file again by its name.
        self._file = path.open("w+b", buffering=0)
        self.seek, self.tell, self.close = self._file.seek, self._file.tell, self._file.close

    def write(self, data: bytes) -> int:
        """All of it, or an error: FFmpeg takes a short write for a whole one."""
        left = memoryview(data)
        while left:
            left = left[self._file.write(left) :]
        return len(data)
