"""Alignments that requests ask for, each solved once."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from seasync.clip import Clip
from seasync.errors import SeasyncError
from seasync.serve.library import VideoLibrary
from seasync.serve.models import AlignmentQuery, AlignmentRequest, Span
from seasync.serve.served_sea import ServedSea

if TYPE_CHECKING:
    from seasync.alignment import Alignment, Recipe
    from seasync.encoding import Encoding
    from seasync.options import Partial

    Helper = tuple[Alignment, Encoding]

Key = tuple[str, int, str]
Detail = Literal["full", "coarse"]
COARSE_FRAMES = 16  # per video, for a first answer
# Seconds of video. Up to here the full answer takes two or three times as long as a coarse one, which is too
# little to be worth two answers.
QUICK_SECONDS = 8.0


class AlignmentCache:
    """The alignments that were used most recently, up to a number of bytes. The newest is always kept."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit, self._bytes = limit_bytes, 0
        self._kept: OrderedDict[Key, Alignment] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Key) -> Alignment | None:
        """The alignment kept under `key`."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def put(self, key: Key, alignment: Alignment) -> None:
        """Keep an alignment, and drop others until all fit."""
        with self._lock:
            if key in self._kept:
                self._bytes -= _size(self._kept.pop(key))
            self._kept[key] = alignment
            self._bytes += _size(alignment)
            while self._bytes > self._limit and len(self._kept) > 1:
                _, dropped = self._kept.popitem(last=False)
                self._bytes -= _size(dropped)


class SingleFlight:
    """Of equal calls at the same time, one does the work; the others wait, and get its result or error."""

    def __init__(self) -> None:
        self._calls: dict[Hashable, Future[Alignment]] = {}
        self._lock = threading.Lock()

    def call(self, key: Hashable, solve: Callable[[], Alignment]) -> Alignment:
        """What `solve` returns, or what it returns to another caller with this key that has begun already."""
        mine: Future[Alignment] = Future()
        with self._lock:
            known = self._calls.get(key)
            if known is None:
                self._calls[key] = mine
        if known is not None:
            return known.result()
        try:
            mine.set_result(solve())
        except BaseException as error:
            mine.set_exception(error)
            raise
        finally:
            with self._lock:
                del self._calls[key]
        return mine.result()


class Solver:
    """Solves the alignments that requests ask for, and remembers them.

    Everything made from an alignment (picture, timeline, carried marks, film) gets the solved one.
    """

    def __init__(self, library: VideoLibrary, limit_bytes: int) -> None:
        self._library, self._cache, self._flights = library, AlignmentCache(limit_bytes), SingleFlight()
        self._ahead = ThreadPoolExecutor(1, thread_name_prefix="encode-ahead")

    def solve(self, sea: ServedSea, request: AlignmentRequest) -> Alignment:
        """Solve an alignment. The files of whole clips of the sea are not needed.

        Raises
        ------
        ServeError
            If a video is missing, or a span is not in its video.
        """
        key = self._key(sea, request)

        def solve() -> Alignment:
            if (known := self._cache.get(key)) is not None:
                return known
            alignment = self._solve(sea, request)
            self._cache.put(key, alignment)
            return alignment

        return self._flights.call(key, solve)

    def solve_soon(self, sea: ServedSea, request: AlignmentQuery) -> tuple[Alignment, Detail]:
        """Solve an alignment as exactly as asked for.

        A coarse request gets the full answer if that is known, or comes about as soon.
        """
        key = self._key(sea, request)
        known = self._cache.get(key) is not None
        if request.detail == "full" or known or self._is_quick(sea, request):
            return self.solve(sea, request), "full"
        solve = partial(self._solve, sea, request, frames=COARSE_FRAMES)
        return self._flights.call((*key, "coarse"), solve), "coarse"

    def _is_quick(self, sea: ServedSea, request: AlignmentRequest) -> bool:
        """Whether there is little to encode. Consensus may need a search, which takes longer than that."""
        clips = [self._library.clip(sea, span) for span in request.spans]
        alone = all(clip.id is None for clip in clips)
        return (alone or not request.consensus) and all(self._is_short(clip) for clip in clips)

    def _is_short(self, clip: Clip) -> bool:
        return clip.id is not None or self._library.seconds(clip) <= QUICK_SECONDS

    def encode_ahead(self, sea: ServedSea, ref: str) -> Future[None]:
        """Start to encode a video, in the background, as its alignment with another one will need it.

        Of a long video only the few frames for a first answer are encoded: another video may wait.
        """

        def encode() -> None:
            with suppress(SeasyncError):  # the alignment will report it
                clip = self._library.clip(sea, Span(ref=ref))
                sea.query(clip, frames=None if self._is_short(clip) else COARSE_FRAMES, alone=True)

        return self._ahead.submit(encode)

    def close(self) -> None:
        """Encode nothing further ahead."""
        self._ahead.shutdown(wait=False, cancel_futures=True)

    def _key(self, sea: ServedSea, request: AlignmentRequest) -> Key:
        # A request for a timeline has further fields, on which the alignment does not depend.
        return sea.uri, sea.version, request.model_dump_json(include=set(AlignmentRequest.model_fields))

    def _solve(self, sea: ServedSea, request: AlignmentRequest, *, frames: int | None = None) -> Alignment:
        from seasync.alignment import MOTION, PAPER, align_encodings
        from seasync.alignment.prepare import refined
        from seasync.sea.calibration import judged_pair

        clips = [self._library.clip(sea, span) for span in request.spans]
        alone = all(clip.id is None for clip in clips)
        query, match = (sea.query(clip, frames=frames, alone=alone) for clip in clips)
        alignment = align_encodings(
            query.encoding,
            match.encoding,
            recipe=refined(PAPER if request.recipe == "paper" else MOTION, query.encoding),
            anchors=tuple(request.anchors),
            partial=request.partial,
            order=request.order,
        )
        if request.consensus and frames is None and not request.anchors and request.order == "same":
            others: list[Helper] = []
            if request.takes:
                others = self._takes(sea, request, alone)
            elif not alone:
                others = self._matches(sea, request, alignment.recipe)
            alignment = _corrected(alignment, match.encoding, others, request.partial)
        alignment = alignment.of(*clips, ends=(query.end, match.end))
        if not sea.exists():
            return alignment
        return judged_pair(sea.snapshot(), alignment, query.encoding, match.encoding)

    def _takes(self, sea: ServedSea, request: AlignmentRequest, alone: bool) -> list[Helper]:
        """The other takes that a request names, each aligned with the query on its own."""
        others = [ref for ref in dict.fromkeys(request.takes) if ref not in (request.match, request.query)]
        found = []
        for ref in others:
            whole = {"match": ref, "match_start": None, "match_end": None}
            plain: dict[str, Any] = whole | {"consensus": False, "takes": []}
            alignment = self.solve(sea, request.model_copy(update=plain))
            clip = self._library.clip(sea, Span(ref=ref))
            found.append((alignment, sea.query(clip, alone=alone and clip.id is None).encoding))
        return found

    def _matches(self, sea: ServedSea, request: AlignmentRequest, recipe: Recipe) -> list[Helper]:
        """The query's other matches in the sea, as a search finds them."""
        if not sea.exists():
            return []
        query = self._library.query_clip(sea, request.spans[0])
        found = sea.matches(query, k=recipe.helpers + 1, recipe=recipe, partial=request.partial)
        others = [one for one in found if one.part is None and f"clip:{one.clip.id}" != request.match]
        return [(one.alignment, sea.query(one.clip).encoding) for one in others]

    def solve_for_files(self, sea: ServedSea, request: AlignmentRequest, *, cost: bool = False) -> Alignment:
        """The same for a worker process: its clips name files that exist and may be opened.

        Parameters
        ----------
        cost
            Whether the cost matrix comes along. Only the picture needs it.
        """
        query, match = (self._library.opened(sea, span) for span in request.spans)
        alignment = self.solve(sea, request)
        return replace(alignment, query=query, match=match, cost=alignment.cost if cost else None)

    def title(self, sea: ServedSea, request: AlignmentRequest) -> str:
        """What files made from an alignment are called."""
        query, match = (Path(self._library.opened(sea, span).file).stem for span in request.spans)
        return f"{match} in step with {query}"


def _corrected(
    alignment: Alignment, match: Encoding, others: Sequence[Helper], partial: Partial
) -> Alignment:
    """The alignment, corrected by detours through others of the same query, as a search does it."""
    from seasync.alignment.consensus import apply_consensus
    from seasync.sea.search import CONSENSUS_CELLS

    paths = [alignment, *(one for one, _ in others)]
    if not others or sum(len(path.match_seconds) for path in paths) ** 2 > CONSENSUS_CELLS:
        return alignment
    return apply_consensus(paths, [match, *(encoding for _, encoding in others)], partial=partial)[0]


def _size(alignment: Alignment) -> int:
    """About how many bytes an alignment takes."""
    return 100 * len(alignment.path) + (0 if alignment.cost is None else alignment.cost.nbytes)
