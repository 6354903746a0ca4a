"""Clips that are parts of one film: find where the query fits around a candidate in its film."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from seasync.align import Recipe
from seasync.align.spans import Span, fitting_spans
from seasync.encoders.vector import cut, joined
from seasync.encoding import Encoding

if TYPE_CHECKING:
    from seasync.sea.found import RowIds
    from seasync.sea.query import Query
    from seasync.sea.snapshot import Snapshot

FURTHEST = 30.0  # seconds on either side of a candidate that are searched


@dataclass(frozen=True)
class Part:
    """One of the clips that a film was split into: its row, and its seconds in the film."""

    row: int
    start: float
    end: float


Place = tuple[str, str, int]  # content of the film, how it was cut, number of the part


def spans_around(
    snapshot: Snapshot, query: Query, rows: RowIds, recipe: Recipe
) -> Iterator[tuple[int, Span, Encoding]]:
    """For each candidate that is part of a film, find the stretch around it that fits the query best.

    The search goes as far around a candidate as the query is long, but neither into the query's own footage
    nor beyond a part that keeps no frame features.

    Yields
    ------
    (int, Span, Encoding)
        The candidate's position in `rows`, the stretch, and its encoding.
    """
    if not snapshot.has_parts:
        return
    parts = _parts(snapshot, rows)
    places = {part.row: place for place, part in parts.items()}
    own = set(query.own.tolist())
    reach = min(float(query.encoding.seconds[-1] - query.encoding.seconds[0]), FURTHEST)
    around = {
        at: _around(places[row], parts, reach, own) for at, row in enumerate(rows.tolist()) if row in places
    }
    wanted = sorted({parts[place].row for group in around.values() for place in group})
    kept = dict(zip(wanted, snapshot.encodings(wanted, vectors=False), strict=True)) if wanted else {}
    for at, group in around.items():
        encodings = [kept[parts[place].row] for place in group]
        known = [encoding for encoding in encodings if encoding is not None]
        if len(known) < len(group):
            continue
        film = joined(known, at_cuts=group[0][1] == "shots")
        for span in fitting_spans(query.encoding, film, recipe=recipe, count=1):
            end = min(span.end, parts[group[-1]].end)  # the samples alone tell it only to a sampling step
            yield at, Span(span.start, end), cut(film, span.start, end)


def _parts(snapshot: Snapshot, rows: RowIds) -> dict[Place, Part]:
    """All parts of the films that the candidates are parts of."""
    hits = snapshot.take(rows, ["content", "parts"])
    films = {film for film, count in zip(*hits.to_pydict().values(), strict=True) if count > 1}
    if not films:
        return {}
    where = f"parts > 1 AND content IN ({', '.join(map(repr, sorted(films)))})"
    table = snapshot.table(["content", "split", "part", "start", "duration"], where)
    return {
        (content, split, number): Part(row, start, start + duration)
        for content, split, number, start, duration, row in zip(*table.to_pydict().values(), strict=True)
    }


def _around(place: Place, parts: dict[Place, Part], reach: float, own: set[int]) -> list[Place]:
    """The part itself and its neighbors within `reach` seconds, in the film's order."""
    content, split, number = place
    hit = parts[place]

    def is_near(number: int) -> bool:
        part = parts.get((content, split, number))
        return (
            part is not None
            and part.row not in own
            and part.end > hit.start - reach
            and part.start < hit.end + reach
        )

    first, last = number, number + 1
    while is_near(first - 1):
        first -= 1
    while is_near(last):
        last += 1
    return [(content, split, n) for n in range(first, last)]
