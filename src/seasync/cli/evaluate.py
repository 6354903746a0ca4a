"""`seasync evaluate`: the paper's tables on your data, the paper's own figures beside them."""

import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from seasync.cli import output, parameters
from seasync.files import Location
from seasync.options import DatasetKind, Partial, PhaseProtocol

if TYPE_CHECKING:
    from seasync.evaluate.dataset import Dataset
    from seasync.evaluate.results import Table


own_option = partial(typer.Option, rich_help_panel="Options of this table")

# What `seasync evaluate NAME` measures, and the options that only some tables have.
TABLES: dict[str, tuple[str, tuple[str, ...]]] = {
    "avr": (
        "Measure the cycle consistency of the whole pipeline: FPE and CPE (Table 1 and supplementary).",
        ("k",),
    ),
    "apa": ("Measure aligned phase agreement and key-event error (Table 2).", ("k", "partial")),
    "agreement": (
        "Measure how much clips disagree about which moments are the same. Needs no marked moments.",
        ("k",),
    ),
    "phases": (
        "Measure phase classification, progression, frame retrieval and Kendall's τ (Table 3).",
        ("protocol",),
    ),
    "rerank": ("Measure R@1 and R@10 with and without re-ranking (Table 4).", ("k",)),
    "indicators": (
        "Measure agreement against the percentile of DRAQ, DTW cost and −τ (Figure 5).",
        ("per_query",),
    ),
    "cost": ("Measure the time of each stage, DRAQ's share of it, and bytes stored.", ("clips",)),
    "planted": (
        "Align real videos with copies that have another look and a known warp: error in ms, and retrieval.",
        ("films",),
    ),
    "all": ("Make every table that the data allow.", ()),
}


@dataclass(frozen=True)
class TableOptions:
    """Options that only some tables have. None leaves the choice to the table."""

    k: Annotated[
        int | None,
        own_option("-k", help="Candidates per query.", min=1, show_default="25 for rerank, otherwise 10"),
    ] = None
    partial: Annotated[
        Partial | None, own_option(help="Whether footage may be left out.", show_default="never")
    ] = None
    protocol: Annotated[
        PhaseProtocol | None, own_option(help="Whose rules to follow.", show_default="carl")
    ] = None
    per_query: Annotated[
        int | None, own_option(help="Pairs of each kind per query.", min=1, show_default="5")
    ] = None
    clips: Annotated[int | None, own_option(help="Queries to measure.", min=1, show_default="4")] = None
    films: Annotated[Path | None, own_option(help="Keep the planted films here.", metavar="FOLDER")] = None


evaluate = typer.Typer(help="Measure retrieval and alignment as the paper does.", no_args_is_help=True)


def measure(
    context: typer.Context,
    data: Annotated[str, typer.Argument(help="A data set (see docs/evaluation.md), or a sea.")],
    *,
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
    own: TableOptions,
    as_json: parameters.Json = False,
    csv: Annotated[bool, parameters.output_option("--csv", help="Print CSV.")] = False,
    latex: Annotated[bool, parameters.output_option("--latex", help="Print LaTeX.")] = False,
    report: Annotated[
        Location | None,
        parameters.file_option("Also write a report with plots, .html or .md.", parameters.OUTPUT),
    ] = None,
) -> None:
    """One function for all tables; each table has only the options that concern it."""
    from seasync.evaluate.data import open_dataset
    from seasync.evaluate.tables import all_tables, make_table

    name = str(context.info_name)
    given = {option: value for option, value in vars(own).items() if value is not None}

    def open_(place: str, kind: DatasetKind | None = None) -> "Dataset":
        return open_dataset(place, kind=kind, fps=fps).limited(limit, seed=seed)

    how: Any = {"encoders": encoder, "seed": seed, "jobs": jobs, "progress": _progress}
    mine, theirs = open_(data, kind), open_(gallery) if gallery else None
    if name == "all":
        made = all_tables(mine, theirs, **how)
    else:
        made = [make_table(name, mine, theirs, **how, **given)]
    _show(
        made,
        f"Seasync on {Path(data).absolute().name}",
        form="json" if as_json else "csv" if csv else "latex" if latex else None,
        report=report,
    )


for _name, (_help, _options) in TABLES.items():
    evaluate.command(_name, help=_help, epilog=f"Examples:\n\nseasync evaluate {_name} my-clips/")(
        parameters.spread(measure, only=_options)
    )


def _show(
    tables: list["Table"],
    title: str,
    *,
    form: Literal["json", "csv", "latex"] | None,
    report: Location | None,
) -> None:
    """Print tables in the format asked for; write the report."""
    from seasync.evaluate import results as table_text

    _progress("", 0, 0)
    if report:
        table_text.write_report(tables, report, title=title)
    if form == "json":
        print(table_text.as_json(*tables))
        return
    for table in tables:
        if form is None:
            table_text.print_table(table)
        else:
            print((table_text.as_csv if form == "csv" else table_text.as_latex)(table), end="")
    if report:
        print(f"report: {report}", file=sys.stderr)


def _progress(what: str, done: int, total: int) -> None:
    """Show on a terminal, in one line, what is under way."""
    if output.shows_bars():
        text = f"{what} {done + 1}/{total}" if total else ""
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


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
    from seasync.evaluate.dataset import write_page

    page = to or folder / "annotate.html"
    count = write_page(folder, page, marks=marks)
    clips = output.counted(count, "clip")
    print(f"{page}: open it in a browser to mark {clips}; then save events.csv beside them")
