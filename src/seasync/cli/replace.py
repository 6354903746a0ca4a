"""`seasync replace`: a better clip into an edit."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from seasync.cli.output import summary
from seasync.cli.parameters import Device, Json, Recipe, Sea, StorageOptions, path_or_uri
from seasync.files import Location

if TYPE_CHECKING:
    from seasync.alignment import Alignment
    from seasync.clip import Clip

MATCHES = 10  # that are looked at for one that aligns
EXAMPLES = """\
seasync replace edit.otio interview.mp4 --sea footage.sea --to new.otio

seasync replace edit.edl 3 --sea footage.sea --rank 2 --to new.edl"""


def replace(
    timeline: Annotated[
        Location,
        typer.Argument(parser=path_or_uri, metavar="TIMELINE", help="An edit: .otio, .fcpxml or .edl."),
    ],
    clip: Annotated[str, typer.Argument(help="Name of the clip in the edit, or its number, counted from 1.")],
    to: Annotated[Location, typer.Option(parser=path_or_uri, metavar="FILE", help="The new timeline.")],
    sea: Sea = "footage.sea",
    rank: Annotated[
        int, typer.Option(min=1, help="Which of the matches that align to take; 1 is the best.")
    ] = 1,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Take the match even if it does not align.")
    ] = False,
    recipe: Recipe = "motion",
    media: Annotated[
        Location | None,
        typer.Option(
            parser=path_or_uri,
            metavar="FOLDER",
            help="Folder of the files that the timeline names without a path.",
        ),
    ] = None,
    device: Device = None,
    storage_option: StorageOptions = None,
    as_json: Json = False,
) -> None:
    """Replace a clip of an edit with its best match from a sea.

    The new clip is retimed to the old one and keeps its duration.
    """
    from seasync.alignment import RECIPES
    from seasync.errors import RenderError
    from seasync.render import replace_clip
    from seasync.sea.sea import Sea as OpenSea

    def find(query: Clip) -> Alignment:
        found = OpenSea(sea, create=False).search(
            query, k=max(rank, MATCHES), recipe=RECIPES[recipe], consensus=RECIPES[recipe].compares_change
        )
        good = [match for match in found if anyway or match.alignable]
        if len(good) >= rank:
            return good[rank - 1].alignment
        if found and not good:
            nearest = found[0].alignment.decision
            raise RenderError(
                f"{sea}: nothing in it aligns with {query.name} (the nearest match: {nearest.reason}); "
                "add footage of the same movement, or use the best match with --anyway"
            )
        kind = "matches" if anyway else "matches that align"
        raise RenderError(f"{sea}: only {len(good)} {kind} for {query.name}; --rank {rank} is too high")

    done = replace_clip(timeline, clip, find, to, media=media)
    if as_json:
        import json

        clips = {"old": asdict(done.old.form()), "new": asdict(done.new.form())}
        alignment = asdict(done.alignment.scores())
        print(json.dumps({"to": str(to), **clips, "alignment": alignment}))
        return
    verdict, *warnings = summary(done.alignment)
    print(f"{to}: {done.old.name} replaced with {done.new.name}, which {verdict}")
    print(*warnings, sep="\n", end="\n" if warnings else "")
