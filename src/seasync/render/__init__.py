"""What an alignment is for: films, sound, pictures, timelines for editors, labels carried over."""

from seasync.group.carry import transfer
from seasync.marks import Mark
from seasync.render.films import compare, dub, grid, group_film, read_marks, retime
from seasync.render.picture import alignment_picture, contact_sheet, warp_picture
from seasync.render.sound import write_sound
from seasync.render.timelines import export, replace_clip
from seasync.render.timing_page import write_timing

__all__ = [
    "Mark",
    "alignment_picture",
    "compare",
    "contact_sheet",
    "dub",
    "export",
    "grid",
    "group_film",
    "read_marks",
    "replace_clip",
    "retime",
    "transfer",
    "warp_picture",
    "write_sound",
    "write_timing",
]
