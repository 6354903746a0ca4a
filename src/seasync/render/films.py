"""Films of an alignment: both clips in step, one of them retimed, many of them around the query."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass

import numpy as np
from av.video.frame import VideoFrame
from numpy.typing import NDArray
from PIL import Image

from seasync.alignment import Alignment, Warp
from seasync.clip import Clip
from seasync.encoding import Seconds
from seasync.errors import RenderError
from seasync.files import Location, Place, expect_writable
from seasync.group.carry import frame_clock
from seasync.group.clock import Group, clips_of, has_partner, nearest
from seasync.marks import Mark, read_marks_of, take_name
from seasync.options import AnimationFormat, Audio, Gaps, PairLayout, Side, Smooth, expect, suffixes
from seasync.render import frames
from seasync.render.frames import BLACK, GRAY, WHITE, Canvas, Plane, film_warp, plate_height, plate_width
from seasync.render.sound import Soundtrack, is_webm, soundtrack
from seasync.video import Writer, probe, sound

Size = tuple[int, int]
Progress = Callable[[int, int], None]
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
    retimed = frames.warped_frames(other, clock, warp, blend=smooth == "blend")
    sources = frames.own_frames(kept, clock), retimed
    size = size or ((720, 720) if is_animation else None)
    places, whole = _places(layout, [_shape(kept.file), _shape(other.file)], size)
    cells = [
        Cell(source, *place, title=Location(source.file).name)
        for source, place in zip(sources, places, strict=True)
    ]
    film = Film(
        clock,
        cells,
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
    cell = Cell(frames.warped_frames(other, clock, warp, blend=smooth == "blend"), 0, 0, *shape)
    track = soundtrack(audio, keep, kept, other, warp, clock, file=file)
    write_film(Film(clock, [cell], shape, gaps=gaps), file, track, codec=codec, crf=crf, progress=progress)


SILENCE = 1e-3  # root mean square, −60 dB: what is quieter is no sound


def has_sound(clip: Clip) -> bool:
    """Whether a clip has sound that is not silence."""
    if probe(clip.file).audio is None:
        return False
    heard = sound(clip.file, start=clip.start, end=clip.end, rate=16000, channels=1)
    return bool(heard.size and np.sqrt(np.mean(np.square(heard))) > SILENCE)


def dub(
    alignment: Alignment,
    file: Place,
    *,
    codec: str | None = None,
    crf: int = 18,
    progress: Progress | None = None,
) -> bool:
    """Make a film of the query's picture with the match's sound, which follows the warp.

    The file's metadata say where the sound comes from. Where the query has no partner, there is silence.

    Parameters
    ----------
    alignment, file, codec, crf, progress
        As in `compare`.

    Returns
    -------
    bool
        False if the match has no sound, or only silence; no file is written then.

    Raises
    ------
    RenderError
        As in `compare`.

    Examples
    --------
    >>> alignment = seasync.align("query.mp4", "other.mp4")
    >>> has_sound = seasync.render.dub(alignment, "with-sound.mp4")
    """
    kept, other = clips_of(alignment, "query")
    if not has_sound(other):
        return False
    clock = _clock(kept, alignment.warp(keep="query"), "dim")
    shape = _shape(kept.file)
    film = Film(clock, [Cell(frames.own_frames(kept, clock), 0, 0, *shape)], shape, gaps="alone")
    track = soundtrack("match", "query", kept, other, alignment.warp(keep="query"), clock, file=file)
    end = "the end" if other.end is None else f"{other.end:.2f} s"
    comment = f"Sound: {Location(other.file).name}, {other.start:.2f} s to {end}, put in step by Seasync"
    write_film(film, file, track, codec=codec, crf=crf, comment=comment, progress=progress)
    return True


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
    clock = frames.clock_of(query)
    columns = columns or math.ceil(math.sqrt(len(alignments) + 1))
    rows = math.ceil((len(alignments) + 1) / columns)
    shape = _shape(query.file)
    size = size or LARGEST_GRID
    room = min(size[0] // columns, shape[0]), min(size[1] // rows, shape[1])
    width, height = _fit(shape, room)
    own_title = query_title or f"query  {Location(query.file).name}"
    cells = [Cell(frames.own_frames(query, clock), 0, 0, width, height, title=own_title)]
    warps = [film_warp(each.warp(keep="query"), clips_of(each, "query")[1], smooth) for each in alignments]
    for number, (alignment, warp) in enumerate(zip(alignments, warps, strict=True), 1):
        match = clips_of(alignment, "query")[1]
        inner = _fit(_shape(match.file), (width, height))
        left = number % columns * width + _centered(inner[0], width)
        top = number // columns * height + _centered(inner[1], height)
        source = frames.warped_frames(match, clock, warp, blend=smooth == "blend")
        title = titles[number - 1] if titles else f"{number}  DRAQ {alignment.draq:.2f}"
        tempo = tempos[number - 1] if tempos else TempoBar(clock.seconds)
        bar, framed = tempo.bar(inner[0], _even(inner[1] / 24), clock.seconds), tempo.framed(clock.seconds)
        cells.append(Cell(source, left, top, *inner, title=title, bar=bar, framed=framed))
    whole = columns * width, rows * height
    film = Film(clock, cells, whole, gaps="dim", labels=labels, marks=tuple(marks))
    track = soundtrack(audio, "query", query, first, warps[0], clock, file=file)
    write_film(film, file, track, codec=codec, crf=crf, progress=progress)


def read_marks(file: Place, video: Place) -> list[Mark]:
    """Read key moments or phases to show in a film.

    Parameters
    ----------
    file
        A file of marks, in any format that `seasync.marks.read_marks` knows. If it has marks of several
        clips, it must have some of the video's.
    video
        The video they belong to: it gives frame numbers their times.

    Returns
    -------
    list of Mark

    Raises
    ------
    DataError
        If the file cannot be read, or has no marks of this video.

    Examples
    --------
    >>> [mark.name for mark in seasync.render.read_marks("keys.csv", "query.mp4")]
    ['up', 'down']
    """
    return list(read_marks_of(Clip(str(video)), file, frame_clock(video)))


def query_of(alignments: Sequence[Alignment]) -> Clip:
    """The query that all these alignments share."""
    if not alignments:
        raise RenderError("expected at least one alignment, got none")
    queries = {clips_of(alignment, "query")[0] for alignment in alignments}
    if len(queries) > 1:
        names = ", ".join(sorted(query.name for query in queries))
        raise RenderError(f"the alignments must share their query, got {names}")
    return queries.pop()


def _clock(kept: Clip, warp: Warp, gaps: Gaps, *, fps: float | None = None) -> frames.Clock:
    expect("gaps", gaps, Gaps, RenderError)
    clock = frames.clock_of(kept, fps=fps)
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


def write_film(
    film: Film,
    file: Place,
    track: Soundtrack | None,
    *,
    codec: str | None = None,
    crf: int = 18,
    comment: str = "",
    progress: Progress | None = None,
) -> None:
    """Write the film to `file`; `progress(done, total)` is called after each frame."""
    expect_writable(file, sources=[cell.source.file for cell in film.cells], error=RenderError)
    rate = film.clock.rate
    codec = codec or ("libvpx-vp9" if is_webm(file) else "libx264")
    audio = None if track is None else (track.rate, track.channels)
    with (
        closing(_pictures(film, progress)) as shown,
        Writer(file, fps=rate, size=film.size, codec=codec, crf=crf, audio=audio, comment=comment) as writer,
    ):
        for number, picture in enumerate(shown, 1):
            writer.write(picture)
            if track is not None:
                writer.write_audio(track.take(round(number * track.rate / rate) - writer.samples))


def write_animation(film: Film, file: Place, *, progress: Progress | None = None) -> None:
    """Write the film as an animated WebP or GIF, without sound."""
    with closing(_pictures(film, progress)) as shown:
        images = (Image.fromarray(picture.to_ndarray(format="rgb24")) for picture in shown)
        if Location(file).suffix.lower() == ".gif":
            # One palette for all frames would band; dithering noise would not compress.
            images = (image.quantize(256, dither=Image.Dither.NONE) for image in images)
        frames.save(
            next(images), file, save_all=True, append_images=images, duration=1000 / film.clock.rate, loop=0
        )


def _pictures(film: Film, progress: Progress | None) -> Generator[VideoFrame]:
    """The film, frame by frame; `progress(done, total)` is called after each."""
    with ExitStack() as stack:
        reels = [
            stack.enter_context(
                closing(frames.scheduled_pictures(cell.source, frames.Panel(cell.width, cell.height)))
            )
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
        light = 1.0 if is_known else frames.DIM
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


# What a film is made of, and what is written and drawn on it. No caption lies over another.


LONGEST_SIDE = 16384  # pixels: what H.264 can hold
SMALLEST_LETTERS = 7  # pixels; smaller ones cannot be read
MARK_SECONDS = 0.8  # how long the name of a key moment stays


def is_shown(mark: Mark, seconds: float) -> bool:
    """Whether a film shows the name of a mark at this moment."""
    return mark.seconds <= seconds < (mark.seconds + MARK_SECONDS if mark.end is None else mark.end)


@dataclass(frozen=True)
class Cell:
    """A source at its place in the film; all even numbers.

    `bar` is drawn along its lower edge, YUV of shape (height, width, 3). `framed` says for each frame of the
    film whether the cell has a frame around it.
    """

    source: frames.FrameSelection
    left: int
    top: int
    width: int
    height: int
    title: str = ""
    bar: Plane | None = None
    framed: NDArray[np.bool_] | None = None


@dataclass(frozen=True)
class Film:
    """What a film is made of. The first cell is the kept clip's in films that show it."""

    clock: frames.Clock
    cells: list[Cell]
    size: Size
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
        """Size of the letters in pixels: in proportion to the picture, and small enough for a time code."""
        size = max(11, round(min(cell.height for cell in self.cells) / 26))
        narrow = min(cell.width for cell in self.cells)
        while size > SMALLEST_LETTERS and plate_width("0:00.00", size) > narrow - 2 * (size // 2):
            size -= 1
        return size


@dataclass(frozen=True)
class Caption:
    """A line of letters on a plate: the plate's upper left corner and the letters' size, in pixels."""

    text: str
    left: int
    top: int
    size: int

    @property
    def box(self) -> tuple[int, int, int, int]:
        """(left, top, right, bottom) of the plate."""
        right, bottom = self.left + plate_width(self.text, self.size), self.top + plate_height(self.size)
        return self.left, self.top, right, bottom


def captions(film: Film, number: int) -> Iterator[Caption]:
    """What is written on frame `number`: names and time codes at the top of their cells, marks at the bottom.

    The score gives way to titles, and titles to time codes, first their first word; what still has no room
    is left out.
    """
    size, margin = film.letters, film.letters // 2
    width, height = film.size
    row = plate_height(size)
    lowest = 0  # where the captions of the bottom cells end
    for order, cell in enumerate(film.cells):
        is_known = bool(cell.source.known[number])
        below = order * (row + 2) if film.overlay else 0  # in an overlay cells lie on each other
        top = cell.top + margin + below
        time = frames.clock(float(cell.source.seconds[number])) if is_known else "no counterpart"
        room = cell.width - 2 * margin
        short = cell.title.rpartition("  ")[2]  # without "query" or a number
        texts = (f"{cell.title}   {time}", f"{short}   {time}", time, "" if is_known else "–")
        if film.corner and top == margin and cell.left + cell.width == width:
            beside = room - plate_width(film.corner, size) - margin
            if plate_width(texts[1], size) <= beside and margin + row <= height:
                yield Caption(film.corner, width - margin - plate_width(film.corner, size), margin, size)
                room = beside
        text = _fitting(texts, size, room)
        if text and top + row <= cell.top + cell.height:
            yield Caption(text, cell.left + margin, top, size)
            lowest = max(lowest, top + row)
    yield from _mark_captions(film, number, lowest)


def _mark_captions(film: Film, number: int, lowest: int) -> Iterator[Caption]:
    size, margin = round(film.letters * 1.3), film.letters // 2
    seconds = float(film.clock.seconds[number])
    names = "  ".join(mark.name for mark in film.marks if is_shown(mark, seconds))
    shortened = (f"{names[:letters]}…" for letters in range(len(names) - 1, 0, -1))
    text = _fitting((names, *shortened), size, film.size[0] - 2 * margin)
    top = film.size[1] - margin - plate_height(size)
    if text and top >= lowest:
        yield Caption(text, (film.size[0] - plate_width(text, size)) // 2, top, size)


def _fitting(texts: Iterable[str], size: int, room: int) -> str:
    """The first of `texts` whose plate is at most `room` pixels wide; empty if none is."""
    return next((text for text in texts if text and plate_width(text, size) <= room), "")


SLOWER, SAME, FASTER = (47, 143, 208), (225, 229, 232), (242, 138, 48)  # RGB
FULL_TEMPO = 1.6  # this much faster, or slower, has the full color
NOTHING = (40, 46, 52)


@dataclass(frozen=True, eq=False)
class TempoBar:
    """How fast a take moves beside the reference: 2 is twice as fast.

    Attributes
    ----------
    seconds : ndarray [shape=(N,)]
        Moments of the reference.
    factors : ndarray [shape=(N,)], optional
        NaN where the take shows nothing of that moment. Without them there is no bar.
    unusual : ndarray of bool [shape=(N,)], optional
        Where the take gets a frame.
    """

    seconds: Seconds
    factors: Seconds | None = None
    unusual: NDArray[np.bool_] | None = None

    def framed(self, seconds: Seconds) -> NDArray[np.bool_] | None:
        """Whether there is a frame, at each of these moments of the reference."""
        return None if self.unusual is None else self.unusual[nearest(self.seconds, seconds)]

    def bar(self, width: int, height: int, clock: Seconds) -> Plane | None:
        """The bar of a film with this clock, in YUV. [shape=(height, width, 3)]"""
        if self.factors is None:
            return None
        at = clock[np.linspace(0, len(clock) - 1, width).round().astype(int)]
        known, moments = np.isfinite(self.factors), nearest(self.seconds, at)
        row = np.full((width, 3), NOTHING, np.float64)
        if known.any():
            logs = np.interp(at, self.seconds[known], np.log(self.factors[known]))
            share = np.clip(logs / np.log(FULL_TEMPO), -1, 1)[:, None]
            to = np.where(share > 0, FASTER, SLOWER)
            row = np.where(known[moments][:, None], SAME + np.abs(share) * (to - np.asarray(SAME)), row)
        return np.broadcast_to(_yuv(row), (height, width, 3))


def draw_bar(canvas: Canvas, bar: Plane, left: int, top: int, share: float) -> None:
    """Put a bar on the picture, with a white line at the share 0–1 that has passed."""
    height, width = bar.shape[:2]
    canvas.fill(bar, left, top)
    place = left + round(share * (width - 4)) // 2 * 2
    canvas.fill(np.broadcast_to(np.array([WHITE, GRAY, GRAY], np.uint8), (height, 4, 3)), place, top)


def draw_frame(canvas: Canvas, left: int, top: int, width: int, height: int, thick: int) -> None:
    """Draw a frame inside this place: the take is unlike the others here."""
    color = _yuv(np.asarray(FASTER, np.float64))
    for x, y, w, h in (
        (left, top, width, thick),
        (left, top + height - thick, width, thick),
        (left, top, thick, height),
        (left + width - thick, top, thick, height),
    ):
        canvas.fill(np.broadcast_to(color, (h, w, 3)), x, y)


def _yuv(rgb: NDArray[np.float64]) -> Plane:
    """BT.709 in limited range, as films are coded."""
    red, green, blue = np.moveaxis(rgb / 255, -1, 0)
    luma = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    parts = BLACK + 219 * luma, GRAY + 224 * (blue - luma) / 1.8556, GRAY + 224 * (red - luma) / 1.5748
    return np.asarray(np.rint(np.stack(parts, axis=-1)), np.uint8)
