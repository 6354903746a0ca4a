"""Marks as films show them, and as the tables that `seasync evaluate` reads."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from seasync.errors import ServeError
from seasync.files.location import below_common_folder
from seasync.options import MarkKind
from seasync.serve.models import LATEST, Mark, Marks

if TYPE_CHECKING:
    from seasync.render import Mark as Shown
    from seasync.serve.served_sea import ServedSea


def all_marks(sea: ServedSea) -> list[Marks]:
    """The marks of every marked video of a sea."""
    return [Marks(**value) for _, value in sorted(sea.annotations.with_prefix("marks/").items())]


def marks_of(sea: ServedSea, ref: str) -> list[Mark]:
    """The marks of one video, in order of time."""
    return Marks(**(sea.annotations.get(f"marks/{ref}") or {"ref": ref})).marks


def film_marks(marks: Sequence[Mark]) -> list[Shown]:
    """Marks as films show them: a phase lasts until the next one."""
    from seasync.render import Mark as Shown

    shown, end = [], LATEST
    for mark in reversed(marks):
        shown.append(Shown(mark.seconds, mark.name, end if mark.kind == "phase" else None))
        end = mark.seconds if mark.kind == "phase" else end
    return shown[::-1]


def mark_names(sea: ServedSea) -> dict[MarkKind, list[str]]:
    """The names in use, sorted by their average place in a clip."""
    places: dict[MarkKind, dict[str, list[float]]] = {"moment": {}, "phase": {}}
    for marks in all_marks(sea):
        for kind, names in places.items():
            own = [mark for mark in marks.marks if mark.kind == kind]
            for place, mark in enumerate(own):
                names.setdefault(mark.name, []).append(place / len(own))
    return {
        kind: sorted(names, key=lambda name: sum(names[name]) / len(names[name]))
        for kind, names in places.items()
    }


def events_csv(sea: ServedSea) -> str:
    """A table with `clip` and a column of frame numbers per key moment. Clips that lack one are left out."""
    names = mark_names(sea)["moment"]
    rows = []
    for clip, marks in _marks_by_path(sea):
        frames = {mark.name: mark.frame for mark in marks if mark.kind == "moment"}
        if frames.keys() == set(names):
            rows.append([clip, *(frames[name] for name in names)])
    return csv_text(["clip", *names], rows)


def phases_csv(sea: ServedSea) -> str:
    """A table with `clip`, `frame`, `phase`, `name`: the phase starts at that frame."""
    numbers = {name: number for number, name in enumerate(mark_names(sea)["phase"])}
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


def _marks_by_path(sea: ServedSea) -> Iterable[tuple[str, Sequence[Mark]]]:
    """The marks of each clip, by its path below the folder that all files of the sea share."""
    if not sea.exists():
        return
    files = {f"clip:{clip.id}": clip.file for clip in sea.snapshot().clips()}
    names = below_common_folder(files.values())
    marked = [marks for marks in all_marks(sea) if marks.ref in files]
    for marks in sorted(marked, key=lambda marks: files[marks.ref]):
        yield names[files[marks.ref]], marks.marks


def csv_text(columns: list[str], rows: Iterable[Sequence[object]]) -> str:
    """A table as CSV."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return out.getvalue()
