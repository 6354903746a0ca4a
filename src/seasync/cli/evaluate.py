"""`seasync evaluate`: the paper's tables on your data, the paper's own figures beside them."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from seasync.cli.output import counted, shows_bars
from seasync.cli.parameters import OUTPUT, Json, path_or_uri
from seasync.files import Location
from seasync.options import DatasetKind, Partial, PhaseProtocol

if TYPE_CHECKING:
    from seasync.evaluate.dataset import Dataset
    from seasync.evaluate.results import Table


# From the options of `seasync evaluate` to its tables, and the tables to the terminal.


@dataclass(frozen=True)
class TableCommand:
    """What `seasync evaluate NAME` measures, and the options that only some tables have."""

    help: str
    options: tuple[str, ...] = ()


TABLES = {
    "avr": TableCommand(
        "Measure the cycle consistency of the whole pipeline: FPE and CPE (Table 1 and supplementary).",
        ("k",),
    ),
    "apa": TableCommand("Measure aligned phase agreement and key-event error (Table 2).", ("k", "partial")),
    "agreement": TableCommand(
        "Measure how much clips disagree about which moments are the same. Needs no marked moments.", ("k",)
    ),
    "phases": TableCommand(
        "Measure phase classification, progression, frame retrieval and Kendall's τ (Table 3).", ("protocol",)
    ),
    "rerank": TableCommand("Measure R@1 and R@10 with and without re-ranking (Table 4).", ("k",)),
    "indicators": TableCommand(
        "Measure agreement against the percentile of DRAQ, DTW cost and −τ (Figure 5).", ("per_query",)
    ),
    "cost": TableCommand("Measure the time of each stage, DRAQ's share of it, and bytes stored.", ("clips",)),
    "planted": TableCommand(
        "Align real videos with copies that have another look and a known warp: error in ms, and retrieval.",
        ("films",),
    ),
    "all": TableCommand("Make every table that the data allow."),
}


def show(
    tables: list[Table], title: str, *, form: Literal["json", "csv", "latex"] | None, report: Location | None
) -> None:
    """Print tables in the format asked for; write the report."""
    from seasync.evaluate import report as table_text

    progress("", 0, 0)
    if report:
        table_text.write_report(tables, report, title=title)
    if form == "json":
        print(table_text.all_as_json(tables) if len(tables) > 1 else table_text.as_json(tables[0]))
        return
    for table in tables:
        if form is None:
            table_text.print_table(table)
        else:
            print((table_text.as_csv if form == "csv" else table_text.as_latex)(table), end="")
    if report:
        print(f"report: {report}", file=sys.stderr)


def progress(what: str, done: int, total: int) -> None:
    """Show on a terminal, in one line, what is under way."""
    if shows_bars():
        text = f"{what} {done + 1}/{total}" if total else ""
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


SOME = "Options of this table"

evaluate = typer.Typer(help="Measure retrieval and alignment as the paper does.", no_args_is_help=True)


def measure(
    context: typer.Context,
    data: Annotated[str, typer.Argument(help="A data set (see docs/evaluation.md), or a sea.")],
    gallery: Annotated[
        str | None, typer.Option(metavar="DATA", help="Search in this other data set instead.")
    ] = None,
    kind: Annotated[
        DatasetKind | None,
        typer.Option(show_default="recognized from the files", help="Layout of the data set."),
    ] = None,
    encoder: Annotated[list[str] | None, typer.Option(help="Encoder of the frames. Repeatable.")] = None,
    limit: Annotated[
        int | None, typer.Option(min=2, help="Use at most this many clips of each split.")
    ] = None,
    fps: Annotated[float, typer.Option(min=0.01, help="Frame rate of ready-made .npy features.")] = 30.0,
    jobs: Annotated[int, typer.Option(min=1, help="Threads.")] = 2,
    seed: Annotated[int, typer.Option(min=0, help="Seed of everything that is random.")] = 0,
    k: Annotated[
        int | None,
        typer.Option(
            "-k",
            min=1,
            rich_help_panel=SOME,
            show_default="25 for rerank, otherwise 10",
            help="Candidates per query.",
        ),
    ] = None,
    partial: Annotated[
        Partial | None,
        typer.Option(rich_help_panel=SOME, show_default="never", help="Whether footage may be left out."),
    ] = None,
    protocol: Annotated[
        PhaseProtocol | None,
        typer.Option(rich_help_panel=SOME, show_default="carl", help="Whose rules to follow."),
    ] = None,
    per_query: Annotated[
        int | None,
        typer.Option(min=1, rich_help_panel=SOME, show_default="5", help="Pairs of each kind per query."),
    ] = None,
    clips: Annotated[
        int | None,
        typer.Option(min=1, rich_help_panel=SOME, show_default="4", help="Queries to measure."),
    ] = None,
    films: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", rich_help_panel=SOME, help="Keep the planted films here."),
    ] = None,
    as_json: Json = False,
    csv: Annotated[bool, typer.Option("--csv", rich_help_panel=OUTPUT, help="Print CSV.")] = False,
    latex: Annotated[bool, typer.Option("--latex", rich_help_panel=OUTPUT, help="Print LaTeX.")] = False,
    report: Annotated[
        Location | None,
        typer.Option(
            parser=path_or_uri,
            metavar="FILE",
            rich_help_panel=OUTPUT,
            help="Also write a report with plots, .html or .md.",
        ),
    ] = None,
) -> None:
    """One function for all tables; each table has only the options that concern it."""
    from seasync.evaluate.data import open_dataset
    from seasync.evaluate.tables import all_tables, make_table

    name = str(context.info_name)
    own = {
        "k": k,
        "partial": partial,
        "protocol": protocol,
        "per_query": per_query,
        "clips": clips,
        "films": films,
    }
    given: dict[str, Any] = {option: value for option, value in own.items() if value is not None}

    def open_(place: str, kind: DatasetKind | None = None) -> Dataset:
        return open_dataset(place, kind=kind, fps=fps).limited(limit, seed=seed)

    how: Any = {"encoders": encoder, "seed": seed, "jobs": jobs, "progress": progress}
    mine, theirs = open_(data, kind), open_(gallery) if gallery else None
    if name == "all":
        made = all_tables(mine, theirs, **how)
    else:
        made = [make_table(name, mine, theirs, **how, **given)]
    show(
        made,
        f"Seasync on {Path(data).absolute().name}",
        form="json" if as_json else "csv" if csv else "latex" if latex else None,
        report=report,
    )


def _with_options(*names: str) -> Callable[..., None]:
    """`measure` without the options of other tables."""

    @wraps(measure)
    def command(**given: Any) -> None:
        measure(**given)

    some = {option for table in TABLES.values() for option in table.options}
    signature = inspect.signature(measure, eval_str=True)
    kept = [each for name, each in signature.parameters.items() if name not in some or name in names]
    command.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
    return command


for _name, _table in TABLES.items():
    evaluate.command(_name, help=_table.help, epilog=f"Examples:\n\nseasync evaluate {_name} my-clips/")(
        _with_options(*_table.options)
    )


@evaluate.command(epilog="Examples:\n\nseasync evaluate annotate my-clips/")
def annotate(
    folder: Annotated[Path, typer.Argument(help="Folder with the clips to mark.")],
    to: Annotated[
        Path | None,
        typer.Option(metavar="FILE", show_default="annotate.html in the folder", help="The page to write."),
    ] = None,
    marks: Annotated[
        Path | None, typer.Option(metavar="FILE", help="CSV with earlier marks to continue from.")
    ] = None,
) -> None:
    """Write a web page for marking key moments. It saves the events.csv that gives clips their phases."""
    from seasync.evaluate.events import write_page

    page = to or folder / "annotate.html"
    count = write_page(folder, page, marks=marks)
    print(f"{page}: open it in a browser to mark {counted(count, 'clip')}; then save events.csv beside them")
