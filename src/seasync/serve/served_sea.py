"""A sea as the server uses it: encoding runs in a worker process, searches take turns.

Python runs one thread at a time between the kernels of a search. So a second thread hardly helps, but a
second process does. Until more searches wait than there are cores, no process is started for them.
"""

import logging
import os
import threading
from collections.abc import Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from functools import lru_cache
from typing import Any
from uuid import uuid4

import numpy as np

from seasync.alignment import Recipe
from seasync.alignment.costs import in_this_thread
from seasync.clip import Clip
from seasync.encoding import Encoding
from seasync.errors import SeaError, ServeError
from seasync.forms import SearchForm
from seasync.sea.sea import Sea
from seasync.sea.search import Matches, Query, resolve
from seasync.sea.snapshot import Snapshot
from seasync.serve import tasks
from seasync.serve.stores import AnnotationStore
from seasync.serve.worker import Recent, Turn, WorkerProcess

log = logging.getLogger("seasync.serve")
CORES = os.cpu_count() or 1
OPEN_SEAS = 8  # that a process keeps open
KEPT_ANSWERS = 4


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
        processes: "SearchProcesses | None" = None,
    ) -> None:
        self.name, self.location = name, location
        self._worker, self._seconds, self._processes = worker, seconds, processes
        self._key = uuid4().hex  # another one if it is deleted and made again
        options = dict(location.storage_options)
        self.sea = Sea(location.uri, location.encoder, storage_options=options, encode=self._encode)
        self.annotations = AnnotationStore(annotations or f"{self.sea.uri.rstrip('/')}/_notes", options)
        self._prepare = threading.Lock()
        self._warmed: str | None = None
        self._info: tuple[int, dict[str, Any]] | None = None
        self._names: tuple[int, dict[str, str]] | None = None
        self._counting = threading.Lock()
        self._asked = 0  # searches that run or wait
        self._answering = threading.Lock()
        # By what was asked for: how many matches at most, and the answer.
        self._answers = Recent[tuple[int, Matches]](KEPT_ANSWERS)
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

    def latest(self) -> Snapshot | None:
        """The newest version of the sea; None as long as it is empty."""
        return self.snapshot() if self.exists() else None

    def info(self, snapshot: Snapshot) -> dict[str, Any]:
        """`Sea.info`, computed once per version of the sea."""
        if self._info is None or self._info[0] != snapshot.version:
            self._info = snapshot.version, self.sea.info()
        return self._info[1]

    def clip(self, clip_id: str, snapshot: Snapshot | None = None) -> Clip:
        """The clip with this id, in the newest version of the sea unless another one is given.

        Raises
        ------
        ServeError
            If the sea has no such clip.
        """
        snapshot = snapshot or self.latest()
        found = snapshot.clips(f"id = '{clip_id}'", limit=1) if snapshot else []
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

    def expect_clips(self) -> Snapshot:
        """The newest version of the sea, or ServeError if it is empty."""
        snapshot = self.latest()
        if snapshot is None:
            raise ServeError("the sea is empty; add videos first", status=409)
        return snapshot

    def query(
        self, clip: Clip, *, frames: int | None = None, alone: bool = False, snapshot: Snapshot | None = None
    ) -> Query:
        """The encoding of a clip: as kept in the sea, or made by a worker process.

        Parameters
        ----------
        frames
            Make a coarse encoding from so many frames, unless the sea has the clip.
        alone
            Sample it as for `seasync.align`: neither it nor what it is aligned with is in the sea.
        snapshot
            The version of the sea. Default: the newest.
        """
        snapshot = snapshot or self.latest()
        if snapshot and not alone and (frames is None or clip.id is not None):
            return resolve(snapshot, clip, self._encode)
        encoding, end = self._encode(clip, frames=frames, alone=alone)
        return Query(encoding, clip, np.empty(0, np.uint64), end)

    def search(self, query: Clip, **options: Any) -> SearchForm:
        """The answer of `Sea.search` with these options, when it is this search's turn."""
        return self._search(query, options).form()

    def matches(self, query: Clip, *, k: int, recipe: Recipe) -> Matches:
        """The k best matches, perhaps more, which can be aligned, each on its own.

        People open one match of an answer after the other, so the latest answers are remembered.
        """
        snapshot = self.snapshot()
        most, found = self._answers.get((snapshot.version, query, recipe)) or (0, None)
        if found is None or most < k:
            found = self._search(query, {"k": k, "recipe": recipe})
        if not found.can_align:
            asked = self.query(query, snapshot=snapshot)
            with self._answering:
                if not found.can_align:
                    found.reopen(snapshot, asked, self._encode)
        return found

    def _search(self, query: Clip, options: dict[str, Any]) -> Matches:
        """Search here or in another process.

        A query that must be encoded is encoded before: a search that waits for the worker process takes no
        turn from those that need none.
        """
        snapshot = self.expect_clips()
        asked = query if query.id is not None else self.query(query, snapshot=snapshot)
        alone = options | {"consensus": False}  # who asks for it aligns each match alone first
        search = self._key, self.location, asked, alone
        try:
            with self._counted() as others:
                processes = self._processes if others >= CORES else None
                if processes and processes.ready:
                    found = processes.search(*search)
                else:
                    if processes:
                        processes.start(*search)
                    found = self._in_turn(snapshot, asked, alone)
        except (SeaError, ServeError):
            if query.id is not None:
                self.clip(query.id)  # a missing clip gets its own error
            raise
        # The first matches are those of every such search with a smaller k.
        is_plain = all(options[name] is None for name in options.keys() - {"k", "recipe"})
        if is_plain and options["k"] <= options["recipe"].candidates:
            self._answers.put((snapshot.version, query, options["recipe"]), (options["k"], found))
        return found

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

    def _in_turn(self, snapshot: Snapshot, asked: Clip | Query, options: dict[str, Any]) -> Matches:
        def search() -> Matches:
            self._load(snapshot)
            # Threads for one search would only hinder the others.
            with in_this_thread() if self._asked > 1 else nullcontext():
                return self.sea.search(asked, **options)

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
        snapshot = self.latest()
        if snapshot and self.info(snapshot)["with_frame_features"]:
            (clip,) = snapshot.clips(limit=1)
            self._searches.submit(self._load, snapshot)
            self._searches.submit(self.sea.search, clip, k=1)

    def _load(self, snapshot: Snapshot) -> None:
        """Load the clip vectors or their index, once for everybody who waits."""
        with self._prepare:
            _ = snapshot.vectors
            if snapshot.index and snapshot.index.column != self._warmed:
                snapshot.index.prewarm(snapshot)
                self._warmed = snapshot.index.column

    def _encode(
        self, clip: Clip, *, content: str | None = None, frames: int | None = None, alone: bool = False
    ) -> tuple[Encoding, float]:
        """`tasks.encode` in the worker process."""
        asked = self.location, clip, content, frames, alone
        encoding, end = self._worker.run(tasks.encode, *asked, seconds=self._seconds)
        return encoding, end

    def close(self) -> None:
        """Stop searching."""
        self._searches.shutdown(cancel_futures=True)


class SearchProcesses:
    """Processes that search the seas of a server, one search at a time each.

    Parameters
    ----------
    count
        How many processes. 0: the server searches by itself only.
    memory_bytes
        Limit on the memory of each.
    wait_seconds
        How long a search waits for its turn at most.

    Attributes
    ----------
    ready
        Whether the processes are up.
    """

    def __init__(self, count: int, *, wait_seconds: float | None, memory_bytes: int | None = None) -> None:
        self._workers = [WorkerProcess(f"search-{n}", memory_bytes=memory_bytes) for n in range(count)]
        self._turn = Turn(wait_seconds, places=max(count, 1))
        self._guard = threading.Lock()
        self._starting = self.ready = False

    def start(self, *search: Any) -> None:
        """Start the processes in the background, unless that was done before; each does this search first.

        Parameters
        ----------
        search
            The arguments of `search_in_process`.
        """
        with self._guard:
            if self._starting or not self._workers:
                return
            self._starting = True
        threading.Thread(target=self._start, args=search, name="search-start", daemon=True).start()

    def _start(self, *search: Any) -> None:
        for worker in self._workers:
            try:
                worker.run(search_in_process, *search)
            except ServeError as error:  # whoever asked for this search gets the error as well
                log.info("start of %s: %s", worker.name, error)
        self.ready = True

    def search(self, *search: Any) -> Matches:
        """Search in the next process that is free.

        Parameters
        ----------
        search
            The arguments of `search_in_process`.

        Raises
        ------
        ServeError
            With the message of a SeasyncError; also if the wait takes too long.
        """
        with self._turn.taken() as place:
            found: Matches = self._workers[place].run(search_in_process, *search)
        return found

    def close(self) -> None:
        """End the processes. Searches that run or wait fail."""
        for worker in self._workers:
            worker.close()


def search_in_process(
    served: str, location: tasks.SeaLocation, asked: Clip | Query, options: dict[str, Any]
) -> Matches:
    """Search a sea that stays open.

    Parameters
    ----------
    served
        Names the served sea: one that is deleted and made again at the same place has another name.
    asked
        A clip of the sea by its id, or what `Sea.query` returned.
    options
        Options of the search.
    """
    with in_this_thread():  # other processes keep the cores busy
        return _opened(served, location).search(asked, **options)


@lru_cache(maxsize=OPEN_SEAS)
def _opened(served: str, location: tasks.SeaLocation) -> Sea:
    sea = location.open()
    snapshot = sea.record.snapshot()
    if snapshot.index:
        snapshot.index.prewarm(snapshot)
    return sea
