"""`seasync train` and `seasync sea adapt`: a temporal encoder, learned on frame features."""

from dataclasses import dataclass, fields
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seasync.cli import output, parameters
from seasync.files import Location
from seasync.options import TrainKind

if TYPE_CHECKING:
    from seasync.train.fit import TrainingResult

EXAMPLES = {
    "train": """\
seasync train taught --sea footage.sea --out model.onnx

seasync train nms videos/ --out nms.onnx --steps 1000""",
    "adapt": "seasync sea adapt --sea footage.sea --to adapted.sea",
}
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
        int, training_option(help="Altered views of each clip to encode and to draw frames from.", min=0)
    ] = 0
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
            help="What to learn: `nms` (order and speed), `carl` (moments of a clip seen twice), or `taught` "
            "(moments of two clips)."
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
    encoder like any other: ENCODER+nms:OUT, ENCODER+carl:OUT or ENCODER+taught:OUT. With --steps 0 the
    weights stay as they begin.
    """
    settings = how.settings("seasync train")
    from seasync.train import train_on

    if bool(videos) == bool(sea):
        raise typer.BadParameter("expected what to train on: videos, or --sea")
    with output.resumable(), output.progress() as show:
        trained = train_on(
            sea or videos or [],
            kind=kind,
            file=out,
            encoder=encoder,
            fps=fps,
            progress=show,
            **settings,
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
    """
    settings = how.settings("seasync sea adapt")
    from seasync.train.adapt import adapt as adapt_sea

    with output.resumable(), output.progress() as show:
        adapted = adapt_sea(
            parameters.open_sea(sea),
            to,
            kind=kind,
            recipe=parameters.recipe_named(recipe),
            progress=show,
            **settings,
        )
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
