"""`seasync train`: a temporal encoder, learned on frame features."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from seasync.cli.output import counted, progress, resumable
from seasync.cli.parameters import TRAINING, Fps, Json, StorageOptions, path_or_uri
from seasync.files import Location
from seasync.options import TrainKind

if TYPE_CHECKING:
    from seasync.train.fit import TrainingResult

EXAMPLES = """\
seasync train taught --sea footage.sea --out model.onnx

seasync train nms videos/ --out nms.onnx --steps 1000"""
UNLEARNED = (
    "nothing was learned: no step scored higher on held-out clips than the untrained weights, so these were "
    "kept; try more --steps or more clips"
)

Steps = Annotated[int, typer.Option(min=0, rich_help_panel=TRAINING, help="Training steps.")]
Rate = Annotated[float, typer.Option(rich_help_panel=TRAINING, help="Highest learning rate.")]
Views = Annotated[
    int,
    typer.Option(
        min=0, rich_help_panel=TRAINING, help="Altered views of each clip to encode and to draw frames from."
    ),
]
HeldOut = Annotated[
    float,
    typer.Option(
        min=0.05,
        max=0.9,
        rich_help_panel=TRAINING,
        help="Share of the files that is used for validation only.",
    ),
]
Width = Annotated[
    int | None,
    typer.Option(min=16, rich_help_panel=TRAINING, show_default="by kind", help="Width of the transformer."),
]
Layers = Annotated[
    int | None,
    typer.Option(
        min=1, rich_help_panel=TRAINING, show_default="by kind", help="Number of transformer layers."
    ),
]
Seed = Annotated[int, typer.Option(rich_help_panel=TRAINING, help="Seed of everything that is random.")]
Restart = Annotated[
    bool,
    typer.Option("--restart", rich_help_panel=TRAINING, help="Start over even if there is a checkpoint."),
]


def train(
    kind: Annotated[
        TrainKind,
        typer.Argument(
            help="What to learn: `nms` (order and speed), `carl` (moments of a clip seen twice), or `taught` "
            "(moments of two clips)."
        ),
    ],
    out: Annotated[
        Location,
        typer.Option(
            parser=path_or_uri,
            metavar="FILE",
            help="The model to write, .onnx. A checkpoint is kept beside it.",
        ),
    ],
    videos: Annotated[
        list[str] | None, typer.Argument(help="Videos, folders, patterns or lists. Leave out with --sea.")
    ] = None,
    sea: Annotated[str | None, typer.Option(help="Train on the clips of this sea.")] = None,
    encoder: Annotated[
        str | None,
        typer.Option(show_default="dinov2-small, or the sea's own", help="Encoder of the videos' frames."),
    ] = None,
    fps: Fps = None,
    steps: Steps = 400,
    batch: Annotated[int, typer.Option(min=2, rich_help_panel=TRAINING, help="Clips per step.")] = 16,
    rate: Rate = 1e-4,
    views: Views = 0,
    held_out: HeldOut = 0.2,
    patience: Annotated[
        int,
        typer.Option(
            min=1, rich_help_panel=TRAINING, help="Validations without a better score before it stops."
        ),
    ] = 8,
    width: Width = None,
    layers: Layers = None,
    seed: Seed = 0,
    restart: Restart = False,
    storage_option: StorageOptions = None,
    as_json: Json = False,
) -> None:
    """Train a temporal encoder on frame features.

    If it is interrupted, run the same command again: it continues exactly where it stopped. The result is an
    encoder like any other: ENCODER+nms:OUT, ENCODER+carl:OUT or ENCODER+taught:OUT. With --steps 0 it is an
    untrained control.
    """
    from seasync.encoders.torch_models import require_torch

    require_torch("seasync train", extra="train")
    from seasync.train import TrainingPlan, train_on

    if bool(videos) == bool(sea):
        raise typer.BadParameter("expected what to train on: videos, or --sea")
    with resumable(), progress() as show:
        plan = TrainingPlan(
            steps=steps, batch=batch, rate=rate, held_out=held_out, patience=patience, seed=seed
        )
        trained = train_on(
            sea or videos or [],
            kind=kind,
            file=out,
            encoder=encoder,
            fps=fps,
            views=views,
            size=size_of(width, layers),
            plan=plan,
            restart=restart,
            progress=show,
        )
    _report(trained, kind, out, as_json)


def size_of(width: int | None, layers: int | None) -> dict[str, int]:
    """The size of the transformer, as far as it is given."""
    return {name: value for name, value in (("width", width), ("layers", layers)) if value}


def _report(trained: TrainingResult, kind: TrainKind, out: Location, as_json: bool) -> None:
    if as_json:
        import json

        print(json.dumps({"file": str(out), "kind": kind, **vars(trained)}))
        return
    clips = f"{counted(trained.training_clips, 'clip')}, {trained.held_out_clips} held out"
    print(f"{out}: {counted(trained.steps, 'step')} on {clips}")
    scores = ", ".join(f"{name} {value:.3f}" for name, value in trained.best.items() if name != "step")
    print(f"on held-out clips, at step {trained.kept}: {scores}")
    if trained.steps and not trained.kept:
        print(UNLEARNED)
    name = f"the encoder {trained.encoder}+{kind}:{out}"
    print(f"use it as {name}" if trained.kept else f"untrained, it is a control: {name}")
