"""`seasync transfer`: labels from one video to the other."""

from __future__ import annotations

import typer

from seasync.cli.options import Json
from seasync.cli.pairing import How, MatchFile, QueryFile, SideName
from seasync.cli.spread import spread
from seasync.files import Location


@spread
def transfer(
    labels: Location = typer.Argument(
        parser=Location, help="Subtitles (.srt .vtt .ass), or a CSV of phases, key moments or frames."
    ),
    *,
    query: QueryFile,
    match: MatchFile,
    to: Location = typer.Option(
        ..., parser=Location, metavar="FILE", help="The file for the carried labels."
    ),
    of: SideName = typer.Option(SideName.query, help="Whose labels these are; the new ones are the other's."),
    how: How,
    as_json: Json = False,
) -> None:
    """Carry labels, key moments or subtitles over to another video. They follow the videos' alignment."""
    from seasync.render import transfer as carry
    from seasync.render.labels import expect_labels

    expect_labels(labels, to)  # before minutes are spent on aligning
    alignment = how.align(query, match)
    done = carry(alignment, labels, to, to="match" if of is SideName.query else "query")
    if as_json:
        import json

        print(json.dumps({"file": str(to), "carried": done.carried, "left_out": done.left_out}))
        return
    left_out = f", {done.left_out} without a counterpart left out" if done.left_out else ""
    print(f"{to}: {done.carried} label{'s'[: done.carried != 1]} carried{left_out}")
