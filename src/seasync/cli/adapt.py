"""`seasync sea adapt`: an encoder that has learned from the sea itself."""

from __future__ import annotations

from typing import Annotated

import typer

from seasync.cli.output import counted, progress, resumable
from seasync.cli.parameters import Json, Recipe, Sea, StorageOptions
from seasync.cli.train import (
    UNLEARNED,
    HeldOut,
    Layers,
    Rate,
    Restart,
    Seed,
    Steps,
    Views,
    Width,
    size_of,
)
from seasync.options import TrainKind

EXAMPLES = "seasync sea adapt --sea footage.sea --to adapted.sea"


def adapt(
    to: Annotated[
        str,
        typer.Option(
            metavar="SEA", help="The new sea, NAME.sea, by path or URI. The trained model lies beside it."
        ),
    ],
    sea: Sea = "footage.sea",
    kind: Annotated[TrainKind, typer.Option(help="What to learn, as in `seasync train`.")] = "taught",
    recipe: Recipe = "motion",
    steps: Steps = 400,
    views: Views = 0,
    width: Width = None,
    layers: Layers = None,
    rate: Rate = 1e-4,
    held_out: HeldOut = 0.2,
    seed: Seed = 0,
    restart: Restart = False,
    storage_option: StorageOptions = None,
    as_json: Json = False,
) -> None:
    """Train an encoder on a sea and, if it aligns held-out clips better, encode the sea with it.

    If it is interrupted, run the same command again to continue.
    """
    from seasync.encoders.torch_models import require_torch

    require_torch("seasync sea adapt", extra="train")
    from seasync.alignment import RECIPES
    from seasync.sea.sea import Sea as OpenSea
    from seasync.train import TrainingPlan
    from seasync.train.adapt import adapt as adapt_sea

    with resumable(), progress() as show:
        adapted = adapt_sea(
            OpenSea(sea, create=False),
            to,
            kind=kind,
            recipe=RECIPES[recipe],
            plan=TrainingPlan(steps=steps, rate=rate, held_out=held_out, seed=seed),
            views=views,
            size=size_of(width, layers),
            restart=restart,
            progress=show,
        )
    if as_json:
        import json

        print(json.dumps({"sea": to if adapted.better else sea, **vars(adapted)}))
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
    judged = counted(adapted.judged, "held-out clip")
    print(f"{'better' if adapted.better else 'not better'} on {judged}: {adapted.why}")
    if adapted.better:
        print(f"{to}: {counted(adapted.clips, 'clip')} encoded by {adapted.encoder}")
    else:
        print(f"Nothing was written. {sea} keeps {adapted.encoder}. More --steps or more clips may help.")
