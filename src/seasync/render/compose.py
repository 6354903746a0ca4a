"""Putting a film together frame by frame: memory does not grow with its length."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import ExitStack, closing

from av.video.frame import VideoFrame

from seasync.errors import RenderError
from seasync.files import Location, Place, expect_writable
from seasync.render.canvas import DIM, Canvas, Panel
from seasync.render.captions import captions, draw_bar, draw_frame
from seasync.render.composition import Cell, Film
from seasync.render.frames import scheduled_pictures
from seasync.render.page import save
from seasync.render.sound import Soundtrack, is_webm
from seasync.video import Writer

Progress = Callable[[int, int], None]


def write_film(
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


def write_animation(film: Film, file: Place, *, progress: Progress | None = None) -> None:
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
            stack.enter_context(closing(scheduled_pictures(cell.source, Panel(cell.width, cell.height))))
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
        _decorate(canvas, film, cell, number)
    for caption in captions(film, number) if film.labels else ():
        canvas.text(caption.text, (caption.left, caption.top), size=caption.size)
    return canvas.frame


def _decorate(canvas: Canvas, film: Film, cell: Cell, number: int) -> None:
    if cell.bar is not None:
        share = number / max(len(film.clock.seconds) - 1, 1)
        draw_bar(canvas, cell.bar, cell.left, cell.top + cell.height - len(cell.bar), share)
    if cell.framed is not None and cell.framed[number]:
        draw_frame(canvas, cell.left, cell.top, cell.width, cell.height, film.letters // 4 * 2)
