"""Everything the routes of a server share: seas, worker processes, uploads, jobs, alignments."""

import json
import logging
import re
import shutil
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from seasync.errors import SeasyncError, ServeError
from seasync.files import DiskCache, cache_folder, is_uri
from seasync.serve import media, models, tasks
from seasync.serve.body_angles import find_body
from seasync.serve.jobs import JobQueue, JobType
from seasync.serve.library import VideoLibrary
from seasync.serve.mark_tables import CarriedStore, marks_of, read_forms
from seasync.serve.security import Access, Limits, Roots
from seasync.serve.served_sea import SearchProcesses, ServedSea
from seasync.serve.solver import Solver
from seasync.serve.stores import ComparisonStore, StateFolder, UploadStore
from seasync.serve.worker import WorkerProcess

log = logging.getLogger("seasync.serve")
FILM_IN_USE_SECONDS = 600.0  # a film that was just made or fetched is not deleted


class Backend:
    """The parts of one server, wired together.

    Parameters
    ----------
    seas
        Where the seas are, by their names in the API.
    state
        Folder for jobs and uploads. One server at a time uses it.
    roots
        Folders whose files may be opened, besides uploads. None: the folders that hold the seas' files now.
    limits
        Limits on what requests may use.
    access
        Where the server listens, and its token.
    warm
        Whether to load encoder and worker processes at the start, in the background.
    """

    def __init__(
        self,
        seas: Mapping[str, tasks.SeaLocation],
        *,
        state: Path,
        roots: Sequence[str | Path] | None = None,
        limits: Limits | None = None,
        access: Access | None = None,
        warm: bool = True,
    ) -> None:
        self.access = access or Access()
        self.limits = limits = limits or Limits()
        self._warm = warm
        self.state = StateFolder(state)
        try:
            self._open(seas, roots, limits)
        except BaseException:
            self.state.close()
            raise

    def _open(
        self, seas: Mapping[str, tasks.SeaLocation], roots: Sequence[str | Path] | None, limits: Limits
    ) -> None:
        memory = limits.memory_bytes
        waiting: dict[str, Any] = {"memory_bytes": memory, "wait_seconds": limits.wait_seconds}
        self.inspector, self._encoder = (WorkerProcess(name, **waiting) for name in ("inspect", "encode"))
        self._adder, self._maker, self._carrier = (
            WorkerProcess(name, memory_bytes=memory, low_priority=True) for name in ("add", "make", "carry")
        )
        self._searches = SearchProcesses(limits.search_processes, **waiting)
        self.seas = {name: self._serve(name, location) for name, location in seas.items()}
        for folder in sorted(self.state.seas.glob("*.sea")):
            self.seas.setdefault(folder.stem, self._serve(folder.stem, tasks.SeaLocation(str(folder))))
        self._changing_seas = threading.Lock()  # who reads them has one dict from beginning to end
        self._workspace = self._make_workspace()
        self.roots = Roots(_folders(self.seas.values()) if roots is None else roots)
        facts = media.KnownFacts(self.inspector, limits)
        self.uploads = UploadStore(self.state, facts, limits, self._uploads_in_seas)
        openable = Roots([*self.roots.all, self.state.uploads])
        self.comparisons = ComparisonStore(self.state)
        self.carried = CarriedStore(self.state.folder / "carried")
        self.cache = DiskCache(cache_folder() / "serve", limits.cache_bytes)
        self.films = DiskCache(self.state.films, limits.film_bytes, in_use_seconds=FILM_IN_USE_SECONDS)
        self.library = VideoLibrary(openable, self.uploads, self.inspector, facts, self.cache, limits)
        self.solver = Solver(self.library, limits.alignment_bytes)
        after_film, after_cached = _trimmer(self.films), _trimmer(self.cache)
        film = JobType(self._maker, tasks.film, self._film_arguments, after_film)
        types = {
            "add": JobType(
                self._adder,
                tasks.add,
                self._add_arguments,
                ended=lambda request: self.uploads.keep_used(request["uploads"]),
            ),
            "film": film,
            "ahead": film,
            "grid": JobType(self._maker, tasks.grid_film, self._grid_arguments, after_film),
            "carry": JobType(self._carrier, tasks.carry_marks, self._carry_arguments),
            "proxy": JobType(self._maker, media.make_proxy, self._proxy_arguments, after_cached),
            "body": JobType(self._maker, find_body, self._body_arguments, after_cached),
        }
        self.jobs = JobQueue(self.state, types, limits)

    def sea(self, name: str) -> ServedSea:
        """The sea with this name, or ServeError. `-` is the workspace for uploads alone."""
        if name == models.NO_SEA:
            return self._workspace
        if name not in self.seas:
            raise ServeError(
                f"{name[:80]!r}: no such sea; this server has {', '.join(self.seas) or 'none'}", status=404
            )
        return self.seas[name]

    def _serve(self, name: str, location: tasks.SeaLocation) -> ServedSea:
        seconds = self.limits.encode_seconds
        return ServedSea(name, location, self._encoder, seconds, processes=self._searches)

    def make_sea(self, name: str) -> ServedSea:
        """Make an empty sea in the state folder, with the encoder of the first sea."""
        folder = self.state.seas / f"{name}.sea"
        with self._changing_seas:
            if name in self.seas or folder.exists():
                raise ServeError(
                    f"{name}: there is a sea of this name already; choose another one", status=409
                )
            folder.mkdir(mode=0o700)
            made = self._serve(name, tasks.SeaLocation(str(folder), self._workspace.location.encoder))
            self.seas = self.seas | {name: made}
        return made

    def is_made_here(self, sea: ServedSea) -> bool:
        """Whether a sea is in the state folder, and may be deleted."""
        return Path(sea.uri).parent == self.state.seas

    def delete_sea(self, sea: ServedSea) -> None:
        """Delete a sea that was made here, with the uploads that only it uses."""
        if not self.is_made_here(sea):
            raise ServeError(
                f"{sea.name}: this sea was not made here; delete its folder on the server", status=403
            )
        with self._changing_seas:
            if self.sea(sea.name) is not sea:
                raise ServeError(f"{sea.name}: this sea has been deleted meanwhile", status=404)
            if any(job.sea == sea.name and not job.is_over for job in self.jobs.all()):
                raise ServeError(f"{sea.name}: a job works on this sea; wait for it or cancel it", status=409)
            snapshot = sea.latest()
            files = {clip.file for clip in snapshot.clips()} if snapshot else set()
            self.seas = {name: other for name, other in self.seas.items() if other is not sea}
        sea.close()
        shutil.rmtree(sea.uri)
        self.release_uploads(files)

    def release_uploads(self, files: Iterable[str]) -> None:
        """Delete the uploads among these files of removed clips that nothing needs any more."""
        self.uploads.release({owner for file in files if (owner := self.uploads.owner(Path(file)))})

    def _uploads_in_seas(self) -> set[str]:
        """The ids of all uploads that clips of the seas are made of, wherever the state folder was then."""
        snapshots = [snapshot for sea in self.seas.values() if (snapshot := sea.latest())]
        files = [clip.file for one in snapshots for clip in one.clips("contains(file, '/uploads/')")]
        return {name for file in files for name in re.findall("/uploads/([0-9a-f]{32})/", file)}

    def _make_workspace(self) -> ServedSea:
        """Where uploads are compared without a sea, with the encoder of the first sea."""
        encoder = None
        if first := next(iter(self.seas.values()), None):
            snapshot = first.latest()
            encoder = first.location.encoder or (snapshot.facts.encoder if snapshot else None)
        location = tasks.SeaLocation(str(self.state.folder / "workspace.sea"), encoder)
        place = str(self.state.folder / "annotations")
        return ServedSea(
            models.NO_SEA, location, self._encoder, self.limits.encode_seconds, annotations=place
        )

    def film_place(self, request: dict[str, Any]) -> Path:
        """Where the film of a job's request belongs."""
        request = json.loads(json.dumps(request, sort_keys=True))  # as the queue keeps it
        return self.films.place(request, suffix=f".{request.get('form', 'mp4')}")

    def start(self) -> None:
        """Start to work on jobs, and load what the first visitors need."""
        self.jobs.start()
        if self._warm:
            _run_in_background(lambda: self._encoder.run(tasks.load_encoder, self._workspace.location))
            for worker in (self.inspector, self._maker):
                _run_in_background(partial(worker.run, tasks.load_video))
        for sea in self.seas.values():
            sea.warm()

    def close(self) -> None:
        """Stop all work and free the state folder."""
        self.solver.close()
        self.jobs.close()
        for sea in (*self.seas.values(), self._workspace):
            sea.close()
        for worker in (self.inspector, self._encoder):  # the queue has closed its own
            worker.close()
        self._searches.close()
        self.state.close()

    def _add_arguments(self, sea: str, request: dict[str, Any]) -> tuple[Any, ...]:
        asked = models.AddRequest(**request)
        paths = [self.roots.resolve(path) for path in asked.paths]
        uploads = [str(self.uploads.get(upload)[0]) for upload in asked.uploads]
        openable = [*self.roots.all, str(self.state.uploads.resolve())]
        return self.sea(sea).location, paths, uploads, openable, self.limits.pixels, asked

    def _film_arguments(self, sea: str, request: dict[str, Any]) -> tuple[Any, ...]:
        asked, served = models.FilmRequest(**request), self.sea(sea)
        kept = asked.alignment.query if asked.keep == "query" else asked.alignment.match
        marks = read_forms(marks_of(served, kept)) if asked.marks else []
        alignment = self.solver.solve_for_files(served, asked.alignment)
        return alignment, asked, marks, self._new_film(request)

    def _grid_arguments(self, sea: str, request: dict[str, Any]) -> tuple[Any, ...]:
        asked, served = models.GridRequest(**request), self.sea(sea)
        alignments = [self.solver.solve_for_files(served, one) for one in asked.alignments]
        return alignments, asked, self._new_film(request)

    def _new_film(self, request: dict[str, Any]) -> str:
        place = self.film_place(request)
        place.parent.mkdir(parents=True, exist_ok=True)
        return str(place)

    def _carry_arguments(self, sea: str, request: dict[str, Any]) -> tuple[Any, ...]:
        return self.sea(sea).location, models.LabelingRequest(**request), str(self.carried.place(sea))

    def _proxy_arguments(self, sea: str, request: dict[str, Any]) -> tuple[Any, ...]:
        clip = self.library.opened(self.sea(sea), models.SpanForm(ref=request["ref"]))
        return clip.file, str(self.library.proxy_place(clip))

    def _body_arguments(self, sea: str, request: dict[str, Any]) -> tuple[Any, ...]:
        clip = self.library.clip_to_encode(self.sea(sea), models.SpanForm(**request))
        return clip, str(self.library.body_place(clip))


def _trimmer(cache: DiskCache) -> Callable[[dict[str, Any], tuple[Any, ...]], None]:
    """What follows a job whose last argument is the file that it writes into this cache."""
    return lambda request, arguments: cache.trim_after(Path(arguments[-1]))


def _run_in_background(work: Callable[[], object]) -> None:
    def attempt() -> None:
        try:
            work()
        except SeasyncError as error:  # it will be reported to whoever needs it
            log.info("warm-up: %s", error)

    threading.Thread(target=attempt, name="warm-up", daemon=True).start()


def _folders(seas: Iterable[ServedSea]) -> list[str]:
    """The folders, local or at URIs, that hold the files of these seas."""
    found: set[str] = set()
    for sea in seas:
        if snapshot := sea.latest():
            files = (clip.file for clip in snapshot.clips())
            found |= {file.rpartition("/")[0] if is_uri(file) else str(Path(file).parent) for file in files}
    return [folder for folder in found if is_uri(folder) or Path(folder).is_dir()]
