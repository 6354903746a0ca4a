"""Everything a server's routes share: its seas, lanes, uploads, jobs, and the alignments of late."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seasync.clip import Clip
from seasync.encoders.weights import cache_folder
from seasync.encoding import Encoding
from seasync.errors import SeaError, ServeError
from seasync.files import DiskCache, is_uri
from seasync.pair import end_of
from seasync.sea.care import info
from seasync.search import Sea
from seasync.serve import models, work
from seasync.serve.footage import Library, clip_of
from seasync.serve.jobs import Jobs, Kind
from seasync.serve.lane import Lane
from seasync.serve.limits import Limits
from seasync.serve.marks import marks_on, shown_marks
from seasync.serve.notes import Notes
from seasync.serve.proxy import make_proxy
from seasync.serve.roots import Roots
from seasync.serve.state import State
from seasync.serve.uploads import Uploads

if TYPE_CHECKING:
    from seasync.align import Alignment
    from seasync.sea.match import Matches

REMEMBERED = 32  # alignments


class ServedSea(Sea):
    """A sea whose encoding happens in a lane, away from the server."""

    def __init__(self, at: work.SeaAt, lane: Lane, seconds: float) -> None:
        super().__init__(at.uri, at.encoder, storage_options=dict(at.storage_options))
        self.at = at
        self.notes = Notes(self)
        self._lane, self._seconds = lane, seconds
        self._prepare = threading.Lock()
        self._warmed: str | None = None
        self._info: tuple[int, dict[str, Any]] | None = None
        # More searches at a time than cores only get in each other's way; first come, first served.
        self._searches = ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="search")

    def info(self) -> dict[str, Any]:
        """What the sea is and how it stands, looked up once for each version of it."""
        version = self.snapshot().version
        if self._info is None or self._info[0] != version:
            self._info = version, info(self)
        return self._info[1]

    def _encode(self, clip: Clip) -> Encoding:
        found: Encoding = self._lane.run(work.encode, self.at, clip, seconds=self._seconds)
        return found

    def _end(self, clip: Clip) -> float:
        return float(self._lane.run(end_of, clip, seconds=self._seconds))

    def find(self, query: Clip, **options: Any) -> Matches:
        """`search`, when it is its turn."""
        if not self.exists():
            raise ServeError("the sea is empty; add videos first", status=409)
        try:
            return self._searches.submit(self._find, query, options).result()
        except SeaError:
            if query.id is not None:
                clip_of(self, query.id)  # which is told as such if there is none
            raise

    def warm(self) -> None:
        """Search once in the background, so that the first who asks does not wait for what is loaded then."""
        if self.exists() and self.info()["with_frame_features"]:
            (clip,) = self.snapshot().clips(limit=1)
            self._searches.submit(self._find, clip, {"k": 1})

    def _find(self, query: Clip, options: dict[str, Any]) -> Matches:
        with self._prepare:  # clip vectors, or their index, are read once for all who wait
            snapshot = self.snapshot()
            _ = snapshot.vectors
            if snapshot.index and snapshot.index.column != self._warmed:
                snapshot.index.prewarm(snapshot)
                self._warmed = snapshot.index.column
        return self.search(query, **options)

    def close(self) -> None:
        self._searches.shutdown(cancel_futures=True)


class Core:
    """One server's insides.

    seas    by name
    roots   folders whose files may be opened, besides the uploads; None: where the seas' files lie now
    state   folder for jobs and uploads, used by this server alone
    """

    def __init__(
        self,
        seas: Mapping[str, work.SeaAt],
        *,
        state: Path,
        roots: Sequence[str | Path] | None = None,
        limits: Limits | None = None,
    ) -> None:
        self.limits = limits = limits or Limits()
        self.state = State(state)
        self.look = Lane("look", memory_bytes=limits.memory_bytes)
        self._encode = Lane("encode")
        self._add, self._make = (Lane(name, patient=True) for name in ("add", "make"))
        self.seas = {name: ServedSea(at, self._encode, limits.encode_seconds) for name, at in seas.items()}
        self.roots = Roots(_folders(self.seas.values()) if roots is None else roots)
        self.uploads = Uploads(self.state, self.look, limits)
        inside = Roots([*self.roots.all, self.state.uploads])
        self.cache = DiskCache(cache_folder() / "serve", limits.cache_bytes)
        self.films = DiskCache(self.state.films, limits.film_bytes)
        self.library = Library(inside, self.uploads, self.look, self.cache, limits)
        self._solved: OrderedDict[object, Alignment] = OrderedDict()
        self._lock = threading.Lock()
        self.jobs = Jobs(
            self.state,
            {
                "add": Kind(self._add, work.add, self._add_arguments, self._after_add),
                "film": Kind(self._make, work.film, self._film_arguments, self._after_film),
                "proxy": Kind(self._make, make_proxy, self._proxy_arguments, self._after_proxy),
            },
        )

    def sea(self, name: str) -> ServedSea:
        if name not in self.seas:
            raise ServeError(f"{name[:80]!r}: no such sea here; there are {', '.join(self.seas)}", status=404)
        return self.seas[name]

    def name_of(self, sea: ServedSea) -> str:
        return next(name for name, one in self.seas.items() if one is sea)

    def solve(self, sea: ServedSea, request: models.AlignmentRequest) -> Alignment:
        """The alignment that was asked for; of late ones, as it was."""
        if not sea.exists():
            raise ServeError("the sea is empty; add videos first", status=409)
        key = sea.uri, sea.snapshot().version, request.model_dump_json()
        with self._lock:
            if key in self._solved:
                self._solved.move_to_end(key)
                return self._solved[key]
        query, match = (self.library.clip(sea, span) for span in request.spans)
        alignment = self._solve(request, query, match).on(sea)
        with self._lock:
            self._solved[key] = alignment
            if len(self._solved) > REMEMBERED:
                self._solved.popitem(last=False)
        return alignment

    def to_solve(self, sea: ServedSea, request: models.AlignmentRequest) -> work.Solve:
        """The same for a lane, with files that it may open."""
        query, match = (self.library.opened(sea, span) for span in request.spans)
        return self._solve(request, query, match)

    def _solve(self, request: models.AlignmentRequest, query: Clip, match: Clip) -> work.Solve:
        return work.Solve(
            query, match, request.recipe, request.partial, request.order, tuple(request.anchors)
        )

    def _add_arguments(self, sea: str, request: dict[str, Any]) -> tuple[Any, ...]:
        asked = models.AddRequest(**request)
        paths = [self.roots.place(path) for path in asked.paths]
        uploads = [str(self.uploads.get(upload)[0]) for upload in asked.uploads]
        inside = [*self.roots.all, str(self.state.uploads.resolve())]
        return self.sea(sea).at, paths, uploads, inside, self.limits.pixels, asked.model_dump()

    def _after_add(self, request: dict[str, Any], result: dict[str, Any]) -> None:
        self.uploads.keep(request["uploads"])

    def _film_arguments(self, sea: str, request: dict[str, Any]) -> tuple[Any, ...]:
        asked, opened = models.FilmRequest(**request), self.sea(sea)
        kept = asked.alignment.query if asked.keep == "query" else asked.alignment.match
        marks = shown_marks(marks_on(opened, kept)) if asked.marks else []
        solve = self.to_solve(opened, asked.alignment)
        place = self.film_place(request)
        place.parent.mkdir(parents=True, exist_ok=True)
        return opened.at, solve, asked.model_dump(exclude={"alignment"}), marks, str(place)

    def film_place(self, request: dict[str, Any]) -> Path:
        return self.films.place(request, suffix=f".{request.get('form', 'mp4')}")

    def _after_film(self, request: dict[str, Any], result: dict[str, Any]) -> None:
        self.films.trim()

    def _proxy_arguments(self, sea: str, request: dict[str, Any]) -> tuple[Any, ...]:
        clip = self.library.opened(self.sea(sea), models.Span(ref=request["ref"]))
        return clip.file, str(self.library.proxy_place(clip.file))

    def _after_proxy(self, request: dict[str, Any], result: dict[str, Any]) -> None:
        self.cache.trim()

    def start(self) -> None:
        self.jobs.start()
        for sea in self.seas.values():
            sea.warm()

    def close(self) -> None:
        self.jobs.close()
        for sea in self.seas.values():
            sea.close()
        for lane in (self.look, self._encode, self._add, self._make):
            lane.close()
        self.state.close()


def _folders(seas: Any) -> list[str]:
    """The folders, here or at URIs, in which the files of these seas lie."""
    found: set[str] = set()
    for sea in seas:
        if sea.exists():
            files = (clip.file for clip in sea.snapshot().clips())
            found |= {file.rpartition("/")[0] if is_uri(file) else str(Path(file).parent) for file in files}
    return [folder for folder in found if is_uri(folder) or Path(folder).is_dir()]
