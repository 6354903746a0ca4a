"""`seasync sea`: look after a sea."""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import partial
from typing import Annotated

import typer

from seasync.cli import adapt as adapt_command
from seasync.cli.output import counted, progress, resumable
from seasync.cli.parameters import Cpus, Device, Json, Label, On, Sea, StorageOptions, Where, cluster
from seasync.options import IndexKind

sea = typer.Typer(help="Look after a sea: list, check, copy, rebuild, remove.", no_args_is_help=True)
sea.command(epilog=f"Examples:\n\n{adapt_command.EXAMPLES}")(adapt_command.adapt)


@sea.command(epilog="Examples:\n\nseasync sea info --sea footage.sea")
def info(sea: Sea = "footage.sea", storage_option: StorageOptions = None, as_json: Json = False) -> None:
    """Show what is in a sea: clips, hours, encoder, index, labels, size."""
    from seasync.encoders.registry import name_for
    from seasync.sea.sea import Sea as OpenSea

    facts = OpenSea(sea, create=False).info()
    if as_json:
        print(json.dumps(facts))
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
    sea: Sea = "footage.sea",
    label: Label = None,
    where: Where = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Show at most this many clips.")] = None,
    storage_option: StorageOptions = None,
    as_json: Json = False,
) -> None:
    """List the clips of a sea, in the order they were added."""
    from seasync.sea.sea import Sea as OpenSea

    entries = OpenSea(sea, create=False).entries(where, label=label, limit=limit)
    if as_json:
        kept = ("duration", "tags", "damage")
        print(
            json.dumps(
                [
                    asdict(entry.clip.form()) | {name: getattr(entry, name) for name in kept}
                    for entry in entries
                ]
            )
        )
        return
    for clip in (entry.clip for entry in entries):
        span = "" if not clip.start and clip.end is None else f"  {clip.start:.2f}–{clip.end or 0:.2f} s"
        print(f"{clip.id}  {clip.label or '-'}  {clip.file}{span}")


@sea.command(epilog="Examples:\n\nseasync sea remove --sea footage.sea --file old.mp4")
def remove(
    sea: Sea = "footage.sea",
    clip: Annotated[
        list[str] | None,
        typer.Option(metavar="ID", help="A clip, by its id or the first 8 digits or more. Repeatable."),
    ] = None,
    file: Annotated[list[str] | None, typer.Option(help="All clips of this video. Repeatable.")] = None,
    label: Annotated[list[str] | None, typer.Option(help="All clips with this label. Repeatable.")] = None,
    storage_option: StorageOptions = None,
) -> None:
    """Remove clips from a sea. The video files are not touched."""
    from seasync.sea.sea import Sea as OpenSea

    if not (clip or file or label):
        raise typer.BadParameter("expected what to remove: --clip, --file or --label")
    count = OpenSea(sea, create=False).remove(clips=clip or [], files=file or [], labels=label or [])
    print(f"{sea}: {counted(count, 'clip')} removed")


@sea.command(epilog="Examples:\n\nseasync sea verify --sea footage.sea --no-files")
def verify(
    sea: Sea = "footage.sea",
    files: Annotated[
        bool,
        typer.Option("--files/--no-files", help="Also check that the videos exist and are unchanged."),
    ] = True,
    against: Annotated[
        str | None, typer.Option(metavar="SEA", help="Also check that this copy of the sea is equal to it.")
    ] = None,
    storage_option: StorageOptions = None,
    as_json: Json = False,
) -> None:
    """Read all of a sea and check it. The exit code is 1 if there is a problem."""
    from seasync.sea.copies import differences
    from seasync.sea.maintenance import Problem
    from seasync.sea.sea import Sea as OpenSea

    opened = OpenSea(sea, create=False)
    problems = opened.verify(files=files)
    if against:
        other = differences(opened.record, OpenSea(against, create=False).record)
        problems += [Problem(clip, against, what) for clip, what in other.items()]
    if as_json:
        print(json.dumps([vars(problem) for problem in problems]))
    else:
        for problem in problems:
            print(f"{problem.clip}  {problem.file}: {problem.what}")
        same = f", equal to {against}" if against else ""
        outcome = counted(len(problems), "problem") if problems else f"no problems{same}"
        print(f"{sea}: {counted(len(opened), 'clip')}, {outcome}")
    if problems:
        raise typer.Exit(1)


@sea.command(epilog="Examples:\n\nseasync sea rebuild --sea footage.sea --index ivf_rq")
def rebuild(
    sea: Sea = "footage.sea",
    index: Annotated[
        IndexKind,
        typer.Option(help="`exact` needs no index; `auto` builds one for more than 50,000 clips."),
    ] = "auto",
    on: On = "local",
    cpus: Cpus = 1,
    storage_option: StorageOptions = None,
) -> None:
    """Rebuild the search index of a sea."""
    from seasync.sea.sea import Sea as OpenSea

    opened = OpenSea(sea, create=False)
    opened.rebuild(index, on=cluster(on, None, cpus, 0))
    print(f"{sea}: index {opened.info()['index']}")


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
    sea: Sea = "footage.sea",
    storage_option: StorageOptions = None,
) -> None:
    """Tell a sea where its videos are after they have moved."""
    from seasync.sea.sea import Sea as OpenSea

    found = OpenSea(sea, create=False).relocate(root, old=old)
    print(f"{sea}: {counted(found, 'file')} found in the new place")


@sea.command(epilog="Examples:\n\nseasync sea copy footage.sea s3://bucket/footage.sea")
def copy(
    source: Annotated[str, typer.Argument(help="The sea to copy, by path or URI.")],
    target: Annotated[str, typer.Argument(help="Where to copy it, by path or URI.")],
    storage_option: StorageOptions = None,
) -> None:
    """Copy a sea to another place, to object storage or from it.

    Run the same command again to continue an interrupted copy, or to copy what was added since.
    """
    from seasync.sea.copies import copy as copy_sea
    from seasync.sea.sea import Sea as OpenSea

    opened, other = OpenSea(source, create=False), OpenSea(target)
    with resumable(), progress("copying") as show:
        moved = copy_sea(opened.record, other.record, progress=partial(show, "copying"))
    print(f"{target}: {counted(len(other), 'clip')} ({moved / 1e6:.1f} MB copied)")


@sea.command(epilog="Examples:\n\nseasync sea sweep --sea footage.sea")
def sweep(sea: Sea = "footage.sea", storage_option: StorageOptions = None) -> None:
    """Delete files that no version of a sea uses, such as those of an add that was killed."""
    from seasync.sea.sea import Sea as OpenSea

    print(f"{sea}: {OpenSea(sea, create=False).sweep() / 1e6:.1f} MB deleted")


@sea.command(
    epilog="Examples:\n\nseasync sea reencode --sea footage.sea --encoder dinov2-small+pose --to new.sea"
)
def reencode(
    to: Annotated[str, typer.Option(metavar="SEA", help="The new sea, by path or URI.")],
    sea: Sea = "footage.sea",
    encoder: Annotated[str, typer.Option(help="The encoder of the new sea.")] = "dinov2-small",
    device: Device = None,
    storage_option: StorageOptions = None,
) -> None:
    """Make a new sea of the same clips with another encoder, or with the present version of the same one.

    The videos are read again; the old sea does not change. Run the same command again to continue after an
    interruption.
    """
    from seasync.sea.copies import reencode_from_videos
    from seasync.sea.sea import Sea as OpenSea

    old, new = OpenSea(sea, create=False), OpenSea(to, encoder)
    with resumable(), progress("encoding") as show:
        failures = reencode_from_videos(old, new, progress=partial(show, "encoding"))
    for failure in failures:
        typer.echo(f"skipped: {failure}", err=True)
    print(f"{to}: {counted(len(new), 'clip')}, encoder {new.encoder().name}")
