"""Marks: named moments and phases of clips, read from and written to the formats that other tools use."""

from seasync.marks.files import read_marks as read_marks, write_marks as write_marks
from seasync.marks.mark import Mark as Mark, MarkedClips as MarkedClips
