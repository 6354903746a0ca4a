"""`seasync find`: a query in long films."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from seasync.cli.output import print_table, progress
from seasync.cli.parameters import (
    Device,
    EncoderName,
    End,
    Fps,
    Json,
    QueryFile,
    Recipe,
    Start,
    StorageOptions,
    path_or_uri,
)
from seasync.clip import Clip
from seasync.files import Location

EXAMPLES = """\
seasync find serve.mp4 match-day.mp4

seasync find serve.mp4 films/*.mp4 -k 20 --json"""


def find(
    query: QueryFile,
    films: Annotated[
        list[Location],
        typer.Argument(parser=path_or_uri, metavar="FILM…", help="Films to search, by path or URI."),
    ],
    k: Annotated[int, typer.Option("-k", min=1, help="How many stretches to show.")] = 5,
    encoder: EncoderName = "dinov2-small",
    recipe: Recipe = "motion",
    fps: Fps = None,
    start: Start = None,
    end: End = None,
    device: Device = None,
    storage_option: StorageOptions = None,
    as_json: Json = False,
) -> None:
    """Find the stretches of long films that move in step with a video, best first."""
    from seasync.alignment import RECIPES
    from seasync.film import find as search

    bad: list[str] = []
    asked = Clip.of(query, start, end)
    with progress(f"reading {query.name}") as show:
        found = search(
            asked,
            films,
            k=k,
            encoder=encoder,
            recipe=RECIPES[recipe],
            fps=fps,
            failed=bad.append,
            progress=show,
        )
    if as_json:
        import json
        from dataclasses import asdict

        plain = [each.to_json(rank) for rank, each in enumerate(found, 1)]
        print(json.dumps({"query": asdict(asked.form()), "found": plain, "failed": bad}))
    elif found:
        if not any(each.alignable for each in found):
            print(f"Nothing here aligns. The nearest stretch: {found[0].alignment.decision.reason}.")
        rows = [
            (
                str(rank),
                f"{each.draq:.3f}",
                each.alignment.brief,
                f"{each.similarity:.2f}",
                f"{each.clip.start:.2f} s",
                f"{each.clip.end or 0:.2f} s",
                each.clip.file,
            )
            for rank, each in enumerate(found, 1)
        ]
        print_table(("", "DRAQ", "timing", "similarity", "from", "to", "film"), rows)
    for reason in bad:
        print(f"failed: {reason}", file=sys.stderr)
    if bad:
        raise typer.Exit(1)
