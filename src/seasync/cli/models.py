"""`seasync models`: the built-in encoders' weights."""

from __future__ import annotations

from typing import Annotated

import typer

from seasync.cli.parameters import Json

models = typer.Typer(help="List and download the weights of the built-in encoders.", no_args_is_help=True)


@models.command("list", epilog="Examples:\n\nseasync models list")
def list_models(as_json: Json = False) -> None:
    """List the built-in weights: license, origin, size, file on this machine, and the source it came from."""
    import json

    from seasync.encoders.weights import BUILT_IN, locate, source_of

    rows = []
    for weights in BUILT_IN:
        file = locate(weights)
        row = {
            "weights": weights.name,
            "origin": weights.origin,
            "license": weights.license,
            "bytes": weights.size_bytes,
            "encoders": weights.encoders,
            "sources": [source.label for source in weights.sources],
            "file": str(file) if file else None,
            "source": source_of(file) if file else None,
        }
        rows.append(row)
    if as_json:
        print(json.dumps(rows, indent=2))
        return
    for row, weights in zip(rows, BUILT_IN, strict=True):
        missing = f"not downloaded yet: seasync models pull {weights.encoders[0]}"
        print(f"{weights.name}  {weights.size_bytes / 1e6:.1f} MB  {weights.license}  {weights.origin}")
        print(f"  encoders  {', '.join(weights.encoders)}")
        print(f"  file      {row['file'] or missing}")
        print(f"  source    {row['source'] or 'first tried: ' + weights.sources[0].label}")


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
