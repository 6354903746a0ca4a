"""`seasync search`: what in a sea moves in step with a video."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import typer

from seasync.cli.options import Json, Partial, PartialName, RecipeChoice, RecipeName, Sea, StorageOptions
from seasync.cli.table import show
from seasync.files import is_uri

if TYPE_CHECKING:
    from seasync.sea.match import Matches


class Rerank(StrEnum):
    product = "product"
    draq = "draq"
    dtw = "dtw"
    none = "none"


def search(
    query: list[str] = typer.Argument(help="Videos, or clips of the sea by their ids."),
    sea: Sea = "footage.sea",
    k: int = typer.Option(10, "-k", min=1, help="How many matches to show."),
    recipe: RecipeChoice = RecipeName.motion,
    rerank: Rerank | None = typer.Option(
        None, help="What decides the order.", show_default="product; draq with --recipe paper"
    ),
    candidates: int = typer.Option(
        None, min=1, help="How many clips to look at closely.", show_default="25; 10 with --recipe paper"
    ),
    partial: Partial = PartialName.auto,
    max_draq: float = typer.Option(None, help="Leave out matches with a higher DRAQ."),
    start: float | None = typer.Option(None, help="Where the query begins, in seconds."),
    end: float | None = typer.Option(None, help="Where the query ends, in seconds."),
    label: str = typer.Option(None, help="Only clips with this label."),
    where: str = typer.Option(None, help='Only clips that fulfil a condition, such as "duration < 10".'),
    storage_option: StorageOptions = None,
    as_json: Json = False,
) -> None:
    """Find clips that move in step with a video, best first."""
    from seasync.clip import Clip
    from seasync.search import Sea as OpenSea

    opened = OpenSea(sea, create=False)
    span = start is not None or end is not None
    found = opened.search_many(
        [Clip.of(text, start, end) if span else text for text in query],
        k=k,
        recipe=recipe.value_of(),
        rerank=cast("Any", rerank),
        candidates=candidates,
        max_draq=max_draq,
        partial=partial.value,
        label=label,
        where=where,
    )
    if as_json:
        import json

        plain = [matches.to_json() for matches in found]
        print(json.dumps(plain[0] if len(query) == 1 else plain))
        return
    for text, matches in zip(query, found, strict=True):
        _print(text if len(query) > 1 else "", matches)


def _print(title: str, matches: Matches) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    if title:
        console.print(f"\n[bold]{title}[/]")
    console.print(matches.verdict, highlight=False)
    calibrated = any(match.alignability is not None for match in matches)
    labelled = ["label"] if any(match.clip.label for match in matches) else []  # there is little room
    table = Table(box=None, header_style="dim")
    share_of = "same movement" if calibrated else "better than"
    for name in ("", "DRAQ", "", share_of, "similarity", *labelled, "seconds", "file"):
        left = name in ("", "label", "file")
        table.add_column(name, justify="left" if left else "right")
    for rank, match in enumerate(matches, 1):
        share = match.alignability if calibrated else match.better_than
        table.add_row(
            str(rank),
            f"{match.draq:.3f}",
            ("aligns" if match.alignment.whole else "in part") if match.alignable else "–",
            "" if share is None else f"{share:.0%}" + ("" if calibrated else " of random pairs"),
            f"{match.similarity:.2f}",
            *(match.clip.label or "" for _ in labelled),
            f"{match.clip.start:.2f}–{match.end:.2f}",
            _short(match.clip.file),
        )
    if matches:
        show(table)


def _short(file: str) -> str:
    """The file's path from here, where it lies below."""
    if is_uri(file):
        return file
    path = Path(file)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else file
