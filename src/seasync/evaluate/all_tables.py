"""Every table that a data set allows."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from seasync.errors import DataError
from seasync.evaluate.dataset import Dataset
from seasync.evaluate.results import Table, merge_tables
from seasync.evaluate.study import Progress, Study
from seasync.evaluate.tables.agreement import agreement
from seasync.evaluate.tables.apa import apa
from seasync.evaluate.tables.avr import avr
from seasync.evaluate.tables.indicators import indicators
from seasync.evaluate.tables.phases import phases
from seasync.evaluate.tables.planted import planted
from seasync.evaluate.tables.rerank import rerank
from seasync.evaluate.tables.time_and_storage import cost

PLANTED_CLIPS = 40  # clips of each split: their planted films must be encoded too


def all_tables(
    dataset: Dataset,
    gallery: Dataset | None = None,
    *,
    encoders: Sequence[str] | None = None,
    seed: int = 0,
    jobs: int = 2,
    progress: Progress | None = None,
) -> list[Table]:
    """Compute all tables for all encoders.

    Parameters
    ----------
    dataset : Dataset
    gallery : Dataset, optional
        Search this data set instead.
    encoders : sequence of str, optional
        Default: the data set's own.
    seed, jobs, progress
        As in `Study.of`.

    Returns
    -------
    list of Table
        Tables that the data do not allow are left out; a note on the first one says why.

    Raises
    ------
    DataError
        If the data allow no table.
    """
    names = encoders or [dataset.encoder]

    def studies(data: Dataset) -> list[Study]:
        return [Study.of(data, gallery, encoder=n, jobs=jobs, progress=progress) for n in names]

    whole = studies(dataset)
    halves = studies(dataset.halved()) if whole[0].leave_one_out else whole

    def of(table: Callable[..., Table], some: Sequence[Study]) -> Callable[[], list[Table]]:
        return lambda: [table(study, seed=seed) for study in some]

    def films() -> list[Table]:
        few = dataset.limited(PLANTED_CLIPS, seed=seed)
        with tempfile.TemporaryDirectory() as made:
            plant = partial(planted, few, Path(made), seed=seed, jobs=jobs, progress=progress)
            return [plant(encoder=name) for name in names]

    wanted = {table.__name__: of(table, whole) for table in (rerank, avr, apa, agreement, indicators, cost)}
    wanted |= {"phases": of(phases, halves), "planted": films}
    tables, missing = [], []
    for name, make in wanted.items():
        try:
            tables.append(merge_tables(make()))
        except DataError as error:
            missing.append(f"Without the table {name}: {error}")
    if not tables:
        raise DataError("; ".join(missing))
    return [tables[0].with_notes(missing), *tables[1:]]
