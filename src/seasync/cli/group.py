"""`seasync group`: several takes on one clock."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from seasync.cli.output import counted, print_table, progress
from seasync.cli.parameters import (
    ALIGNMENT,
    OUTPUT,
    Device,
    EncoderName,
    Fps,
    Json,
    Label,
    Recipe,
    StorageOptions,
    path_or_uri,
)
from seasync.files import Location

if TYPE_CHECKING:
    from seasync.encoding import Seconds
    from seasync.group import Group
    from seasync.group.timing import Timing

EXAMPLES = """\
seasync group model.mp4 pupils/ --film together.mp4

seasync group model.mp4 pupils/ --marks model.csv --timing timing.html

seasync group --sea footage.sea --label serve"""
LONGEST_FILM = 25  # takes
FASTEST = 4.0  # a higher tempo is not printed
FEW_WORDS = 8  # sentences printed; the timing file has all


def group(
    reference: Annotated[
        Location | None,
        typer.Argument(
            parser=path_or_uri,
            metavar="REFERENCE",
            help="The take whose clock is used: a video, or with --sea a clip's id.",
            show_default="the take that fits the others best",
        ),
    ] = None,
    takes: Annotated[
        list[Location] | None,
        typer.Argument(parser=path_or_uri, metavar="TAKES", help="Videos and folders of videos."),
    ] = None,
    sea: Annotated[str | None, typer.Option("--sea", help="Use the clips of this sea as takes.")] = None,
    label: Label = None,
    marks: Annotated[
        Location | None,
        typer.Option(
            parser=path_or_uri,
            metavar="FILE",
            help="Marks of the reference or of any takes: .csv, .srt, .vtt, .eaf, .kva, or a folder of them.",
        ),
    ] = None,
    timing: Annotated[
        Location | None,
        typer.Option(
            parser=path_or_uri,
            metavar="FILE",
            rich_help_panel=OUTPUT,
            help="Write when each mark happens in each take: .html, .csv, .json or .md. Needs --marks.",
        ),
    ] = None,
    film: Annotated[
        Location | None,
        typer.Option(
            parser=path_or_uri,
            metavar="FILE",
            rich_help_panel=OUTPUT,
            help="Write a film of all takes in step.",
        ),
    ] = None,
    tempo_bars: Annotated[
        bool,
        typer.Option(
            "--tempo-bars",
            rich_help_panel=OUTPUT,
            help="Draw each take's tempo below it in the film: orange is faster than the reference.",
        ),
    ] = False,
    mark_outliers: Annotated[
        bool,
        typer.Option(
            "--mark-outliers",
            rich_help_panel=OUTPUT,
            help="Draw a frame around takes in the film while they are far ahead or behind.",
        ),
    ] = False,
    tables: Annotated[
        Location | None,
        typer.Option(
            parser=path_or_uri,
            metavar="FOLDER",
            help="Tables of the takes (.csv, .npy), a row per frame, named like them. Needs --resampled.",
        ),
    ] = None,
    resampled: Annotated[
        Location | None,
        typer.Option(
            parser=path_or_uri,
            metavar="FILE",
            rich_help_panel=OUTPUT,
            help="Write the tables on the common clock: .npz or .csv.",
        ),
    ] = None,
    consensus: Annotated[
        bool, typer.Option(rich_help_panel=ALIGNMENT, help="Let the takes correct each other's alignment.")
    ] = True,
    encoder: EncoderName = "dinov2-small",
    recipe: Recipe = "motion",
    fps: Fps = None,
    device: Device = None,
    storage_option: StorageOptions = None,
    as_json: Json = False,
) -> None:
    """Put several takes of one movement on one clock.

    Prints how each take differs from the group, and which takes do not align.
    """
    from seasync.alignment import RECIPES
    from seasync.group import align_group
    from seasync.sea.sea import Sea

    if (sea is None) == (not takes):
        raise typer.BadParameter("give TAKES (videos or folders) beside the reference, or --sea SEA")
    if timing and not marks:
        raise typer.BadParameter("--timing needs --marks: the moments to compare")
    if (tempo_bars or mark_outliers) and not film:
        raise typer.BadParameter("--tempo-bars and --mark-outliers belong to --film")
    if bool(tables) != bool(resampled):
        raise typer.BadParameter("--tables and --resampled belong together")
    with progress("reading") as show:
        found = align_group(
            None if reference is None else str(reference),
            Sea(sea, create=False) if sea else [str(take) for take in takes or ()],
            label=label,
            encoder=encoder,
            recipe=RECIPES[recipe],
            fps=fps,
            consensus=consensus,
            progress=show,
        )
        table = found.timing(marks) if marks else None
        if table and timing:
            from seasync.render import write_timing

            write_timing(found, table, timing)
        if tables and resampled:
            found.resample(tables).save(resampled)
        if film:
            from seasync.render import group_film

            group_film(
                found,
                film,
                most=LONGEST_FILM,
                tempo=tempo_bars,
                outliers=mark_outliers,
                progress=lambda done, all_: show("film", done, all_),
            )
    if as_json:
        import json

        print(json.dumps(found.to_json() | ({"timing": table.to_json()} if table else {})))
        return
    _print(found, table)
    for written in (timing, film, resampled):
        if written:
            print(f"written: {written}")


def _print(group: Group, timing: Timing | None) -> None:
    print(f"{counted(len(group.takes), 'take')} on the clock of {group.reference.name}")
    from seasync.group.clock import while_moving

    rows, tempo = [], while_moving(group, group.tempo)
    for take, distance in group.outliers():
        pace = tempo_range(tempo[group.takes.index(take)])
        rows.append((take.clip.name, f"{take.alignment.draq:.3f}", f"{distance:.2f} s", pace))
    print_table(("take", "DRAQ", "off the group", "tempo"), rows, right=("DRAQ", "off the group", "tempo"))
    if timing:
        words = timing.words()
        print(*(words[:FEW_WORDS] or ["No phase differs by more than a frame or two."]), sep="\n")
        if len(words) > FEW_WORDS:
            print(f"… and {counted(len(words) - FEW_WORDS, 'smaller difference')} (--timing FILE has all)")
    if group.left_out:
        print(f"\n{counted(len(group.left_out), 'take')} not in the group:")
        print(*(f"  {out.clip.name}: {out.reason}" for out in group.left_out), sep="\n")


def tempo_range(tempo: Seconds) -> str:
    """From the slow to the fast moments of a take, without the extreme tenths."""
    import numpy as np

    known = tempo[np.isfinite(tempo)]
    return "–".join(_percent(each) for each in np.quantile(known, (0.1, 0.9))) if len(known) else "–"


def _percent(tempo: float) -> str:
    """Where a take skips a stretch of the reference, its tempo is a huge number that means nothing."""
    return f"over {FASTEST:.0%}" if tempo > FASTEST else f"{tempo:.0%}"
