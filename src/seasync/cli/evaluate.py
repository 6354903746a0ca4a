"""`seasync evaluate`: the paper's tables on your data, the paper's own figures beside them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seasync.cli.options import Partial, PartialName
from seasync.cli.spread import spread
from seasync.options import DatasetKind

if TYPE_CHECKING:
    from seasync.evaluate.dataset import Dataset
    from seasync.evaluate.results import Table

evaluate = typer.Typer(help="Measure retrieval and alignment as the paper does.", no_args_is_help=True)

KINDS = "The layout of the data set. Recognized from its files if not given."


@dataclass(frozen=True)
class Run:
    """What every table's command takes."""

    data: Annotated[str, typer.Argument(help="A data set (docs/evaluation.md has the layouts), or a sea.")]
    gallery: Annotated[str | None, typer.Option(help="Search in this other data set (Penn ⇄ UCF).")] = None
    kind: Annotated[DatasetKind | None, typer.Option(help=KINDS)] = None
    encoder: Annotated[list[str] | None, typer.Option(help="Frame features; may be given several times.")] = (
        None
    )
    limit: Annotated[int | None, typer.Option(help="At most so many clips of each split.", min=2)] = None
    fps: Annotated[float, typer.Option(help="Rate of ready-made .npy features.", min=0.01)] = 30.0
    jobs: Annotated[int, typer.Option(help="Threads.", min=1)] = 2
    seed: Annotated[int, typer.Option(help="Of random candidates, pairs and intervals.", min=0)] = 0
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False
    csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False
    latex: Annotated[bool, typer.Option("--latex", help="Print a LaTeX table.")] = False
    report: Annotated[
        Path | None, typer.Option(help="Also write a report with plots, FILE.html or FILE.md.")
    ] = None

    def dataset(self) -> Dataset:
        from seasync.evaluate.data import open_dataset

        return open_dataset(self.data, kind=self.kind, fps=self.fps).limited(self.limit, seed=self.seed)

    def other(self) -> Dataset | None:
        from seasync.evaluate.data import open_dataset

        if self.gallery is None:
            return None
        return open_dataset(self.gallery, fps=self.fps).limited(self.limit, seed=self.seed)

    def each(self, table: Callable[..., Table], *, split: bool = False, **options: Any) -> list[Table]:
        """The table of every encoder, as one; with `split`, a set without one is halved."""
        from seasync.evaluate.results import merge_tables
        from seasync.evaluate.study import Study

        dataset, other = self.dataset(), self.other()
        dataset = dataset.halved() if split else dataset
        made = []
        for name in self.encoder or [dataset.encoder]:
            study = Study.of(dataset, other, encoder=name, jobs=self.jobs, progress=progress)
            made.append(table(study, seed=self.seed, **options))
        return [merge_tables(made)]

    def show(self, tables: list[Table]) -> None:
        """Print the tables in the format asked for; write the report."""
        from seasync.evaluate import formats
        from seasync.evaluate.report import write_report

        progress("", 0, 0)
        if self.report:
            write_report(tables, self.report, title=f"Seasync on {Path(self.data).absolute().name}")
        if self.json and len(tables) > 1:
            print(formats.all_as_json(tables))
            return
        for table in tables:
            if self.json:
                print(formats.as_json(table))
            elif self.csv or self.latex:
                print((formats.as_csv if self.csv else formats.as_latex)(table), end="")
            else:
                formats.print_table(table)
        if self.report:
            print(f"report: {self.report}", file=sys.stderr)


def progress(what: str, done: int, total: int) -> None:
    """One line on a terminal that says what is under way; nothing where nobody looks."""
    if sys.stderr.isatty():
        text = f"{what} {done + 1}/{total}" if total else ""
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def command(table: Callable[..., list[Table]]) -> Callable[..., None]:
    """Make a command of a function (run, **own options): it has Run's options too and shows the tables."""

    @wraps(table)
    def show(*, run: Run, **given: Any) -> None:
        run.show(table(run, **given))

    made = spread(show)
    evaluate.command(table.__name__.removesuffix("_"))(made)
    return made


class Protocol(StrEnum):
    carl = "carl"
    tcc = "tcc"


Candidates = Annotated[int, typer.Option("-k", help="Candidates for each query.", min=1)]
Films = Annotated[Path | None, typer.Option(help="Keep the planted films in this folder.")]


@command
def avr(run: Run, k: Candidates = 10) -> list[Table]:
    """Cycle consistency of the whole pipeline: FPE and CPE (Table 1 and supplementary)."""
    from seasync.evaluate.tables.avr import avr

    return run.each(avr, k=k)


@command
def apa(
    run: Run,
    k: Candidates = 10,
    partial: Partial = PartialName.auto,
) -> list[Table]:
    """Aligned phase agreement and key-event error (Table 2)."""
    from seasync.evaluate.tables.apa import apa

    return run.each(apa, k=k, partial=partial.value)


@command
def agreement(run: Run, k: Candidates = 10) -> list[Table]:
    """How much clips disagree about which moments are the same: better features, without marked ones."""
    from seasync.evaluate.tables.agreement import agreement

    return run.each(agreement, k=k)


@command
def phases(
    run: Run, protocol: Annotated[Protocol, typer.Option(help="Whose rules to follow.")] = Protocol.carl
) -> list[Table]:
    """Phase classification, progression, frame retrieval and Kendall's τ, with controls (Table 3)."""
    from seasync.evaluate.proxies import PROTOCOLS
    from seasync.evaluate.tables.phases import phases

    return run.each(phases, split=True, protocol=PROTOCOLS[protocol.value])


@command
def rerank(run: Run, k: Candidates = 25) -> list[Table]:
    """R@1 and R@10 with and without re-ranking (Table 4)."""
    from seasync.evaluate.tables.rerank import rerank

    return run.each(rerank, k=k)


@command
def indicators(
    run: Run, per_query: Annotated[int, typer.Option(help="Pairs of each kind per query.", min=1)] = 5
) -> list[Table]:
    """Agreement against the percentile of DRAQ, DTW cost and −τ (Figure 5)."""
    from seasync.evaluate.tables.indicators import indicators

    return run.each(indicators, per_query=per_query)


@command
def cost(
    run: Run, clips: Annotated[int, typer.Option(help="Queries to measure on.", min=1)] = 4
) -> list[Table]:
    """Time of each stage, DRAQ's share of it, and bytes stored."""
    from seasync.evaluate.tables.time_and_storage import cost

    return run.each(cost, clips=clips)


@command
def planted(run: Run, films: Films = None) -> list[Table]:
    """Real videos against copies with another look and a known warp: error in ms, and retrieval."""
    import tempfile

    from seasync.evaluate.results import merge_tables
    from seasync.evaluate.tables.planted import planted

    dataset = run.dataset()
    with tempfile.TemporaryDirectory() as made:
        how: dict[str, Any] = {"seed": run.seed, "jobs": run.jobs, "progress": progress}
        names = run.encoder or ["dinov2-small"]
        return [merge_tables([planted(dataset, films or Path(made), encoder=name, **how) for name in names])]


@command
def all_(run: Run) -> list[Table]:
    """Every table that the data allow."""
    from seasync.evaluate.all_tables import all_tables

    how: dict[str, Any] = {"seed": run.seed, "jobs": run.jobs, "progress": progress}
    return all_tables(run.dataset(), run.other(), encoders=run.encoder, **how)


@evaluate.command()
def annotate(
    folder: Annotated[Path, typer.Argument(help="Clips to mark.")],
    to: Annotated[Path | None, typer.Option(help="The page; default: annotate.html in the folder.")] = None,
    marks: Annotated[Path | None, typer.Option(help="A CSV file of earlier marks to go on from.")] = None,
) -> None:
    """Write a page on which key moments are marked; it saves the events.csv that gives clips their phases."""
    from seasync.evaluate.annotate import write_page

    page = to or folder / "annotate.html"
    count = write_page(folder, page, marks=marks)
    print(f"{page}: open it in a browser to mark {count} clips; then save events.csv beside them")
