"""Proxies: copies that every browser plays, with every frame at its time. Made in a worker process."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from seasync.files import atomic_write

HEIGHT = 720  # at most
CLOCK = Fraction(1, 90_000)
SOUND_RATE = 48_000
SOUND_SECONDS = 10.0  # read at a time
GOP = 12  # frames from one key frame to the next: few, so that scrubbing is fast


def make_proxy(file: str, out: str, report: Callable[[tuple[float, str]], None]) -> dict[str, Any]:
    """Write the proxy of `file` to `out`: H.264 and AAC, upright, at most 720 lines, frame for frame."""
    from av.video.reformatter import VideoReformatter

    from seasync.video import frames, probe
    from seasync.video.sink import open_output
    from seasync.video.timetable import frame_table

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
