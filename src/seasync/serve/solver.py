"""Alignments that requests ask for, each solved once."""

import threading
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from seasync.alignment import Alignment, Recipe, align_encodings
from seasync.alignment.consensus import apply_consensus
from seasync.alignment.prepare import refined
from seasync.clip import Clip
from seasync.encoding import Encoding
from seasync.errors import SeasyncError
from seasync.sea.calibration import judged
from seasync.sea.search import CONSENSUS_CELLS
from seasync.sea.snapshot import Snapshot
from seasync.serve.library import VideoLibrary
from seasync.serve.models import AlignmentQuery, AlignmentRequest, Detail, SpanForm
from seasync.serve.served_sea import ServedSea
from seasync.serve.worker import Recent

Helper = tuple[Alignment, Encoding]
Key = tuple[str, int, str]
COARSE_FRAMES = 16  # per video, for a first answer
# Seconds of video. Up to here the full answer takes two or three times as long as a coarse one, which is too
# little to be worth two answers.
QUICK_SECONDS = 8.0


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


@dataclass(frozen=True)
class _Asked:
    """A request for an alignment in one version of a sea, which is looked up once."""

    request: AlignmentRequest
    sea: ServedSea
    snapshot: Snapshot | None
    library: VideoLibrary

    @property
    def key(self) -> Key:
        # A request for a timeline has further fields, on which the alignment does not depend.
        text = self.request.model_dump_json(include=set(AlignmentRequest.model_fields))
        return self.sea.uri, self.snapshot.version if self.snapshot else 0, text

    @cached_property
    def clips(self) -> tuple[Clip, Clip]:
        """Query and match. The files of whole clips of the sea may be gone."""
        query, match = (self.library.clip(self.sea, span, self.snapshot) for span in self.request.spans)
        return query, match

    @property
    def is_alone(self) -> bool:
        """Whether neither clip is in the sea."""
        return all(clip.id is None for clip in self.clips)

    @property
    def helps_itself(self) -> bool:
        """Whether other clips correct the alignment. What the user sets goes before."""
        request = self.request
        return request.consensus and not request.anchors and request.order == "same"


class Solver:
    """Solves the alignments that requests ask for, and remembers them.

    Everything made from an alignment (picture, timeline, carried marks, film) gets the solved one.
    """

    def __init__(self, library: VideoLibrary, limit_bytes: int) -> None:
        self._library, self._flights = library, SingleFlight()
        self._cache = Recent[Alignment](limit_bytes, size_of)
        self._ahead = ThreadPoolExecutor(1, thread_name_prefix="encode-ahead")

    def solve(self, sea: ServedSea, request: AlignmentRequest) -> Alignment:
        """Solve an alignment. The files of whole clips of the sea are not needed.

        Raises
        ------
        ServeError
            If a video is missing, or a span is not in its video.
        """
        return self._solve_once(self._look_up(sea, request))

    def solve_soon(self, sea: ServedSea, request: AlignmentQuery) -> tuple[Alignment, Detail]:
        """Solve an alignment as exactly as asked for.

        A coarse request gets the full answer if that is cached, or nearly as fast.
        """
        asked = self._look_up(sea, request)
        if request.detail == "full" or self._cache.get(asked.key) is not None or self._is_quick(asked):
            return self._solve_once(asked), "full"
        solve = partial(self._solve, asked, frames=COARSE_FRAMES)
        return self._flights.call((*asked.key, "coarse"), solve), "coarse"

    def solve_for_files(self, sea: ServedSea, request: AlignmentRequest, *, cost: bool = False) -> Alignment:
        """The same for a worker process: its clips name files that exist and may be opened.

        Parameters
        ----------
        cost
            Whether the cost matrix comes along. Only the picture needs it.
        """
        asked = self._look_up(sea, request)
        query, match = (self._library.opened(sea, span, asked.snapshot) for span in request.spans)
        alignment = self._solve_once(asked)
        return replace(alignment, query=query, match=match, cost=alignment.cost if cost else None)

    def title(self, sea: ServedSea, request: AlignmentRequest) -> str:
        """What files made from an alignment are called."""
        snapshot = sea.latest()
        clips = (self._library.opened(sea, span, snapshot) for span in request.spans)
        query, match = (Path(clip.file).stem for clip in clips)
        return f"{match} in step with {query}"

    def encode_ahead(self, sea: ServedSea, ref: str) -> Future[None]:
        """Start to encode a video, in the background, as its alignment with another one will need it.

        Of a long video only the few frames for a first answer are encoded: another video may wait.
        """

        def encode() -> None:
            with suppress(SeasyncError):  # the alignment will report it
                clip = self._library.clip(sea, SpanForm(ref=ref))
                sea.query(clip, frames=None if self._is_short(clip) else COARSE_FRAMES, alone=True)

        return self._ahead.submit(encode)

    def close(self) -> None:
        """Encode nothing further ahead."""
        self._ahead.shutdown(wait=False, cancel_futures=True)

    def _look_up(self, sea: ServedSea, request: AlignmentRequest) -> _Asked:
        return _Asked(request, sea, sea.latest(), self._library)

    def _is_quick(self, asked: _Asked) -> bool:
        """Whether there is little to encode. Consensus may need a search, which takes longer than that."""
        wants_search = asked.request.consensus and not asked.is_alone
        return not wants_search and all(self._is_short(clip) for clip in asked.clips)

    def _is_short(self, clip: Clip) -> bool:
        return clip.id is not None or self._library.seconds(clip) <= QUICK_SECONDS

    def _solve_once(self, asked: _Asked) -> Alignment:
        def solve() -> Alignment:
            if (known := self._cache.get(asked.key)) is not None:
                return known
            alignment = self._solve(asked)
            self._cache.put(asked.key, alignment)
            return alignment

        return self._flights.call(asked.key, solve)

    def _solve(self, asked: _Asked, *, frames: int | None = None) -> Alignment:
        request, snapshot = asked.request, asked.snapshot
        query, match = (
            asked.sea.query(clip, frames=frames, alone=asked.is_alone, snapshot=snapshot)
            for clip in asked.clips
        )
        recipe = refined(request.method, query.encoding)
        alignment = align_encodings(query.encoding, match.encoding, recipe=recipe, anchors=request.anchors)
        if asked.helps_itself and frames is None:
            alignment = self._corrected(asked, alignment, match.encoding)
        alignment = alignment.of(*asked.clips, ends=(query.end, match.end))
        return judged(snapshot, alignment, "search") if snapshot else alignment

    def _corrected(self, asked: _Asked, alignment: Alignment, match: Encoding) -> Alignment:
        """The alignment, corrected by others of the same query, as a search does it."""
        others = self._takes(asked) if asked.request.takes else self._matches(asked, alignment.recipe)
        paths = [alignment, *(one for one, _ in others)]
        if not others or sum(len(path.match_seconds) for path in paths) ** 2 > CONSENSUS_CELLS:
            return alignment
        encodings = [match, *(encoding for _, encoding in others)]
        return apply_consensus(paths, encodings)[0]

    def _takes(self, asked: _Asked) -> list[Helper]:
        """The other takes that a request names, each aligned with the query on its own."""
        request, sea = asked.request, asked.sea
        others = [ref for ref in dict.fromkeys(request.takes) if ref not in (request.match, request.query)]
        plain: dict[str, Any] = {"match_start": None, "match_end": None, "consensus": False, "takes": []}
        found = []
        for ref in others:
            alone = replace(asked, request=request.model_copy(update=plain | {"match": ref}))
            take = alone.clips[1]
            encoded = sea.query(take, alone=asked.is_alone and take.id is None, snapshot=asked.snapshot)
            found.append((self._solve_once(alone), encoded.encoding))
        return found

    def _matches(self, asked: _Asked, recipe: Recipe) -> list[Helper]:
        """The query's other matches in the sea, as a search finds them."""
        request, sea = asked.request, asked.sea
        if asked.snapshot is None or asked.is_alone:
            return []
        query = self._library.query_clip(sea, request.spans[0], asked.snapshot)
        count = recipe.helpers + 1
        found = sea.matches(query, k=count, recipe=recipe)[:count]
        others = [one for one in found if one.part is None and f"clip:{one.clip.id}" != request.match]
        return [(one.alignment, sea.query(one.clip, snapshot=asked.snapshot).encoding) for one in others]


def size_of(alignment: Alignment) -> int:
    """About how many bytes an alignment takes."""
    return 100 * len(alignment.path) + (0 if alignment.cost is None else alignment.cost.nbytes)
