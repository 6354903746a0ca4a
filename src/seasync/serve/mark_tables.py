"""Marks that people set, and those carried from them: as films show them, and as tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel

from seasync.errors import ServeError
from seasync.files import location, write_text
from seasync.group.carry import SURE
from seasync.marks import Mark, csv_text, mark_key, mark_names
from seasync.options import MarkKind
from seasync.serve.models import LATEST, CarriedMark, MarkForm, Marks

if TYPE_CHECKING:
    from seasync.serve.served_sea import ServedSea


def all_marks(sea: ServedSea) -> list[Marks]:
    """The marks of every marked video of a sea."""
    return [Marks(**value) for _, value in sorted(sea.annotations.with_prefix("marks/").items())]


def marks_of(sea: ServedSea, ref: str) -> list[MarkForm]:
    """The marks of one video, in order of time."""
    return Marks(**(sea.annotations.get(f"marks/{ref}") or {"ref": ref})).marks


def read_forms(forms: Sequence[MarkForm]) -> list[Mark]:
    """Marks of a video, in order: a phase lasts until the next one."""
    found, end = [], LATEST
    for form in reversed(forms):
        found.append(Mark(form.name, form.seconds, end if form.kind == "phase" else None))
        end = form.seconds if form.kind == "phase" else end
    return found[::-1]


def names_in_use(sea: ServedSea) -> dict[MarkKind, list[str]]:
    """The names of a sea's marks, sorted by their average place in a clip."""
    clips = [read_forms(one.marks) for one in all_marks(sea)]
    moments = [[mark for mark in marks if mark.end is None] for marks in clips]
    phases = [[mark for mark in marks if mark.end is not None] for marks in clips]
    return {"moment": list(mark_names(moments)), "phase": list(mark_names(phases))}


def events_csv(sea: ServedSea) -> str:
    """A table with `clip` and a column of frame numbers per key moment. Clips that lack one are left out."""
    names = names_in_use(sea)["moment"]
    rows = []
    for clip, marks in _marks_by_path(sea):
        frames = {mark.name: mark.frame for mark in marks if mark.kind == "moment"}
        if frames.keys() == set(names):
            rows.append([clip, *(frames[name] for name in names)])
    return csv_text(["clip", *names], rows)


def phases_csv(sea: ServedSea) -> str:
    """A table with `clip`, `frame`, `phase`, `name`: the phase starts at that frame."""
    numbers = {name: number for number, name in enumerate(names_in_use(sea)["phase"])}
    rows = [
        [clip, mark.frame, numbers[mark.name], mark.name]
        for clip, marks in _marks_by_path(sea)
        for mark in marks
        if mark.kind == "phase"
    ]
    return csv_text(["clip", "frame", "phase", "name"], rows)


def moments_csv(sea: ServedSea, ref: str) -> str:
    """All marks of one video, in the form that `seasync.render.transfer` reads."""
    marks = marks_of(sea, ref)
    if not marks:
        raise ServeError(f"{ref}: this video has no marks yet", status=409)
    rows = [[mark.frame, f"{mark.seconds:.6f}", mark.kind, mark.name] for mark in marks]
    return csv_text(["frame", "seconds", "kind", "name"], rows)


def _marks_by_path(sea: ServedSea) -> Iterable[tuple[str, Sequence[MarkForm]]]:
    """The marks of each clip, by its path below the folder that all files of the sea share."""
    if not sea.exists():
        return
    files = {f"clip:{clip.id}": clip.file for clip in sea.snapshot().clips()}
    names = location.below_common_folder(files.values())
    marked = [marks for marks in all_marks(sea) if marks.ref in files]
    for marks in sorted(marked, key=lambda marks: files[marks.ref]):
        yield names[files[marks.ref]], marks.marks


# Marks that were carried to all clips of a sea, kept until they are carried again.


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


class LabelingRun(BaseModel):
    """What one run has carried: the marks it began with, and the clips, the most doubtful first."""

    labeled: int = 0
    label: str | None = None
    tolerance: float = 0.1
    marks: list[Marks] = []
    rows: list[CarriedRow] = []

    def save(self, file: Path) -> None:
        """Write it to a file."""
        write_text(file, self.model_dump_json(), make_folder=True)


class CarriedStore:
    """The latest carried marks of each sea, in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def place(self, sea: str) -> Path:
        """Where the carried marks of a sea belong. Its name may hold what file names cannot."""
        return self._folder / f"{sea.encode().hex()}.json"

    def get(self, sea: str) -> LabelingRun:
        """The carried marks of a sea; none before they are first carried."""
        file = self.place(sea)
        return LabelingRun.model_validate_json(file.read_bytes()) if file.exists() else LabelingRun()


def usable_marks(sea: ServedSea, asked: Sequence[Marks] | None) -> list[Marks]:
    """Marks of clips that the sea has: those asked for, else all that people set."""
    ids = {f"clip:{clip.id}" for clip in sea.snapshot().clips()} if sea.exists() else set()
    found = [one for one in (all_marks(sea) if asked is None else asked) if one.marks and one.ref in ids]
    return sorted(found, key=lambda one: one.ref)


def still_carried(sea: ServedSea, carried: LabelingRun) -> list[CarriedRow]:
    """The rows of clips that are still in the sea and that nobody has marked since."""
    ids = {str(clip.id) for clip in sea.snapshot().clips()} if sea.exists() else set()
    ids -= {one.ref.removeprefix("clip:") for one in all_marks(sea) if one.marks}
    return [row for row in carried.rows if row.clip in ids]


def carried_csv(sea: ServedSea, carried: LabelingRun) -> str:
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
