"""The sea as one uses it. The whole method is in `Sea.search_many`: retrieve, re-rank, align."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial as bind
from pathlib import Path
from typing import Any

import numpy as np

from seasync.align import MOTION, Recipe
from seasync.clip import Clip
from seasync.encoders import DEFAULT, Encoder, encode_clip, get_encoder
from seasync.encoding import Encoding, Floats
from seasync.errors import EncoderError, SeaError, VideoError
from seasync.options import IndexKind, Partial, Rerank
from seasync.pair import end_of
from seasync.sea import care, index
from seasync.sea.calibration import Calibration, fit, with_calibration
from seasync.sea.candidates import Candidates
from seasync.sea.cluster import Cluster
from seasync.sea.ingest import Added, add
from seasync.sea.match import Matches
from seasync.sea.on_ray import add as add_on
from seasync.sea.query import Asked, Query, resolve
from seasync.sea.record import Record, RowIds, Snapshot, both, quoted
from seasync.sea.rows import CLIP_COLUMNS
from seasync.sea.sources import find_sources
from seasync.similarity import query_vector


class Sea(Record):
    """A library of clips, at a path or a URI: add to it, search it, look after it.

    encoder          what makes the frame features, by name or as an object; one sea has one encoder for good.
                     None: the one the sea was made with, `dinov2-small` for a new one
    create           whether a new sea may begin here; it is written by the first `add`
    storage_options  for object storage, as Lance takes them
    """

    def __init__(
        self,
        uri: str | Path,
        encoder: Encoder | str | None = None,
        create: bool = True,
        *,
        storage_options: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(uri, storage_options=storage_options)
        self._encoder = encoder
        if self.exists():
            about = self.snapshot().about
            if encoder is not None and getattr(encoder, "name", encoder) != about.encoder:
                self.encoder()  # another name may still be the same encoder
        elif not create:
            self.snapshot()  # says that there is none
        else:
            self.expect_room()

    @property
    def fps(self) -> float:
        """Sampled frames a second."""
        return self.snapshot().about.fps

    def encoder(self) -> Encoder:
        """The sea's encoder, loaded.

        Raises
        ------
        EncoderError
            If the sea was made with another one.
        """
        about = self.snapshot().about if self.exists() else None
        wanted = self._encoder or (about.encoder if about else DEFAULT)
        encoder = get_encoder(wanted) if isinstance(wanted, str) else wanted
        if about and encoder.fingerprint != about.fingerprint:
            raise EncoderError(
                f"{self.uri}: made with the encoder {about.encoder} ({about.fingerprint}), not with "
                f"{encoder.name} ({encoder.fingerprint}); a sea has one encoder: make a new sea"
            )
        return encoder

    def add(
        self,
        *paths: str | Path,
        split: str | float = "none",
        labels: str | Path | None = None,
        tags: Sequence[str] = (),
        fps: float | None = None,
        frame_features: bool = True,
        jobs: int = 1,
        on: Cluster | None = None,
        progress: Callable[[Added], None] | None = None,
        wait: bool = True,
        waiting: Callable[[], None] | None = None,
        commit_seconds: float = 20.0,
    ) -> Added:
        """Add videos: what is there already, by content and span, is left alone.

        Interrupted at any point and called again, it goes on where it was; what was committed (every
        `commit_seconds`) is not done again. Files that cannot be read are in the result's `failed`.

        paths           files, folders, patterns, and lists (.csv, .tsv); see `seasync.sea.sources`
        split           "none", "shots", or a number of seconds: how long videos become clips
        labels          "folder" (the name of a video's folder) or a list with the columns file and label
        fps             sampled frames a second; default: the encoder's own. One sea has one rate
        frame_features  false keeps clip vectors only, a hundredth of the size; a search then encodes its
                        candidates anew
        jobs            processes that encode; 1 uses all cores for one clip at a time
        on              a Ray cluster to do it on; jobs are then its business
        progress        called after every clip
        wait            for another process that writes to this sea (`waiting` is called once); else SeaError
        """
        sources = find_sources(paths, labels=labels, tags=tags)
        if (jobs > 1 or on) and not isinstance(self._encoder, str | None):
            raise SeaError("jobs: several processes need the encoder by its name, not as an object")
        run = bind(add_on, on) if on else bind(add, jobs=jobs)
        return run(
            self,
            sources,
            self.encoder(),
            split=split,
            fps=fps,
            frame_features=frame_features,
            commit_seconds=commit_seconds,
            progress=progress,
            wait=wait,
            waiting=waiting,
        )

    def search(
        self, query: Asked, *, start: float | None = None, end: float | None = None, **options: Any
    ) -> Matches:
        """The clips that move in step with `query`, best first; options as in `search_many`.

        query       a video file, a `Clip`, the id of a clip of this sea, or an `Encoding`
        start, end  the span of the file that counts, in seconds
        """
        if start is not None or end is not None:
            if isinstance(query, Encoding):
                raise SeaError("start, end: an encoding is searched for whole; encode the span instead")
            query = Clip.of(query, start, end)
        return self.search_many([query], **options)[0]

    def search_many(
        self,
        queries: Sequence[Asked],
        *,
        k: int = 10,
        recipe: Recipe = MOTION,
        rerank: Rerank | None = None,
        candidates: int | None = None,
        max_draq: float | None = None,
        partial: Partial = "auto",
        consensus: bool = False,
        label: str | None = None,
        where: str | None = None,
    ) -> list[Matches]:
        """The k best matches of every query. Footage of the query itself is never among them.

        recipe      `MOTION`, or `PAPER`: clip vectors by the mean alone, 10 candidates, DRAQ alone
        candidates  how many the clip vectors propose; default 25 (10), and at least k
        rerank      what decides among these, lowest first: "product" (1 − similarity)·DRAQ, the default of
                    MOTION; "draq", the default of PAPER; "dtw", the plain path cost; "none", similarity alone
        max_draq    leave out matches with a higher DRAQ
        partial     "auto", "never" or "always": whether parts of the clips may be left out; what is left out
                    of the query then counts against a match. A clip that is part of a film may then also be
                    left for the stretch around it that fits better; "never" takes all clips as they are
        consensus   let the matches correct each other's alignment: a moment goes where most ways through
                    the other matches lead. Order and scores stay the same
        label       only clips of this label
        where       only clips that fulfil this SQL condition on the record's columns, such as "duration < 10"
        """
        wanted = max(k, candidates or recipe.candidates)
        snapshot = self.snapshot()
        where = _condition(snapshot, where, label)

        asked = [resolve(snapshot, query, self._encode, self._end) for query in queries]
        found = _retrieve(snapshot, asked, wanted, where, trajectory=recipe.trajectory)
        alone = len(asked) == 1  # the cost matrices of many would fill the memory
        rank = bind(
            self._rank,
            snapshot,
            k=k,
            recipe=recipe,
            rerank=rerank,
            max_draq=max_draq,
            partial=partial,
            consensus=consensus,
            cost=alone,
        )
        if alone:
            return [rank(asked[0], *found[0])]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            return list(pool.map(lambda query, candidates: rank(query, *candidates), asked, found))

    def oracle(
        self,
        query: Asked,
        *,
        k: int = 10,
        recipe: Recipe = MOTION,
        rerank: Rerank | None = None,
        candidates: int | None = None,
        partial: Partial = "auto",
        label: str | None = None,
        seed: int = 0,
    ) -> Matches:
        """As `search`, with random clips of the query's own label as candidates: retrieval that cannot err.

        label  the query's label, where it is not a clip of this sea that has one
        """
        snapshot = self.snapshot()
        asked = resolve(snapshot, query, self._encode, self._end)
        label = label or (asked.clip.label if asked.clip else None)
        if label is None:
            raise SeaError("oracle: the query has no label; ask for a labelled clip of the sea, or give one")
        rows = snapshot.table([], _labelled(label))["_rowid"].to_numpy()
        rows = np.random.default_rng(seed).permutation(rows[~np.isin(rows, asked.own)])
        rows = rows[: max(k, candidates or 0)]
        similarity = snapshot.similarities(asked.encoding, rows, trajectory=recipe.trajectory)
        return self._rank(
            snapshot, asked, rows, similarity, k=k, recipe=recipe, rerank=rerank, partial=partial
        )

    def calibrate(self, recipe: Recipe = MOTION, *, seed: int = 0) -> Calibration:
        """Fit alignability to this sea's labels, and keep it in the sea."""
        with self.writing():
            snapshot = self.snapshot()
            fitted = fit(snapshot, recipe, seed=seed)
            self.put_metadata(with_calibration(snapshot, recipe, fitted))
        return fitted

    def clips(
        self, where: str | None = None, *, label: str | None = None, limit: int | None = None
    ) -> list[Clip]:
        """The sea's clips, in the order they were added; `where` and `label` as in `search_many`."""
        snapshot = self.snapshot()
        return snapshot.clips(_condition(snapshot, where, label), limit=limit)

    def info(self) -> dict[str, Any]:
        """What the sea is and how it stands: clips, hours, bytes, encoder, index and more."""
        return care.info(self)

    def verify(
        self, *, files: bool = True, progress: Callable[[int, int], None] | None = None
    ) -> list[care.Problem]:
        """Read every row and, with `files`, every file; what is found wrong, which should be nothing."""
        return care.verify(self, files=files, progress=progress)

    def relocate(self, root: str | Path, *, old: str | Path | None = None) -> int:
        """Say that the footage under `old` (default: all of it) now lies under `root`; how many files do."""
        return care.relocate(self, root, old=old)

    def rebuild(self, kind: IndexKind = "auto", *, on: Cluster | None = None) -> None:
        """Make the index anew: "auto" (none for up to 50,000 clips), "exact" (none), "ivf_rq" or "ivf_pq".

        on  a Ray cluster to do it on
        """
        with self.writing(alone=True):
            index.build(self, kind, on)

    def _rank(
        self,
        snapshot: Snapshot,
        query: Query,
        rows: RowIds,
        similarity: Floats,
        *,
        k: int,
        recipe: Recipe,
        rerank: Rerank | None = None,
        max_draq: float | None = None,
        partial: Partial = "auto",
        consensus: bool = False,
        cost: bool = True,
    ) -> Matches:
        """Candidates in their final order, as matches; with their cost matrices if `cost`."""
        encodings = self._encodings(snapshot, rows)
        there = np.array([encoding is not None for encoding in encodings], bool)
        known = [encoding for encoding in encodings if encoding is not None]
        ranked = Candidates(
            snapshot,
            query,
            rows[there],
            similarity[there],
            known,
            recipe=recipe,
            rerank=rerank,
            partial=partial,
        )
        return ranked.matches(k, max_draq=max_draq, consensus=consensus, cost=cost)

    def _encode(self, clip: Clip) -> Encoding:
        return encode_clip(clip, self.encoder(), fps=self.fps)

    def _end(self, clip: Clip) -> float:
        return end_of(clip)

    def _encodings(self, snapshot: Snapshot, rows: RowIds) -> list[Encoding | None]:
        """Frame features as kept, or made anew where only the clip vector is; None where the file is gone."""
        found = snapshot.encodings(rows, vectors=False)
        missing = [n for n, encoding in enumerate(found) if encoding is None]
        clips = snapshot.clips_of(snapshot.take(rows[missing], CLIP_COLUMNS)) if missing else []
        for n, clip in zip(missing, clips, strict=True):
            try:
                found[n] = self._encode(clip)
            except VideoError as error:
                warnings.warn(f"a candidate is left out: {error}", stacklevel=2)
        return found


def _retrieve(
    snapshot: Snapshot, queries: Sequence[Query], k: int, where: str | None, *, trajectory: bool
) -> list[tuple[RowIds, Floats]]:
    """Row ids and similarities of the k nearest clip vectors to each query, its own footage left out."""
    vectors = snapshot.vectors
    asked = [query_vector(query.encoding, vectors.standard, trajectory=trajectory) for query in queries]
    extra = max((len(query.own) for query in queries), default=0)
    nearest = vectors.nearest(snapshot, np.stack(asked), k + extra, where) if queries else []
    found = []
    for query, (rows, similarity) in zip(queries, nearest, strict=True):
        other = ~np.isin(rows, query.own)
        found.append((rows[other][:k], similarity[other][:k]))
    return found


def _condition(snapshot: Snapshot, where: str | None, label: str | None) -> str | None:
    """Both as one, checked before time is spent on the query."""
    if where is not None:
        snapshot.expect_condition(where)
    return both(where, _labelled(label))


def _labelled(label: str | None) -> str | None:
    return None if label is None else f"label = {quoted(label)}"
