"""Films of an alignment: both clips in step, one of them retimed, many of them around the query."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np

from seasync.align import Alignment, Warp
from seasync.align.alignment import Side
from seasync.clip import Clip
from seasync.errors import RenderError
from seasync.render.plan import Clock, Smooth, clips_of, clock_of, course, own_frames, warped_frames
from seasync.render.shoot import Cell, Film, Gaps, Mark, Progress, shoot
from seasync.render.soundtrack import Audio, soundtrack
from seasync.video import probe

Layout = Literal["side", "stack", "overlay"]
Size = tuple[int, int]
LARGEST_GRID = (1920, 1080)


def compare(
    alignment: Alignment,
    file: str | Path,
    *,
    layout: Layout = "side",
    keep: Side = "query",
    audio: Audio = "query",
    smooth: Smooth = "nearest",
    gaps: Gaps = "dim",
    labels: bool = True,
    marks: Sequence[Mark] = (),
    size: Size | None = None,
    codec: str = "libx264",
    crf: int = 18,
    progress: Progress | None = None,
) -> None:
    """A film of both clips in step, on the clock of the kept one, at its frame rate.

    layout  "side" by side, "stack" (above each other), "overlay" (the one through the other)
    keep    whose clock the film has
    audio   the "query"'s sound, the "match"'s, a "mix" of both, "none"; it follows the warp, pitch kept
    smooth  "nearest" frame to the path, "blend" of the two around it, or "pieces" of even speed
    gaps    frames that have no partner: the other clip runs on "dim"med, they are "skip"ped, or play "alone"
    labels  names, time codes and DRAQ on the picture
    marks   key moments or phases of the kept clip, shown by name
    size    (width, height) to fit the film into; default: the sources' own
    codec, crf  of the picture; lower crf is better and larger

    Nothing is left behind if it fails; an older file of the same name then stays as it was.
    """
    kept, other = clips_of(alignment, keep)
    warp = course(alignment.warp(keep=keep), other, smooth)
    clock = _clock(kept, warp, gaps)
    own, warped = own_frames(kept, clock), warped_frames(other, clock, warp, blend=smooth == "blend")
    shapes = [_shape(kept.file), _shape(other.file)]
    places, whole = _places(layout, shapes, size)
    cells = [
        Cell(source, *place, title=Path(clip.file).name)
        for source, place, clip in zip((own, warped), places, (kept, other), strict=True)
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
    shoot(
        film, file, soundtrack(audio, keep, kept, other, warp, clock), codec=codec, crf=crf, progress=progress
    )


def retime(
    alignment: Alignment,
    file: str | Path,
    *,
    keep: Side = "query",
    audio: Audio = "match",
    smooth: Smooth = "nearest",
    gaps: Gaps = "dim",
    size: Size | None = None,
    codec: str = "libx264",
    crf: int = 18,
    progress: Progress | None = None,
) -> None:
    """A film of the other clip alone, at its full resolution, brought to the clock of the kept one.

    The options are those of `compare`; with gaps="alone" the film is black where nothing corresponds.
    """
    kept, other = clips_of(alignment, keep)
    warp = course(alignment.warp(keep=keep), other, smooth)
    clock = _clock(kept, warp, gaps)
    shape = _fit(_shape(other.file), size)
    cell = Cell(warped_frames(other, clock, warp, blend=smooth == "blend"), 0, 0, *shape)
    film = Film(clock, [cell], shape, gaps=gaps)
    shoot(
        film, file, soundtrack(audio, keep, kept, other, warp, clock), codec=codec, crf=crf, progress=progress
    )


def grid(
    alignments: Sequence[Alignment],
    file: str | Path,
    *,
    columns: int | None = None,
    audio: Audio = "query",
    smooth: Smooth = "nearest",
    labels: bool = True,
    marks: Sequence[Mark] = (),
    size: Size | None = None,
    codec: str = "libx264",
    crf: int = 18,
    progress: Progress | None = None,
) -> None:
    """A film of the query (first) and several matches of it, all in step with it, in the order given.

    audio is the "query"'s, or the first "match"'s. What has no partner is dimmed. The other options are those
    of `compare`.
    """
    if not alignments:
        raise RenderError("a grid needs at least one alignment")
    if len({alignment.query for alignment in alignments}) > 1:
        raise RenderError("the alignments of a grid must share their query")
    query, first = clips_of(alignments[0], "query")
    clock = clock_of(query)
    columns = columns or math.ceil(math.sqrt(len(alignments) + 1))
    rows = math.ceil((len(alignments) + 1) / columns)
    width, height = _shape(query.file)
    box = _fit((width, height), tuple(np.array(size or LARGEST_GRID) // (columns, rows)), enlarge=False)
    cells = []
    for number, alignment in enumerate([None, *alignments]):
        left, top = number % columns * box[0], number // columns * box[1]
        if alignment is None:
            cells.append(
                Cell(own_frames(query, clock), left, top, *box, title=f"query  {Path(query.file).name}")
            )
            continue
        match = clips_of(alignment, "query")[1]
        shape = _fit(_shape(match.file), box)
        centred = left + (box[0] - shape[0]) // 4 * 2, top + (box[1] - shape[1]) // 4 * 2
        warp = course(alignment.warp(keep="query"), match, smooth)
        source = warped_frames(match, clock, warp, blend=smooth == "blend")
        cells.append(Cell(source, *centred, *shape, title=f"{number}  DRAQ {alignment.draq:.2f}"))
    film = Film(
        clock, cells, (columns * box[0], rows * box[1]), gaps="dim", labels=labels, marks=tuple(marks)
    )
    track = soundtrack(audio, "query", query, first, alignments[0].warp(keep="query"), clock)
    shoot(film, file, track, codec=codec, crf=crf, progress=progress)


def _clock(kept: Clip, warp: Warp, gaps: Gaps) -> Clock:
    if gaps not in ("dim", "skip", "alone"):
        raise RenderError(f"gaps={gaps!r}: expected 'dim', 'skip' or 'alone'")
    clock = clock_of(kept)
    return clock.only(warp.covers(clock.seconds)) if gaps == "skip" else clock


def _shape(file: str) -> Size:
    info = probe(file)
    return info.width, info.height


def _fit(shape: Size, size: Size | None, *, enlarge: bool = True) -> Size:
    """`shape` as large as fits into `size`, in even numbers."""
    scale = min(size[0] / shape[0], size[1] / shape[1]) if size else 1.0
    return _even(shape[0] * min(scale, math.inf if enlarge else 1)), _even(
        shape[1] * min(scale, math.inf if enlarge else 1)
    )


def _even(length: float) -> int:
    return max(2, round(length / 2) * 2)


def _places(
    layout: Layout, shapes: Sequence[Size], size: Size | None
) -> tuple[list[tuple[int, int, int, int]], Size]:
    """(left, top, width, height) of both clips, and the size of the film: neither clip is made smaller unless
    `size` asks for it."""
    (width, height), (other_width, other_height) = shapes
    if layout == "side":
        tall = max(height, other_height)
        widths = [tall * width / height, tall * other_width / other_height]
        scale = min(size[0] / sum(widths), size[1] / tall) if size else 1.0
        first, second, tall = _even(widths[0] * scale), _even(widths[1] * scale), _even(tall * scale)
        return [(0, 0, first, tall), (first, 0, second, tall)], (first + second, tall)
    if layout == "stack":
        wide = max(width, other_width)
        heights = [wide * height / width, wide * other_height / other_width]
        scale = min(size[0] / wide, size[1] / sum(heights)) if size else 1.0
        first, second, wide = _even(heights[0] * scale), _even(heights[1] * scale), _even(wide * scale)
        return [(0, 0, wide, first), (0, first, wide, second)], (wide, first + second)
    if layout == "overlay":
        whole = _fit((width, height), size)
        inner = _fit((other_width, other_height), whole)
        return [
            (0, 0, *whole),
            ((whole[0] - inner[0]) // 4 * 2, (whole[1] - inner[1]) // 4 * 2, *inner),
        ], whole
    raise RenderError(f"layout={layout!r}: expected 'side', 'stack' or 'overlay'")
