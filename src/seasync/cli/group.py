"""`seasync group`: several takes on one clock."""

from typing import TYPE_CHECKING, Annotated

import typer

import seasync
from seasync.cli import output, parameters
from seasync.cli.output import counted, print
from seasync.cli.parameters import OUTPUT, output_option
from seasync.files import Location

if TYPE_CHECKING:
    from seasync.encoding import Seconds
    from seasync.group.timing import Timing

EXAMPLES = {
    "group": """\
seasync group model.mp4 pupils/ --film together.mp4

seasync group model.mp4 pupils/ --marks model.csv --timing timing.html

seasync group --sea footage.sea --label serve"""
}
LONGEST_FILM = 25  # takes
FASTEST = 4.0  # a higher tempo is not printed
FEW_WORDS = 8  # sentences printed; the timing file has all


def group(
    reference: Annotated[
        Location | None,
        parameters.file_argument(
            "REFERENCE",
            "The take whose clock is used: a video, or with --sea a clip's id.",
            show_default="the take that fits the others best",
        ),
    ] = None,
    takes: Annotated[
        list[Location] | None, parameters.file_argument("TAKES", "Videos and folders of videos.")
    ] = None,
    sea: Annotated[str | None, typer.Option("--sea", help="Use the clips of this sea as takes.")] = None,
    label: parameters.Label = None,
    marks: Annotated[
        Location | None,
        parameters.file_option(
            "Marks of the reference or of any takes: .csv, .srt, .vtt, .eaf, .kva, or a folder of them."
        ),
    ] = None,
    timing: Annotated[
        Location | None,
        parameters.file_option(
            "Write when each mark happens in each take: .html, .csv, .json or .md. Needs --marks.", OUTPUT
        ),
    ] = None,
    film: Annotated[
        Location | None, parameters.file_option("Write a film of all takes in step.", OUTPUT)
    ] = None,
    tempo_bars: Annotated[
        bool,
        output_option(
            "--tempo-bars",
            help="Draw each take's tempo below it in the film: orange is faster than the reference.",
        ),
    ] = False,
    mark_outliers: Annotated[
        bool,
        output_option(
            "--mark-outliers",
            help="Draw a frame around takes in the film while they are far ahead or behind.",
        ),
    ] = False,
    tables: Annotated[
        Location | None,
        parameters.file_option(
            "Tables of the takes (.csv, .npy), a row per frame, named like them. Needs --resampled.",
            metavar="FOLDER",
        ),
    ] = None,
    resampled: Annotated[
        Location | None, parameters.file_option("Write the tables on the common clock: .npz or .csv.", OUTPUT)
    ] = None,
    consensus: Annotated[
        bool, parameters.alignment_option(help="Let the takes correct each other's alignment.")
    ] = True,
    encoder: parameters.EncoderName = "dinov2-small",
    recipe: parameters.RecipeName = "motion",
    fps: parameters.Fps = None,
    device: parameters.Device = None,
    storage_option: parameters.StorageOptions = None,
    as_json: parameters.Json = False,
) -> None:
    """Put several takes of one movement on one clock.

    Prints how each take differs from the group, and which takes do not align.
    """
    if (sea is None) == (not takes):
        raise typer.BadParameter("give TAKES (videos or folders) beside the reference, or --sea SEA")
    if timing and not marks:
        raise typer.BadParameter("--timing needs --marks: the moments to compare")
    if (tempo_bars or mark_outliers) and not film:
        raise typer.BadParameter("--tempo-bars and --mark-outliers belong to --film")
    if bool(tables) != bool(resampled):
        raise typer.BadParameter("--tables and --resampled belong together")
    with output.progress("reading") as show:
        found = seasync.align_group(
            None if reference is None else str(reference),
            parameters.open_sea(sea) if sea else [str(take) for take in takes or ()],
            label=label,
            encoder=encoder,
            recipe=parameters.recipe_named(recipe),
            fps=fps,
            consensus=consensus,
            progress=show,
        )
        table = found.timing(marks) if marks else None
        if table and timing:
            seasync.render.write_timing(found, table, timing)
        if tables and resampled:
            found.resample(tables).save(resampled)
        if film:
            seasync.render.group_film(
                found,
                film,
                most=LONGEST_FILM,
                tempo=tempo_bars,
                outliers=mark_outliers,
                progress=lambda done, all_: show("film", done, all_),
            )
    if as_json:
        output.print_json(found.to_json() | ({"timing": table.to_json()} if table else {}))
        return
    _print(found, table)
    for written in (timing, film, resampled):
        if written:
            print(f"written: {written}")


def _print(group: "seasync.Group", timing: "Timing | None") -> None:
    print(f"{counted(len(group.takes), 'take')} on the clock of {group.reference.name}")
    from seasync.group.clock import while_moving

    rows, tempo = [], while_moving(group, group.tempo)
    for take, distance in group.outliers():
        pace = tempo_range(tempo[group.takes.index(take)])
        rows.append((take.clip.name, f"{take.alignment.draq:.3f}", f"{distance:.2f} s", pace))
    output.print_table(
        ("take", "DRAQ", "off the group", "tempo"), rows, right=("DRAQ", "off the group", "tempo")
    )
    if timing:
        words = timing.words()
        output.print_lines(words[:FEW_WORDS] or ["No phase differs by more than a frame or two."])
        if len(words) > FEW_WORDS:
            print(f"… and {counted(len(words) - FEW_WORDS, 'smaller difference')} (--timing FILE has all)")
    if group.left_out:
        print(f"\n{counted(len(group.left_out), 'take')} not in the group:")
        output.print_lines(f"  {out.clip.name}: {out.reason}" for out in group.left_out)


def tempo_range(tempo: "Seconds") -> str:
    """From the slow to the fast moments of a take, without the extreme tenths."""
    import numpy as np

    known = tempo[np.isfinite(tempo)]
    return "–".join(_percent(each) for each in np.quantile(known, (0.1, 0.9))) if len(known) else "–"


def _percent(tempo: float) -> str:
    """Where a take skips a stretch of the reference, its tempo is a huge number that means nothing."""
    return f"over {FASTEST:.0%}" if tempo > FASTEST else f"{tempo:.0%}"
