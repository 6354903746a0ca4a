"""Options that several commands share."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from seasync.align import Recipe
    from seasync.sea.cluster import Cluster


class RecipeName(StrEnum):
    motion = "motion"
    paper = "paper"

    def value_of(self) -> Recipe:
        """The recipe of this name."""
        from seasync.align import MOTION, PAPER

        return MOTION if self is RecipeName.motion else PAPER


class PartialName(StrEnum):
    auto = "auto"
    never = "never"
    always = "always"


class OrderName(StrEnum):
    same = "same"
    any = "any"


RecipeChoice = Annotated[RecipeName, typer.Option(help="Our method, or the published one to the letter.")]
Encoder = Annotated[str, typer.Option(help="What makes the frame features; see `seasync models list`.")]
Fps = Annotated[
    float | None, typer.Option(help="Sampled frames a second; default: the encoder's own.", min=0.01)
]
Sea = Annotated[
    str,
    typer.Option("--sea", envvar="SEASYNC_SEA", help="Where the sea is: a folder, or a URI such as s3://…"),
]


def _into_environment(options: list[str] | None) -> list[str] | None:
    """Keep storage options where everything that opens a URI looks for them, other processes included."""
    from seasync.errors import StoreError
    from seasync.files.objects import add_storage_options, parse_options

    try:
        add_storage_options(parse_options(options or []))
    except StoreError as error:
        raise typer.BadParameter(str(error)) from None
    return options


StorageOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--storage-option",
        callback=_into_environment,
        metavar="KEY=VALUE",
        help="Option for object storage, as Lance names it; repeatable. Adds to SEASYNC_STORAGE_OPTIONS.",
        show_default=False,
    ),
]
On = Annotated[
    str,
    typer.Option(
        metavar="WHERE",
        help="Where to work: local, ray (a cluster started here), auto (one that runs here), ray://HOST:PORT.",
    ),
]
Cpus = Annotated[float, typer.Option(min=0.01, help="Of one task on Ray: cores, and threads.")]
Gpus = Annotated[float, typer.Option(min=0, help="Of one task on Ray: GPUs, or a part of one.")]


def cluster(on: str, jobs: int | None, cpus: float, gpus: float) -> Cluster | None:
    """The Ray cluster that is meant, None for this machine without Ray."""
    from seasync.sea.cluster import Cluster

    if on == "local":
        return None
    if not (on in ("ray", "auto") or ":" in on):
        raise typer.BadParameter(f"--on {on}: expected local, ray, auto, ray://HOST:PORT or HOST:PORT")
    return Cluster(on, jobs or 0, cpus, gpus)


Partial = Annotated[
    PartialName,
    typer.Option(help="Whether footage without a counterpart is left out; auto: if that is better."),
]
Order = Annotated[OrderName, typer.Option(help="any: stretches may come in another order.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
