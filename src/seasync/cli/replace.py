"""`seasync replace`: a better clip into an edit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from seasync.cli.options import Json, RecipeChoice, RecipeName, Sea, StorageOptions
from seasync.files import Location

if TYPE_CHECKING:
    from seasync.align import Alignment
    from seasync.clip import Clip

MATCHES = 10  # that are looked at for one that aligns


def replace(
    timeline: Location = typer.Argument(parser=Location, help="An edit: .otio, .fcpxml or .edl."),
    clip: str = typer.Argument(help="The clip's name in it, or its number, counted from 1."),
    to: Location = typer.Option(..., parser=Location, metavar="FILE", help="The new timeline."),
    sea: Sea = "footage.sea",
    rank: int = typer.Option(1, help="Which match to take of those that align: 1 is the best.", min=1),
    anyway: bool = typer.Option(False, "--anyway", help="Take one that does not align, too."),
    recipe: RecipeChoice = RecipeName.motion,
    media: Location | None = typer.Option(
        None, parser=Location, metavar="FOLDER", help="Folder of the files that the timeline only names."
    ),
    storage_option: StorageOptions = None,
    as_json: Json = False,
) -> None:
    """Put the best match from a sea in the place of a clip. It is retimed to it, in the same duration."""
    from seasync.errors import RenderError
    from seasync.render import replace_clip
    from seasync.search import Sea as OpenSea

    def find(query: Clip) -> Alignment:
        found = OpenSea(sea, create=False).search(
            query, k=max(rank, MATCHES), recipe=recipe.value_of(), consensus=recipe is RecipeName.motion
        )
        good = [match for match in found if anyway or match.alignable]
        if len(good) >= rank:
            return good[rank - 1].alignment
        if found and not good:
            raise RenderError(
                f"{sea}: nothing in it aligns with {query.name}, the best DRAQ is {found.best_draq:.2f}; add "
                "footage of the same movement, or take the best there is with --anyway"
            )
        kind = "matches" if anyway else "matches that align"
        raise RenderError(f"{sea}: only {len(good)} {kind} for {query.name}; --rank {rank} is too high")

    done = replace_clip(timeline, clip, find, to, media=media)
    if as_json:
        import json

        new = {"file": done.new.file, "start": done.new.start, "end": done.new.end}
        old = {"file": done.old.file, "start": done.old.start, "end": done.old.end}
        print(
            json.dumps(
                {"to": str(to), "old": old, "new": new, "draq": done.alignment.draq, "pieces": done.pieces}
            )
        )
        return
    fit = f"{done.alignment.verdict}, DRAQ {done.alignment.draq:.3f}"
    print(f"{to}: {done.new.name} in the place of {done.old.name} ({fit})")
