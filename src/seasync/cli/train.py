"""`seasync train`: a temporal encoder, learned on frame features."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seasync.cli.options import Fps, Json, StorageOptions
from seasync.cli.progress import progress, resumable

if TYPE_CHECKING:
    from seasync.train.fit import TrainingResult

Restart = Annotated[bool, typer.Option("--restart", help="Begin anew although there is a checkpoint.")]
UNLEARNED = (
    "nothing was learned: no step scored higher on held-out clips than the untrained weights, so these were "
    "kept; give more --steps or more clips"
)


class Kind(StrEnum):
    nms = "nms"
    carl = "carl"
    taught = "taught"


def train(
    kind: Kind = typer.Argument(
        help="What is learned: order and speed, moments of a clip seen twice, or of two clips."
    ),
    videos: list[str] = typer.Argument(None, help="Videos, folders, patterns or lists, if not a sea."),
    out: Path = typer.Option(..., help="The model to write, .onnx; a checkpoint lies beside it."),
    sea: str = typer.Option(None, help="Train on the clips of this sea."),
    encoder: str = typer.Option(
        None, help="What makes the frame features of videos.", show_default="dinov2-small, or the sea's own"
    ),
    fps: Fps = None,
    steps: int = typer.Option(400, min=0, help="Training steps; 0 writes an untrained control."),
    batch: int = typer.Option(16, min=2, help="Clips in a step."),
    rate: float = typer.Option(1e-4, help="The learning rate at its highest."),
    views: int = typer.Option(0, min=0, help="Altered views of each clip, to be encoded and drawn from."),
    held_out: float = typer.Option(0.2, min=0.05, max=0.9, help="Share of the files to validate on only."),
    patience: int = typer.Option(8, min=1, help="Validations without a better score before it stops."),
    width: int = typer.Option(None, min=16, help="Of the transformer.", show_default="by kind"),
    layers: int = typer.Option(None, min=1, help="Of the transformer.", show_default="by kind"),
    seed: int = typer.Option(0, help="All that is random follows from it."),
    restart: Restart = False,
    storage_option: StorageOptions = None,
    as_json: Json = False,
) -> None:
    """Train a temporal encoder. Interrupted, run it again: it goes on exactly where it was.

    nms tells what is out of order and how fast it runs; carl which moments of a clip seen twice are the same;
    taught which moments of two clips are the same, from their alignments by all streams of the encoder; the
    model stands on the first of them alone.
    The result is an encoder like any other: ENCODER+nms:OUT, ENCODER+carl:OUT, ENCODER+taught:OUT.
    """
    from seasync.encoders.torch_model import require_torch

    require_torch("seasync train")
    from seasync.train import train_on

    if bool(videos) == bool(sea):
        raise typer.BadParameter("say what to train on: videos, or --sea")
    with resumable(), progress() as show:
        trained = train_on(
            sea or videos,
            kind=kind.value,
            file=out,
            encoder=encoder,
            fps=fps,
            views=views,
            size=size_of(width, layers),
            steps=steps,
            batch=batch,
            rate=rate,
            held_out=held_out,
            patience=patience,
            seed=seed,
            restart=restart,
            progress=show,
        )
    _report(trained, kind, out, as_json)


def size_of(width: int | None, layers: int | None) -> dict[str, int]:
    """Of the transformer, as far as it is given."""
    return {name: value for name, value in (("width", width), ("layers", layers)) if value}


def _report(trained: TrainingResult, kind: Kind, out: Path, as_json: bool) -> None:
    if as_json:
        import json

        print(json.dumps({"file": str(out), "kind": kind.value, **vars(trained)}))
        return
    print(
        f"{out}: {trained.steps} steps on {trained.training_clips} clips, {trained.held_out_clips} held out"
    )
    scores = ", ".join(f"{name} {value:.3f}" for name, value in trained.best.items() if name != "step")
    print(f"on held-out clips, at step {trained.kept}: {scores}")
    if trained.steps and not trained.kept:
        print(UNLEARNED)
    name = f"the encoder {trained.encoder}+{kind}:{out}"
    print(f"use it as {name}" if trained.kept else f"untrained, it is a control: {name}")
