"""`seasync models`: the built-in encoders' weights."""

from __future__ import annotations

from typing import Annotated

import typer

from seasync.cli.parameters import Json

models = typer.Typer(help="List and download the weights of the built-in encoders.", no_args_is_help=True)


@models.command("list", epilog="Examples:\n\nseasync models list")
def list_models(as_json: Json = False) -> None:
    """List the built-in weights, their licenses, and where they are on this machine."""
    import json

    from seasync.encoders.weights import BUILT_IN, locate

    if as_json:
        rows = [
            {
                "weights": weights.name,
                "encoders": weights.encoders,
                "bytes": weights.size_bytes,
                "licence": weights.licence,
                "file": str(file) if (file := locate(weights)) else None,
            }
            for weights in BUILT_IN
        ]
        print(json.dumps(rows, indent=2))
        return
    for weights in BUILT_IN:
        missing = f"not downloaded yet: seasync models pull {weights.encoders[0]}"
        print(f"{weights.name}  {weights.size_bytes / 1e6:.1f} MB  {weights.licence}")
        print(f"  encoders  {', '.join(weights.encoders)}")
        print(f"  file      {locate(weights) or missing}")


@models.command(epilog="Examples:\n\nseasync models pull dinov2-small pose")
def pull(
    encoders: Annotated[
        list[str] | None,
        typer.Argument(show_default="the default encoder", help="Encoders to download weights for."),
    ] = None,
) -> None:
    """Download weights, check them, and prepare them for use."""
    from seasync.encoders import DEFAULT, get_encoder

    for name in encoders or [DEFAULT]:
        encoder = get_encoder(name)
        print(f"{name}: ready ({encoder.dimension} values per frame, {encoder.fps:g} frames per second)")
