"""`seasync search`: what in a sea moves in step with a video."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seasync.cli.output import print_bold, print_table
from seasync.cli.parameters import (
    ALIGNMENT,
    Device,
    End,
    Json,
    Label,
    PartialChoice,
    Recipe,
    Sea,
    Start,
    StorageOptions,
    Where,
)
from seasync.files import is_uri
from seasync.options import Rerank

if TYPE_CHECKING:
    from seasync.sea.search import Match, Matches

EXAMPLES = """\
seasync search query.mp4 --sea footage.sea

seasync search query.mp4 --sea s3://bucket/footage.sea -k 5 --start 2 --end 6 --json"""


def search(
    query: Annotated[list[str], typer.Argument(help="Videos by path or URI, or clips of the sea by id.")],
    sea: Sea = "footage.sea",
    k: Annotated[int, typer.Option("-k", min=1, help="How many matches to show.")] = 10,
    label: Label = None,
    where: Where = None,
    max_draq: Annotated[float | None, typer.Option(help="Leave out matches with a higher DRAQ.")] = None,
    start: Start = None,
    end: End = None,
    recipe: Recipe = "motion",
    rerank: Annotated[
        Rerank | None,
        typer.Option(
            rich_help_panel=ALIGNMENT,
            show_default="evidence; draq with --recipe paper",
            help="What orders the matches: `evidence` (similarity, DRAQ and contrast), `product` (distance "
            "times DRAQ), `draq`, `dtw` (path cost), or `none` (similarity alone).",
        ),
    ] = None,
    candidates: Annotated[
        int | None,
        typer.Option(
            min=1,
            rich_help_panel=ALIGNMENT,
            show_default="25; 10 with --recipe paper",
            help="How many clips to compare closely.",
        ),
    ] = None,
    partial: PartialChoice = "auto",
    consensus: Annotated[
        bool | None,
        typer.Option(
            "--consensus/--no-consensus",
            rich_help_panel=ALIGNMENT,
            show_default="with the motion recipe, unless the clips are long",
            help="Let the matches correct each other's alignments.",
        ),
    ] = None,
    device: Device = None,
    storage_option: StorageOptions = None,
    as_json: Json = False,
) -> None:
    """Find the clips of a sea that move in step with a video, best first."""
    from seasync.alignment import RECIPES
    from seasync.sea.sea import Sea as OpenSea

    opened = OpenSea(sea, create=False)
    found = opened.search_many(
        query,
        start=start,
        end=end,
        k=k,
        recipe=RECIPES[recipe],
        rerank=rerank,
        candidates=candidates,
        max_draq=max_draq,
        partial=partial,
        consensus=consensus,
        label=label,
        where=where,
    )
    if as_json:
        import json

        plain = [matches.to_json() for matches in found]
        print(json.dumps(plain[0] if len(query) == 1 else plain))
        return
    for text, matches in zip(query, found, strict=True):
        if len(query) > 1:
            print()
            print_bold(text)
        _print(matches)


def _print(matches: Matches) -> None:
    print(matches.verdict)
    if not matches:
        return
    calibrated = any(match.alignability is not None for match in matches)
    share = "same movement" if calibrated else "better than"
    labelled = ["label"] if any(match.clip.label for match in matches) else []  # there is little room
    columns = ["", "DRAQ", "timing", share, "similarity", *labelled, "seconds", "file"]
    rows = [_row(rank, match, calibrated, bool(labelled)) for rank, match in enumerate(matches, 1)]
    print_table(columns, rows, right=("DRAQ", share, "similarity", "seconds"))


def _row(rank: int, match: Match, calibrated: bool, labelled: bool) -> list[str]:
    from seasync.alignment.judge import per_cent

    share = match.alignability if calibrated else match.better_than
    return [
        str(rank),
        f"{match.draq:.3f}",
        match.fit.brief,
        "" if share is None else per_cent(share) if calibrated else f"{share:.0%} of random pairs",
        f"{match.similarity:.2f}",
        *([match.clip.label or ""] if labelled else []),
        f"{match.clip.start:.2f}–{match.end:.2f}",
        _short(match.clip.file),
    ]


def _short(file: str) -> str:
    """The file's path from here, where it lies below."""
    if is_uri(file):
        return file
    path = Path(file)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else file
