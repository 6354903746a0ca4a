"""Films of an alignment: both clips in step, one of them retimed, many of them around the query."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, closing

from av.video.frame import VideoFrame

from seasync.alignment import Alignment, Warp
from seasync.clip import Clip
from seasync.errors import RenderError
from seasync.files import Location, Place, expect_writable
from seasync.group.clock import Group, clips_of, has_partner
from seasync.marks.mark import Mark, take_name
from seasync.options import AnimationFormat, Audio, Gaps, PairLayout, Side, Smooth, expect, suffixes
from seasync.render.canvas import DIM, Canvas, Panel
from seasync.render.composition import Cell, Film, TempoBar, captions, draw_bar, draw_frame
from seasync.render.frames import (
    Clock,
    clock_of,
    film_warp,
    own_frames,
    scheduled_pictures,
    warped_frames,
)
from seasync.render.page import save
from seasync.render.sound import Soundtrack, is_webm, soundtrack
from seasync.video import Writer, probe

Size = tuple[int, int]
LARGEST_GRID = (1920, 1080)
ANIMATIONS = suffixes(AnimationFormat)
ANIMATION_FPS = 12.5


def compare(
    alignment: Alignment,
    file: Place,
    *,
    layout: PairLayout = "side",
    keep: Side = "query",
    audio: Audio = "query",
    smooth: Smooth = "nearest",
    gaps: Gaps = "dim",
    labels: bool = True,
    marks: Sequence[Mark] = (),
    size: Size | None = None,
    codec: str | None = None,
    crf: int = 18,
    progress: Progress | None = None,
) -> None:
    """Make a film of both clips in step, on the clock of the kept one, at its frame rate.

    If it fails, nothing is left behind and an older file of the same name stays as it was.

    Parameters
    ----------
    alignment
        An alignment that knows its files.
    file
        A path or URI ending in .mp4, .mov, .mkv or .webm; .webp and .gif become a small animation without
        sound.
    layout
        "side" by side, "stack" (one above the other) or "overlay" (one shining through the other).
    keep
        The clip whose clock the film has.
    audio
        The sound of the "query", of the "match", a "mix" of both, or "none". It follows the warp; its pitch
        stays.
    smooth
        Along the warp, the "nearest" frame, a "blend" of the two around it, or "pieces" of even speed.
    gaps
        What to do with frames that have no partner: "dim" the other clip, "skip" them, or play them
        "alone".
    labels
        Write names, time codes and DRAQ on the picture.
    marks
        Key moments and phases of the kept clip, shown by name.
    size
        (width, height) to fit the film into. Default: the sources' own size.
    codec, crf
        FFmpeg's name of the video encoder (default: H.264, VP9 for .webm) and its quality: lower is better.
    progress
        Called after each frame with the frames done and their total.

    Raises
    ------
    RenderError
        If an argument is not one of the above or the file cannot be written.

    Examples
    --------
    >>> alignment = seasync.align("query.mp4", "other.mp4")
    >>> seasync.render.compare(alignment, "sync.mp4", layout="stack")
    """
    kept, other = clips_of(alignment, keep)
    is_animation = Location(file).suffix.lower() in ANIMATIONS
    warp = film_warp(alignment.warp(keep=keep), other, smooth)
    clock = _clock(kept, warp, gaps, fps=ANIMATION_FPS if is_animation else None)
    sources = own_frames(kept, clock), warped_frames(other, clock, warp, blend=smooth == "blend")
    size = size or ((720, 720) if is_animation else None)
    places, whole = _places(layout, [_shape(kept.file), _shape(other.file)], size)
    film = Film(
        clock,
        [
            Cell(source, *place, title=Location(source.file).name)
            for source, place in zip(sources, places, strict=True)
        ],
        whole,
        gaps=gaps,
        overlay=layout == "overlay",
        labels=labels,
        corner=f"DRAQ {alignment.draq:.2f}",
        marks=tuple(marks),
    )
    if is_animation:
        write_animation(film, file, progress=progress)
        return
    track = soundtrack(audio, keep, kept, other, warp, clock, file=file)
    write_film(film, file, track, codec=codec, crf=crf, progress=progress)


def retime(
    alignment: Alignment,
    file: Place,
    *,
    keep: Side = "query",
    audio: Audio = "match",
    smooth: Smooth = "nearest",
    gaps: Gaps = "dim",
    size: Size | None = None,
    codec: str | None = None,
    crf: int = 18,
    progress: Progress | None = None,
) -> None:
    """Make a film of the other clip alone, in full resolution, brought to the clock of the kept one.

    Parameters
    ----------
    alignment, file, keep, audio, smooth, size, codec, crf, progress
        As in `compare`.
    gaps
        As in `compare`; with "alone" the film is black where nothing corresponds.

    Raises
    ------
    RenderError
        As in `compare`.

    Examples
    --------
    >>> alignment = seasync.align("query.mp4", "other.mp4")
    >>> seasync.render.retime(alignment, "retimed.mp4", smooth="pieces")
    """
    kept, other = clips_of(alignment, keep)
    warp = film_warp(alignment.warp(keep=keep), other, smooth)
    clock = _clock(kept, warp, gaps)
    shape = _fit(_shape(other.file), size)
    cell = Cell(warped_frames(other, clock, warp, blend=smooth == "blend"), 0, 0, *shape)
    track = soundtrack(audio, keep, kept, other, warp, clock, file=file)
    write_film(Film(clock, [cell], shape, gaps=gaps), file, track, codec=codec, crf=crf, progress=progress)


def grid(
    alignments: Sequence[Alignment],
    file: Place,
    *,
    columns: int | None = None,
    titles: Sequence[str] | None = None,
    query_title: str | None = None,
    tempos: Sequence[TempoBar] | None = None,
    audio: Audio = "query",
    smooth: Smooth = "nearest",
    labels: bool = True,
    marks: Sequence[Mark] = (),
    size: Size | None = None,
    codec: str | None = None,
    crf: int = 18,
    progress: Progress | None = None,
) -> None:
    """Make a film of the query and several of its matches, all in step with it, in the order given.

    Frames without a partner are dimmed.

    Parameters
    ----------
    alignments
        Alignments of one query; it is shown first.
    columns
        Default: as many as make the grid about square.
    titles
        Of the matches. Default: their numbers and scores.
    query_title
        Default: "query" and its file's name.
    tempos
        Of the matches: each gets a bar below its picture, orange where it is faster than the query, and a
        frame where it is unusual.
    audio
        The sound of the "query", or of the first "match".
    size
        (width, height) to fit the film into. Default: 1920×1080, or less if the query is smaller.
    file, smooth, labels, marks, codec, crf, progress
        As in `compare`.

    Raises
    ------
    RenderError
        If there is no alignment, or they do not share their query; else as in `compare`.

    Examples
    --------
    >>> alignments = [seasync.align("query.mp4", other) for other in ("a.mp4", "b.mp4")]
    >>> seasync.render.grid(alignments, "grid.mp4")
    """
    query, first = query_of(alignments), clips_of(alignments[0], "query")[1]
    clock = clock_of(query)
    columns = columns or math.ceil(math.sqrt(len(alignments) + 1))
    rows = math.ceil((len(alignments) + 1) / columns)
    shape = _shape(query.file)
    size = size or LARGEST_GRID
    room = min(size[0] // columns, shape[0]), min(size[1] // rows, shape[1])
    width, height = _fit(shape, room)
    own_title = query_title or f"query  {Location(query.file).name}"
    cells = [Cell(own_frames(query, clock), 0, 0, width, height, title=own_title)]
    warps = [film_warp(each.warp(keep="query"), clips_of(each, "query")[1], smooth) for each in alignments]
    for number, (alignment, warp) in enumerate(zip(alignments, warps, strict=True), 1):
        match = clips_of(alignment, "query")[1]
        inner = _fit(_shape(match.file), (width, height))
        left = number % columns * width + _centered(inner[0], width)
        top = number // columns * height + _centered(inner[1], height)
        source = warped_frames(match, clock, warp, blend=smooth == "blend")
        title = titles[number - 1] if titles else f"{number}  DRAQ {alignment.draq:.2f}"
        tempo = tempos[number - 1] if tempos else TempoBar(clock.seconds)
        bar, framed = tempo.bar(inner[0], _even(inner[1] / 24), clock.seconds), tempo.framed(clock.seconds)
        cells.append(Cell(source, left, top, *inner, title=title, bar=bar, framed=framed))
    whole = columns * width, rows * height
    film = Film(clock, cells, whole, gaps="dim", labels=labels, marks=tuple(marks))
    track = soundtrack(audio, "query", query, first, warps[0], clock, file=file)
    write_film(film, file, track, codec=codec, crf=crf, progress=progress)


def query_of(alignments: Sequence[Alignment]) -> Clip:
    """The query that all these alignments share."""
    if not alignments:
        raise RenderError("expected at least one alignment, got none")
    queries = {clips_of(alignment, "query")[0] for alignment in alignments}
    if len(queries) > 1:
        names = ", ".join(sorted(query.name for query in queries))
        raise RenderError(f"the alignments must share their query, got {names}")
    return queries.pop()


def _clock(kept: Clip, warp: Warp, gaps: Gaps, *, fps: float | None = None) -> Clock:
    expect("gaps", gaps, Gaps, RenderError)
    clock = clock_of(kept, fps=fps)
    return clock.only(has_partner(warp, clock.seconds)) if gaps == "skip" else clock


def _shape(file: str) -> Size:
    info = probe(file)
    return info.width, info.height


def _fit(shape: Size, size: Size | None) -> Size:
    """`shape` as large as fits into `size`, in even numbers."""
    scale = min(size[0] / shape[0], size[1] / shape[1]) if size else 1.0
    return _even(shape[0] * scale), _even(shape[1] * scale)


def _even(length: float) -> int:
    return max(2, round(length / 2) * 2)


def _centered(inner: int, outer: int) -> int:
    return (outer - inner) // 4 * 2


def _places(
    layout: PairLayout, shapes: Sequence[Size], size: Size | None
) -> tuple[list[tuple[int, int, int, int]], Size]:
    """(left, top, width, height) of both clips, and the size of the film; none is made smaller unless
    `size` asks for it."""
    expect("layout", layout, PairLayout, RenderError)
    (width, height), (other_width, other_height) = shapes
    if layout == "side":
        tall = max(height, other_height)
        wide, other_wide = tall * width / height, tall * other_width / other_height
        scale = min(size[0] / (wide + other_wide), size[1] / tall) if size else 1.0
        first, second, tall = _even(wide * scale), _even(other_wide * scale), _even(tall * scale)
        return [(0, 0, first, tall), (first, 0, second, tall)], (first + second, tall)
    if layout == "stack":
        # Stacked is side by side, lying on its side.
        lying = [(height, width) for width, height in shapes]
        turned, whole = _places("side", lying, (size[1], size[0]) if size else None)
        return [(top, left, wide, tall) for left, top, tall, wide in turned], (whole[1], whole[0])
    whole = _fit(shapes[0], size)
    inner = _fit(shapes[1], whole)
    place = _centered(inner[0], whole[0]), _centered(inner[1], whole[1])
    return [(0, 0, *whole), (*place, *inner)], whole


MOST_TILES = 25


def group_film(
    group: Group,
    file: Place,
    *,
    most: int = MOST_TILES,
    tempo: bool = False,
    outliers: bool = False,
    size: tuple[int, int] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> int:
    """Write a film of the reference (first) and its takes, in step, each tile with the take's name.

    Parameters
    ----------
    group : Group
    file : str, Path or Location
        .mp4, .mov, .mkv or .webm.
    most : int
        Takes shown at most. Of a larger group, those that align best.
    tempo : bool
        Draw a bar below each take: orange where it is faster than the reference, blue where it is slower.
    outliers : bool
        Draw a frame around a take while it is far ahead of the group, or far behind.
    size : tuple of int, optional
        Width and height to fit the film into.
    progress : callable, optional
        Called with the frames written and their number.

    Returns
    -------
    int
        How many takes the film shows beside the reference.

    Raises
    ------
    RenderError
        If `most` is not between 1 and 25.

    Examples
    --------
    >>> group = seasync.align_group("model.mp4", "pupils/")
    >>> shown = seasync.render.group_film(group, "group.mp4", tempo=True)
    """
    if not 1 <= most <= MOST_TILES:
        raise RenderError(f"most={most}: expected 1 to {MOST_TILES} takes in a film")
    best = sorted(group.takes, key=lambda take: take.alignment.draq)[:most]
    shown = [take for take in group.takes if take in best]
    titles = [take_name(take.clip) for take in shown]
    rows = [group.takes.index(take) for take in shown]
    unusual = group.unusual() if outliers else None
    signs = [
        TempoBar(group.seconds, group.tempo[n] if tempo else None, None if unusual is None else unusual[n])
        for n in rows
    ]
    alignments = [take.alignment for take in shown]
    own = f"reference  {take_name(group.reference)}"
    grid(alignments, file, titles=titles, query_title=own, tempos=signs, size=size, progress=progress)
    return len(shown)


# Putting a film together frame by frame: memory does not grow with its length.


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
