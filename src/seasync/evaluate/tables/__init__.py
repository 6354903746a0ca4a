"""The paper's tables and figures: functions from a study to a table, by name or all that the data allow."""

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from seasync.errors import DataError
from seasync.evaluate.dataset import Dataset
from seasync.evaluate.proxies import PROTOCOLS, in_paper_order, phases
from seasync.evaluate.results import Table, merge_tables
from seasync.evaluate.study import Progress, Study
from seasync.evaluate.tables.agreement import agreement, apa, indicators
from seasync.evaluate.tables.aligners import aligners, each_once
from seasync.evaluate.tables.planted import planted
from seasync.evaluate.tables.retrieval import avr, cost, rerank

OF_A_STUDY: Mapping[str, Callable[..., Table]] = {
    table.__name__: table for table in (rerank, avr, apa, agreement, indicators, cost, phases)
}
PLAIN = "dinov2-small-cls"  # the plain features beside ours
ALONE = {"aligners": aligners}  # tables that `all` leaves out
PLANTED_CLIPS = 40  # clips of each split: their planted films must be encoded too


def make_table(
    name: str,
    dataset: Dataset,
    gallery: Dataset | None = None,
    *,
    encoders: Sequence[str] | None = None,
    fps: float | None = None,
    candidates_by: str | None = None,
    seed: int = 0,
    jobs: int = 2,
    progress: Progress | None = None,
    **options: Any,
) -> Table:
    """Compute the table of this name, with the rows of all encoders.

    Parameters
    ----------
    name : str
        Of `OF_A_STUDY` or `ALONE`, or "planted".
    dataset, gallery, encoders, fps, candidates_by, seed, jobs, progress
        As in `all_tables`.
    options
        What only this table has. A `protocol` is given by its name, `films` is a folder.
    """
    if name == "planted":
        names = encoders or ["dinov2-small"]
        films = options.get("films")
        return _planted(dataset, names, films, fps=fps, seed=seed, jobs=jobs, progress=progress)
    if name == "phases":
        dataset = dataset.halved()
        options["protocol"] = PROTOCOLS[options.get("protocol", "carl")]
    if name == "aligners" and not encoders and dataset.encoder == PLAIN.removesuffix("-cls"):
        encoders = [PLAIN, dataset.encoder]
    studies = _studies(dataset, gallery, encoders, candidates_by, fps=fps, jobs=jobs, progress=progress)
    table = {**OF_A_STUDY, **ALONE}[name]
    return _merged([table(study, seed=seed, **options) for study in studies])


def _merged(tables: Sequence[Table]) -> Table:
    merged = merge_tables(tables)
    if merged.name == "aligners":
        return replace(merged, rows=each_once(merged.rows))
    if merged.name == "phases" and len(tables) > 1:
        return replace(merged, rows=in_paper_order(merged.rows))
    return merged


def _studies(
    dataset: Dataset,
    gallery: Dataset | None,
    encoders: Sequence[str] | None,
    candidates_by: str | None,
    **how: Any,
) -> Iterator[Study]:
    """A study for each encoder, one after the other; the candidates of all come from one encoder if asked."""
    retriever = Study.of(dataset, gallery, encoder=candidates_by, **how) if candidates_by else None
    for name in encoders or [dataset.encoder]:
        yield Study.of(dataset, gallery, encoder=name, retriever=retriever, **how)


def all_tables(
    dataset: Dataset,
    gallery: Dataset | None = None,
    *,
    encoders: Sequence[str] | None = None,
    candidates_by: str | None = None,
    seed: int = 0,
    **how: Any,
) -> list[Table]:
    """Compute all tables for all encoders.

    Parameters
    ----------
    dataset : Dataset
    gallery : Dataset, optional
        Search this data set instead.
    encoders : sequence of str, optional
        Default: the data set's own.
    candidates_by : str, optional
        The encoder that retrieves the candidates of all. Default: each encoder its own.
    seed, how
        `fps`, `jobs` and `progress` are as in `Study.of`.

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
        return [*_studies(data, gallery, names, candidates_by, **how)]

    whole = studies(dataset)
    halves = studies(dataset.halved()) if whole[0].leave_one_out else whole
    tables, missing = [], []
    for name in (*OF_A_STUDY, "planted"):
        try:
            if name == "planted":
                few = dataset.limited(PLANTED_CLIPS, seed=seed)
                tables.append(_planted(few, names, None, seed=seed, **how))
            else:
                some = halves if name == "phases" else whole
                tables.append(_merged([OF_A_STUDY[name](study, seed=seed) for study in some]))
        except DataError as error:
            missing.append(f"Without the table {name}: {error}")
    if not tables:
        raise DataError("; ".join(missing))
    return [replace(tables[0], notes=(*tables[0].notes, *missing)), *tables[1:]]


def _planted(dataset: Dataset, encoders: Sequence[str], films: Path | None, **how: Any) -> Table:
    with tempfile.TemporaryDirectory() as made:
        folder = films or Path(made)
        return merge_tables([planted(dataset, folder, encoder=name, **how) for name in encoders])
