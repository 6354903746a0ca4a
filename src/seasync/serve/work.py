"""What lanes do with seas: encode, add, make films and timelines. Each call says all it needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seasync.clip import Clip
from seasync.errors import SeaError, SeasyncError, ServeError

if TYPE_CHECKING:
    from seasync.align import Alignment
    from seasync.encoding import Encoding
    from seasync.options import Order, Partial
    from seasync.render import Mark
    from seasync.sea.ingest import Added
    from seasync.sea.query import Query
    from seasync.search import Sea

Say = Callable[[tuple[float, str]], None]


@dataclass(frozen=True)
class SeaAt:
    """Where a sea is and how it is opened."""

    uri: str
    encoder: str | None = None
    storage_options: tuple[tuple[str, str], ...] = ()

    def open(self) -> Sea:
        from seasync.search import Sea

        return Sea(self.uri, self.encoder, storage_options=dict(self.storage_options))


@dataclass(frozen=True)
class Solve:
    """An alignment to be computed; `anchors` are pairs of seconds."""

    query: Clip
    match: Clip
    recipe: str
    partial: Partial
    order: Order
    anchors: tuple[tuple[float, float], ...]

    def on(self, sea: Sea) -> Alignment:
        from seasync.align import MOTION, PAPER, align_encodings

        query, match = (asked_of(sea, clip) for clip in (self.query, self.match))
        recipe = PAPER if self.recipe == "paper" else MOTION
        alignment = align_encodings(
            query.encoding,
            match.encoding,
            recipe=recipe,
            anchors=self.anchors,
            partial=self.partial,
            order=self.order,
        )
        return alignment.of(self.query, self.match, ends=(query.end, match.end))


def asked_of(sea: Sea, clip: Clip) -> Query:
    """What the sea keeps of a clip of its own; else encoded by the sea's encoder."""
    from seasync.sea.query import resolve

    if not sea.exists():
        raise SeaError(f"{sea.uri}: the sea is empty; add videos first")
    return resolve(sea.snapshot(), clip, sea._encode, sea._end)


def encode(sea: SeaAt, clip: Clip) -> Encoding:
    """`clip` encoded as the sea would, and remembered in the cache folder."""
    from seasync.encoders import encode_clip

    opened = sea.open()
    return encode_clip(clip, opened.encoder(), fps=opened.snapshot().about.fps)


def add(
    sea: SeaAt,
    paths: Sequence[str],
    uploads: Sequence[str],
    roots: Sequence[str],
    pixels: int,
    options: dict[str, Any],
    say: Say,
) -> dict[str, Any]:
    """Add files and uploads to a sea. What leads out of `roots`, or is no video, is refused singly."""
    from seasync.files import fetch
    from seasync.sea import ingest
    from seasync.sea.plan import Failure
    from seasync.sea.sources import Source, find_sources
    from seasync.serve.look import check
    from seasync.serve.roots import Roots

    say((0.0, "looking for videos"))
    label, tags, allowed = options["label"], tuple(options["tags"]), Roots(roots)
    found = [Source(Path(upload), label, tags) for upload in uploads]
    if paths:
        found += find_sources(paths, labels=options["labels"], tags=tags)
    sources, refused = [], []
    for source in found:
        try:
            if not allowed.hold(source.file):
                raise ServeError(f"{Path(source.file).name}: leads out of the folders that are served")
            check(fetch(source.file), pixels)
            sources.append(source if label is None else replace(source, label=label))
        except (SeasyncError, OSError) as error:
            refused.append(Failure(str(source.file), str(error)))

    opened = sea.open()

    def progress(added: ingest.Added) -> None:
        say((added.done / max(added.size, 1), _counts(added)))

    added = ingest.Added()
    if sources:
        say((0.0, "encoding"))
        added = ingest.add(opened, sources, opened.encoder(), split=options["split"], progress=progress)
    failed = [*added.failed, *refused]
    if failed and not added.added and not added.present:
        none = "" if len(failed) == 1 else f"none of {len(failed)} files could be added; the first: "
        raise SeaError(none + failed[0].reason)
    return {
        "added": added.added,
        "present": added.present,
        "seconds": added.seconds,
        "failed": [{"file": Path(one.file).name, "reason": one.reason} for one in failed[:100]],
        "damaged": added.damaged[:100],
    }


def _counts(added: Added) -> str:
    parts = [f"{added.added} added"]
    parts += [f"{added.present} there already"] if added.present else []
    parts += [f"{len(added.failed)} failed"] if added.failed else []
    return ", ".join(parts)


def film(
    sea: SeaAt, solve: Solve, options: dict[str, Any], marks: Sequence[Mark], out: str, say: Say
) -> dict[str, Any]:
    """Write the film of an alignment to `out`."""
    from seasync.render import compare, retime

    say((0.0, "aligning"))
    alignment = solve.on(sea.open())
    shared = {name: options[name] for name in ("keep", "audio", "smooth", "gaps", "size")}

    def progress(done: int, total: int) -> None:
        if done % 15 == 0:
            say((done / total, f"frame {done} of {total}"))

    if options["layout"] == "retime":
        retime(alignment, out, **shared, progress=progress)
    else:
        compare(
            alignment,
            out,
            layout=options["layout"],
            labels=options["labels"],
            marks=marks,
            **shared,
            progress=progress,
        )
    return {"file": Path(out).name, "bytes": Path(out).stat().st_size}


def timeline(sea: SeaAt, solve: Solve, keep: str, name: str, folder: str) -> list[str]:
    """Write a timeline called `name` into `folder`; gives the files written."""
    from seasync.render.timelines import export

    return [str(file) for file in export(solve.on(sea.open()), Path(folder, name), keep=keep)]  # type: ignore[arg-type]


def picture(sea: SeaAt, solve: Solve, out: str) -> None:
    """Draw an alignment."""
    from seasync.render import alignment_picture

    alignment_picture(solve.on(sea.open()), out)


def carried(sea: SeaAt, solve: Solve, labels: str, to: str, out: str) -> None:
    """Carry the labels in the file `labels` along an alignment, to the clip on side `to`."""
    from seasync.render import transfer

    transfer(solve.on(sea.open()), labels, out, to=to)  # type: ignore[arg-type]
