"""`seasync calibrate`: what a DRAQ and a similarity mean in a sea."""

from __future__ import annotations

from typing import Annotated

import typer

from seasync.cli.output import counted
from seasync.cli.parameters import Json, Recipe, Sea, StorageOptions

EXAMPLES = "seasync calibrate --sea footage.sea"


def calibrate(
    sea: Sea = "footage.sea",
    recipe: Recipe = "motion",
    seed: Annotated[int, typer.Option(help="Seed for drawing pairs of clips.")] = 0,
    storage_option: StorageOptions = None,
    as_json: Json = False,
) -> None:
    """Learn from a sea's labels how likely a match is the same kind of movement.

    `seasync search` then shows this probability. The sea needs 20 labeled clips or more.
    """
    from seasync.alignment import RECIPES
    from seasync.sea.sea import Sea as OpenSea

    fitted = OpenSea(sea, create=False).calibrate(RECIPES[recipe], seed=seed)
    if as_json:
        import json

        print(json.dumps(vars(fitted)))
        return
    print(f"{sea}: fitted to {counted(fitted.pairs or 0, 'pair')}, a = {fitted.a:.2f}, b = {fitted.b:.2f}")
    print(f"The mean error is {fitted.error:.1%}, measured on clips that were not used for fitting.")
