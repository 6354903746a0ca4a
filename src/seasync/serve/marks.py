"""Marks: as films show them, and as the tables that `seasync evaluate` reads."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from seasync.errors import ServeError
from seasync.options import MarkKind
from seasync.serve.models import LATEST, Mark, Marks

if TYPE_CHECKING:
    from seasync.render import Mark as Shown
    from seasync.serve.core import ServedSea


def marks_of(sea: ServedSea) -> list[Marks]:
    """Of every marked video of the sea."""
    return [Marks(**value) for _, value in sorted(sea.notes.under("marks/").items())]


def marks_on(sea: ServedSea, ref: str) -> list[Mark]:
    """Of one video, in the order they come in."""
    return Marks(**(sea.notes.get(f"marks/{ref}") or {"ref": ref})).marks


def shown_marks(marks: Sequence[Mark]) -> list[Shown]:
    """As films show them: a phase lasts until the next one."""
    from seasync.render import Mark as Shown

    shown, end = [], LATEST
    for mark in reversed(marks):
        shown.append(Shown(mark.seconds, mark.name, end if mark.kind == "phase" else None))
        end = mark.seconds if mark.kind == "phase" else end
    return shown[::-1]


def names_of(sea: ServedSea) -> dict[MarkKind, list[str]]:
    """Names in use, by where in their clip they come on average."""
    places: dict[MarkKind, dict[str, list[float]]] = {"moment": {}, "phase": {}}
    for marks in marks_of(sea):
        for kind, names in places.items():
            own = [mark for mark in marks.marks if mark.kind == kind]
            for place, mark in enumerate(own):
                names.setdefault(mark.name, []).append(place / len(own))
    return {
        kind: sorted(names, key=lambda name: sum(names[name]) / len(names[name]))
        for kind, names in places.items()
    }


def events_csv(sea: ServedSea) -> str:
    """`clip`, then a column of frame numbers for each key moment; clips that lack one are left out."""
    names = names_of(sea)["moment"]
    rows = []
    for clip, marks in _by_clip(sea):
        frames = {mark.name: mark.frame for mark in marks if mark.kind == "moment"}
        if frames.keys() == set(names):
            rows.append([clip, *(frames[name] for name in names)])
    return _csv(["clip", *names], rows)


def phases_csv(sea: ServedSea) -> str:
    """`clip`, `frame`, `phase`, `name`: from that frame on the clip is in that phase."""
    numbers = {name: number for number, name in enumerate(names_of(sea)["phase"])}
    rows = [
        [clip, mark.frame, numbers[mark.name], mark.name]
        for clip, marks in _by_clip(sea)
        for mark in marks
        if mark.kind == "phase"
    ]
    return _csv(["clip", "frame", "phase", "name"], rows)


def moments_csv(sea: ServedSea, ref: str) -> str:
    """All marks of one video, as `seasync.render.transfer` carries them over."""
    marks = marks_on(sea, ref)
    if not marks:
        raise ServeError(f"{ref}: has no marks yet", status=409)
    rows = [[mark.frame, f"{mark.seconds:.6f}", mark.kind, mark.name] for mark in marks]
    return _csv(["frame", "seconds", "kind", "name"], rows)


def _by_clip(sea: ServedSea) -> Iterable[tuple[str, Sequence[Mark]]]:
    """Each marked clip by its path below the folder that all of the sea's files share."""
    if not sea.exists():
        return
    files = {f"clip:{clip.id}": clip.file for clip in sea.snapshot().clips()}
    top = os.path.commonpath([Path(file).parent for file in files.values()]) if files else ""
    marked = [marks for marks in marks_of(sea) if marks.ref in files]
    for marks in sorted(marked, key=lambda marks: files[marks.ref]):
        yield Path(files[marks.ref]).relative_to(top).as_posix(), marks.marks


def _csv(columns: list[str], rows: Iterable[Sequence[object]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return out.getvalue()
