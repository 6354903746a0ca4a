"""Every table that the data at hand allow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from seasync.errors import DataError
from seasync.evaluate.study import Study
from seasync.evaluate.table import Table, merged
from seasync.evaluate.tables.apa import apa
from seasync.evaluate.tables.avr import avr
from seasync.evaluate.tables.cost import cost
from seasync.evaluate.tables.indicators import indicators
from seasync.evaluate.tables.phases import phases
from seasync.evaluate.tables.rerank import rerank

TABLES: tuple[tuple[Callable[..., Table], bool], ...] = (
    (rerank, False),
    (avr, False),
    (apa, False),
    (indicators, False),
    (phases, True),
    (cost, False),
)


def everything(whole: Sequence[Study], halves: Sequence[Study], **options: Any) -> list[Table]:
    """All tables of all studies; one that the data do not allow is left out, and the first table says why.

    `halves` are the same studies with a training and a test side.
    """
    made, missing = [], []
    for table, split in TABLES:
        try:
            made.append(merged([table(study, **options) for study in (halves if split else whole)]))
        except DataError as error:
            missing.append(f"Without the table {table.__name__}: {error}")
    if not made:
        raise DataError("; ".join(missing))
    first = made[0]
    return [first.with_notes(missing), *made[1:]]
