"""`seasync add`, `calibrate` and `sea`: make a sea and look after it."""

import sys
import time
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from seasync.cli import evaluate as learning, output, parameters
from seasync.cli.output import counted, print
from seasync.options import IndexKind

if TYPE_CHECKING:
    from seasync.sea.ingest import Added


def add(
    paths: Annotated[
        list[str],
        typer.Argument(
            help="Videos, folders or patterns, by path or URI, lists (.csv, .tsv with the column `file`), or "
            "LeRobot data sets (`lerobot:DIR`)."
        ),
    ],
    *,
    sea: parameters.Sea = "footage.sea",
    split: Annotated[
        str,
        typer.Option(
            help="How to split videos: `none`, `shots`, `reps` (repetitions), or a length in seconds."
        ),
    ] = "none",
    labels: Annotated[
        str | None,
        typer.Option(
            help="`folder` (the name of a video's folder), or a list with the columns file and label."
        ),
    ] = None,
    camera: Annotated[
        str | None, typer.Option(help="Camera of a LeRobot data set (`lerobot:DIR`), such as top.")
    ] = None,
    tag: Annotated[list[str] | None, typer.Option(help="A tag for all of these clips. Repeatable.")] = None,
    encoder: Annotated[
        str | None,
        typer.Option(
            show_default="dinov2-small, or the sea's own",
            help="Encoder of a new sea. An existing sea keeps its own.",
        ),
    ] = None,
    fps: parameters.Fps = None,
    frame_features: Annotated[
        bool,
        typer.Option(
            "--frame-features/--no-frame-features", help="Store frame features, or only clip vectors."
        ),
    ] = True,
    jobs: Annotated[
        int | None,
        typer.Option(
            min=1,
            show_default="1; on Ray, as many as fit",
            help="Processes that encode. With 1, all cores work on one clip at a time.",
        ),
    ] = None,
    wait: Annotated[bool, typer.Option(help="Wait while another process writes to this sea.")] = True,
    where: parameters.RayOptions,
    device: parameters.Device = None,
    storage_option: parameters.StorageOptions = None,
    as_json: parameters.Json = False,
) -> None:
    """Add videos to a sea.

    Re-adding files costs nothing. If it is interrupted, run the same command again to continue.

    Examples:

    seasync add videos/ --sea footage.sea --labels folder

    seasync add s3://bucket/films/ --sea s3://bucket/films.sea --split shots
    """
    began = time.monotonic()
    with output.resumable(), output.progress() as bar:

        def show(added: "Added") -> None:
            rate = added.added / max(time.monotonic() - began, 1e-3)
            text = f"{added.added} added, {added.present} present, {len(added.failed)} failed, {rate:.1f}/s"
            bar(text, added.done, added.size or 1)

        added = parameters.open_sea(sea, encoder, create=True).add(
            *(f"{path}#{camera}" if camera and path.startswith("lerobot:") else path for path in paths),
            split=split,
            labels=labels,
            tags=tag or [],
            fps=fps,
            frame_features=frame_features,
            jobs=jobs or 1,
            on=where.cluster(jobs),
            progress=show,
            wait=wait,
            waiting=lambda: print("seasync: waiting for another process to finish writing", file=sys.stderr),
        )
    _report(added, sea, as_json)
    if added.failed:
        raise typer.Exit(1)


def _report(added: "Added", sea: str, as_json: bool) -> None:
    if as_json:
        failed = [{"file": failure.file, "reason": failure.reason} for failure in added.failed]
        report = {"sea": sea, "files": added.files, "added": added.added, "present": added.present}
        report |= {"updated": added.updated, "seconds": added.seconds}
        output.print_json(report | {"failed": failed, "damaged": added.damaged})
        return
    minutes = f"{added.seconds / 60:.1f} minutes of footage"
    updated = f", {added.updated} of them updated" if added.updated else ""
    print(f"{sea}: {counted(added.added, 'clip')} added ({minutes}), {added.present} already there{updated}")
    output.print_lines((f"damaged: {text}" for text in added.damaged), sys.stderr)
    output.print_lines((f"failed: {failure.reason}" for failure in added.failed), sys.stderr)


def calibrate(
    sea: parameters.Sea = "footage.sea",
    recipe: parameters.RecipeName = "motion",
    seed: Annotated[int, typer.Option(help="Seed for drawing pairs of clips.")] = 0,
    storage_option: parameters.StorageOptions = None,
    as_json: parameters.Json = False,
) -> None:
    """Learn from a sea's labels how likely a match is the same kind of movement.

    `seasync search` then shows this probability. The sea needs 20 labeled clips or more.

    Examples:

    seasync calibrate --sea footage.sea
    """
    fitted = parameters.open_sea(sea).calibrate(parameters.recipe_named(recipe), seed=seed)
    if as_json:
        output.print_json({of: vars(curve) for of, curve in fitted.items()})
        return
    pair, search = fitted["pair"], fitted["search"]
    print(f"{sea}: fitted to {counted(pair.pairs or 0, 'pair')} and {search.pairs} searches.")
    print("On clips that were not used for fitting:")
    print(f"  two clips: off by {pair.error:.1%} on average")
    print(f"  the first match of a search: off by {search.error:.1%} on average")
    if search.false_half is not None and search.recall is not None:
        print(f"    of the same movement, {search.recall:.0%} get 50% or more")
        print(
            f"    of movements that the sea does not have, {search.false_half:.0%} get 50% or more, "
            f"{search.false_nine:.0%} get 90% or more"
        )


sea = typer.Typer(help="Look after a sea: list, check, copy, rebuild, remove.", no_args_is_help=True)
parameters.add_command(sea, learning.adapt, only=learning.ADAPT_OPTIONS)


@sea.command(epilog="Examples:\n\nseasync sea info --sea footage.sea")
def info(
    sea: parameters.Sea = "footage.sea",
    storage_option: parameters.StorageOptions = None,
    as_json: parameters.Json = False,
) -> None:
    """Show what is in a sea: clips, hours, encoder, index, labels, size."""
    from seasync.encoders.registry import name_for

    facts = parameters.open_sea(sea).info()
    if as_json:
        output.print_json(facts)
        return
    clips, files = counted(facts["clips"], "clip"), counted(facts["files"], "file")
    stale = f", {counted(facts['unindexed'], 'clip')} not in it yet" if facts["unindexed"] else ""
    print(f"{facts['sea']}: {clips} of {files}, {facts['hours']:.2f} hours")
    print(f"encoder  {facts['encoder']} at {facts['fps']:g} fps ({facts['fingerprint']})")
    if (present := name_for(facts["encoder"], facts["fingerprint"])) != facts["encoder"]:
        command = f"seasync sea reencode --sea {facts['sea']} --to NEW.sea"
        print(
            f"         made by an earlier version; now called {present}. To use the newer encoder: {command}"
        )
    size = f"{facts['bytes'] / 1e6:.1f} MB on disk"
    print(f"stored   frame features of {counted(facts['with_frame_features'], 'clip')}, {size}")
    print(f"index    {facts['index']}{stale}")
    if facts["damaged"]:
        print(f"damaged  {counted(facts['damaged'], 'clip')} could be read only in part")
    print(f"labels   {', '.join(f'{name} {count}' for name, count in facts['labels'].items()) or 'none'}")
    print(f"format   {facts['format']}, version {facts['version']}")


@sea.command("list", epilog="Examples:\n\nseasync sea list --sea footage.sea --label squat")
def list_clips(
    sea: parameters.Sea = "footage.sea",
    label: parameters.Label = None,
    where: parameters.Where = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Show at most this many clips.")] = None,
    storage_option: parameters.StorageOptions = None,
    as_json: parameters.Json = False,
) -> None:
    """List the clips of a sea, in the order they were added."""
    entries = parameters.open_sea(sea).entries(where, label=label, limit=limit)
    if as_json:
        kept = ("duration", "tags", "damage")
        output.print_json(
            [asdict(entry.clip.form()) | {name: getattr(entry, name) for name in kept} for entry in entries]
        )
        return
    for clip in (entry.clip for entry in entries):
        span = "" if not clip.start and clip.end is None else f"  {clip.start:.2f}–{clip.end or 0:.2f} s"
        print(f"{clip.id}  {clip.label or '-'}  {clip.file}{span}")


@sea.command(epilog="Examples:\n\nseasync sea remove --sea footage.sea --file old.mp4")
def remove(
    sea: parameters.Sea = "footage.sea",
    clip: Annotated[
        list[str] | None,
        typer.Option(metavar="ID", help="A clip, by its id or the first 8 digits or more. Repeatable."),
    ] = None,
    file: Annotated[list[str] | None, typer.Option(help="All clips of this video. Repeatable.")] = None,
    label: Annotated[list[str] | None, typer.Option(help="All clips with this label. Repeatable.")] = None,
    storage_option: parameters.StorageOptions = None,
) -> None:
    """Remove clips from a sea. The video files are not touched."""
    if not (clip or file or label):
        raise typer.BadParameter("expected what to remove: --clip, --file or --label")
    count = parameters.open_sea(sea).remove(clips=clip or [], files=file or [], labels=label or [])
    print(f"{sea}: {counted(count, 'clip')} removed")


@sea.command(epilog="Examples:\n\nseasync sea verify --sea footage.sea --no-files")
def verify(
    sea: parameters.Sea = "footage.sea",
    files: Annotated[
        bool, typer.Option("--files/--no-files", help="Also check that the videos exist and are unchanged.")
    ] = True,
    seal: Annotated[
        bool, typer.Option("--seal", help="Write checksums for clips that an earlier version added.")
    ] = False,
    against: Annotated[
        str | None, typer.Option(metavar="SEA", help="Also check that this copy of the sea is equal to it.")
    ] = None,
    storage_option: parameters.StorageOptions = None,
    as_json: parameters.Json = False,
) -> None:
    """Read all of a sea and check it. The exit code is 1 if there is a problem."""
    from seasync.sea.copies import differences
    from seasync.sea.maintenance import SeaProblem

    opened = parameters.open_sea(sea)
    problems = opened.verify(files=files, seal=seal)
    if against:
        other = differences(opened.record, parameters.open_sea(against).record)
        problems += [SeaProblem(clip, against, what) for clip, what in other.items()]
    if as_json:
        output.print_json([vars(problem) for problem in problems])
    else:
        output.print_lines(f"{problem.clip}  {problem.file}: {problem.what}" for problem in problems)
        same = f", equal to {against}" if against else ""
        outcome = counted(len(problems), "problem") if problems else f"no problems{same}"
        print(f"{sea}: {counted(len(opened), 'clip')}, {outcome}")
        if missing := opened.record.snapshot().without_checksums:
            print(f"{counted(missing, 'clip')} without checksums; `seasync sea verify --seal` writes them")
    if problems:
        raise typer.Exit(1)


def rebuild(
    *,
    sea: parameters.Sea = "footage.sea",
    index: Annotated[
        IndexKind, typer.Option(help="`exact` needs no index; `auto` builds one for more than 50,000 clips.")
    ] = "auto",
    where: parameters.RayOptions,
    storage_option: parameters.StorageOptions = None,
) -> None:
    """Rebuild the search index of a sea.

    Examples:

    seasync sea rebuild --sea footage.sea --index ivf_rq
    """
    opened = parameters.open_sea(sea)
    opened.rebuild(index, on=where.cluster())
    print(f"{sea}: index {opened.info()['index']}")


parameters.add_command(sea, rebuild, only=("on", "cpus"))


@sea.command(epilog="Examples:\n\nseasync sea relocate --sea footage.sea --root /mnt/new/videos")
def relocate(
    root: Annotated[str, typer.Option(metavar="FOLDER", help="The folder that has the videos now.")],
    old: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="FOLDER",
            show_default="the folder that all have in common",
            help="The folder that had them before.",
        ),
    ] = None,
    sea: parameters.Sea = "footage.sea",
    storage_option: parameters.StorageOptions = None,
) -> None:
    """Tell a sea where its videos are after they have moved."""
    found = parameters.open_sea(sea).relocate(root, old=old)
    print(f"{sea}: {counted(found, 'file')} found in the new place")


@sea.command(epilog="Examples:\n\nseasync sea copy footage.sea s3://bucket/footage.sea")
def copy(
    source: Annotated[str, typer.Argument(help="The sea to copy, by path or URI.")],
    target: Annotated[str, typer.Argument(help="Where to copy it, by path or URI.")],
    storage_option: parameters.StorageOptions = None,
) -> None:
    """Copy a sea to another place, to object storage or from it.

    Run the same command again to continue an interrupted copy, or to copy what was added since.
    """
    from seasync.sea.copies import copy as copy_sea

    opened, other = parameters.open_sea(source), parameters.open_sea(target, create=True)
    with output.resumable(), output.progress("copying") as show:
        moved = copy_sea(opened.record, other.record, progress=partial(show, "copying"))
    print(f"{target}: {counted(len(other), 'clip')} ({moved / 1e6:.1f} MB copied)")


@sea.command(epilog="Examples:\n\nseasync sea sweep --sea footage.sea")
def sweep(sea: parameters.Sea = "footage.sea", storage_option: parameters.StorageOptions = None) -> None:
    """Delete files that no version of a sea uses, such as those of an add that was killed."""
    print(f"{sea}: {parameters.open_sea(sea).sweep() / 1e6:.1f} MB deleted")


@sea.command(
    epilog="Examples:\n\nseasync sea reencode --sea footage.sea --encoder dinov2-small+pose --to new.sea"
)
def reencode(
    to: Annotated[str, typer.Option(metavar="SEA", help="The new sea, by path or URI.")],
    sea: parameters.Sea = "footage.sea",
    encoder: Annotated[str, typer.Option(help="The encoder of the new sea.")] = "dinov2-small",
    device: parameters.Device = None,
    storage_option: parameters.StorageOptions = None,
) -> None:
    """Make a new sea of the same clips with another encoder, or with the present version of the same one.

    The videos are read again; the old sea does not change. Run the same command again to continue after an
    interruption.
    """
    from seasync.sea.copies import reencode_from_videos

    old, new = parameters.open_sea(sea), parameters.open_sea(to, encoder, create=True)
    with output.resumable(), output.progress("encoding") as show:
        failures = reencode_from_videos(old, new, progress=partial(show, "encoding"))
    output.print_lines((f"skipped: {failure}" for failure in failures), sys.stderr)
    print(f"{to}: {counted(len(new), 'clip')}, encoder {new.encoder().name}")
