"""Timelines that editing programs open: an alignment as an edit, in each program's own format.

A format is a module in `formats`, named as its files end, with a function `write(alignment, place, *, keep)`
that returns the files it wrote. To add one, write the module and add its name to
`seasync.options.TimelineFormat`.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from seasync import plugins
from seasync.alignment import Alignment
from seasync.errors import RenderError
from seasync.files import Location, Place
from seasync.options import Side, TimelineFormat, suffixes

FORMATS = suffixes(TimelineFormat)


def known_formats() -> tuple[str, ...]:
    """The endings of all formats, those of installed packages too."""
    return (*FORMATS, *(f".{name}" for name in plugins.names("timelines")))


def export(alignment: Alignment, file: Place, *, keep: Side = "query") -> list[Path | Location]:
    """Write `alignment` as a timeline that shows the other clip on the clock of the kept one.

    All formats but .csv and .json follow the smoothed warp to one frame, in as few pieces of even speed as
    that takes, and say so in the file. Where the alignment is partial, the timeline has gaps.

    Parameters
    ----------
    alignment
        An alignment that knows its files.
    file
        A path or URI. Its ending decides the format: .otio (OpenTimelineIO), .fcpxml (Final Cut Pro,
        Resolve), .edl (CMX3600), .mlt (Shotcut, melt), .xml (xmeml, for Premiere), .csv or .json (frame
        by frame).
    keep
        The clip whose clock the timeline has.

    Returns
    -------
    list of Path or Location
        The files written. An .mlt has its sound beside it.

    Raises
    ------
    RenderError
        If the format is unknown, the file cannot be written, or the alignment does not know its files.

    Examples
    --------
    >>> alignment = seasync.align("query.mp4", "other.mp4")
    >>> files = seasync.render.export(alignment, "sync.otio")
    """
    place = Location(file)
    suffix = place.suffix.lower()
    if suffix in FORMATS:
        written = import_module(f"{__name__}.formats{suffix}").write(alignment, place, keep=keep)
    elif plugin := plugins.find("timelines", suffix.removeprefix(".")):
        written = plugin.run(lambda write: list(map(Location, write(alignment, place, keep=keep))))
    else:
        raise RenderError(
            f"{file}: no timeline format is named {suffix!r}; expected one of {' '.join(known_formats())}"
        )
    # As callers know them: paths, unless they are at a URI.
    return [each.path if each.is_local else each for each in written]
