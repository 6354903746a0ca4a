"""Several takes of one movement on one clock; marks carried from a few labeled clips to all others."""

from seasync.group.carry import CarriedMarks, Carrier, LabeledClip, carry_over_sea, doubtful_first
from seasync.group.clock import AlignedTake, Group, LeftOut, Take, align_group
from seasync.group.repeated import RepeatedMovement, find_repetitions

__all__ = [
    "AlignedTake",
    "CarriedMarks",
    "Carrier",
    "Group",
    "LabeledClip",
    "LeftOut",
    "RepeatedMovement",
    "Take",
    "align_group",
    "carry_over_sea",
    "doubtful_first",
    "find_repetitions",
]
