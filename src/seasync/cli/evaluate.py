"""`seasync train`, `sea adapt` and `evaluate`: temporal encoders learned, the paper's tables on your data."""

import sys
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seasync.cli import output, parameters
from seasync.cli.output import print
from seasync.evaluate import described
from seasync.files import Location
from seasync.options import DatasetKind, Partial, PhaseProtocol, TrainKind

if TYPE_CHECKING:
    from seasync.evaluate.dataset import Dataset
    from seasync.evaluate.results import Table
    from seasync.train.fit import TrainingResult

training_option = partial(typer.Option, rich_help_panel="Training")
ADAPT_OPTIONS = ("steps", "views", "width", "layers", "rate", "held_out", "seed", "restart")
UNLEARNED = (
    "nothing was learned: no step scored higher on held-out clips than the untrained weights, so these were "
    "kept; try more --steps or more clips"
)


@dataclass(frozen=True)
class TrainingOptions:
    """How long and how to train, and what."""

    steps: Annotated[int, training_option(help="Training steps.", min=0)] = 400
    batch: Annotated[int, training_option(help="Clips per step.", min=2)] = 16
    rate: Annotated[float, training_option(help="Highest learning rate.")] = 1e-4
    views: Annotated[
        int | None,
        training_option(
            help="Altered views of each clip to encode and to draw frames from.",
            min=0,
            show_default="2 for nms on videos, otherwise 0",
        ),
    ] = None
    held_out: Annotated[
        float, training_option(help="Share of the files that is used for validation only.", min=0.05, max=0.9)
    ] = 0.2
    patience: Annotated[
        int, training_option(help="Validations without a better score before it stops.", min=1)
    ] = 8
    width: Annotated[
        int | None, training_option(help="Width of the transformer.", min=16, show_default="by kind")
    ] = None
    layers: Annotated[
        int | None, training_option(help="Number of transformer layers.", min=1, show_default="by kind")
    ] = None
    seed: Annotated[int, training_option(help="Seed of everything that is random.")] = 0
    restart: Annotated[
        bool, training_option("--restart", help="Start over even if there is a checkpoint.")
    ] = False

    def settings(self, needed_for: str) -> dict[str, Any]:
        """The same as arguments of `train_on` and `adapt`; an error if torch, which they need, is missing."""
        from seasync.encoders.torch_models import require_torch

        require_torch(needed_for, extra="train")
        from seasync.train.fit import TrainingPlan

        planned = {field.name for field in fields(TrainingPlan)}
        plan = TrainingPlan(**{name: value for name, value in vars(self).items() if name in planned})
        size = {name: value for name in ("width", "layers") if (value := getattr(self, name))}
        return {"plan": plan, "views": self.views, "size": size, "restart": self.restart}


def train(
    kind: Annotated[
        TrainKind,
        typer.Argument(
            help="What to learn: `taught` (moments of two clips), `nms` (order and speed), `carl` (moments "
            "of a clip seen twice), or a method that the paper compares with."
        ),
    ],
    out: Annotated[
        Location, parameters.file_option("The model to write, .onnx. A checkpoint is kept beside it.")
    ],
    videos: Annotated[
        list[str] | None, typer.Argument(help="Videos, folders, patterns or lists. Leave out with --sea.")
    ] = None,
    *,
    sea: Annotated[str | None, typer.Option(help="Train on the clips of this sea.")] = None,
    encoder: Annotated[
        str | None,
        typer.Option(show_default="dinov2-small, or the sea's own", help="Encoder of the videos' frames."),
    ] = None,
    fps: parameters.Fps = None,
    how: TrainingOptions,
    storage_option: parameters.StorageOptions = None,
    as_json: parameters.Json = False,
) -> None:
    """Train a temporal encoder on frame features.

    If it is interrupted, run the same command again: it continues exactly where it stopped. The result is an
    encoder like any other: ENCODER+KIND:OUT, such as dinov2-small+taught:OUT. With --steps 0 the
    weights stay as they begin.

    Examples:

    seasync train taught --sea footage.sea --out model.onnx

    seasync train nms videos/ --out nms.onnx --steps 1000
    """
    settings = how.settings("seasync train")
    from seasync.train import train_on

    if bool(videos) == bool(sea):
        raise typer.BadParameter("expected what to train on: videos, or --sea")
    with output.resumable(), output.progress() as show:
        trained = train_on(
            sea or videos or [], kind=kind, file=out, encoder=encoder, fps=fps, progress=show, **settings
        )
    _report(trained, kind, out, as_json)


def _report(trained: "TrainingResult", kind: TrainKind, out: Location, as_json: bool) -> None:
    if as_json:
        output.print_json({"file": str(out), "kind": kind, **vars(trained)})
        return
    clips = f"{output.counted(trained.training_clips, 'clip')}, {trained.held_out_clips} held out"
    print(f"{out}: {output.counted(trained.steps, 'step')} on {clips}")
    scores = ", ".join(f"{name} {value:.3f}" for name, value in trained.best.items() if name != "step")
    print(f"on held-out clips, at step {trained.kept}: {scores}")
    if trained.steps and not trained.kept:
        print(UNLEARNED)
    name = f"the encoder {trained.encoder}+{kind}:{out}"
    print(f"use it as {name}" if trained.kept else f"untrained, it is a control: {name}")


def adapt(
    *,
    to: Annotated[
        str,
        typer.Option(
            metavar="SEA", help="The new sea, NAME.sea, by path or URI. The trained model lies beside it."
        ),
    ],
    sea: parameters.Sea = "footage.sea",
    kind: Annotated[TrainKind, typer.Option(help="What to learn, as in `seasync train`.")] = "taught",
    recipe: parameters.RecipeName = "motion",
    how: TrainingOptions,
    storage_option: parameters.StorageOptions = None,
    as_json: parameters.Json = False,
) -> None:
    """Train an encoder on a sea and, if it aligns held-out clips better, encode the sea with it.

    If it is interrupted, run the same command again to continue.

    Examples:

    seasync sea adapt --sea footage.sea --to adapted.sea
    """
    settings = how.settings("seasync sea adapt")
    from seasync.train.adapt import adapt as adapt_sea

    with output.resumable(), output.progress() as show:
        settings |= {"kind": kind, "recipe": parameters.recipe_named(recipe), "progress": show}
        adapted = adapt_sea(parameters.open_sea(sea), to, **settings)
    if as_json:
        output.print_json({"sea": to if adapted.better else sea, **vars(adapted)})
        return
    if adapted.agreement:
        print("clips disagree  {:.1f} ms before, {:.1f} ms after".format(*adapted.agreement))
    else:
        print("clips disagree  not measured: fewer than four clips are held out")
    if adapted.planted:
        print("planted truth   {:.1f} ms before, {:.1f} ms after".format(*adapted.planted))
    else:
        print("planted truth   not measured: fewer than three held-out videos are readable single shots")
    print("cycle error     {:.2f} before, {:.2f} after (FPE, frames²)".format(*adapted.cycle))
    if not adapted.step:
        print(UNLEARNED)
    judged = output.counted(adapted.judged, "held-out clip")
    print(f"{'better' if adapted.better else 'not better'} on {judged}: {adapted.why}")
    if adapted.better:
        print(f"{to}: {output.counted(adapted.clips, 'clip')} encoded by {adapted.encoder}")
    else:
        print(f"Nothing was written. {sea} keeps {adapted.encoder}. More --steps or more clips may help.")


own_option = partial(typer.Option, rich_help_panel="Options of this table")


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
    warps: Annotated[
        list[Path] | None,
        own_option(
            help="Warps of another system, CSV: query, match, query_seconds, match_seconds. Repeatable."
        ),
    ] = None
    films: Annotated[Path | None, own_option(help="Keep the planted films here.", metavar="FOLDER")] = None


evaluate = typer.Typer(help="Measure retrieval and alignment as the paper does.", no_args_is_help=True)


def _rate(text: str) -> float:
    """A frame rate, or `native`."""
    from seasync.evaluate.study import NATIVE

    if text == "native":
        return NATIVE
    try:
        rate = float(text)
    except ValueError:
        rate = 0.0
    if not 0.01 <= rate <= NATIVE:
        raise typer.BadParameter(f"expected frames per second, or native, got {text}")
    return rate


Encoders = Annotated[list[str] | None, typer.Option("--encoder", help="Encoder of the frames. Repeatable.")]
Limit = Annotated[int | None, typer.Option(min=2, help="Use at most this many clips of each split.")]
Jobs = Annotated[int, typer.Option(min=1, help="Threads.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of everything that is random.")]


@dataclass(frozen=True)
class Printing:
    """How tables are printed, and where a report of them goes."""

    as_json: parameters.Json = False
    csv: Annotated[bool, parameters.output_option("--csv", help="Print CSV.")] = False
    latex: Annotated[bool, parameters.output_option("--latex", help="Print LaTeX.")] = False
    report: Annotated[
        Location | None,
        parameters.file_option("Also write a report with plots, .html or .md.", parameters.OUTPUT),
    ] = None

    def show(self, tables: list["Table"], title: str) -> None:
        """Print tables in the format asked for; write the report."""
        from seasync.evaluate import results as table_text

        _progress("", 0, 0)
        if self.report:
            table_text.write_report(tables, self.report, title=title)
        if self.as_json:
            print(table_text.as_json(*tables))
            return
        for table in tables:
            if self.csv or self.latex:
                print((table_text.as_csv if self.csv else table_text.as_latex)(table), end="")
            else:
                table_text.print_table(table)
        if self.report:
            print(f"report: {self.report}", file=sys.stderr)


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
    encoder: Encoders = None,
    limit: Limit = None,
    candidates_by: Annotated[
        str | None,
        typer.Option(metavar="ENCODER", help="Retrieve candidates by this encoder, align by the others."),
    ] = None,
    fps: Annotated[
        float | None,
        typer.Option(
            parser=_rate,
            metavar="RATE|native",
            show_default="the encoder's rate; every frame for byol: and carl:; 30 for .npy",
            help="Frames to sample per second; `native` takes all. For ready-made .npy features: their rate.",
        ),
    ] = None,
    jobs: Jobs = 2,
    seed: Seed = 0,
    own: TableOptions,
    printing: Printing,
) -> None:
    """One function for all tables; each table has only the options that concern it."""
    from seasync.evaluate.data import open_dataset
    from seasync.evaluate.study import NATIVE
    from seasync.evaluate.tables import all_tables, make_table

    name = str(context.info_name)
    given = {option: value for option, value in vars(own).items() if value is not None}

    def open_(place: str, kind: DatasetKind | None = None) -> "Dataset":
        ready = {} if fps in (None, NATIVE) else {"fps": fps}
        return open_dataset(place, kind=kind, **ready).limited(limit, seed=seed)

    how: Any = {"encoders": encoder, "fps": fps, "candidates_by": candidates_by}
    how |= {"seed": seed, "jobs": jobs, "progress": _progress}
    mine, theirs = open_(data, kind), open_(gallery) if gallery else None
    if name == "all":
        made = all_tables(mine, theirs, **how)
    else:
        made = [make_table(name, mine, theirs, **how, **given)]
    printing.show(made, f"Seasync on {Path(data).absolute().name}")


for _name, _said in described().items():
    _epilog = f"Examples:\n\nseasync evaluate {_name} my-clips/"
    _register = evaluate.command(_name, help=_said["help"], epilog=_epilog)
    _shown = [*_said.get("options", ()), *(each.name for each in fields(Printing))]
    _register(parameters.spread(measure, only=_shown))


def paper(
    *,
    penn: Annotated[str | None, typer.Option(metavar="DIR", help="Penn Action.")] = None,
    ucf: Annotated[str | None, typer.Option(metavar="DIR", help="UCF101.")] = None,
    kinetics: Annotated[str | None, typer.Option(metavar="DIR", help="Kinetics-700.")] = None,
    byol: Annotated[
        str | None, typer.Option(metavar="FILE", help="Checkpoint of BYOL, as byol:FILE.")
    ] = None,
    carl: Annotated[
        str | None, typer.Option(metavar="FILE", help="Checkpoint of CARL, as carl:FILE.")
    ] = None,
    nms: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Model of `seasync train nms`. It retrieves candidates."),
    ] = None,
    encoder: Encoders = None,
    limit: Limit = None,
    fps: Annotated[
        float | None,
        typer.Option(
            parser=_rate,
            metavar="RATE|native",
            show_default="native, as in the paper",
            help="Frames to sample per second.",
        ),
    ] = None,
    jobs: Jobs = 2,
    seed: Seed = 0,
    printing: Printing,
) -> None:
    """Make every table of the paper and Figure 5, as far as the given data and encoders allow.

    Examples:

    seasync evaluate paper --penn Penn_Action/ --ucf UCF-101/ --byol byol.pth
    """
    from seasync.evaluate.data import open_dataset
    from seasync.evaluate.tables.paper import paper_tables

    places: dict[DatasetKind, str | None] = {"penn": penn, "ucf101": ucf, "kinetics": kinetics}
    data = {
        kind.removesuffix("101"): open_dataset(place, kind=kind).limited(limit, seed=seed)
        for kind, place in places.items()
        if place
    }
    files = {name: file for name, file in (("BYOL", byol), ("CARL", carl), ("NMS", nms)) if file}
    made = paper_tables(data, files, encoder or (), fps=fps, seed=seed, jobs=jobs, progress=_progress)
    printing.show(made, "Sync from the Sea, measured by Seasync")


def _progress(what: str, done: int, total: int) -> None:
    """Show on a terminal, in one line, what is under way."""
    if output.shows_bars():
        text = f"{what} {done + 1}/{total}" if total else ""
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


parameters.add_command(evaluate, paper)


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
