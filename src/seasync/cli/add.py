"""`seasync add`: videos into a sea."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Annotated

import typer

from seasync.cli.output import counted, progress, resumable
from seasync.cli.parameters import Cpus, Device, Fps, Gpus, Json, On, Sea, StorageOptions, cluster

if TYPE_CHECKING:
    from seasync.sea.ingest import Added

EXAMPLES = """\
seasync add videos/ --sea footage.sea --labels folder

seasync add s3://bucket/films/ --sea s3://bucket/films.sea --split shots"""


def add(
    paths: Annotated[
        list[str],
        typer.Argument(
            help="Videos, folders or patterns, by path or URI, lists (.csv, .tsv with the column `file`), or "
            "LeRobot data sets (`lerobot:DIR`)."
        ),
    ],
    sea: Sea = "footage.sea",
    split: Annotated[
        str, typer.Option(help="How to split long videos: `none`, `shots`, or a length in seconds.")
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
    fps: Fps = None,
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
    on: On = "local",
    cpus: Cpus = 1,
    gpus: Gpus = 0,
    device: Device = None,
    storage_option: StorageOptions = None,
    as_json: Json = False,
) -> None:
    """Add videos to a sea.

    Re-adding files costs nothing. If it is interrupted, run the same command again to continue.
    """
    from seasync.sea.sea import Sea as OpenSea

    began = time.monotonic()
    with resumable(), progress() as bar:

        def show(added: Added) -> None:
            rate = added.added / max(time.monotonic() - began, 1e-3)
            text = f"{added.added} added, {added.present} present, {len(added.failed)} failed, {rate:.1f}/s"
            bar(text, added.done, added.size or 1)

        added = OpenSea(sea, encoder).add(
            *(f"{path}#{camera}" if camera and path.startswith("lerobot:") else path for path in paths),
            split=split,
            labels=labels,
            tags=tag or [],
            fps=fps,
            frame_features=frame_features,
            jobs=jobs or 1,
            on=cluster(on, jobs, cpus, gpus),
            progress=show,
            wait=wait,
            waiting=lambda: print("seasync: waiting for another process to finish writing", file=sys.stderr),
        )
    _report(added, sea, as_json)
    if added.failed:
        raise typer.Exit(1)


def _report(added: Added, sea: str, as_json: bool) -> None:
    if as_json:
        import json

        failed = [{"file": failure.file, "reason": failure.reason} for failure in added.failed]
        report = {"sea": sea, "files": added.files, "added": added.added, "present": added.present}
        report |= {"updated": added.updated, "seconds": added.seconds}
        print(json.dumps(report | {"failed": failed, "damaged": added.damaged}))
        return
    minutes = f"{added.seconds / 60:.1f} minutes of footage"
    updated = f", {added.updated} of them updated" if added.updated else ""
    print(f"{sea}: {counted(added.added, 'clip')} added ({minutes}), {added.present} already there{updated}")
    for text in added.damaged:
        print(f"damaged: {text}", file=sys.stderr)
    for failure in added.failed:
        print(f"failed: {failure.reason}", file=sys.stderr)
