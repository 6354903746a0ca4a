"""`seasync calibrate`: what a DRAQ and a similarity mean in a sea."""

from __future__ import annotations

import typer

from seasync.cli.options import Json, RecipeChoice, RecipeName, Sea, StorageOptions


def calibrate(
    sea: Sea = "footage.sea",
    recipe: RecipeChoice = RecipeName.motion,
    seed: int = typer.Option(0, help="Of the draw of pairs."),
    storage_option: StorageOptions = None,
    as_json: Json = False,
) -> None:
    """Fit alignability to the labels of a sea. It is the per cent of a search; 20 labelled clips or more."""
    from seasync.search import Sea as OpenSea

    fitted = OpenSea(sea, create=False).calibrate(recipe.value_of(), seed=seed)
    if as_json:
        import json

        print(json.dumps(vars(fitted)))
        return
    print(f"{sea}: fitted to {fitted.pairs} pairs, a = {fitted.a:.2f}, b = {fitted.b:.2f}")
    print(f"off by {fitted.error:.1%} on average, measured on clips it was not fitted to")
