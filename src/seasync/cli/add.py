"""`seasync add`: videos into a sea."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import typer

from seasync.cli.options import Cpus, Fps, Gpus, Json, On, Sea, StorageOptions, cluster
from seasync.cli.progress import progress, resumable

if TYPE_CHECKING:
    from seasync.sea.ingest import Added


def add(
    paths: list[str] = typer.Argument(
        help="Files, folders, patterns, or lists (.csv, .tsv with a column file)."
    ),
    sea: Sea = "footage.sea",
    encoder: str = typer.Option(
        None, help="What makes the frame features; a sea keeps the one it began with."
    ),
    fps: Fps = None,
    split: str = typer.Option(
        "none", help="none, shots, or a number of seconds: how long videos become clips."
    ),
    labels: str = typer.Option(
        None, help="folder (the name of a video's folder), or a list with file and label."
    ),
    tag: list[str] = typer.Option([], help="A tag for all of these clips."),
    frame_features: bool = typer.Option(
        True, "--frame-features/--no-frame-features", help="Keep frame features, or clip vectors only."
    ),
    jobs: int = typer.Option(
        None,
        min=1,
        help="Processes that encode; 1 gives all cores to one clip at a time.",
        show_default="1; on Ray as many as there is room for",
    ),
    on: On = "local",
    cpus: Cpus = 1,
    gpus: Gpus = 0,
    storage_option: StorageOptions = None,
    wait: bool = typer.Option(True, help="Wait while another process writes to this sea."),
    as_json: Json = False,
) -> None:
    """Add videos to a sea. Interrupted, run it again: it goes on where it was, and nothing comes twice."""
    from seasync.search import Sea as OpenSea

    began = time.monotonic()
    with resumable(), progress() as bar:

        def show(added: Added) -> None:
            rate = added.added / max(time.monotonic() - began, 1e-3)
            text = f"{added.added} added, {added.present} present, {len(added.failed)} failed, {rate:.1f}/s"
            bar(text, added.done, added.size or 1)

        added = OpenSea(sea, encoder).add(
            *paths,
            split=split,
            labels=labels,
            tags=tag,
            fps=fps,
            frame_features=frame_features,
            jobs=jobs or 1,
            on=cluster(on, jobs, cpus, gpus),
            progress=show,
            wait=wait,
            waiting=lambda: print("another process is writing to this sea; waiting for it", file=sys.stderr),
        )
    _report(added, sea, as_json)
    if added.failed:
        raise typer.Exit(1)


def _report(added: Added, sea: str, as_json: bool) -> None:
    if as_json:
        import json

        failed = [{"file": failure.file, "reason": failure.reason} for failure in added.failed]
        summary = {"sea": sea, "files": added.files, "added": added.added, "present": added.present}
        print(json.dumps(summary | {"seconds": added.seconds, "failed": failed, "damaged": added.damaged}))
        return
    minutes = f"{added.seconds / 60:.1f} minutes"
    clips = f"{added.added} clip{'s'[: added.added != 1]}"
    print(f"{sea}: {clips} added ({minutes}), {added.present} were there already")
    for text in added.damaged:
        print(f"damaged: {text}", file=sys.stderr)
    for failure in added.failed:
        print(f"failed: {failure.reason}", file=sys.stderr)
