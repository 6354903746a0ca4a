"""`seasync sea`: look after a sea."""

from __future__ import annotations

import json
from functools import partial

import typer

from seasync.cli.adapt import adapt
from seasync.cli.options import Cpus, Json, On, Sea, StorageOptions, cluster
from seasync.cli.progress import progress, resumable
from seasync.options import IndexKind

sea = typer.Typer(help="Look after a sea: what is in it, whether it is whole.", no_args_is_help=True)
sea.command()(adapt)


@sea.command()
def info(sea: Sea = "footage.sea", storage_option: StorageOptions = None, as_json: Json = False) -> None:
    """Say what is in a sea and how it stands."""
    from seasync.search import Sea as OpenSea

    facts = OpenSea(sea, create=False).info()
    if as_json:
        print(json.dumps(facts))
        return
    stale = f", {facts['unindexed']} clips not yet in it" if facts["unindexed"] else ""
    print(f"{facts['sea']}: {facts['clips']} clips of {facts['files']} files, {facts['hours']:.2f} hours")
    print(f"encoder  {facts['encoder']} at {facts['fps']:g} fps ({facts['fingerprint']})")
    size = f"{facts['bytes'] / 1e6:.1f} MB on disk"
    print(f"kept     frame features of {facts['with_frame_features']} clips, {size}")
    print(f"index    {facts['index']}{stale}")
    print(f"labels   {', '.join(f'{name} {count}' for name, count in facts['labels'].items()) or 'none'}")
    print(f"format   {facts['format']}, version {facts['version']}")


@sea.command("list")
def list_clips(
    sea: Sea = "footage.sea",
    label: str = typer.Option(None, help="Only clips with this label."),
    where: str = typer.Option(None, help='Only clips that fulfil a condition, such as "duration < 10".'),
    limit: int = typer.Option(None, min=1, help="At most so many."),
    storage_option: StorageOptions = None,
    as_json: Json = False,
) -> None:
    """List the clips of a sea, in the order they were added."""
    from seasync.search import Sea as OpenSea

    clips = OpenSea(sea, create=False).clips(where, label=label, limit=limit)
    if as_json:
        names = ("id", "file", "start", "end", "label")
        print(json.dumps([{name: getattr(clip, name) for name in names} for clip in clips]))
        return
    for clip in clips:
        span = "" if not clip.start and clip.end is None else f"  {clip.start:.2f}–{clip.end or 0:.2f} s"
        print(f"{clip.id}  {clip.label or '-'}  {clip.file}{span}")


@sea.command()
def remove(
    sea: Sea = "footage.sea",
    clip: list[str] = typer.Option([], help="The id of a clip, or its first 8 digits or more."),
    file: list[str] = typer.Option([], help="A video: all of its clips."),
    label: list[str] = typer.Option([], help="A label: all clips that have it."),
    storage_option: StorageOptions = None,
) -> None:
    """Take clips out of a sea; the videos themselves are left alone."""
    from seasync.search import Sea as OpenSea

    if not (clip or file or label):
        raise typer.BadParameter("say what to remove: --clip, --file or --label")
    count = OpenSea(sea, create=False).remove(clips=clip, files=file, labels=label)
    print(f"{sea}: {count} clips removed")


@sea.command()
def verify(
    sea: Sea = "footage.sea",
    files: bool = typer.Option(
        True, "--files/--no-files", help="Also read the videos: are they there, unchanged?"
    ),
    against: str = typer.Option(None, help="Another place of this sea, by path or URI: are the two equal?"),
    storage_option: StorageOptions = None,
    as_json: Json = False,
) -> None:
    """Read all of a sea and check it; exit code 1 if anything is wrong."""
    from seasync.sea.copy import differences
    from seasync.sea.verify import Problem
    from seasync.search import Sea as OpenSea

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
        well = f"all well{f', and the same as {against}' if against else ''}"
        wrong = f"{len(problems)} problem{'s'[: len(problems) != 1]}"
        print(f"{sea}: {len(opened)} clips, {wrong if problems else well}")
    if problems:
        raise typer.Exit(1)


@sea.command()
def rebuild(
    sea: Sea = "footage.sea",
    index: IndexKind = typer.Option("auto", help="The kind of index."),
    on: On = "local",
    cpus: Cpus = 1,
    storage_option: StorageOptions = None,
) -> None:
    """Make the index anew from the record."""
    from seasync.search import Sea as OpenSea

    opened = OpenSea(sea, create=False)
    opened.rebuild(index, on=cluster(on, None, cpus, 0))
    print(f"{sea}: index {opened.info()['index']}")


@sea.command()
def relocate(
    root: str = typer.Option(..., help="The folder where the videos are now."),
    old: str = typer.Option(
        None, "--from", help="The folder where they were; default: what all have in common."
    ),
    sea: Sea = "footage.sea",
    storage_option: StorageOptions = None,
) -> None:
    """Tell a sea that its videos have moved."""
    from seasync.search import Sea as OpenSea

    found = OpenSea(sea, create=False).relocate(root, old=old)
    print(f"{sea}: {found} file{'s'[: found != 1]} found at their new place")


@sea.command()
def copy(
    source: str = typer.Argument(help="The sea, by path or URI."),
    target: str = typer.Argument(help="Where it is to be as well, by path or URI."),
    storage_option: StorageOptions = None,
) -> None:
    """Copy a sea to another place, up to a store or down. Interrupted or grown, copy it again: it goes on."""
    from seasync.sea.copy import copy as copy_sea
    from seasync.search import Sea as OpenSea

    opened, other = OpenSea(source, create=False), OpenSea(target)
    with resumable(), progress("copying") as show:
        moved = copy_sea(opened.record, other.record, progress=partial(show, "copying"))
    print(f"{target}: {len(other)} clips ({moved / 1e6:.1f} MB copied)")


@sea.command()
def sweep(sea: Sea = "footage.sea", storage_option: StorageOptions = None) -> None:
    """Delete files that no version of a sea uses, such as those of an add that was killed."""
    from seasync.search import Sea as OpenSea

    print(f"{sea}: {OpenSea(sea, create=False).sweep() / 1e6:.1f} MB deleted")
