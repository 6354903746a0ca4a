"""A film of a group: the reference and its takes in step."""

from __future__ import annotations

from collections.abc import Callable

from seasync.errors import RenderError
from seasync.files import Place
from seasync.group.clock import Group
from seasync.group.timing import take_name
from seasync.render.films import grid
from seasync.render.tempo_bar import Tempo

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
        Tempo(group.seconds, group.tempo[n] if tempo else None, None if unusual is None else unusual[n])
        for n in rows
    ]
    alignments = [take.alignment for take in shown]
    own = f"reference  {take_name(group.reference)}"
    grid(alignments, file, titles=titles, query_title=own, tempos=signs, size=size, progress=progress)
    return len(shown)
