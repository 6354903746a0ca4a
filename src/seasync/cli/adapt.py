"""`seasync sea adapt`: an encoder that has learned from the sea itself."""

from __future__ import annotations

import typer

from seasync.cli.options import Json, RecipeChoice, RecipeName, Sea, StorageOptions
from seasync.cli.progress import progress, resumable
from seasync.cli.train import UNLEARNED, Kind, Restart, size_of


def adapt(
    to: str = typer.Option(
        ..., help="The new sea, NAME.sea, by path or URI; what was learned lies beside it."
    ),
    sea: Sea = "footage.sea",
    kind: Kind = typer.Option(Kind.taught, help="What is learned, as in `seasync train`."),
    recipe: RecipeChoice = RecipeName.motion,
    steps: int = typer.Option(400, min=1, help="Training steps."),
    views: int = typer.Option(0, min=0, help="Altered views of each clip, to be encoded and drawn from."),
    width: int = typer.Option(None, min=16, help="Of the transformer.", show_default="by kind"),
    layers: int = typer.Option(None, min=1, help="Of the transformer.", show_default="by kind"),
    rate: float = typer.Option(1e-4, help="The learning rate at its highest."),
    held_out: float = typer.Option(0.2, min=0.05, max=0.9, help="Share of the files to judge by only."),
    seed: int = typer.Option(0, help="All that is random follows from it."),
    restart: Restart = False,
    storage_option: StorageOptions = None,
    as_json: Json = False,
) -> None:
    """Train on a sea and, if clips held out then align better, encode it anew. Run it again to go on."""
    from seasync.encoders.torch_model import require_torch

    require_torch("seasync sea adapt")
    from seasync.search import Sea as OpenSea
    from seasync.train.adapt import adapt as adapt_sea

    with resumable(), progress() as show:
        adapted = adapt_sea(
            OpenSea(sea, create=False),
            to,
            kind=kind.value,
            recipe=recipe.value_of(),
            steps=steps,
            views=views,
            size=size_of(width, layers),
            rate=rate,
            held_out=held_out,
            seed=seed,
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
        print("planted truth   not measured: fewer than three held-out videos can be read in one shot")
    print("there and back  {:.2f} before, {:.2f} after (FPE, frames²)".format(*adapted.cycle))
    if not adapted.step:
        print(UNLEARNED)
    print(f"{'better' if adapted.better else 'no better'} on {adapted.judged} held-out clips: {adapted.why}")
    if adapted.better:
        print(f"{to}: {adapted.clips} clips encoded by {adapted.encoder}")
    else:
        print(f"nothing is written, {sea} stays with {adapted.encoder}; more --steps or more clips may help")
