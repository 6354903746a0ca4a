"""`seasync transfer`: labels from one video to the other."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from seasync.cli import output, parameters
from seasync.errors import DataError
from seasync.files import Location, expect_writable
from seasync.options import Side

if TYPE_CHECKING:
    from seasync.group import CarriedMarks

EXAMPLES = {
    "transfer": """\
seasync transfer keys.csv mine.mp4 other.mp4 --to other-keys.csv

seasync transfer talk.srt mine.mp4 other.mp4 --to other.srt

seasync transfer marks.csv --sea footage.sea --to all.csv"""
}
MARKS_SHOWN = 3  # of a clip
DOUBTFUL_SHOWN = 10


def transfer(
    labels: Annotated[
        Location,
        parameters.file_argument(
            "LABELS", "Subtitles (.srt .vtt .ass), or a CSV of phases, key moments or frames."
        ),
    ],
    query: Annotated[Location | None, parameters.QUERY] = None,
    match: Annotated[Location | None, parameters.MATCH] = None,
    *,
    to: Annotated[Location, parameters.file_option("The file for the new labels.")],
    of: Annotated[
        Side, typer.Option(help="The video that LABELS belongs to; the new labels are for the other one.")
    ] = "query",
    sea: Annotated[
        str | None,
        typer.Option("--sea", help="Carry the marks of some of this sea's clips to all its other clips."),
    ] = None,
    label: parameters.Label = None,
    tolerance: Annotated[
        float,
        typer.Option(min=0.001, help="With --sea: how near a mark must be to be right, in seconds."),
    ] = 0.1,
    how: parameters.PairOptions,
    as_json: parameters.Json = False,
) -> None:
    """Carry labels, key moments or subtitles from one video to another.

    The two videos are aligned first; every label moves to the moment that corresponds to it. With `--sea`,
    the marks of a few labeled clips go to every clip of the sea that aligns, each with a confidence.
    """
    if sea is not None:
        if query is not None:
            raise typer.BadParameter("give two videos, or --sea SEA, not both")
        _over_sea(labels, sea, to, how, label=label, tolerance=tolerance, as_json=as_json)
        return
    if query is None or match is None:
        raise typer.BadParameter("give the two videos, QUERY and MATCH, or --sea SEA")
    from seasync.group import carry as room

    room.expect_labels(labels, to)  # before minutes are spent on aligning
    alignment = how.align(query, match)
    done = room.transfer(alignment, labels, to, to="match" if of == "query" else "query")
    if as_json:
        exact = {"uncertainty_seconds": alignment.typical_uncertainty}
        output.print_json({"file": str(to), "carried": done.carried, "left_out": done.left_out} | exact)
        return
    left_out = f", {done.left_out} left out without a counterpart" if done.left_out else ""
    print(f"{to}: {output.counted(done.carried, 'label')} carried{left_out}")
    if (width := alignment.typical_uncertainty) is not None:
        print(f"a typical label is certain to ±{width:.2f} s")
    output.print_lines(output.summary(alignment), sys.stderr)


def _over_sea(
    marks: Location,
    sea: str,
    to: Location,
    how: parameters.PairOptions,
    *,
    label: str | None,
    tolerance: float,
    as_json: bool,
) -> None:
    from seasync import group
    from seasync.group.carry import named_for
    from seasync.marks import write_marks
    from seasync.sea.snapshot import StoredClips

    expect_writable(to, sources=[marks], error=DataError)
    opened, recipe = parameters.open_sea(sea), parameters.recipe_named(how.recipe)
    with output.progress("carrying marks") as show:
        labeled, carried = group.carry_over_sea(
            opened, marks, label=label, recipe=recipe, tolerance_seconds=tolerance, progress=show
        )
    everyone = [(each.clip, each.marks) for each in labeled] + [(each.clip, each.marks) for each in carried]
    written = write_marks(to, named_for(StoredClips.of(opened.record.snapshot(), label=label), everyone, to))
    doubtful = group.doubtful_first(carried)
    placed = sum(bool(each.marks) for each in carried)
    if as_json:
        rows = [{"file": each.clip.file, "confidence": each.confidence} for each in doubtful]
        counts = {"labeled": len(labeled), "carried": placed}
        output.print_json({"file": str(written), **counts, "doubtful": rows})
        return
    sure = sum(each.sure for each in carried)
    known = output.counted(len(labeled), "labeled clip")
    print(f"{written}: marks of {known} carried to {output.counted(placed, 'clip')}, {sure} of them sure")
    if doubtful:
        print(f"{output.counted(len(doubtful), 'clip')} to check, the most doubtful first:")
        output.print_lines(f"  {each.clip.name}: {_doubt(each)}" for each in doubtful[:DOUBTFUL_SHOWN])
        if len(doubtful) > DOUBTFUL_SHOWN:
            print(f"  … and {len(doubtful) - DOUBTFUL_SHOWN} more (--json lists all)")


def _doubt(carried: "CarriedMarks") -> str:
    """Which marks of a clip are doubtful, such as "3 of 8 marks are not sure: finish 38%, address 42%, …"."""
    from seasync.group.carry import SURE

    if not carried.marks:
        return "no labeled clip aligns with it"
    doubtful = sorted(
        (mark for mark in carried.marks if (mark.confidence or 0.0) < SURE),
        key=lambda mark: mark.confidence or 0.0,
    )
    some = ", ".join(f"{mark.name} {mark.confidence or 0.0:.0%}" for mark in doubtful[:MARKS_SHOWN])
    more = ", …" if len(doubtful) > MARKS_SHOWN else ""
    are = "is" if len(doubtful) == 1 else "are"
    return f"{len(doubtful)} of {output.counted(len(carried.marks), 'mark')} {are} not sure: {some}{more}"
