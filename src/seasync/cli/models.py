"""`seasync models`: the built-in encoders' weights."""

from __future__ import annotations

import typer

models = typer.Typer(help="Weights of the built-in encoders.", no_args_is_help=True)


@models.command("list")
def list_models(as_json: bool = typer.Option(False, "--json", help="Print JSON.")) -> None:
    """List the built-in weights, their licence, and where they are on this machine."""
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
        print(f"{weights.name}  {weights.size_bytes / 1e6:.1f} MB  {weights.licence}")
        print(f"  encoders  {', '.join(weights.encoders)}")
        print(f"  file      {locate(weights) or 'not here yet: seasync models pull ' + weights.encoders[0]}")


@models.command()
def pull(
    encoders: list[str] = typer.Argument(None, help="Encoders to fetch for; default: the default encoder."),
) -> None:
    """Fetch weights, check them, and prepare them for use."""
    from seasync.encoders import DEFAULT, get_encoder

    for name in encoders or [DEFAULT]:
        encoder = get_encoder(name)
        print(f"{name}: ready ({encoder.dimension} numbers a frame, {encoder.fps:g} frames a second)")
