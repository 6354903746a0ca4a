"""Putting a film together frame by frame: memory does not grow with its length."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import ExitStack, closing
from dataclasses import dataclass

from av.video.frame import VideoFrame

from seasync.errors import RenderError
from seasync.files import Location, Place, expect_writable
from seasync.options import Gaps
from seasync.render.canvas import DIM, Canvas, Panel, plate_width
from seasync.render.ink import save
from seasync.render.picker import pictures
from seasync.render.plan import Clock, Source
from seasync.render.soundtrack import Soundtrack, is_webm
from seasync.render.text import clock as clock_text
from seasync.video import Writer

Progress = Callable[[int, int], None]
LONGEST_SIDE = 16384  # pixels: what H.264 can hold
MARK_SECONDS = 0.8  # how long the name of a key moment stays


@dataclass(frozen=True)
class Mark:
    """A phase of the kept clip from `start` to `end` seconds, or, without an end, a key moment."""

    start: float
    text: str
    end: float | None = None

    def is_shown(self, seconds: float) -> bool:
        return self.start <= seconds < (self.start + MARK_SECONDS if self.end is None else self.end)


@dataclass(frozen=True)
class Cell:
    """A source at its place in the film; all even numbers."""

    source: Source
    left: int
    top: int
    width: int
    height: int
    title: str = ""


@dataclass(frozen=True)
class Film:
    """What a film is made of. The first cell is the kept clip's in films that show it."""

    clock: Clock
    cells: list[Cell]
    size: tuple[int, int]
    gaps: Gaps
    overlay: bool = False
    labels: bool = False
    corner: str = ""
    marks: tuple[Mark, ...] = ()

    def __post_init__(self) -> None:
        if max(self.size) > LONGEST_SIDE:
            width, height = self.size
            raise RenderError(f"a film of {width}×{height} is too large: ask for {LONGEST_SIDE} at most")

    @property
    def letters(self) -> int:
        """Size of the letters, in pixels."""
        return max(11, round(min(cell.height for cell in self.cells) / 26))


def shoot(
    film: Film,
    file: Place,
    track: Soundtrack | None,
    *,
    codec: str | None = None,
    crf: int = 18,
    progress: Progress | None = None,
) -> None:
    """Write the film to `file`; `progress(done, total)` is called after each frame."""
    expect_writable(file, sources=[cell.source.file for cell in film.cells], error=RenderError)
    rate = film.clock.rate
    codec = codec or ("libvpx-vp9" if is_webm(file) else "libx264")
    audio = None if track is None else (track.rate, track.channels)
    with (
        closing(_pictures(film, progress)) as shown,
        Writer(file, fps=rate, size=film.size, codec=codec, crf=crf, audio=audio) as writer,
    ):
        for number, picture in enumerate(shown, 1):
            writer.write(picture)
            if track is not None:
                writer.write_audio(track.take(round(number * track.rate / rate) - writer.samples))


def animate(film: Film, file: Place, *, progress: Progress | None = None) -> None:
    """Write the film as an animated WebP or GIF, without sound."""
    from PIL import Image

    with closing(_pictures(film, progress)) as shown:
        images = (Image.fromarray(picture.to_ndarray(format="rgb24")) for picture in shown)
        if Location(file).suffix.lower() == ".gif":
            # One palette for all frames would band; dithering noise would not compress.
            images = (image.quantize(256, dither=Image.Dither.NONE) for image in images)
        save(next(images), file, save_all=True, append_images=images, duration=1000 / film.clock.rate, loop=0)


def _pictures(film: Film, progress: Progress | None) -> Generator[VideoFrame]:
    """The film, frame by frame; `progress(done, total)` is called after each."""
    with ExitStack() as stack:
        reels = [
            stack.enter_context(closing(pictures(cell.source, Panel(cell.width, cell.height))))
            for cell in film.cells
        ]
        for number, shown in enumerate(zip(*reels, strict=True)):
            yield _picture(film, number, shown)
            if progress is not None:
                progress(number + 1, len(film.clock.seconds))


def _picture(film: Film, number: int, shown: tuple[VideoFrame, ...]) -> VideoFrame:
    known = [bool(cell.source.known[number]) for cell in film.cells]
    if len(shown) == 1 and known[0] and not film.labels:
        return shown[0]
    canvas = Canvas(*film.size)
    for cell, frame, is_known in zip(film.cells, shown, known, strict=True):
        if not is_known and (film.overlay or film.gaps == "alone"):
            continue
        is_through = film.overlay and cell is not film.cells[0]
        light = 1.0 if is_known else DIM
        canvas.put(frame, cell.left, cell.top, opacity=0.5 if is_through else 1.0, light=light)
    if film.labels:
        _letter(film, number, known, canvas)
    return canvas.frame


def _letter(film: Film, number: int, known: list[bool], canvas: Canvas) -> None:
    size, margin = film.letters, film.letters // 2
    width, height = film.size
    for order, (cell, is_known) in enumerate(zip(film.cells, known, strict=True)):
        below = order * size * 2 if film.overlay else 0  # in an overlay the cells lie on each other
        time = clock_text(float(cell.source.seconds[number])) if is_known else "no counterpart"
        room = cell.width - 2 * margin
        if cell.left + cell.width == width and not below and film.corner:
            room -= plate_width(film.corner, size) + margin
        text = f"{cell.title}   {time}"
        text = text if plate_width(text, size) <= room else time
        canvas.text(text, (cell.left + margin, cell.top + margin + below), size=size)
    if film.corner:
        canvas.text(film.corner, (width - margin, margin), size=size, anchor="ra")
    seconds = float(film.clock.seconds[number])
    names = [mark.text for mark in film.marks if mark.is_shown(seconds)]
    if names:
        canvas.text("  ".join(names), (width // 2, height - margin), size=round(size * 1.3), anchor="md")
