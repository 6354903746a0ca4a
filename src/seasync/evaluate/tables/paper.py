"""The whole paper: each of its tables and Figure 5, as far as the given data and encoders allow."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from seasync.errors import SeasyncError
from seasync.evaluate.dataset import Dataset
from seasync.evaluate.results import Table
from seasync.evaluate.study import NATIVE, Progress
from seasync.evaluate.tables import make_table

SETS = {"penn": "Penn Action", "ucf": "UCF101", "kinetics": "Kinetics-700"}
METHODS = ("BYOL", "CARL", "NMS")
SLIDING = "@32/16"  # frames of a window of CARL-SW, and from one to the next; the paper does not say


@dataclass(frozen=True)
class Part:
    """A table of the paper on one data set, or from one to another."""

    named: str
    table: str
    queries: str
    gallery: str | None = None

    @property
    def name(self) -> str:
        """Of our table, such as `avr-penn-ucf`."""
        return "-".join(filter(None, (self.table, self.queries, self.gallery)))


PARTS = (
    Part("Table 1 and its supplement", "avr", "penn"),
    Part("Table 1 and its supplement", "avr", "penn", "ucf"),
    Part("Table 1 and its supplement", "avr", "kinetics"),
    Part("Table 2", "apa", "penn"),
    Part("Table 3", "phases", "penn"),
    Part("Table 4", "rerank", "penn"),
    Part("Table 4", "rerank", "ucf"),
    Part("Figure 5", "indicators", "penn"),
)


def paper_tables(
    data: Mapping[str, Dataset],
    files: Mapping[str, str],
    encoders: Sequence[str] = (),
    *,
    fps: float | None = None,
    seed: int = 0,
    jobs: int = 2,
    progress: Progress | None = None,
) -> list[Table]:
    """Every table of the paper that the data allow; notes on the first one say what is missing.

    Candidates are retrieved by NMS, as in the paper, if its file is given, otherwise by each encoder itself.

    Parameters
    ----------
    data : mapping of str to Dataset
        By the names of `SETS`.
    files : mapping of str to str
        The encoders of the paper by the names of `METHODS`.
    encoders : sequence of str
        Further encoders, such as trained methods of Table 3.
    fps : float, optional
        Sampled frames per second. Default: every frame, as in the paper.
    seed, jobs, progress
        As in `Study.of`.

    Raises
    ------
    SeasyncError
        If no table can be made; it says why.
    """
    named = {name: f"{name.lower()}:{files[name]}" for name in METHODS if name in files}
    missing = [f"Not here: {name} (--{name.lower()} FILE)." for name in METHODS if name not in named]
    tables: list[Table] = []
    how: dict[str, Any] = {"fps": fps or NATIVE, "seed": seed, "jobs": jobs, "progress": progress}
    for part in PARTS:
        absent = [name for name in (part.queries, part.gallery) if name and name not in data]
        if absent:
            options = ", ".join(f"--{name} DIR" for name in absent)
            where = SETS[part.queries] + (f" ⇄ {SETS[part.gallery]}" if part.gallery else "")
            missing.append(f"Not here: {part.named} on {where} ({options}).")
            continue
        mine, theirs = data[part.queries], data[part.gallery] if part.gallery else None
        try:
            using = [*_encoders(part, named), *encoders] or None
            made = make_table(
                part.table, mine, theirs, encoders=using, candidates_by=_retriever(part, named), **how
            )
        except SeasyncError as error:
            missing.append(f"Not here: {part.named}, {part.name}: {error}")
            continue
        notes = (*_differences(part, named), *made.notes)
        tables.append(replace(made, name=part.name, notes=notes))
    if not tables:
        raise SeasyncError(" ".join(missing))
    return [replace(tables[0], notes=(*tables[0].notes, *missing)), *tables[1:]]


def _encoders(part: Part, named: Mapping[str, str]) -> Iterator[str]:
    """What the paper shows in a table, of what is there."""
    if part.table in ("rerank", "indicators") and "NMS" in named:
        yield named["NMS"]
        return
    yield from named.values()
    if part.table == "phases" and "BYOL" in named:
        yield f"{named['BYOL']}+carl:untrained"
    if part.table == "phases" and "CARL" in named:
        yield named["CARL"] + SLIDING


def _retriever(part: Part, named: Mapping[str, str]) -> str | None:
    return named.get("NMS") if part.table in ("avr", "apa") else None


def _differences(part: Part, named: Mapping[str, str]) -> Iterator[str]:
    """Where our setting is not the paper's."""
    if part.table in ("avr", "apa"):
        if "NMS" not in named:
            yield "Candidates by each encoder's own clip vectors; the paper's by those of NMS."
        if part.gallery:
            yield "No oracle candidates, as in the paper: the actions of the two sets differ."
    if "NMS" in named and "+" not in named["NMS"]:
        yield "NMS is a model of `seasync train nms`: the paper's own weights are not public."
    if part.table == "phases" and "CARL" in named:
        window, stride = SLIDING[1:].split("/")
        yield f"CARL-SW has windows of {window} frames, {stride} apart; the paper does not say its own."
