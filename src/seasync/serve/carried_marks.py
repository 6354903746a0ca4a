"""Marks that were carried to all clips of a sea, kept until they are carried again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel

from seasync.files import atomic_write
from seasync.group.carry import SURE
from seasync.marks import mark_key
from seasync.serve.mark_tables import all_marks, csv_text
from seasync.serve.models import CarriedMark, Marks
from seasync.serve.served_sea import ServedSea


class CarriedRow(BaseModel):
    """The marks that were carried to one clip, given by its id."""

    clip: str
    sources: int
    marks: list[CarriedMark]

    @property
    def confidence(self) -> float:
        """Of the most doubtful mark; 0 without marks."""
        return min((mark.confidence for mark in self.marks), default=0.0)

    @property
    def sure(self) -> bool:
        """Whether nobody needs to check it."""
        return self.confidence >= SURE


class Carried(BaseModel):
    """What one run has carried: the marks it began with, and the clips, the most doubtful first."""

    labeled: int = 0
    label: str | None = None
    tolerance: float = 0.1
    marks: list[Marks] = []
    rows: list[CarriedRow] = []

    def save(self, file: Path) -> None:
        """Write it to a file."""
        with atomic_write(file, make_folder=True) as part:
            part.write_text(self.model_dump_json(), encoding="utf-8")


class CarriedStore:
    """The latest carried marks of each sea, in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def place(self, sea: str) -> Path:
        """Where the carried marks of a sea belong. Its name may hold what file names cannot."""
        return self._folder / f"{sea.encode().hex()}.json"

    def get(self, sea: str) -> Carried:
        """The carried marks of a sea; none before they are first carried."""
        file = self.place(sea)
        return Carried.model_validate_json(file.read_bytes()) if file.exists() else Carried()


def usable_marks(sea: ServedSea, asked: Sequence[Marks] | None) -> list[Marks]:
    """Marks of clips that the sea has: those asked for, else all that people set."""
    ids = {f"clip:{clip.id}" for clip in sea.snapshot().clips()} if sea.exists() else set()
    found = [one for one in (all_marks(sea) if asked is None else asked) if one.marks and one.ref in ids]
    return sorted(found, key=lambda one: one.ref)


def still_carried(sea: ServedSea, carried: Carried) -> list[CarriedRow]:
    """The rows of clips that are still in the sea and that nobody has marked since."""
    ids = {str(clip.id) for clip in sea.snapshot().clips()} if sea.exists() else set()
    ids -= {one.ref.removeprefix("clip:") for one in all_marks(sea) if one.marks}
    return [row for row in carried.rows if row.clip in ids]


def carried_csv(sea: ServedSea, carried: Carried) -> str:
    """A row per mark of every clip; marks that people set have no confidence."""
    rows = {row.clip: row for row in still_carried(sea, carried)}
    own = {one.ref.removeprefix("clip:"): one.marks for one in [*carried.marks, *all_marks(sea)]}
    table = []
    for clip in sea.snapshot().clips() if sea.exists() else ():
        found = rows.get(str(clip.id))
        for mark in found.marks if found else own.get(str(clip.id), []):
            sure = f"{mark.confidence:.3f}" if isinstance(mark, CarriedMark) else ""
            table.append([mark_key(clip), mark.kind, mark.name, f"{mark.seconds:.6f}", sure])
    return csv_text(["clip", "kind", "name", "seconds", "confidence"], table)
