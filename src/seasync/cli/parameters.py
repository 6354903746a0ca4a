"""Parameters of commands: each option that several commands share is declared here, once.

Options that belong together are a dataclass. A command takes it as one parameter, such as `how: PairOptions`;
`spread` shows typer an option for each of its fields.
"""

import inspect
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import partial, wraps
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

import seasync
from seasync import options
from seasync.cli.output import progress
from seasync.errors import MissingExtra, StoreError
from seasync.files import Location, store

if TYPE_CHECKING:
    from seasync.sea.ray import Cluster


# Options by their panel in the help
OUTPUT = "Output"
alignment_option = partial(typer.Option, rich_help_panel="Alignment")
part_option = partial(typer.Option, rich_help_panel="Part of the video")
ray_option = partial(typer.Option, rich_help_panel="Ray")
output_option = partial(typer.Option, rich_help_panel=OUTPUT)


def spread(command: Callable[..., None], only: Sequence[str] | None = None) -> Callable[..., None]:
    """The command with an option for each field of its parameters that are dataclasses.

    If `only` is given, these fields are shown, in this order; the others keep their defaults.
    """
    signature = inspect.signature(command, eval_str=True)
    parameters: list[inspect.Parameter] = []
    shown: dict[str, list[str]] = {}
    for each in signature.parameters.values():
        if not is_dataclass(each.annotation):
            parameters.append(each.replace(kind=each.KEYWORD_ONLY))
            continue
        defaults = {field.name: field.default for field in fields(each.annotation)}
        hints = get_type_hints(each.annotation, include_extras=True)
        shown[each.name] = [name for name in (defaults if only is None else only) if name in defaults]
        parameters += [
            inspect.Parameter(name, each.KEYWORD_ONLY, default=defaults[name], annotation=hints[name])
            for name in shown[each.name]
        ]

    @wraps(command)
    def run(**given: Any) -> None:
        for parameter, names in shown.items():
            kind = signature.parameters[parameter].annotation
            given[parameter] = kind(**{name: given.pop(name) for name in names})
        command(**given)

    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run


def add_command(
    to: typer.Typer,
    command: Callable[..., None],
    name: str | None = None,
    only: Sequence[str] | None = None,
    panel: str | None = None,
) -> None:
    """Make a function a command of `to`; `only` is as in `spread`. The end of its docstring are examples."""
    text, heading, examples = (inspect.getdoc(command) or "").partition("Examples:")
    register = to.command(name, help=text, epilog=heading + examples, rich_help_panel=panel)
    register(spread(command, only))


def path_or_uri(text: str) -> Location:
    """An argument that names a file; the help shows this function's name as its type."""
    return Location(text)


def file_argument(name: str, help: str, **more: Any) -> Any:
    """An argument that is a path or a URI."""
    return typer.Argument(parser=path_or_uri, metavar=name, help=help, **more)


def file_option(help: str, panel: str | None = None, metavar: str = "FILE") -> Any:
    """An option whose value is a path or a URI."""
    return typer.Option(parser=path_or_uri, metavar=metavar, rich_help_panel=panel, help=help)


QUERY = file_argument("QUERY", "The query: a video, by path or URI.")
MATCH = file_argument("MATCH", "The other video, by path or URI.")
QueryFile = Annotated[Location, QUERY]
MatchFile = Annotated[Location, MATCH]
Keep = Annotated[
    options.Side, typer.Option(help="Whose timing stays as it is; the other video is retimed to it.")
]
EncoderName = Annotated[str, alignment_option(help="Encoder of the frames. See `seasync models list`.")]


def _as_device(device: options.DeviceName | None) -> options.DeviceName | None:
    """Keep the device where encoders look for it, those in other processes included."""
    if device:
        os.environ["SEASYNC_DEVICE"] = device
    return device


Device = Annotated[
    options.DeviceName | None,
    alignment_option(
        callback=_as_device,
        show_default="SEASYNC_DEVICE, or auto",
        help="What encoders run on. `auto` takes the first one that loads.",
    ),
]
RecipeName = Annotated[
    options.RecipeName,
    alignment_option(help="`motion` is our method, `paper` the published one to the letter."),
]


def _frames_per_second(show_default: str) -> Any:
    return alignment_option(min=0.01, show_default=show_default, help="Frames to sample per second.")


Fps = Annotated[float | None, _frames_per_second("the encoder's rate")]
Partial = Annotated[
    options.Partial,
    alignment_option(
        help="Whether footage without a counterpart may be left out. `auto` decides by which fits better."
    ),
]
Start = Annotated[float | None, part_option(help="Start of the query, in seconds.")]
End = Annotated[float | None, part_option(help="End of the query, in seconds.")]
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


def _into_environment(given: list[str] | None) -> list[str] | None:
    """Keep storage options where everything that opens a URI looks for them, other processes included."""
    try:
        store.add_storage_options(store.parse_options(given or []))
    except StoreError as error:
        raise typer.BadParameter(str(error)) from None
    return given


StorageOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--storage-option",
        callback=_into_environment,
        metavar="KEY=VALUE",
        rich_help_panel="Object storage",
        help="Option for object storage, as Lance names it. Repeatable. Adds to SEASYNC_STORAGE_OPTIONS.",
        show_default=False,
    ),
]
Json = Annotated[bool, output_option("--json", help="Print JSON.")]


@dataclass(frozen=True)
class PairOptions:
    """How two videos are read and aligned."""

    encoder: EncoderName = "dinov2-small"
    recipe: RecipeName = "motion"
    fps: Annotated[
        float | None,
        _frames_per_second("15 of clips up to 15 s with the default encoder, otherwise the encoder's rate"),
    ] = None
    partial: Partial = "auto"
    order: Annotated[
        options.Order,
        alignment_option(help="`any` also finds parts that come in another order in the match."),
    ] = "same"
    anchor: Annotated[
        list[str] | None,
        alignment_option(
            metavar="QUERY_S=MATCH_S",
            help="Two moments that belong together, in seconds, such as 1.2=3.4. Repeatable.",
        ),
    ] = None
    start: Start = None
    end: End = None
    match_start: Annotated[float | None, part_option(help="Start of the match, in seconds.")] = None
    match_end: Annotated[float | None, part_option(help="End of the match, in seconds.")] = None
    device: Device = None
    storage_option: StorageOptions = None

    def align(self, query: Location, match: Location) -> "seasync.Alignment":
        """Align two videos, showing how far it is."""
        first = seasync.Clip.of(query, self.start, self.end)
        second = seasync.Clip.of(match, self.match_start, self.match_end)
        anchors = [_anchor(text) for text in self.anchor or ()]
        recipe = recipe_named(self.recipe).asked(partial=self.partial, order=self.order)
        how: dict[str, Any] = {"encoder": self.encoder, "recipe": recipe, "fps": self.fps}
        with progress(f"reading {first.name}") as show:
            return seasync.align(first, second, **how, anchors=anchors, progress=show)


def recipe_named(name: options.RecipeName) -> "seasync.Recipe":
    """The recipe that `--recipe` names."""
    from seasync.alignment import RECIPES

    return RECIPES[name]


def _anchor(text: str) -> tuple[float, float]:
    """`QUERY_S=MATCH_S` as two numbers of seconds."""
    query, _, match = text.partition("=")
    try:
        return float(query), float(match)
    except ValueError:
        raise typer.BadParameter(f"--anchor {text}: expected QUERY_S=MATCH_S, such as 1.2=3.4") from None


@dataclass(frozen=True)
class RayOptions:
    """On which machines a sea is worked on."""

    on: Annotated[
        str,
        ray_option(
            metavar="WHERE",
            help="Where to run: `local`, `ray` (start a cluster here), `auto` (use the one running here), or "
            "ray://HOST:PORT.",
        ),
    ] = "local"
    cpus: Annotated[float, ray_option(min=0.01, help="CPU cores per Ray task.")] = 1
    gpus: Annotated[float, ray_option(min=0, help="GPUs per Ray task; fractions are allowed.")] = 0

    def cluster(self, jobs: int | None = None) -> "Cluster | None":
        """The Ray cluster that `--on` names, None for this machine without Ray."""
        from importlib.util import find_spec

        from seasync.sea.ray import Cluster

        if self.on == "local":
            return None
        if not (self.on in ("ray", "auto") or ":" in self.on):
            raise typer.BadParameter(
                f"--on {self.on}: expected local, ray, auto, ray://HOST:PORT or HOST:PORT"
            )
        if find_spec("ray") is None:  # before weights are fetched
            raise MissingExtra("ray", f"--on {self.on}")
        return Cluster(self.on, jobs or 0, self.cpus, self.gpus)


def open_sea(place: str, encoder: str | None = None, *, create: bool = False) -> "seasync.Sea":
    """The sea that `--sea` names, which must exist unless it may be created."""
    return seasync.Sea(place, encoder, create=create)
