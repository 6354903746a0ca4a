"""`seasync transfer`: labels from one video to the other."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from seasync.cli.output import counted, summary
from seasync.cli.pairing import align_pair
from seasync.cli.parameters import (
    Anchors,
    EncoderName,
    End,
    Fps,
    Json,
    MatchEnd,
    MatchFile,
    MatchStart,
    OrderChoice,
    PartialChoice,
    QueryFile,
    Recipe,
    Start,
    StorageOptions,
    path_or_uri,
)
from seasync.clip import Clip
from seasync.files import Location
from seasync.options import Side

EXAMPLES = """\
seasync transfer keys.csv mine.mp4 other.mp4 --to other-keys.csv

seasync transfer talk.srt mine.mp4 other.mp4 --to other.srt"""


def transfer(
    labels: Annotated[
        Location,
        typer.Argument(
            parser=path_or_uri,
            metavar="LABELS",
            help="Subtitles (.srt .vtt .ass), or a CSV of phases, key moments or frames.",
        ),
    ],
    query: QueryFile,
    match: MatchFile,
    to: Annotated[
        Location, typer.Option(parser=path_or_uri, metavar="FILE", help="The file for the new labels.")
    ],
    of: Annotated[
        Side, typer.Option(help="The video that LABELS belongs to; the new labels are for the other one.")
    ] = "query",
    encoder: EncoderName = "dinov2-small",
    recipe: Recipe = "motion",
    fps: Fps = None,
    partial: PartialChoice = "auto",
    order: OrderChoice = "same",
    anchor: Anchors = None,
    start: Start = None,
    end: End = None,
    match_start: MatchStart = None,
    match_end: MatchEnd = None,
    storage_option: StorageOptions = None,
    as_json: Json = False,
) -> None:
    """Carry labels, key moments or subtitles from one video to another.

    The two videos are aligned first; every label moves to the moment that corresponds to it.
    """
    from seasync.render import transfer as carry
    from seasync.render.labels import expect_labels

    expect_labels(labels, to)  # before minutes are spent on aligning
    clips = Clip.of(query, start, end), Clip.of(match, match_start, match_end)
    alignment = align_pair(
        *clips, encoder=encoder, recipe=recipe, fps=fps, partial=partial, order=order, anchor=anchor
    )
    done = carry(alignment, labels, to, to="match" if of == "query" else "query")
    if as_json:
        import json

        print(json.dumps({"file": str(to), "carried": done.carried, "left_out": done.left_out}))
        return
    left_out = f", {done.left_out} left out without a counterpart" if done.left_out else ""
    print(f"{to}: {counted(done.carried, 'label')} carried{left_out}")
    print(*summary(alignment), sep="\n", file=sys.stderr)
