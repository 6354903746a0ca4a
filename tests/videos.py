"""Test videos with known truth.

Every picture shows its own number in binary (a row of black and white cells in the middle third) and
four coloured corners (red, green / blue, yellow), so that a test can read off the decoded pixels which
frame of the file it is looking at and whether it stands upright.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
from PIL import Image

BITS = 10
CORNERS = np.array([[[220, 30, 30], [30, 200, 30]], [[30, 30, 220], [220, 210, 30]]], np.uint8)


def picture(number: int, width: int = 160, height: int = 120) -> np.ndarray:
    """(height, width, 3) uint8 RGB: picture `number`."""
    rows = np.repeat([0, 1], [height // 2, height - height // 2])
    columns = np.repeat([0, 1], [width // 2, width - width // 2])
    image = CORNERS[rows[:, None], columns[None]]
    cells = np.array([255 * (number >> bit & 1) for bit in range(BITS)], np.uint8)
    image[height // 3 : 2 * height // 3] = cells[np.arange(width) * BITS // width][None, :, None]
    return image


def number_of(image: np.ndarray) -> int:
    """The number that a decoded upright picture (H, W, 3) shows, at whatever size."""
    height, width = image.shape[:2]
    row = image[int(height * 0.45) : max(int(height * 0.55), int(height * 0.45) + 1)].mean((0, 2))
    centres = ((np.arange(BITS) + 0.5) * width / BITS).astype(int)
    return sum(1 << bit for bit, x in enumerate(centres) if row[x] > 127)


def corners_of(image: np.ndarray) -> np.ndarray:
    """(2, 2, 3) mean colour near each corner."""
    h, w = max(image.shape[0] // 5, 1), max(image.shape[1] // 5, 1)
    return np.array(
        [
            [image[:h, :w].mean((0, 1)), image[:h, -w:].mean((0, 1))],
            [image[-h:, :w].mean((0, 1)), image[-h:, -w:].mean((0, 1))],
        ]
    )


def is_upright(image: np.ndarray, *, within: float = 60) -> bool:
    return bool(np.abs(corners_of(image) - CORNERS).max() < within)


def write(
    file: Path,
    pictures: Iterable[np.ndarray | av.VideoFrame],
    *,
    pts: Sequence[int] | None = None,
    time_base: Fraction | None = None,
    fps: Fraction | int = 30,
    codec: str = "libx264",
    pix_fmt: str = "yuv420p",
    gop: int = 12,
    options: dict[str, str] | None = None,
    container: dict[str, str] | None = None,
    rotation: tuple[float, bool, bool] | None = None,
    sar: Fraction | None = None,
    tags: dict[str, int] | None = None,
    tags_of_file: dict[str, str] | None = None,
    sound: np.ndarray | None = None,
    sound_rate: int = 48000,
    sound_codec: str = "aac",
) -> Path:
    """Encode `pictures` to `file`, plainly and without the library's own writer.

    pts       one timestamp per picture in `time_base` (1/fps by default): variable rates, late starts
    rotation  (degrees, hflip, vflip) as in the display matrix
    tags      colour properties by name, as PyAV spells them
    sound     (channels, N) float32 that starts at the file's time 0
    """
    time_base = time_base or Fraction(1) / Fraction(fps)
    with av.open(str(file), "w", options=container or {}) as out:
        out.metadata.update(tags_of_file or {})
        stream: Any = None
        if sound is not None:
            layout = "stereo" if len(sound) == 2 else "mono"
            audio = out.add_stream(sound_codec, rate=sound_rate, layout=layout)
        for i, image in enumerate(pictures):
            frame = image if isinstance(image, av.VideoFrame) else av.VideoFrame.from_ndarray(image, "rgb24")
            if stream is None:
                stream = out.add_stream(codec, rate=Fraction(fps), options=options or {})
                stream.width, stream.height = frame.width, frame.height
                stream.pix_fmt = pix_fmt
                stream.codec_context.gop_size = gop
                stream.codec_context.time_base = time_base
                if sar:
                    stream.codec_context.sample_aspect_ratio = sar
                for name, value in (tags or {}).items():
                    setattr(stream.codec_context, name, value)
                if rotation:
                    stream.set_display_rotation(rotation[0], hflip=rotation[1], vflip=rotation[2])
            if frame.format.name != pix_fmt:
                frame = frame.reformat(format=pix_fmt)
            frame.pts = pts[i] if pts is not None else i
            frame.time_base = time_base
            out.mux(stream.encode(frame))
        if stream is not None:
            out.mux(stream.encode(None))
        if sound is not None:
            for at in range(0, sound.shape[1], 1024):
                piece = np.ascontiguousarray(sound[:, at : at + 1024])
                samples = av.AudioFrame.from_ndarray(piece, "fltp", layout)
                samples.rate, samples.pts, samples.time_base = sound_rate, at, Fraction(1, sound_rate)
                out.mux(audio.encode(samples))
            out.mux(audio.encode(None))
    return file


def numbered(file: Path, frames: int = 48, *, width: int = 160, height: int = 120, **how: Any) -> Path:
    """`frames` pictures numbered from 0."""
    return write(file, (picture(i, width, height) for i in range(frames)), **how)


def vfr(file: Path) -> tuple[Path, list[float]]:
    """30 frames whose distances vary from 10 to 500 ms. Returns their times too."""
    gaps = [(10, 33, 40, 17, 500, 33, 120)[i % 7] for i in range(29)]
    pts = [0, *np.cumsum(gaps).tolist()]
    numbered(file, 30, pts=pts, time_base=Fraction(1, 1000))
    return file, [p / 1000 for p in pts]


def remuxed(source: Path, file: Path, *, shift: float = 0.0, skip: int = 0, **container: str) -> Path:
    """The same packets in another container, `shift` seconds later, without the first `skip` packets."""
    with av.open(str(source)) as had, av.open(str(file), "w", options=container) as out:
        stream = had.streams.video[0]
        copy = out.add_stream_from_template(stream)
        for i, packet in enumerate(p for p in had.demux(stream) if p.size):
            if i < skip:
                continue
            ticks = round(shift / packet.time_base)
            packet.pts, packet.stream = packet.pts + ticks, copy
            packet.dts = None if packet.dts is None else packet.dts + ticks
            out.mux(packet)
    return file


def folder(path: Path, frames: int = 36) -> Path:
    """000001.jpg, 000002.jpg, … and a file that is no picture."""
    path.mkdir()
    for i in range(frames):
        Image.fromarray(picture(i)).save(path / f"{i + 1:06}.jpg", quality=95)
    (path / "notes.txt").write_text("not a picture")
    return path


@dataclass(frozen=True)
class Truth:
    """A file, when its frames are shown, and the number in its first picture (they count on from there).

    counted: its packets' times cannot be trusted, so that only decoding tells its frames.
    """

    file: Path
    seconds: list[float]
    first: int = 0
    counted: bool = False


def _even(file: Path, frames: int = 48, fps: float = 30, **more: Any) -> Truth:
    return Truth(file, [i / fps for i in range(frames)], **more)


def _h264(**settings: str) -> dict[str, dict[str, str]]:
    return {"options": {"x264-params": ":".join(f"{k.replace('_', '-')}={v}" for k, v in settings.items())}}


OPEN_GOP = _h264(open_gop="1", bframes="3", b_adapt="0", scenecut="0")
QUIET = {"options": {"x265-params": "open-gop=1:bframes=3:log-level=none"}}


def _joined(folder: Path) -> Truth:
    """Two recordings in one transport stream: the clock runs back in the middle."""
    one = remuxed(numbered(folder / "one.mp4", 20), folder / "one.ts", shift=7.5)
    two = write(folder / "two.ts", (picture(i) for i in range(20, 48)))
    one.write_bytes(one.read_bytes() + two.read_bytes())
    return _even(one, counted=True)


def _hidden(folder: Path) -> Truth:
    """VP8 as encoders with look-ahead make it: one packet holds a frame that is only referred to."""
    pictures = [picture(i) for i in (*range(20), 700, *range(20, 48))]
    file = write(folder / "a.webm", pictures, codec="libvpx")
    with av.open(str(file)) as container:
        packet = bytes([p for p in container.demux(video=0) if p.size][20])
    data = bytearray(file.read_bytes())
    data[data.index(packet)] &= ~0x10  # the bit that says: show it
    file.write_bytes(data)
    return Truth(file, [(i + (i >= 20)) / 30 for i in range(48)])


# Every kind of file the reader must be right about: name → builder of one in a folder.
KINDS: dict[str, Callable[[Path], Truth]] = {
    "mp4 with B-frames": lambda d: _even(numbered(d / "a.mp4")),
    "variable rate mp4": lambda d: Truth(*vfr(d / "a.mp4")),
    "variable rate mkv": lambda d: Truth(*vfr(d / "a.mkv")),
    "pause of 20 s": lambda d: Truth(
        numbered(d / "a.mp4", 40, pts=[i + 600 * (i >= 20) for i in range(40)]),
        [(i + 600 * (i >= 20)) / 30 for i in range(40)],
    ),
    "mkv that starts late": lambda d: _even(numbered(d / "a.mkv", pts=range(45, 93))),
    "ts that starts late": lambda d: _even(remuxed(numbered(d / "a.mp4"), d / "a.ts", shift=7.5)),
    "edit list that hides 15 frames": lambda d: _even(
        remuxed(numbered(d / "a.mp4"), d / "b.mp4", shift=-0.5, avoid_negative_ts="disabled"), 33, first=15
    ),
    "fragmented mp4": lambda d: _even(
        numbered(d / "a.mp4", container={"movflags": "frag_keyframe+empty_moov"})
    ),
    "open GOP": lambda d: _even(numbered(d / "a.mkv", **OPEN_GOP)),
    "open GOP HEVC": lambda d: _even(numbered(d / "a.mp4", codec="libx265", **QUIET)),
    "intra refresh": lambda d: _even(numbered(d / "a.mkv", **_h264(intra_refresh="1", bframes="0"))),
    "webm, VP8 with a hidden frame": _hidden,
    "webm, VP9, no duration": lambda d: _even(
        numbered(d / "a.webm", codec="libvpx-vp9", container={"live": "1"})
    ),
    "mp4, AV1": lambda d: _even(
        numbered(d / "a.mp4", codec="libsvtav1", options={"preset": "8", "crf": "10"})
    ),
    "ts, MPEG-4": lambda d: _even(numbered(d / "a.ts", codec="mpeg4", options={"bf": "2"})),
    "gif": lambda d: _even(numbered(d / "a.gif", 20, codec="gif", pix_fmt="rgb8", fps=10), 20, 10),
    "mov, MJPEG": lambda d: _even(numbered(d / "a.mov", codec="mjpeg", pix_fmt="yuvj420p")),
    "mov, ProRes 10 bit": lambda d: _even(numbered(d / "a.mov", codec="prores_ks", pix_fmt="yuv422p10le")),
    "mkv, 10 bit": lambda d: _even(numbered(d / "a.mkv", pix_fmt="yuv420p10le")),
    "odd size": lambda d: _even(numbered(d / "a.mkv", width=161, height=121, codec="ffv1", pix_fmt="bgr0")),
    "avi, MPEG-4 with B-frames": lambda d: _even(numbered(d / "a.avi", codec="mpeg4", options={"bf": "2"})),
    "avi, H.264 with wrong times": lambda d: _even(numbered(d / "a.avi"), counted=True),
    "mpg": lambda d: _even(numbered(d / "a.mpg", codec="mpeg2video", options={"bf": "2"})),
    "h264 without times": lambda d: _even(numbered(d / "a.h264"), counted=True),
    "ts cut within an open GOP": lambda d: _even(
        remuxed(numbered(d / "a.ts", **OPEN_GOP), d / "b.ts", skip=9), 36, first=12
    ),
    "ts of two recordings": _joined,
    "folder of images": lambda d: _even(folder(d / "pictures"), 36),
}
