"""What worker processes do: encode, add to a sea, carry marks, write films, timelines and pictures.

Each function gets everything it needs as arguments. Films, timelines and pictures get the solved alignment,
so that it is never computed twice.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from seasync import pair, render, video
from seasync.alignment import Alignment
from seasync.clip import Clip
from seasync.encoders import TakesFrames, encode_clip
from seasync.encoding import Encoding
from seasync.errors import EncoderError, SeaError, SeasyncError, ServeError
from seasync.files import fetch
from seasync.group import carry_over_sea
from seasync.marks import Mark
from seasync.options import MarkKind, Side
from seasync.sea import ingest, sources
from seasync.sea.sea import Sea
from seasync.serve import mark_tables, media, models
from seasync.serve.security import Roots

Progress = Callable[[tuple[float, str]], None]


@dataclass(frozen=True)
class SeaLocation:
    """Where a sea is, and how to open it.

    Parameters
    ----------
    uri
        A path or a URI.
    encoder
        Encoder of a sea that does not exist yet.
    storage_options
        Options for object storage, as pairs.
    """

    uri: str
    encoder: str | None = None
    storage_options: tuple[tuple[str, str], ...] = ()

    def open(self) -> Sea:
        """Open the sea."""
        return Sea(self.uri, self.encoder, storage_options=dict(self.storage_options))


def encode(
    sea: SeaLocation, clip: Clip, content: str | None, frames: int | None = None, alone: bool = False
) -> tuple[Encoding, float]:
    """Encode a clip with the sea's encoder, through the cache of encodings.

    Parameters
    ----------
    content
        Hash of the clip's file, if it is known already.
    frames
        Encode coarsely, from so many frames.
    alone
        Sample at least at the rate of clips that are aligned by themselves.

    Returns
    -------
    Encoding, float
        The encoding, and the second at which the clip ends.
    """
    opened = sea.open()
    encoder, end = opened.encoder(), pair.end_of(clip)
    fps = opened.fps if opened.exists() else encoder.fps
    if alone:
        fps = max(fps, pair.pair_fps(encoder, end - clip.start))
    if frames is not None:
        fps = min(fps, frames / max(end - clip.start, 1e-3))
    return encode_clip(clip, encoder, fps=fps, content=content), end


def add(
    sea: SeaLocation,
    paths: Sequence[str],
    uploads: Sequence[str],
    roots: Sequence[str],
    pixels: int,
    request: models.AddRequest,
    report: Progress,
) -> dict[str, Any]:
    """Add files and uploads to a sea. Files outside `roots` and files that are not videos are left out.

    Returns
    -------
    dict
        `added`, `present`, `seconds`, and the lists `failed` and `damaged`.

    Raises
    ------
    SeaError
        If no file could be added.
    """
    report((0.0, "looking for videos"))
    tags, allowed = tuple(request.tags), Roots(roots)
    found = [sources.SourceVideo(Path(upload), request.label, tags) for upload in uploads]
    if paths:
        found += sources.find_videos(paths, labels=request.labels, tags=tags)
    accepted, refused = [], []
    for source in found:
        try:
            if not allowed.contains(source.file):
                raise ServeError(f"{Path(source.file).name}: it is outside the served folders")
            media.check_container(fetch(source.file), pixels)
            accepted.append(source if request.label is None else replace(source, label=request.label))
        except (SeasyncError, OSError) as error:
            refused.append(ingest.Failure(str(source.file), str(error)))

    opened = sea.open()

    def progress(added: ingest.Added) -> None:
        report((added.done / max(added.size, 1), _counts(added)))

    added = ingest.Added()
    if accepted:
        report((0.0, "encoding"))
        how = ingest.AddOptions(split=request.split, progress=progress)
        added = ingest.add(opened.record, accepted, opened.encoder(), how)
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


def _counts(added: ingest.Added) -> str:
    parts = [f"{added.added} added"]
    parts += [f"{added.present} already present"] if added.present else []
    parts += [f"{len(added.failed)} failed"] if added.failed else []
    return ", ".join(parts)


def film(
    alignment: Alignment, request: models.FilmRequest, marks: Sequence[Mark], out: str, report: Progress
) -> dict[str, Any]:
    """Write the film of an alignment to `out`."""
    how = request.model_dump(include={"keep", "audio", "smooth", "gaps", "size"})
    if request.layout == "retime":
        render.retime(alignment, out, **how, progress=_by_frames(report))
    else:
        how |= {"layout": request.layout, "labels": request.labels, "marks": marks}
        render.compare(alignment, out, **how, progress=_by_frames(report))
    return _written(out)


def grid_film(
    alignments: Sequence[Alignment], request: models.GridRequest, out: str, report: Progress
) -> dict[str, Any]:
    """Write the film of a leader and its followers to `out`."""
    how = request.model_dump(include={"columns", "audio", "size", "labels"})
    render.grid(alignments, out, **how, progress=_by_frames(report))
    return _written(out)


def _by_frames(report: Progress) -> Callable[[int, int], None]:
    def progress(done: int, total: int) -> None:
        if done % 15 == 0:
            report((done / total, f"frame {done} of {total}"))

    return progress


def _written(out: str) -> dict[str, Any]:
    return {"file": Path(out).name, "bytes": Path(out).stat().st_size}


def carry_marks(
    sea: SeaLocation, request: models.LabelingRequest, out: str, report: Progress
) -> dict[str, Any]:
    """Carry marks to all clips of a sea, and write the `LabelingRun` to `out`.

    Returns
    -------
    dict
        `labeled`, `carried` (clips that have marks now) and `doubtful`.
    """

    def progress(what: str, done: int, total: int) -> None:
        if done % max(total // 100, 1) == 0:
            report((done / total, f"{100 * done // total} %"))

    known: dict[str, tuple[MarkKind, str]] = {}  # a moment and a phase may have the same name
    given: dict[str, list[Mark]] = {}
    for one in request.marks or ():
        for mark in one.marks:
            name = mark.name if mark.kind == "moment" else f"{mark.name} ({mark.kind})"
            known[name] = mark.kind, mark.name
            given.setdefault(one.ref.removeprefix("clip:"), []).append(Mark(name, mark.seconds))
    labeled, carried = carry_over_sea(
        sea.open(), given, label=request.label, tolerance_seconds=request.tolerance, progress=progress
    )
    rows = []
    for each in sorted(carried, key=lambda each: each.confidence):
        marks = [
            models.CarriedMark(kind=kind, name=name, seconds=mark.seconds, confidence=mark.confidence or 0.0)
            for mark in each.marks
            for kind, name in [known[mark.name]]
        ]
        rows.append(mark_tables.CarriedRow(clip=str(each.clip.id), sources=each.sources, marks=marks))
    mark_tables.LabelingRun(
        labeled=len(labeled),
        label=request.label,
        tolerance=request.tolerance,
        marks=request.marks or [],
        rows=rows,
    ).save(Path(out))
    return {
        "labeled": len(labeled),
        "carried": sum(bool(row.marks) for row in rows),
        "doubtful": sum(not row.sure for row in rows),
    }


def timeline(alignment: Alignment, keep: Side, file: str) -> list[str]:
    """Write a timeline; return the paths of all files written."""
    return [str(written) for written in render.export(alignment, Path(file), keep=keep)]


def picture(alignment: Alignment, file: str) -> None:
    """Draw an alignment with its cost matrix."""
    render.alignment_picture(alignment, file)


def carried_marks(alignment: Alignment, labels: str, to: Side, file: str) -> None:
    """Carry the marks in the file `labels` along an alignment to the clip on side `to`."""
    render.transfer(alignment, labels, file, to=to)


# What a server loads at its start, so that the first visitor does not wait for it.


OFFLINE = "SEASYNC_OFFLINE"
WARM_UP_FRAMES = 8  # of noise


def load_encoder(location: SeaLocation) -> Encoding | None:
    """Load the encoder of a sea into this process, and run it once. None if that needs a download.

    Returns
    -------
    Encoding or None
        The encoding of a moment of noise.
    """
    before = os.environ.get(OFFLINE)
    os.environ[OFFLINE] = "1"  # nothing is fetched meanwhile
    try:
        encoder = location.open().encoder()
    except EncoderError:
        return None
    finally:
        del os.environ[OFFLINE]
        os.environ |= {} if before is None else {OFFLINE: before}
    if not isinstance(encoder, TakesFrames):
        return None
    numbers = np.arange(WARM_UP_FRAMES)
    noise = np.random.default_rng(0).integers(0, 255, (len(numbers), *encoder.input_size, 3), np.uint8)
    return encoder.encode([video.Frames(noise, numbers / encoder.fps, numbers)])


def load_video() -> None:
    """Import what reads and writes videos into this process."""
    import seasync.render.films
    import seasync.render.frames  # noqa: F401
