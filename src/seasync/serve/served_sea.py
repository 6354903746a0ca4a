"""A sea as the server uses it: encoding runs in a worker process, searches take turns."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np

from seasync.alignment.costs import in_this_thread
from seasync.clip import Clip
from seasync.encoding import Encoding
from seasync.errors import SeaError, ServeError
from seasync.sea.sea import Sea
from seasync.sea.search import Query
from seasync.serve import tasks
from seasync.serve.annotation_store import AnnotationStore
from seasync.serve.search_processes import Answer, Find, SearchProcesses, find_form, find_matches
from seasync.serve.worker import WorkerProcess

if TYPE_CHECKING:
    from seasync.alignment import Recipe
    from seasync.forms import SearchForm
    from seasync.options import Partial, Rerank
    from seasync.sea.search import Matches
    from seasync.sea.snapshot import Snapshot

CORES = os.cpu_count() or 1


class ServedSea:
    """One of the seas of a server.

    Attributes
    ----------
    name
        Its name in the API.
    location
        Where it is, for worker processes.
    sea
        The sea itself. It encodes in a worker process.
    annotations
        Anchors and marks, kept in the sea unless `annotations` names another place.
    """

    def __init__(
        self,
        name: str,
        location: tasks.SeaLocation,
        worker: WorkerProcess,
        seconds: float,
        *,
        annotations: str | None = None,
        processes: SearchProcesses | None = None,
    ) -> None:
        self.name, self.location = name, location
        self._worker, self._seconds, self._processes = worker, seconds, processes
        self._key = uuid4().hex  # another one if it is deleted and made again
        self.sea = Sea(
            location.uri,
            location.encoder,
            storage_options=dict(location.storage_options),
            encode=self._encode,
        )
        place = annotations or f"{self.sea.uri.rstrip('/')}/_notes"
        self.annotations = AnnotationStore(place, dict(location.storage_options))
        self._prepare = threading.Lock()
        self._warmed: str | None = None
        self._info: tuple[int, dict[str, Any]] | None = None
        self._names: tuple[int, dict[str, str]] | None = None
        self._counting = threading.Lock()
        self._asked = 0  # searches that run or wait
        # More searches at once than cores only slow each other down: they take turns.
        self._searches = ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="search")

    @property
    def uri(self) -> str:
        """Path or URI of the sea."""
        return self.sea.uri

    def exists(self) -> bool:
        """Whether anything has been added yet."""
        return self.sea.exists()

    def snapshot(self) -> Snapshot:
        """The newest version of the sea."""
        return self.sea.record.snapshot()

    def info(self) -> dict[str, Any]:
        """`Sea.info`, computed once per version of the sea."""
        version = self.snapshot().version
        if self._info is None or self._info[0] != version:
            self._info = version, self.sea.info()
        return self._info[1]

    def clip(self, clip_id: str) -> Clip:
        """The clip with this id.

        Raises
        ------
        ServeError
            If the sea has no such clip.
        """
        found = self.snapshot().clips(f"id = '{clip_id}'", limit=1) if self.exists() else []
        if not found:
            raise ServeError(f"clip:{clip_id}: no such clip in this sea", status=404)
        return found[0]

    def clip_names(self) -> dict[str, str]:
        """The names that people gave to clips, by their ids; read once per version of the annotations."""
        version = self.annotations.version
        if self._names is None or self._names[0] != version:
            found = self.annotations.with_prefix("name/")
            self._names = version, {key.partition("/")[2]: name for key, name in found.items()}
        return self._names[1]

    def rename(self, clip_id: str, name: str) -> None:
        """Give a clip a name to show. An empty one removes it."""
        self.annotations.put(f"name/{clip_id}", name or None)

    def expect_clips(self) -> None:
        """Raise ServeError if the sea is empty."""
        if not self.exists():
            raise ServeError("the sea is empty; add videos first", status=409)

    def query(self, clip: Clip, *, frames: int | None = None, alone: bool = False) -> Query:
        """The encoding of a clip: as kept in the sea, or made by a worker process.

        Parameters
        ----------
        frames
            Make a coarse encoding from so many frames, unless the sea has the clip.
        alone
            Sample it as for `seasync.align`: neither it nor what it is aligned with is in the sea.
        """
        if self.exists() and not alone and (frames is None or clip.id is not None):
            return self.sea.query(clip)
        encoding, end = self._worker.run(
            tasks.encode, self.location, clip, None, frames, alone, seconds=self._seconds
        )
        return Query(encoding, clip, np.empty(0, np.uint64), end)

    @property
    def version(self) -> int:
        """Version of the sea; 0 as long as it is empty."""
        return self.snapshot().version if self.exists() else 0

    def search(
        self,
        query: Clip,
        *,
        k: int,
        recipe: Recipe,
        rerank: Rerank | None = None,
        candidates: int | None = None,
        max_draq: float | None = None,
        partial: Partial = "auto",
        label: str | None = None,
    ) -> SearchForm:
        """The answer of `Sea.search`, when it is this search's turn."""
        options = {
            "k": k,
            "recipe": recipe,
            "rerank": rerank,
            "candidates": candidates,
            "max_draq": max_draq,
            "partial": partial,
            "label": label,
        }
        return self._find(find_form, query, options)

    def matches(self, query: Clip, *, k: int, recipe: Recipe, partial: Partial = "auto") -> Matches:
        """`Sea.search` without consensus, when it is this search's turn."""
        found = self._find(find_matches, query, {"k": k, "recipe": recipe, "partial": partial})
        if not found.can_align:
            found.reopen(self.snapshot(), self.sea.query(query), self._encode)
        return found

    def _find(self, find: Find[Answer], query: Clip, options: dict[str, Any]) -> Answer:
        """Search here or in another process.

        A query that must be encoded is encoded before: a search that waits for the worker process takes no
        turn from those that need none.
        """
        self.expect_clips()
        asked = query if query.id is not None else self.sea.query(query)
        search = find, self._key, self.location, asked, options
        try:
            with self._counted() as others:
                if others >= CORES and self._processes is not None:
                    if self._processes.ready:
                        return self._processes.search(*search)
                    self._processes.start(*search)
                return self._in_turn(lambda: self._find_here(find, asked, options))
        except (SeaError, ServeError):
            if query.id is not None:
                self.clip(query.id)  # a missing clip gets its own error
            raise

    @contextmanager
    def _counted(self) -> Iterator[int]:
        """Count this search; gives how many others run or wait."""
        with self._counting:
            self._asked += 1
            others = self._asked - 1
        try:
            yield others
        finally:
            with self._counting:
                self._asked -= 1

    def _find_here(self, find: Find[Answer], asked: Clip | Query, options: dict[str, Any]) -> Answer:
        self._load()
        # Threads for one search would only hinder the others.
        with in_this_thread() if self._asked > 1 else nullcontext():
            return find(self.sea, asked, options)

    def _in_turn(self, search: Callable[[], Answer]) -> Answer:
        closed = ServeError("this sea is being closed", status=503)
        try:
            turn = self._searches.submit(search)
        except RuntimeError:  # `close` has been called
            raise closed from None
        try:
            return turn.result()
        except CancelledError:
            raise closed from None

    def warm(self) -> None:
        """Search once in the background, so that the first visitor does not wait for the index to load."""
        if self.exists() and self.info()["with_frame_features"]:
            (clip,) = self.snapshot().clips(limit=1)
            self._searches.submit(self._load)
            self._searches.submit(self.sea.search, clip, k=1)

    def _load(self) -> None:
        """Load the clip vectors or their index, once for everybody who waits."""
        with self._prepare:
            snapshot = self.snapshot()
            _ = snapshot.vectors
            if snapshot.index and snapshot.index.column != self._warmed:
                snapshot.index.prewarm(snapshot)
                self._warmed = snapshot.index.column

    def _encode(self, clip: Clip, *, content: str | None = None) -> tuple[Encoding, float]:
        encoding, end = self._worker.run(tasks.encode, self.location, clip, content, seconds=self._seconds)
        return encoding, end

    def close(self) -> None:
        """Stop searching."""
        self._searches.shutdown(cancel_futures=True)
