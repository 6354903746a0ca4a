"""Videos as browsers get them: the very file that was checked, or a copy that every browser plays."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any, BinaryIO

from starlette.responses import FileResponse
from starlette.types import Receive, Scope, Send

from seasync.errors import ServeError
from seasync.files import atomic_write


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


# Proxies: copies that every browser plays, with every frame at its time. Made in a worker process.


HEIGHT = 720  # at most
CLOCK = Fraction(1, 90_000)
SOUND_RATE = 48_000
SOUND_SECONDS = 10.0  # read at a time
GOP = 12  # frames from one key frame to the next: few, so that scrubbing is fast


def make_proxy(file: str, out: str, report: Callable[[tuple[float, str]], None]) -> dict[str, Any]:
    """Write the proxy of `file` to `out`: H.264 and AAC, upright, at most 720 lines, frame for frame."""
    from av.video.reformatter import VideoReformatter

    from seasync.video import frames, probe
    from seasync.video.timetable import frame_table
    from seasync.video.writer import open_output

    info, table = probe(file), frame_table(file)
    scale = min(1.0, HEIGHT / min(info.width, info.height))
    size = tuple(max(2, round(side * scale / 2) * 2) for side in (info.width, info.height))
    with (
        atomic_write(out, make_folder=True) as part,
        open_output(part, options={"movflags": "+faststart"}) as container,
    ):
        picture: Any = container.add_stream(
            "libx264", rate=info.fps or 30, options={"crf": "21", "preset": "veryfast"}
        )
        picture.width, picture.height = size
        picture.pix_fmt = "yuv420p"
        picture.codec_context.time_base = CLOCK
        picture.codec_context.gop_size, picture.codec_context.max_b_frames = GOP, 0
        sound = _Sound(container, file, table.end) if info.audio else None
        resize = VideoReformatter()
        for shown in frames(file):
            frame = resize.reformat(shown.frame, width=size[0], height=size[1], format="yuv420p")
            frame.pts, frame.time_base, frame.pict_type = round(shown.seconds / CLOCK), CLOCK, 0
            container.mux(picture.encode(frame))
            if sound:
                sound.until(shown.seconds)
            if shown.number % 15 == 0:
                report((shown.seconds / max(table.end, 1e-6), "preparing the video for the browser"))
        container.mux(picture.encode(None))
        if sound:
            sound.until(table.end, last=True)
    return {}


class _Sound:
    """Writes the sound of the file beside its pictures."""

    def __init__(self, container: Any, file: str, end: float) -> None:
        from seasync.video import probe

        audio = probe(file).audio
        assert audio is not None
        self._container, self._file, self._end = container, file, end
        self._layout = "mono" if audio.channels == 1 else "stereo"
        self._stream = container.add_stream("aac", rate=SOUND_RATE, layout=self._layout)
        self._done = 0.0

    def until(self, seconds: float, *, last: bool = False) -> None:
        """Write up to `seconds`, in steps."""
        from av.audio.frame import AudioFrame

        from seasync.video import sound

        while self._done < self._end and (last or seconds > self._done):
            stop = min(self._done + SOUND_SECONDS, self._end)
            samples = sound(self._file, start=self._done, end=stop, rate=SOUND_RATE)
            frame = AudioFrame.from_ndarray(samples, "fltp", self._layout)
            frame.rate, frame.time_base = SOUND_RATE, Fraction(1, SOUND_RATE)
            frame.pts = round(self._done * SOUND_RATE)
            self._container.mux(self._stream.encode(frame))
            self._done = stop
        if last:
            self._container.mux(self._stream.encode(None))
