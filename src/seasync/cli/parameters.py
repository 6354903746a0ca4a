"""Parameters that several commands share, each declared once with its help text and panel."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer

from seasync.cli.output import progress
from seasync.clip import Clip
from seasync.files import Location
from seasync.options import DeviceName, Order, Partial, RecipeName, Side

if TYPE_CHECKING:
    from seasync.alignment import Alignment
    from seasync.sea.ray import Cluster


ALIGNMENT = "Alignment"
PARTS = "Part of the video"
OUTPUT = "Output"
RAY = "Ray"
STORAGE = "Object storage"
TRAINING = "Training"


def path_or_uri(text: str) -> Location:
    """An argument that names a file; the help shows this function's name as its type."""
    return Location(text)


QueryFile = Annotated[
    Location, typer.Argument(parser=path_or_uri, metavar="QUERY", help="The query: a video, by path or URI.")
]
MatchFile = Annotated[
    Location, typer.Argument(parser=path_or_uri, metavar="MATCH", help="The other video, by path or URI.")
]
Keep = Annotated[Side, typer.Option(help="Whose timing stays as it is; the other video is retimed to it.")]

EncoderName = Annotated[
    str,
    typer.Option(rich_help_panel=ALIGNMENT, help="Encoder of the frames. See `seasync models list`."),
]


def _as_device(device: DeviceName | None) -> DeviceName | None:
    """Keep the device where encoders look for it, those in other processes included."""
    if device:
        os.environ["SEASYNC_DEVICE"] = device
    return device


Device = Annotated[
    DeviceName | None,
    typer.Option(
        callback=_as_device,
        rich_help_panel=ALIGNMENT,
        show_default="SEASYNC_DEVICE, or auto",
        help="What encoders run on. `auto` takes the first one that loads.",
    ),
]
Recipe = Annotated[
    RecipeName,
    typer.Option(
        rich_help_panel=ALIGNMENT, help="`motion` is our method, `paper` the published one to the letter."
    ),
]
Fps = Annotated[
    float | None,
    typer.Option(
        min=0.01,
        rich_help_panel=ALIGNMENT,
        show_default="the encoder's rate",
        help="Frames to sample per second.",
    ),
]
PairFps = Annotated[
    float | None,
    typer.Option(
        min=0.01,
        rich_help_panel=ALIGNMENT,
        show_default="15 of clips up to 15 s with the default encoder, otherwise the encoder's rate",
        help="Frames to sample per second.",
    ),
]
PartialChoice = Annotated[
    Partial,
    typer.Option(
        rich_help_panel=ALIGNMENT,
        help="Whether footage without a counterpart may be left out. `auto` decides by which fits better.",
    ),
]
OrderChoice = Annotated[
    Order,
    typer.Option(
        rich_help_panel=ALIGNMENT, help="`any` also finds parts that come in another order in the match."
    ),
]
Anchors = Annotated[
    list[str] | None,
    typer.Option(
        metavar="QUERY_S=MATCH_S",
        rich_help_panel=ALIGNMENT,
        help="Two moments that belong together, in seconds, such as 1.2=3.4. Repeatable.",
    ),
]
Start = Annotated[float | None, typer.Option(rich_help_panel=PARTS, help="Start of the query, in seconds.")]
End = Annotated[float | None, typer.Option(rich_help_panel=PARTS, help="End of the query, in seconds.")]
MatchStart = Annotated[
    float | None, typer.Option(rich_help_panel=PARTS, help="Start of the match, in seconds.")
]
MatchEnd = Annotated[float | None, typer.Option(rich_help_panel=PARTS, help="End of the match, in seconds.")]

Sea = Annotated[
    str,
    typer.Option(
        "--sea", envvar="SEASYNC_SEA", help="The sea: a folder, or a URI such as s3://bucket/x.sea."
    ),
]
Label = Annotated[str | None, typer.Option(help="Only clips with this label.")]
Where = Annotated[
    str | None, typer.Option(metavar="SQL", help='Only clips that meet a condition, such as "duration < 10".')
]


def _into_environment(options: list[str] | None) -> list[str] | None:
    """Keep storage options where everything that opens a URI looks for them, other processes included."""
    from seasync.errors import StoreError
    from seasync.files.store import add_storage_options, parse_options

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
        rich_help_panel=STORAGE,
        help="Option for object storage, as Lance names it. Repeatable. Adds to SEASYNC_STORAGE_OPTIONS.",
        show_default=False,
    ),
]
On = Annotated[
    str,
    typer.Option(
        metavar="WHERE",
        rich_help_panel=RAY,
        help="Where to run: `local`, `ray` (start a cluster here), `auto` (use the one running here), or "
        "ray://HOST:PORT.",
    ),
]
Cpus = Annotated[float, typer.Option(min=0.01, rich_help_panel=RAY, help="CPU cores per Ray task.")]
Gpus = Annotated[
    float, typer.Option(min=0, rich_help_panel=RAY, help="GPUs per Ray task; fractions are allowed.")
]
Json = Annotated[bool, typer.Option("--json", rich_help_panel=OUTPUT, help="Print JSON.")]


def cluster(on: str, jobs: int | None, cpus: float, gpus: float) -> Cluster | None:
    """The Ray cluster that `--on` names, None for this machine without Ray."""
    from importlib.util import find_spec

    from seasync.errors import MissingExtra
    from seasync.sea.ray import Cluster

    if on == "local":
        return None
    if not (on in ("ray", "auto") or ":" in on):
        raise typer.BadParameter(f"--on {on}: expected local, ray, auto, ray://HOST:PORT or HOST:PORT")
    if find_spec("ray") is None:  # before weights are fetched
        raise MissingExtra("ray", f"--on {on}")
    return Cluster(on, jobs or 0, cpus, gpus)


# Two videos from the command line to their alignment, with progress.


def align_pair(
    query: Clip,
    match: Clip,
    *,
    encoder: str,
    recipe: RecipeName,
    fps: float | None,
    partial: Partial,
    order: Order,
    anchor: list[str] | None,
) -> Alignment:
    """Align two videos as the options say, showing how far it is."""
    from seasync.alignment import RECIPES
    from seasync.pair import align

    anchors = [_anchor(text) for text in anchor or ()]
    with progress(f"reading {query.name}") as show:
        return align(
            query,
            match,
            encoder=encoder,
            recipe=RECIPES[recipe],
            fps=fps,
            partial=partial,
            order=order,
            anchors=anchors,
            progress=show,
        )


def _anchor(text: str) -> tuple[float, float]:
    """`QUERY_S=MATCH_S` as two numbers of seconds."""
    query, _, match = text.partition("=")
    try:
        return float(query), float(match)
    except ValueError:
        raise typer.BadParameter(f"--anchor {text}: expected QUERY_S=MATCH_S, such as 1.2=3.4") from None
