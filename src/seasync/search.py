"""A sea as you use it. The whole method is in `Sea.search_many`: retrieve, rank, align."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from seasync.align import MOTION, Recipe
from seasync.clip import Clip
from seasync.encoders import Encoder, encode_clip
from seasync.encoding import Encoding
from seasync.errors import SeaError
from seasync.files import Place
from seasync.json_forms import SearchForm
from seasync.options import Partial, Rerank
from seasync.pair import end_of
from seasync.sea.answer import search_form
from seasync.sea.candidates import Candidates
from seasync.sea.clip_library import ClipLibrary
from seasync.sea.found import Found
from seasync.sea.match import Matches
from seasync.sea.query import Asked, Encode, Query, resolve
from seasync.sea.retrieval import condition, labelled, retrieve, with_encodings
from seasync.sea.snapshot import Snapshot


class Sea(ClipLibrary):
    """A library of clips, at a path or a URI: add videos to it, search it, look after it.

    Parameters
    ----------
    uri
        A folder such as ``footage.sea``, or a URI such as ``s3://bucket/footage.sea``.
    encoder
        What makes the frame features, by name or as an object. A sea keeps the encoder it began with.
        Default: that encoder; ``dinov2-small`` for a new sea.
    create
        Whether a new sea may begin here. The first `add` writes it.
    storage_options
        Options for object storage, as Lance takes them.
    encode
        Encodes a clip that the sea does not hold: takes a `Clip` and, if known, the hash of its file
        (``content``), returns its `Encoding` and the second at which its last frame ends. Default: the sea's
        encoder in this process. A server passes a function that encodes in another process.

    Raises
    ------
    SeaError
        If there is no sea here and `create` is false, or something else is in the way.
    EncoderError
        If the sea was made with another encoder.

    Examples
    --------
    >>> sea = seasync.Sea("footage.sea")
    >>> added = sea.add("clips/", labels="folder")
    >>> files = [match.clip.file for match in sea.search("query.mp4", k=3)]  # best first
    """

    def __init__(
        self,
        uri: Place,
        encoder: Encoder | str | None = None,
        create: bool = True,
        *,
        storage_options: Mapping[str, str] | None = None,
        encode: Encode | None = None,
    ) -> None:
        super().__init__(uri, encoder, create, storage_options=storage_options)
        self._encode = encode or self._encode_here

    def search(
        self,
        query: Asked,
        *,
        start: float | None = None,
        end: float | None = None,
        k: int = 10,
        recipe: Recipe = MOTION,
        rerank: Rerank | None = None,
        candidates: int | None = None,
        max_draq: float | None = None,
        partial: Partial = "auto",
        consensus: bool | None = None,
        label: str | None = None,
        where: str | None = None,
    ) -> Matches:
        """Find the clips that move in step with `query`. Footage of the query itself is left out.

        Parameters
        ----------
        query
            A video file, a `Clip`, the id of a clip of this sea, an `Encoding`, or what `query` returned.
        start, end
            The span of the file to search for, in seconds.
        k
            How many matches to return at most.
        recipe
            `MOTION`, or `PAPER`: clip vectors by the mean alone, 10 candidates, ranked by DRAQ alone.
        rerank
            What ranks the candidates, lowest first: ``"evidence"``, the default of MOTION (see
            `seasync.ranking`); ``"product"``, (1 − similarity)·DRAQ; ``"draq"``, the default of PAPER;
            ``"dtw"``, the cost of the path; ``"none"``, similarity.
        candidates
            How many candidates the clip vectors propose, at least `k`. Default: 25 (PAPER: 10).
        max_draq
            Leave out matches with a higher DRAQ.
        partial
            Whether parts of the clips may stay unmatched: ``"auto"``, ``"never"`` or ``"always"``. Unmatched
            parts of the query count against a match. Unless ``"never"``, a clip of a longer film may
            be extended to the stretch around it that fits better.
        consensus
            Let the matches correct each other's alignments. Order and scores stay the same. Default: with
            MOTION, unless the clips are so long that it would slow the search down.
        label
            Only clips with this label.
        where
            Only clips that fulfil this SQL condition on the record's columns, such as ``"duration < 10"``.

        Returns
        -------
        Matches
            The matches, best first.

        Raises
        ------
        SeaError
            If the sea is empty, or an argument is wrong.
        VideoError
            If the query cannot be read.

        Examples
        --------
        >>> best = sea.search("query.mp4", k=1)[0]                    # doctest: +SKIP
        >>> seasync.render.compare(best.alignment, "sync.mp4")        # doctest: +SKIP
        """
        return self.search_many(
            [query],
            start=start,
            end=end,
            k=k,
            recipe=recipe,
            rerank=rerank,
            candidates=candidates,
            max_draq=max_draq,
            partial=partial,
            consensus=consensus,
            label=label,
            where=where,
        )[0]

    def search_form(
        self,
        query: Asked,
        *,
        k: int = 10,
        recipe: Recipe = MOTION,
        rerank: Rerank | None = None,
        candidates: int | None = None,
        max_draq: float | None = None,
        partial: Partial = "auto",
        label: str | None = None,
        where: str | None = None,
    ) -> SearchForm:
        """Find what `search` finds, in the form that JSON has: without alignments, in half the time.

        Parameters
        ----------
        query, k, recipe, rerank, candidates, max_draq, partial, label, where
            As in `search`. Consensus is no option, because it changes nothing but paths.

        Returns
        -------
        SearchForm
            What `Matches.to_json` says, as an object.

        Examples
        --------
        >>> best = sea.search_form("query.mp4", k=1).matches[0]       # doctest: +SKIP
        >>> best.clip.file, best.draq                                 # doctest: +SKIP
        """
        snapshot = self.record.snapshot()
        where, count = condition(snapshot, where, label), max(k, candidates or recipe.candidates)
        asked = resolve(snapshot, query, self._encode)
        (found,) = retrieve(snapshot, [asked], count, where, trajectory=recipe.trajectory)
        ranked = self._rank(snapshot, asked, found, recipe, rerank, partial)
        return search_form(ranked, k, max_draq=max_draq)

    def search_many(
        self,
        queries: Sequence[Asked],
        *,
        start: float | None = None,
        end: float | None = None,
        k: int = 10,
        recipe: Recipe = MOTION,
        rerank: Rerank | None = None,
        candidates: int | None = None,
        max_draq: float | None = None,
        partial: Partial = "auto",
        consensus: bool | None = None,
        label: str | None = None,
        where: str | None = None,
    ) -> list[Matches]:
        """Search for several queries at once; faster than one after the other. See `search`."""
        snapshot = self.record.snapshot()
        where = condition(snapshot, where, label)
        asked = [resolve(snapshot, query, self._encode, start=start, end=end) for query in queries]
        count = max(k, candidates or recipe.candidates)
        found = retrieve(snapshot, asked, count, where, trajectory=recipe.trajectory)
        one = len(asked) == 1  # the cost matrices of many would fill the memory

        def align(query: Query, found: Found) -> Matches:
            ranked = self._rank(snapshot, query, found, recipe, rerank, partial)
            return ranked.matches(k, max_draq=max_draq, consensus=consensus, cost=one)

        if one:
            return [align(asked[0], found[0])]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            return list(pool.map(align, asked, found))

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
        """Search among random clips of the query's own label: as if retrieval never erred. See `search`.

        Parameters
        ----------
        label
            The query's label, if it is not a labeled clip of this sea.
        seed
            Chooses the random clips.
        """
        snapshot = self.record.snapshot()
        asked = resolve(snapshot, query, self._encode)
        label = label or (asked.clip.label if asked.clip else None)
        if label is None:
            raise SeaError("oracle: the query has no label; ask for a labeled clip of the sea, or give one")
        rows = snapshot.table([], labelled(label))["_rowid"].to_numpy()
        rows = np.random.default_rng(seed).permutation(rows[~np.isin(rows, asked.own)])
        rows = rows[: max(k, candidates or 0)]
        similarity = snapshot.similarities(asked.encoding, rows, trajectory=recipe.trajectory)
        found = Found(rows, similarity, snapshot.vectors.of(snapshot, rows))
        return self._rank(snapshot, asked, found, recipe, rerank, partial).matches(k)

    def query(self, asked: Asked) -> Query:
        """Look up or encode what you would search for: its encoding, its clip, and where that ends."""
        return resolve(self.record.snapshot(), asked, self._encode)

    def _rank(
        self,
        snapshot: Snapshot,
        query: Query,
        found: Found,
        recipe: Recipe,
        rerank: Rerank | None,
        partial: Partial,
    ) -> Candidates:
        found, encodings = with_encodings(snapshot, found, self._encode)
        return Candidates(snapshot, query, found, encodings, recipe=recipe, rerank=rerank, partial=partial)

    def _encode_here(self, clip: Clip, *, content: str | None = None) -> tuple[Encoding, float]:
        return encode_clip(clip, self.encoder(), fps=self.fps, content=content), end_of(clip)
