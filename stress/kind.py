"""A kind of stress."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from stress.journal import Round

Play = Callable[[int], Round]  # plays the round with this seed


@dataclass(frozen=True)
class Kind:
    """A kind of stress: its name, what it counts, how many rounds are the goal, and how it is opened.

    Attributes
    ----------
    measures
        The sorts of findings. The last stands for everything else.
    opened
        Prepares everything in a folder, and gives the function that plays a round.
    unit
        What the rounds are, for the summary line.
    """

    name: str
    measures: tuple[str, ...]
    count: int
    opened: Callable[[Path], AbstractContextManager[Play]]
    unit: str = ""
