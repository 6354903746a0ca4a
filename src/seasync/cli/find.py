"""`seasync find`: a query in long films."""

from __future__ import annotations

import sys

import typer

from seasync.cli.options import Encoder, Fps, Json, RecipeChoice, RecipeName, StorageOptions
from seasync.cli.table import show
from seasync.files import Location


def find(
    query: Location = typer.Argument(parser=Location, help="The video to look for: a path or URI."),
    films: list[Location] = typer.Argument(parser=Location, help="Films to look in: paths or URIs."),
    k: int = typer.Option(5, "-k", min=1, help="How many stretches to show."),
    recipe: RecipeChoice = RecipeName.motion,
    encoder: Encoder = "dinov2-small",
    fps: Fps = None,
    start: float = typer.Option(None, help="Where the query begins, in seconds."),
    end: float = typer.Option(None, help="Where the query ends, in seconds."),
    storage_option: StorageOptions = None,
    as_json: Json = False,
) -> None:
    """Find where long films move in step with a video, best first."""
    from rich.table import Table

    from seasync.clip import Clip
    from seasync.film import find as search

    bad: list[str] = []
    asked = Clip.of(query, start, end)
    found = search(
        asked,
        films,
        k=k,
        encoder=encoder,
        recipe=recipe.value_of(),
        fps=fps,
        failed=bad.append,
    )
    if as_json:
        import json
        from dataclasses import asdict

        plain = [each.to_json(rank) for rank, each in enumerate(found, 1)]
        print(json.dumps({"query": asdict(asked.form()), "found": plain, "failed": bad}))
    else:
        if found and not any(each.alignable for each in found):
            print(f"nothing here aligns; the best DRAQ is {min(each.draq for each in found):.2f}")
        table = Table("", "DRAQ", "", "similarity", "from", "to", "film", box=None, header_style="dim")
        for rank, each in enumerate(found, 1):
            clip = each.clip
            verdict = "aligns" if each.alignable else "–"
            span = f"{clip.start:.2f} s", f"{clip.end or 0:.2f} s"
            table.add_row(str(rank), f"{each.draq:.3f}", verdict, f"{each.similarity:.2f}", *span, clip.file)
        if found:
            show(table)
    for reason in bad:
        print(f"failed: {reason}", file=sys.stderr)
    if bad:
        raise typer.Exit(1)
