"""`seasync search`, `find` and `replace`: what moves in step with a video, in a sea and in long films."""

import sys
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import seasync
from seasync.alignment.judge import per_cent
from seasync.cli import output, parameters
from seasync.cli.output import print
from seasync.errors import RenderError, SeaError
from seasync.files import Location, is_uri
from seasync.options import Rerank

if TYPE_CHECKING:
    from seasync.sea.search import Matches

SAID = {True: "the same movement", False: "another movement", None: "taken back"}
BAR = 5  # letters of the bar of a rating
REPLACEMENTS = 10  # matches that are looked at for one that aligns


@dataclass(frozen=True)
class SearchHow:
    """What decides the answer of a search."""

    k: Annotated[int, typer.Option("-k", min=1, help="How many matches to show.")] = 10
    label: parameters.Label = None
    where: parameters.Where = None
    max_draq: Annotated[float | None, typer.Option(help="Leave out matches with a higher DRAQ.")] = None
    start: parameters.Start = None
    end: parameters.End = None
    recipe: parameters.RecipeName = "motion"
    rerank: Annotated[
        Rerank | None,
        parameters.alignment_option(
            show_default="order; draq with --recipe paper",
            help="What orders the matches: `order` (similarity relative to the sea, DRAQ and contrast), "
            "`product` (distance times DRAQ), `draq`, `dtw` (path cost), or `none` (similarity alone). "
            "`evidence` is the former name of `order`.",
        ),
    ] = None
    candidates: Annotated[
        int | None,
        parameters.alignment_option(
            min=1, show_default="25; 10 with --recipe paper", help="How many clips to compare closely."
        ),
    ] = None
    partial: parameters.Partial = "auto"
    consensus: Annotated[
        bool | None,
        parameters.alignment_option(
            "--consensus/--no-consensus",
            show_default="with the motion recipe, unless the clips are long",
            help="Let the matches correct each other's alignments.",
        ),
    ] = None


def search(
    query: Annotated[list[str], typer.Argument(help="Videos by path or URI, or clips of the sea by id.")],
    *,
    sea: parameters.Sea = "footage.sea",
    how: SearchHow,
    same: Annotated[
        list[int] | None,
        typer.Option(min=1, metavar="RANK", help="Say that this match shows the movement; the sea learns."),
    ] = None,
    different: Annotated[
        list[int] | None,
        typer.Option(min=1, metavar="RANK", help="Say that this match shows another movement."),
    ] = None,
    unsaid: Annotated[
        list[int] | None, typer.Option(min=1, metavar="RANK", help="Take back what was said of this match.")
    ] = None,
    device: parameters.Device = None,
    storage_option: parameters.StorageOptions = None,
    as_json: parameters.Json = False,
) -> None:
    """Find the clips of a sea that move in step with a video, best first.

    Examples:

    seasync search query.mp4 --sea footage.sea

    seasync search query.mp4 --sea s3://bucket/footage.sea -k 5 --start 2 --end 6 --json
    """
    said = [(rank, True) for rank in same or ()] + [(rank, False) for rank in different or ()]
    answers: list[tuple[int, bool | None]] = [*said, *((rank, None) for rank in unsaid or ())]
    if answers and (len(query) > 1 or max(answers)[0] > how.k):
        raise typer.BadParameter(
            "expected one query, and ranks of its matches", param_hint="--same, --different, --unsaid"
        )
    recipe = parameters.recipe_named(how.recipe)
    found = parameters.open_sea(sea).search_many(query, **vars(how) | {"recipe": recipe})
    for rank, what in answers:
        if rank > len(found[0]):
            raise SeaError(f"{query[0]}: it has {len(found[0])} matches, none with the rank {rank}")
        match = found[0][rank - 1]
        before, after = match.alignability, parameters.open_sea(sea).confirm(match, same=what)
        known = (
            f", {per_cent(before)} → {per_cent(after)} likely the same movement" if before and after else ""
        )
        print(f"{rank}, {match.clip.name}: {SAID[what]}{known}", file=sys.stderr)
    if as_json:
        plain = [matches.to_json() for matches in found]
        output.print_json(plain[0] if len(query) == 1 else plain)
        return
    for text, matches in zip(query, found, strict=True):
        if len(query) > 1:
            print()
            output.print_bold(text)
        _print(matches)


def _print(matches: "Matches") -> None:
    print(matches.verdict)
    if not matches:
        return
    calibrated = any(match.alignability is not None for match in matches)
    share = "same movement" if calibrated else "better than"
    labelled = ["label"] if any(match.clip.label for match in matches) else []  # there is little room
    columns = ["", "fit", "", share, "timing", "off by", *labelled, "seconds", "file"]
    rows = [_row(rank, match, calibrated, bool(labelled)) for rank, match in enumerate(matches, 1)]
    output.print_table(columns, rows, right=("off by", share, "seconds"))


def _row(rank: int, match: "seasync.Match", calibrated: bool, labelled: bool) -> list[str]:
    share = match.alignability if calibrated else match.better_than
    return [
        str(rank),
        "▰" * (full := round(BAR * match.rating)) + "▱" * (BAR - full),
        match.grade,
        "" if share is None else per_cent(share) if calibrated else f"{share:.0%} of random pairs",
        match.fit.brief,
        f"{off[0]:.2f} s" if match.alignable and (off := match.alignment.expected_error) else "",
        *([match.clip.label or ""] if labelled else []),
        f"{match.clip.start:.2f}–{match.end:.2f}",
        _short(match.clip.file),
    ]


def _short(file: str) -> str:
    """The file's path from here, where it lies below."""
    if is_uri(file):
        return file
    path = Path(file)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else file


def find(
    query: parameters.QueryFile,
    films: Annotated[list[Location], parameters.file_argument("FILM…", "Films to search, by path or URI.")],
    k: Annotated[int, typer.Option("-k", min=1, help="How many stretches to show.")] = 5,
    encoder: parameters.EncoderName = "dinov2-small",
    recipe: parameters.RecipeName = "motion",
    fps: parameters.Fps = None,
    start: parameters.Start = None,
    end: parameters.End = None,
    device: parameters.Device = None,
    storage_option: parameters.StorageOptions = None,
    as_json: parameters.Json = False,
) -> None:
    """Find the stretches of long films that move in step with a video, best first.

    Examples:

    seasync find serve.mp4 match-day.mp4

    seasync find serve.mp4 films/*.mp4 -k 20 --json
    """
    bad: list[str] = []
    asked, chosen = seasync.Clip.of(query, start, end), parameters.recipe_named(recipe)
    with output.progress(f"reading {query.name}") as show:
        found = seasync.find(
            asked, films, k=k, encoder=encoder, recipe=chosen, fps=fps, failed=bad.append, progress=show
        )
    if as_json:
        plain = [each.to_json(rank) for rank, each in enumerate(found, 1)]
        output.print_json({"query": asdict(asked.form()), "found": plain, "failed": bad})
    elif found:
        if not any(each.alignable for each in found):
            print(f"Nothing here aligns. The nearest stretch: {found[0].alignment.decision.reason}.")
        rows = [
            (
                str(rank),
                f"{each.draq:.3f}",
                each.alignment.brief,
                f"{each.similarity:.2f}",
                *_place(each.clip),
            )
            for rank, each in enumerate(found, 1)
        ]
        output.print_table(("", "DRAQ", "timing", "similarity", "from", "to", "film"), rows)
    output.print_lines((f"failed: {reason}" for reason in bad), sys.stderr)
    if bad:
        raise typer.Exit(1)


def _place(clip: seasync.Clip) -> tuple[str, str, str]:
    return f"{clip.start:.2f} s", f"{clip.end or 0:.2f} s", clip.file


def sound(
    query: parameters.QueryFile,
    match: Annotated[
        Location | None, parameters.file_argument("MATCH", "The video with the sound. Leave out with --sea.")
    ] = None,
    *,
    to: Annotated[Location, parameters.file_option("The film: .mp4, .mov, .mkv or .webm.")],
    sea: Annotated[
        str | None, typer.Option(help="Choose among the matches in this sea that have sound.", metavar="SEA")
    ] = None,
    k: Annotated[int, typer.Option("-k", min=1, help="Matches of the sea to choose among.")] = 10,
    how: parameters.PairOptions,
) -> None:
    """Give a video the sound of another one that moves in step with it.

    From a sea, the sound comes from the match that most certainly shows the same movement, of those that
    align and are not silent. The film's metadata name its source.

    Examples:

    seasync sound mine.mp4 reference.mp4 --to with-sound.mp4

    seasync sound mine.mp4 --sea footage.sea --to with-sound.mp4
    """
    from seasync.render.films import has_sound

    if (match is None) == (sea is None):
        raise typer.BadParameter("expected where the sound comes from: a MATCH, or --sea")
    if match is not None:
        alignment = how.align(query, match)
    else:
        clip = seasync.Clip.of(query, how.start, how.end)
        found = parameters.open_sea(str(sea)).search(clip, k=k, recipe=parameters.recipe_named(how.recipe))
        heard = [each for each in found if each.alignable and has_sound(each.clip)]
        if not heard:
            raise RenderError(f"{sea}: no match of {query} aligns and has sound; add footage that has")
        alignment = max(heard, key=lambda each: (each.fit.likelihood or 0, -each.draq)).alignment
    with output.progress(to.name) as show:
        dubbed = seasync.render.dub(alignment, to, progress=partial(show, to.name))
    if not dubbed:
        raise RenderError(f"{match}: has no sound, or only silence; choose another video")
    if alignment.match is not None:
        print(f"{to}: with the sound of {alignment.match.file}, which {alignment.summary}")


def replace(
    timeline: Annotated[Location, parameters.file_argument("TIMELINE", "An edit: .otio, .fcpxml or .edl.")],
    clip: Annotated[str, typer.Argument(help="Name of the clip in the edit, or its number, counted from 1.")],
    to: Annotated[Location, parameters.file_option("The new timeline.")],
    sea: parameters.Sea = "footage.sea",
    rank: Annotated[
        int, typer.Option(min=1, help="Which of the matches that align to take; 1 is the best.")
    ] = 1,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Take the match even if it does not align.")
    ] = False,
    recipe: parameters.RecipeName = "motion",
    media: Annotated[
        Location | None,
        parameters.file_option(
            "Folder of the files that the timeline names without a path.", metavar="FOLDER"
        ),
    ] = None,
    device: parameters.Device = None,
    storage_option: parameters.StorageOptions = None,
    as_json: parameters.Json = False,
) -> None:
    """Replace a clip of an edit with its best match from a sea.

    The new clip is retimed to the old one and keeps its duration.

    Examples:

    seasync replace edit.otio interview.mp4 --sea footage.sea --to new.otio

    seasync replace edit.edl 3 --sea footage.sea --rank 2 --to new.edl
    """

    def choose(query: seasync.Clip) -> seasync.Alignment:
        chosen = parameters.recipe_named(recipe)
        found = parameters.open_sea(sea).search(
            query, k=max(rank, REPLACEMENTS), recipe=chosen, consensus=chosen.compares_change
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

    done = seasync.render.replace_clip(timeline, clip, choose, to, media=media)
    if as_json:
        clips = {"old": asdict(done.old.form()), "new": asdict(done.new.form())}
        output.print_json({"to": str(to), **clips, "alignment": asdict(done.alignment.scores())})
        return
    verdict, *warnings = output.summary(done.alignment)
    print(f"{to}: {done.old.name} replaced with {done.new.name}, which {verdict}")
    output.print_lines(warnings)
