"""What an alignment is for: films, sound, pictures, timelines for editors, labels carried over."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seasync.lazy import loader

if TYPE_CHECKING:
    from seasync.group.carry import transfer as transfer
    from seasync.marks.mark import Mark as Mark
    from seasync.render.composition import read_marks as read_marks
    from seasync.render.films import compare as compare
    from seasync.render.films import grid as grid
    from seasync.render.films import group_film as group_film
    from seasync.render.films import retime as retime
    from seasync.render.picture import alignment_picture as alignment_picture
    from seasync.render.picture import contact_sheet as contact_sheet
    from seasync.render.picture import warp_picture as warp_picture
    from seasync.render.sound import write_sound as write_sound
    from seasync.render.timelines import export as export
    from seasync.render.timelines.replace import replace_clip as replace_clip
    from seasync.render.timing_page import write_timing as write_timing

_HOMES = {
    "Mark": "seasync.marks.mark",
    "alignment_picture": "picture",
    "compare": "films",
    "contact_sheet": "picture",
    "export": "timelines",
    "grid": "films",
    "group_film": "films",
    "read_marks": "composition",
    "replace_clip": "timelines.replace",
    "retime": "films",
    "transfer": "seasync.group.carry",
    "warp_picture": "picture",
    "write_sound": "sound",
    "write_timing": "timing_page",
}
__all__ = sorted(_HOMES)
__getattr__ = loader(__name__, _HOMES)
