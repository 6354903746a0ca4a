"""Finds videos by reference (`clip:ID`, `upload:ID`), and what the page shows of them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from seasync.clip import Clip
from seasync.encoders.pose import JointsEncoder
from seasync.errors import ServeError
from seasync.files import DiskCache, fetch, local
from seasync.forms import ClipForm
from seasync.sea.rows import CLIP_COLUMNS
from seasync.sea.snapshot import Snapshot
from seasync.serve import media, models, security, stores
from seasync.serve.served_sea import ServedSea
from seasync.serve.worker import WorkerProcess

if TYPE_CHECKING:
    import pyarrow as pa

TOLERANCE = 1e-3  # seconds: spans that differ by less are the same


class VideoLibrary:
    """Finds the videos that requests refer to, and makes thumbnails and browser copies of them."""

    def __init__(
        self,
        roots: security.Roots,
        uploads: stores.UploadStore,
        worker: WorkerProcess,
        facts: media.KnownFacts,
        cache: DiskCache,
        limits: security.Limits,
    ) -> None:
        self._roots, self._uploads, self._worker, self._cache = roots, uploads, worker, cache
        self._facts, self._limits = facts, limits

    def clip(self, sea: ServedSea, span: models.SpanForm, snapshot: Snapshot | None = None) -> Clip:
        """The clip that a span refers to. The file of a whole clip of the sea is not touched: it may be gone.

        Parameters
        ----------
        snapshot
            The version of the sea. Default: the newest.

        Raises
        ------
        ServeError
            If there is no such video, the span is not in it, or it is too long to be encoded in a request.
        """
        if _is_whole_clip(span):
            return sea.clip(_id(span), snapshot)
        clip = self.opened(sea, span, snapshot)
        return clip if clip.id is not None else self._expect_short(clip)

    def clip_to_encode(self, sea: ServedSea, span: models.SpanForm) -> Clip:
        """`opened`, for a clip that has to be encoded: it must not be too long."""
        return self._expect_short(self.opened(sea, span))

    def seconds(self, clip: Clip) -> float:
        """How long an opened clip is."""
        return self._end(clip) - clip.start

    def _expect_short(self, clip: Clip) -> Clip:
        seconds = self.seconds(clip)
        if seconds > self._limits.span_seconds:
            raise ServeError(
                f"the span has {seconds:.0f} s; choose one of at most {self._limits.span_seconds:g} s",
                status=422,
            )
        return clip

    def query_clip(self, sea: ServedSea, span: models.SpanForm, snapshot: Snapshot | None = None) -> Clip:
        """`clip` for a search. A whole clip of the sea comes by its id alone: the search looks it up."""
        if _is_whole_clip(span):
            return Clip(span.ref, id=_id(span))
        return self.clip(sea, span, snapshot)

    def opened(self, sea: ServedSea, span: models.SpanForm, snapshot: Snapshot | None = None) -> Clip:
        """The clip that a span refers to, in a file that exists, may be opened, and is a video.

        Raises
        ------
        ServeError
            If it is not, or the span is not in the file.
        """
        is_clip = span.ref.startswith("clip:")
        clip = sea.clip(_id(span), snapshot) if is_clip else Clip(str(self._uploads.get(_id(span))[0]))
        clip = replace(clip, file=self._roots.resolve(clip.file))
        start = clip.start if span.start is None else span.start
        end = clip.end if span.end is None else span.end
        length = self.facts(clip).length
        if not start < min(length if end is None else end, length):
            raise ServeError(f"the span {start:g}–{end} s is empty; the video has {length:.2f} s", status=422)
        own = length if clip.end is None else clip.end
        if abs(start - clip.start) < TOLERANCE and (end is None or abs(end - own) < TOLERANCE):
            return clip
        return Clip.of(clip, start, end)

    def facts(self, clip: Clip) -> media.VideoFacts:
        """The facts about the file of an opened clip, inspected once."""
        return self._facts.of(fetch(clip.file))

    def describe(self, ref: str, clip: Clip, *, name: str | None = None) -> models.FootageForm:
        """An opened clip as the API describes it; `name` is the one that somebody gave it."""
        facts, end = self.facts(clip), self._end(clip)
        first = max(0, int(np.searchsorted(facts.seconds, clip.start + TOLERANCE, "right")) - 1)
        last = max(first + 1, int(np.searchsorted(facts.seconds, end - TOLERANCE)))
        same = ("width", "height", "fps", "length", "audio", "codec")
        return models.FootageForm(
            ref=ref,
            name=name or Path(clip.file).name,
            file=clip.file,
            label=clip.label,
            start=clip.start,
            end=end,
            **{field: getattr(facts, field) for field in same},
            plays="proxy" if self._proxy(clip) else "direct" if facts.direct else "needs proxy",
            first=first,
            seconds=facts.seconds[first:last].round(6).tolist(),
        )

    def clip_models(
        self,
        sea: ServedSea,
        where: str | None,
        *,
        offset: int,
        limit: int,
        order: models.ClipOrder = "added",
        reverse: bool = False,
        snapshot: Snapshot | None = None,
    ) -> list[models.ServedClip]:
        """Clips of a sea that fulfill a condition, from the `offset`-th on."""
        snapshot, names = snapshot or sea.snapshot(), sea.clip_names()
        in_order = order == "added" and not reverse
        scanner = snapshot.dataset.scanner(
            columns=[*CLIP_COLUMNS, "tags"],
            filter=where,
            offset=offset if in_order else None,
            limit=limit if in_order else None,
            scan_in_order=True,
        )
        table = scanner.to_table()
        if not in_order:
            keys = _sort_keys(table, order, names)
            chosen = sorted(range(len(keys)), key=keys.__getitem__, reverse=reverse)[offset : offset + limit]
            table = table.take(chosen)
        rows = zip(snapshot.clips_of(table), table["duration"], table["tags"], strict=True)
        return [
            self.served_clip(clip.form(end=clip.start + length.as_py()), names, tags.as_py() or ())
            for clip, length, tags in rows
        ]

    def served_clip(
        self, clip: ClipForm, names: Mapping[str, str], tags: Sequence[str] = ()
    ) -> models.ServedClip:
        """A clip of a sea, with its end, as the API describes it.

        Parameters
        ----------
        names
            The names that people gave to clips, by their ids.
        """
        return models.ServedClip(
            **vars(clip),
            ref=f"clip:{clip.id}",
            name=names.get(str(clip.id)) or Path(clip.file).name,
            tags=list(tags),
            viewable=self._is_viewable(clip.file),
        )

    def _is_viewable(self, file: str) -> bool:
        try:
            self._roots.resolve(file)
        except ServeError:
            return False
        return True

    def video(self, clip: Clip) -> Path:
        """The file a browser plays: the proxy if there is one, else the video itself."""
        file, proxy = fetch(clip.file), self._proxy(clip)
        if proxy is None and (file.is_dir() or not self.facts(clip).direct):
            raise ServeError("browsers cannot play this file; POST to its `proxy` first", status=409)
        return proxy or file

    def proxy_place(self, clip: Clip) -> Path:
        """Where the proxy of an opened clip's file belongs."""
        return self._cache.place("proxy", local.stamp(fetch(clip.file)), suffix=".mp4")

    def _proxy(self, clip: Clip) -> Path | None:
        return self._cache.find("proxy", local.stamp(fetch(clip.file)), suffix=".mp4")

    def body_place(self, clip: Clip) -> Path:
        """Where the joints of the body in an opened clip belong."""
        made_of = "body", local.stamp(fetch(clip.file)), clip.start, clip.end, JointsEncoder.fingerprint
        return self._cache.place(*made_of, suffix=".json")

    def strip(self, clip: Clip, seconds: Sequence[float], height: int) -> Path:
        """A JPEG with the frames at `seconds` side by side; by default one from the middle."""
        middle = (clip.start + self._end(clip)) / 2
        times = [round(second, 3) for second in seconds or [middle]]
        file = fetch(clip.file)
        made_of = "strip", local.stamp(file), times, height
        found = self._cache.find(*made_of, suffix=".jpg")
        if found is None:
            found = self._cache.place(*made_of, suffix=".jpg")
            size, limit = (4 * height, height), self._limits.inspect_seconds
            self._worker.run(media.write_picture_strip, str(file), times, size, str(found), seconds=limit)
            self._cache.trim_after(found)
        return found

    def _end(self, clip: Clip) -> float:
        length = self.facts(clip).length
        return length if clip.end is None else min(clip.end, length)


def _sort_keys(table: "pa.Table", order: models.ClipOrder, names: Mapping[str, str]) -> list[Any]:
    """What the rows of a table of clips are sorted by."""
    if order == "length":
        return list(table["duration"].to_pylist())
    if order == "label":
        return [(label or "\uffff").lower() for label in table["label"].to_pylist()]
    if order == "name":
        rows = zip(table["id"].to_pylist(), table["file"].to_pylist(), strict=True)
        return [(names.get(clip) or Path(file).name).lower() for clip, file in rows]
    return list(range(len(table)))


def _is_whole_clip(span: models.SpanForm) -> bool:
    return span.ref.startswith("clip:") and span.start is None and span.end is None


def _id(span: models.SpanForm) -> str:
    return span.ref.partition(":")[2]
