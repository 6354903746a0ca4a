"""`.seasync` files: one comparison with anchors, marks, drawings and, if wanted, its videos. A zip archive.

`comparison.json` has the request, the names of the videos, anchors, marks, drawings and the alignment. The
folder `videos` has the files if they are embedded; otherwise they are known by the hash of their content.
"""

import io
import shutil
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, ValidationError

from seasync.encoders.encode import content_hash as sea_content_hash
from seasync.errors import SeasyncError, ServeError
from seasync.files import fetch
from seasync.options import Side
from seasync.serve import mark_tables, media, models, stores
from seasync.serve.models import NO_SEA, SIDES, AlignmentRequest, Anchor

if TYPE_CHECKING:
    from seasync.serve.backend import Backend

FORMAT = 1
MANIFEST = "comparison.json"
MANIFEST_BYTES = 1 << 24
INDEX_BYTES = 1 << 20  # of an archive's index, which `ZipFile` reads at once: some 10,000 entries
BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, KeyError, RuntimeError, OSError)


class Video(models.Model):
    """A video of a `.seasync` file."""

    name: str = Field(max_length=255)
    content: str = Field(pattern="^[0-9a-f]{32}$", description="Hash of the file's content.")
    sea_content: str | None = Field(
        default=None, pattern="^[0-9a-f]{32}$", description="The same as seas keep it, to look it up there."
    )
    start: float | None = None
    end: float | None = None
    entry: str | None = Field(default=None, description="Name in the archive, if embedded.")


class Manifest(models.Model):
    """What `comparison.json` has."""

    format: int
    name: str = Field(max_length=120)
    request: dict[str, Any] = Field(description="Recipe, partial, order.")
    videos: dict[Side, Video]
    anchors: list[Anchor] = Field(max_length=64)
    marks: dict[Side, Annotated[list[models.MarkForm], Field(max_length=10_000)]]
    drawings: list[models.DrawingForm] = Field(default=[], max_length=200)
    alignment: dict[str, Any] | None = None


def save(backend: "Backend", comparison: models.Comparison, file: Path, *, embed: bool) -> None:
    """Write a comparison to a `.seasync` file.

    Parameters
    ----------
    embed
        Whether the videos go into the file. Otherwise you need the same videos to open it.
    """
    sea, request = backend.sea(comparison.sea), comparison.alignment
    pair = f"{request.query}/{request.match}"
    anchors = sea.annotations.get(f"anchors/{pair}") or []
    texts = [f"{one['query']:.6f}={one['match']:.6f}" for one in anchors]
    anchored = request.model_copy(update={"anchor": texts or request.anchor})
    with zipfile.ZipFile(file, "w") as archive:
        videos: dict[Side, Video] = {}
        for side, span in zip(SIDES, request.spans, strict=True):
            clip = backend.library.opened(sea, span)
            path = fetch(clip.file)
            entry = f"videos/{side}{path.suffix}" if embed and path.is_file() else None
            if entry is not None:
                opened = media.open_held(path) if str(path) == clip.file else path.open("rb")
                with opened, archive.open(entry, "w", force_zip64=True) as out:
                    shutil.copyfileobj(opened, out)
            content = stores.content_hash(path) if path.is_file() else "0" * 32
            videos[side] = Video(
                name=path.name,
                content=content,
                sea_content=sea_content_hash(path) if path.is_file() else None,
                start=clip.start or None,
                end=clip.end,
                entry=entry,
            )
        refs = {"query": request.query, "match": request.match}
        manifest = Manifest(
            format=FORMAT,
            name=comparison.name[:120],
            request=request.model_dump(include={"recipe", "partial", "order"}),
            videos=videos,
            anchors=anchors,
            marks={side: mark_tables.marks_of(sea, refs[side]) for side in SIDES},
            drawings=sea.annotations.get(f"drawings/{pair}") or [],
            alignment=backend.solver.solve(sea, anchored).to_json(),
        )
        archive.writestr(MANIFEST, manifest.model_dump_json(indent=1), zipfile.ZIP_DEFLATED)


def load(backend: "Backend", file: Path) -> models.Comparison:
    """Open a `.seasync` file: its videos become uploads, its anchors and marks are kept.

    Raises
    ------
    ServeError
        If it is not such a file, or a video is neither embedded, nor uploaded already, nor in a served sea.
    """
    manifest = backend.inspector.run(read_manifest, str(file), seconds=backend.limits.inspect_seconds)
    try:
        with _opened(file) as archive:
            _expect_videos(backend, manifest)
            ids = {side: _upload(backend, archive, manifest.videos[side]) for side in SIDES}
    except BROKEN as error:
        raise _unreadable(error) from error
    query, match = manifest.videos["query"], manifest.videos["match"]
    try:
        asked: dict[str, Any] = {side: f"upload:{upload}" for side, upload in ids.items()}
        asked |= {"start": query.start, "end": query.end}
        asked |= {"match_start": match.start, "match_end": match.end}
        request = AlignmentRequest(**manifest.request, **asked)
    except (ValidationError, TypeError) as error:
        raise ServeError(f"{MANIFEST}: {_first(error)}", status=422) from error
    _keep(backend.sea(NO_SEA).annotations, request, manifest)
    names = {side: manifest.videos[side].name for side in SIDES}
    return backend.comparisons.add(NO_SEA, request, names, name=manifest.name)


def read_manifest(file: str) -> Manifest:
    """What a `.seasync` file has besides its videos and the alignment. For a worker process."""
    try:
        with _opened(Path(file)) as archive:
            if archive.getinfo(MANIFEST).file_size > MANIFEST_BYTES:
                raise ServeError(f"{MANIFEST} is too large", status=413)
            manifest = Manifest.model_validate_json(archive.read(MANIFEST))
    except ValidationError as error:
        raise ServeError(f"{MANIFEST}: {_first(error)}", status=422) from error
    except BROKEN as error:
        raise _unreadable(error) from error
    if manifest.format > FORMAT or manifest.videos.keys() != set(SIDES):
        raise ServeError(f"{MANIFEST}: made by a newer version of Seasync; update this server", status=422)
    return manifest.model_copy(update={"alignment": None})


class _Archive(io.FileIO):
    """A file of which nothing large is read at once."""

    limit = INDEX_BYTES

    def read(self, size: int | None = -1) -> bytes:
        if size is not None and size > self.limit:
            raise zipfile.BadZipFile("it has too many entries")
        return super().read(size)


@contextmanager
def _opened(file: Path) -> Iterator[zipfile.ZipFile]:
    """An archive whose index is small."""
    with _Archive(file) as opened, zipfile.ZipFile(opened) as archive:
        opened.limit = MANIFEST_BYTES
        yield archive


def _unreadable(error: Exception) -> ServeError:
    return ServeError(f"not a .seasync file that this server can open ({error})", status=422)


def _expect_videos(backend: "Backend", manifest: Manifest) -> None:
    """Refuse a file without its videos, unless they are uploaded already or in a served sea."""
    known = {upload.id for upload in backend.uploads.all()}
    absent = [one for one in manifest.videos.values() if one.entry is None and one.content not in known]
    missing = []
    for video in {one.content: one for one in absent}.values():
        if (file := _find_in_seas(backend, video)) is None:
            missing.append(video.name)
            continue
        with backend.uploads.incoming(file.stat().st_size) as part:
            shutil.copyfile(file, part)
            backend.uploads.take(part, video.name)
    if missing:
        names = " and ".join(dict.fromkeys(missing))
        raise ServeError(f"this file does not include its videos; upload {names} first", status=409)


def _find_in_seas(backend: "Backend", video: Video) -> Path | None:
    """The file of a served sea with the content of this video, if there is one that may be opened."""
    for sea in backend.seas.values():
        if video.sea_content is None or not sea.exists():
            continue
        for clip in sea.snapshot().clips(f"content = '{video.sea_content}'", limit=1):
            with suppress(SeasyncError, OSError):
                file = fetch(backend.roots.resolve(clip.file))
                if stores.content_hash(file) == video.content:  # it may have changed since it was added
                    return file
    return None


def _upload(backend: "Backend", archive: zipfile.ZipFile, video: Video) -> str:
    """The id of the upload that this video is or becomes."""
    if video.entry is None:
        return backend.uploads.get(video.content)[1].id
    with backend.uploads.incoming(archive.getinfo(video.entry).file_size) as part:
        with archive.open(video.entry) as source, part.open("xb") as out:
            shutil.copyfileobj(source, out)
        return backend.uploads.take(part, video.name).id


def _keep(store: stores.AnnotationStore, request: AlignmentRequest, manifest: Manifest) -> None:
    given: dict[str, Sequence[models.Model]] = {"anchors": manifest.anchors, "drawings": manifest.drawings}
    for kind, found in given.items():
        if found:
            store.put(f"{kind}/{request.query}/{request.match}", [one.model_dump() for one in found])
    for side, ref in (("query", request.query), ("match", request.match)):
        marks = manifest.marks.get(side)  # type: ignore[call-overload]
        if marks and not store.get(f"marks/{ref}"):
            store.put(f"marks/{ref}", {"ref": ref, "marks": [mark.model_dump() for mark in marks]})


def _first(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return str(error)
