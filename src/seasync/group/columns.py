"""Marks of many clips as a table: a column for each moment that a mark begins or ends with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from seasync.encoding import Seconds
from seasync.marks import Mark, mark_names

Key = tuple[str, int, bool]  # name, how many of this name come before it in its clip, whether it is the end


@dataclass(frozen=True)
class MarkColumns:
    """The columns of a table of marks. A name that comes twice in a clip has two columns."""

    keys: tuple[Key, ...]

    def __len__(self) -> int:
        return len(self.keys)

    @classmethod
    def of(cls, clips: Iterable[Sequence[Mark]]) -> MarkColumns:
        """Columns for all marks of these clips, in the order in which they come."""
        numbered = [_numbered(marks) for marks in clips]
        order = {
            name: place for place, name in enumerate(mark_names([list(each.values()) for each in numbered]))
        }
        keys = {(name, count) for each in numbered for name, count in each}
        ending = {key for each in numbered for key, mark in each.items() if mark.end is not None}
        columns: list[Key] = []
        for name, count in sorted(keys, key=lambda key: (key[1], order[key[0]])):
            columns.append((name, count, False))
            if (name, count) in ending:
                columns.append((name, count, True))
        return cls(tuple(columns))

    def moments(self, marks: Sequence[Mark]) -> Seconds:
        """When each column happens in a clip with these marks; NaN where it has none. [shape=(E,)]"""
        own = _numbered(marks)
        row = np.full(len(self.keys), np.nan)
        for column, (name, count, is_end) in enumerate(self.keys):
            mark = own.get((name, count))
            if mark is not None and (not is_end or mark.end is not None):
                row[column] = mark.end if is_end else mark.seconds
        return row

    def marks(self, moments: Seconds, confidence: Seconds) -> tuple[Mark, ...]:
        """The marks that a row of moments stands for, the less sure of its two ends counting."""
        found: dict[tuple[str, int], Mark] = {}
        for (name, count, is_end), moment, sure in zip(
            self.keys, moments.tolist(), confidence.tolist(), strict=True
        ):
            if not np.isfinite(moment):
                continue
            begun = found.get((name, count))
            if not is_end:
                found[name, count] = Mark(name, max(moment, 0.0), None, round(sure, 3))
            elif begun is not None:
                least = min(sure, begun.confidence or 0.0)
                found[name, count] = Mark(name, begun.seconds, max(moment, begun.seconds), round(least, 3))
        return tuple(sorted(found.values(), key=lambda mark: mark.seconds))


def _numbered(marks: Sequence[Mark]) -> dict[tuple[str, int], Mark]:
    """Marks by their names and how many of the same name come before them."""
    before: Counter[str] = Counter()
    found = {}
    for mark in sorted(marks, key=lambda mark: mark.seconds):
        found[mark.name, before[mark.name]] = mark
        before[mark.name] += 1
    return found
