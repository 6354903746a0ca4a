"""`seasync group` and `reps`: several takes, or the repetitions of one film, on one clock."""

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

    Examples:

    seasync group model.mp4 pupils/ --film together.mp4

    seasync group model.mp4 pupils/ --marks model.csv --timing timing.html

    seasync group --sea footage.sea --label serve
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


def reps(
    film: Annotated[Location, parameters.file_argument("FILM", "The film, by path or URI.")],
    like: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|START=END",
            help="One repetition: another video, or a stretch of the film in seconds, such as `2.0=4.1`.",
            show_default="found in the film",
        ),
    ] = None,
    movement: Annotated[
        int, typer.Option(min=1, help="Which movement the files are of, if the film repeats several.")
    ] = 1,
    to: Annotated[
        Location | None,
        parameters.file_option(
            "Write where each repetition begins and ends: .csv, .srt, .vtt or .eaf.", OUTPUT
        ),
    ] = None,
    film_to: Annotated[
        Location | None,
        typer.Option(
            "--film",
            parser=parameters.path_or_uri,
            metavar="FILE",
            rich_help_panel=OUTPUT,
            help="Write a film of all repetitions in step.",
        ),
    ] = None,
    marks: Annotated[
        Location | None, parameters.file_option("Marks of one or more repetitions, in seconds of the film.")
    ] = None,
    carried: Annotated[
        Location | None,
        parameters.file_option("Write these marks for all repetitions. Needs --marks.", OUTPUT),
    ] = None,
    encoder: parameters.EncoderName = "dinov2-small",
    recipe: parameters.RecipeName = "motion",
    fps: parameters.Fps = None,
    start: parameters.Start = None,
    end: parameters.End = None,
    device: parameters.Device = None,
    storage_option: parameters.StorageOptions = None,
    as_json: parameters.Json = False,
) -> None:
    """Find the repetitions in one film, count them, and put them on one clock.

    Examples:

    seasync reps squats.mp4

    seasync reps squats.mp4 --like 2.0=4.1 --film reps-in-step.mp4

    seasync reps squats.mp4 --marks bottom.csv --carried bottoms.csv
    """
    from seasync.group.repeated import repeated

    if bool(marks) != bool(carried):
        raise typer.BadParameter("--marks and --carried belong together")
    asked = seasync.Clip.of(film, start, end)
    with output.progress(f"reading {film.name}") as show:
        found = seasync.find_repetitions(
            asked,
            like=None if like is None else _like(like, asked),
            encoder=encoder,
            recipe=parameters.recipe_named(recipe),
            fps=fps,
            progress=show,
        )
        if to or film_to or carried:
            chosen = repeated(found, movement)
            if to:
                chosen.save(to)
            if marks and carried:
                chosen.carry_marks(str(marks), carried)
            if film_to:
                seasync.render.group_film(
                    chosen.group,
                    film_to,
                    most=LONGEST_FILM,
                    progress=lambda done, all_: show("film", done, all_),
                )
    if as_json:
        output.print_json({"movements": [each.to_json() for each in found]})
        return
    if not found:
        print("Nothing repeats here. If something does, give one repetition with --like.")
    for number, each in enumerate(found, 1):
        _print_repetitions(each, f"Movement {number}: " if len(found) > 1 else "")
    for written in (to, carried, film_to):
        if written:
            print(f"written: {written}")


def _like(text: str, film: seasync.Clip) -> "seasync.Clip | str":
    """A template as the command names it: a stretch of the film, or a file."""
    begin, equals, stop = text.partition("=")
    try:
        return seasync.Clip.of(film, float(begin), float(stop)) if equals else text
    except ValueError:
        return text


def _print_repetitions(found: "seasync.RepeatedMovement", name: str) -> None:
    form = found.form()
    output.print_lines([name + form.summary[0], *form.summary[1:]])
    rows = [
        (
            str(one.number),
            f"{one.start:.2f} s",
            f"{one.end:.2f} s",
            f"{one.end - one.start:.2f} s",
            f"{one.tempo:.0%}",
            f"{one.fit:.2f}",
            "odd" if one.odd else "the typical one" if one.number == form.reference else "",
        )
        for one in form.repetitions
    ]
    columns = ("", "from", "to", "lasts", "tempo", "fit", "")
    output.print_table(columns, rows, right=columns[:6])
