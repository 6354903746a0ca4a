"""Test videos with known truth.

Every picture shows its own number in binary (a row of black and white cells in the middle third) and
four coloured corners (red, green / blue, yellow), so that a test can read off the decoded pixels which
frame of the file it is looking at and whether it stands upright.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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


def folder(path: Path, frames: int = 12) -> Path:
    """000001.jpg, 000002.jpg, … and a file that is no picture."""
    path.mkdir()
    for i in range(frames):
        Image.fromarray(picture(i)).save(path / f"{i + 1:06}.jpg", quality=95)
    (path / "notes.txt").write_text("not a picture")
    return path
