"""Videos by reference: where `clip:ID` and `upload:ID` lie, what may be opened, how it is shown."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from seasync.clip import Clip
from seasync.errors import ServeError
from seasync.files import DiskCache, fetch
from seasync.files.disk_cache import stamp
from seasync.sea.record import Snapshot
from seasync.sea.rows import CLIP_COLUMNS
from seasync.search import Sea
from seasync.serve import models
from seasync.serve.lane import Lane
from seasync.serve.limits import Limits
from seasync.serve.look import Facts, look, picture_strip
from seasync.serve.roots import Roots
from seasync.serve.uploads import Uploads

REMEMBERED = 1024  # files whose facts stay in memory
SAME = 1e-3  # seconds


class Library:
    """Finds videos for a server, and what can be shown of them."""

    def __init__(self, roots: Roots, uploads: Uploads, lane: Lane, cache: DiskCache, limits: Limits) -> None:
        self._roots, self._uploads, self._lane, self._cache, self._limits = (
            roots,
            uploads,
            lane,
            cache,
            limits,
        )
        self._facts: OrderedDict[tuple[str, int, int], Facts] = OrderedDict()
        self._lock = threading.Lock()

    def clip(self, sea: Sea, span: models.Span) -> Clip:
        """What a span refers to. The file of a whole clip of the sea is not touched: it may be gone.

        Raises
        ------
        ServeError
            If there is no such video, or the span is not in it, or too long to be encoded in passing.
        """
        kind, _, name = span.ref.partition(":")
        if kind == "clip" and span.start is None and span.end is None:
            return clip_of(sea, name)
        clip = self.opened(sea, span)
        seconds = self._end(clip) - clip.start
        if clip.id is None and seconds > self._limits.span_seconds:
            raise ServeError(
                f"{seconds:.0f} s at once; choose a span of at most {self._limits.span_seconds:g} s",
                status=422,
            )
        return clip

    def to_find(self, sea: Sea, span: models.Span) -> Clip:
        """`clip` to search with; a whole clip of the sea by its id alone, since searching looks it up."""
        kind, _, name = span.ref.partition(":")
        if kind == "clip" and span.start is None and span.end is None:
            return Clip(span.ref, id=name)
        return self.clip(sea, span)

    def opened(self, sea: Sea, span: models.Span) -> Clip:
        """What a span refers to, in a file that is there, may be opened, and is a video.

        Raises
        ------
        ServeError
            If it is not so, or the span is not in the file.
        """
        kind, _, name = span.ref.partition(":")
        clip = clip_of(sea, name) if kind == "clip" else Clip(str(self._uploads.get(name)[0]))
        clip = replace(clip, file=self._roots.place(clip.file))
        start = clip.start if span.start is None else span.start
        end = clip.end if span.end is None else span.end
        length = self.facts(clip).length
        if not start < min(length if end is None else end, length):
            raise ServeError(f"the span {start:g}–{end} s is empty; the video has {length:.2f} s", status=422)
        own = length if clip.end is None else clip.end
        if abs(start - clip.start) < SAME and (end is None or abs(end - own) < SAME):
            return clip
        return Clip.of(clip, start, end)

    def facts(self, clip: Clip) -> Facts:
        """What the file of an opened clip is, looked into once."""
        file = fetch(clip.file)
        key = stamp(file)
        with self._lock:
            if key in self._facts:
                self._facts.move_to_end(key)
                return self._facts[key]
        bounds = self._limits.pixels, self._limits.video_seconds
        found: Facts = self._lane.run(look, str(file), *bounds, seconds=self._limits.look_seconds)
        with self._lock:
            self._facts[key] = found
            if len(self._facts) > REMEMBERED:
                self._facts.popitem(last=False)
        return found

    def describe(self, ref: str, clip: Clip) -> models.Footage:
        facts, end = self.facts(clip), self._end(clip)
        first = max(0, int(np.searchsorted(facts.seconds, clip.start + SAME, "right")) - 1)
        last = max(first + 1, int(np.searchsorted(facts.seconds, end - SAME)))
        ready = self._cache.find("proxy", stamp(fetch(clip.file)), suffix=".mp4") is not None
        return models.Footage(
            ref=ref,
            name=Path(clip.file).name,
            file=clip.file,
            label=clip.label,
            start=clip.start,
            end=end,
            width=facts.width,
            height=facts.height,
            fps=facts.fps,
            length=facts.length,
            audio=facts.audio,
            codec=facts.codec,
            plays="proxy" if ready else "direct" if facts.direct else "needs proxy",
            first=first,
            seconds=facts.seconds[first:last].round(6).tolist(),
        )

    def clip_models(
        self, snapshot: Snapshot, where: str | None, *, offset: int, limit: int
    ) -> list[models.Clip]:
        """Clips of the sea that fulfil a condition, from the `offset`-th on, in the order they were added."""
        scanner = snapshot.dataset.scanner(
            columns=[*CLIP_COLUMNS, "tags"], filter=where, offset=offset, limit=limit, scan_in_order=True
        )
        table = scanner.to_table()
        durations, tags = table["duration"].to_pylist(), table["tags"].to_pylist()
        return [
            self.clip_model(clip, duration, tags=tag)
            for clip, duration, tag in zip(snapshot.clips_of(table), durations, tags, strict=True)
        ]

    def clip_model(self, clip: Clip, duration: float, *, tags: Sequence[str] | None = None) -> models.Clip:
        return models.Clip(
            ref=f"clip:{clip.id}",
            id=str(clip.id),
            name=Path(clip.file).name,
            file=clip.file,
            start=clip.start,
            end=clip.start + duration if clip.end is None else clip.end,
            label=clip.label,
            tags=list(tags or ()),
            viewable=self._is_viewable(clip.file),
        )

    def _is_viewable(self, file: str) -> bool:
        try:
            self._roots.place(file)
        except ServeError:
            return False
        return True

    def video(self, clip: Clip) -> Path:
        """The file a browser plays: the proxy, if there is one, else the video itself."""
        file = fetch(clip.file)
        proxy = self._cache.find("proxy", stamp(file), suffix=".mp4")
        if proxy is None and (file.is_dir() or not self.facts(clip).direct):
            raise ServeError("browsers do not play this file as it is; POST to its `proxy` first", status=409)
        return proxy or file

    def proxy_place(self, file: str) -> Path:
        return self._cache.place("proxy", stamp(fetch(file)), suffix=".mp4")

    def strip(self, clip: Clip, seconds: Sequence[float], height: int) -> Path:
        """A JPEG of the frames at `seconds`, side by side; by default one from the middle."""
        middle = (clip.start + self._end(clip)) / 2
        times = [round(second, 3) for second in seconds or [middle]]
        file = fetch(clip.file)
        made_of = "strip", stamp(file), times, height
        found = self._cache.find(*made_of, suffix=".jpg")
        if found is None:
            found = self._cache.place(*made_of, suffix=".jpg")
            size, limit = (4 * height, height), self._limits.look_seconds
            self._lane.run(picture_strip, str(file), times, size, str(found), seconds=limit)
            self._cache.trim_after(found)
        return found

    def _end(self, clip: Clip) -> float:
        length = self.facts(clip).length
        return length if clip.end is None else min(clip.end, length)


def clip_of(sea: Sea, name: str) -> Clip:
    """The sea's clip with this id."""
    found = sea.snapshot().clips(f"id = '{name}'", limit=1) if sea.exists() else []
    if not found:
        raise ServeError(f"clip:{name}: no such clip in this sea", status=404)
    return found[0]
