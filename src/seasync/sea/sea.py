"""A sea as you use it: a library of clips. How it is searched is in `seasync.sea.search`."""

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from seasync.alignment import MOTION, Recipe
from seasync.alignment.judge import Calibration, CurveOf, likelihood
from seasync.clip import Clip
from seasync.encoders import DEFAULT, Encoder, encode_clip, encoder_for, get_encoder
from seasync.encoding import Encoding
from seasync.errors import EncoderError, SeaError
from seasync.files import Place
from seasync.options import IndexKind, Partial, Rerank
from seasync.pair import end_of
from seasync.sea import calibration, index, ingest, maintenance
from seasync.sea.ingest import Added
from seasync.sea.maintenance import SeaProblem
from seasync.sea.ray import Cluster
from seasync.sea.record import Record
from seasync.sea.rows import ClipEntry
from seasync.sea.search import Asked, Encode, Match, Matches, Query, SearchOptions, answer, resolve, retrieve
from seasync.sea.sources import find_videos


class Sea:
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

    Attributes
    ----------
    record
        What is stored, for code that reads it column by column.

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
        self.record = Record(uri, storage_options=storage_options)
        self._encoder = encoder
        self._encode = encode or self._encode_here
        if self.exists():
            own = self.record.snapshot().facts.encoder
            if encoder is not None and getattr(encoder, "name", encoder) != own:
                self.encoder()  # another name may still be the same encoder
        elif not create:
            self.record.snapshot()  # raises: there is no sea
        else:
            self.record.check_can_begin()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.uri!r}, {len(self)} clips)"

    def __len__(self) -> int:
        return len(self.record)

    @property
    def uri(self) -> str:
        """The path or URI of the sea."""
        return self.record.uri

    def exists(self) -> bool:
        """Whether anything has been added yet."""
        return self.record.exists()

    @property
    def fps(self) -> float:
        """Sampled frames per second."""
        return self.record.snapshot().facts.fps

    def encoder(self) -> Encoder:
        """Load the sea's encoder.

        Raises
        ------
        EncoderError
            If the sea was made with another encoder.
        """
        facts = self.record.snapshot().facts if self.exists() else None
        wanted = self._encoder or (facts.encoder if facts else DEFAULT)
        if isinstance(wanted, str):
            encoder = encoder_for(wanted, facts.fingerprint) if facts else get_encoder(wanted)
        else:
            encoder = wanted
        if facts and encoder.fingerprint != facts.fingerprint:
            raise EncoderError(
                f"{self.uri}: made with the encoder {facts.encoder} ({facts.fingerprint}), not with "
                f"{encoder.name} ({encoder.fingerprint}); a sea has one encoder: make another with "
                f"`seasync sea reencode --to NEW.sea --encoder {encoder.name}`"
            )
        return encoder

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
        partial: Partial | None = None,
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
            What ranks the candidates, lowest first: ``"order"``, the default of MOTION (see
            `seasync.ranking`); ``"product"``, (1 − similarity)·DRAQ; ``"draq"``, the default of PAPER;
            ``"dtw"``, the cost of the path; ``"none"``, similarity.
        candidates
            How many candidates the clip vectors propose, at least `k`. Default: 25 (PAPER: 10).
        max_draq
            Leave out matches with a higher DRAQ.
        partial
            Whether parts of the clips may stay unmatched: ``"auto"``, ``"never"`` or ``"always"``. Unmatched
            parts of the query count against a match. Unless ``"never"``, a clip of a longer film may
            be extended to the stretch around it that fits better. Default: the recipe's, ``"auto"``.
        consensus
            Let the matches correct each other's alignments. Order and scores stay the same. Default: the
            recipe's; with MOTION, unless the clips are so long that it would slow the search down.
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
        recipe = recipe.asked(partial=partial, consensus=consensus)
        options = SearchOptions(k, recipe, rerank, candidates, max_draq)
        return self._search([query], options, (start, end), where, label)[0]

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
        partial: Partial | None = None,
        consensus: bool | None = None,
        label: str | None = None,
        where: str | None = None,
    ) -> list[Matches]:
        """Search for several queries at once; faster than one after the other. See `search`."""
        recipe = recipe.asked(partial=partial, consensus=consensus)
        options = SearchOptions(k, recipe, rerank, candidates, max_draq)
        return self._search(queries, options, (start, end), where, label)

    def _search(
        self,
        queries: Sequence[Asked],
        options: SearchOptions,
        span: tuple[float | None, float | None],
        where: str | None,
        label: str | None,
    ) -> list[Matches]:
        snapshot = self.record.snapshot()
        condition = snapshot.condition(where, label)
        asked = [resolve(snapshot, query, self._encode, *span) for query in queries]
        found = retrieve(snapshot, asked, options, condition)

        def answer_one(query: Query, found: index.Found) -> Matches:
            # The cost matrices of many answers would fill the memory.
            return answer(snapshot, query, found, self._encode, options, keep_costs=len(asked) == 1)

        if len(asked) == 1:
            return [answer_one(asked[0], found[0])]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            return list(pool.map(answer_one, asked, found))

    def oracle(
        self,
        query: Asked,
        *,
        k: int = 10,
        recipe: Recipe = MOTION,
        rerank: Rerank | None = None,
        candidates: int | None = None,
        partial: Partial | None = None,
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
        rows = snapshot.table([], snapshot.condition(None, label))["_rowid"].to_numpy()
        rows = np.random.default_rng(seed).permutation(rows[~np.isin(rows, asked.own)])
        rows = rows[: max(k, candidates or 0)]
        similarity = snapshot.similarities(asked.encoding, rows, trajectory=recipe.trajectory)
        found = index.Found(rows, similarity, snapshot.vectors.of(snapshot, rows))
        options = SearchOptions(k, recipe.asked(partial=partial), rerank)
        return answer(snapshot, asked, found, self._encode, options)

    def query(self, asked: Asked) -> Query:
        """Look up or encode what you would search for: its encoding, its clip, and where that ends."""
        return resolve(self.record.snapshot(), asked, self._encode)

    def add(
        self,
        *paths: Place,
        split: str | float = "none",
        labels: Place | None = None,
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
        """Add videos. Clips that the sea already has, by content and span, are not encoded again.

        You can interrupt `add` at any time and call it again: it continues after the last commit.

        Parameters
        ----------
        paths
            Files, folders, patterns, and lists (.csv, .tsv) of videos; see `seasync.sea.sources`.
        split
            How to split long videos: ``"none"``, ``"shots"``, ``"reps"`` (a clip per repetition; a
            video in which nothing repeats stays whole), or a length in seconds.
        labels
            ``"folder"`` (the name of a video's folder), or a list with the columns file and label.
        tags
            Tags for all of these clips.
        fps
            Sampled frames per second. One sea has one rate. Default: the encoder's own.
        frame_features
            Whether to keep frame features. Clip vectors alone take a hundredth of the space, but each
            search then encodes its candidates again.
        jobs
            Processes that encode. 1 uses all cores for one clip at a time.
        on
            A Ray cluster to run on; it decides how many processes encode.
        progress
            Called after every clip with the counts so far.
        wait
            Whether to wait while another process writes to this sea; `waiting` is called once if so.
        commit_seconds
            Seconds between two commits.

        Returns
        -------
        Added
            The counts. Files that cannot be read are in its `failed`.

        Raises
        ------
        SeaError
            If an argument is wrong, or another process is writing and `wait` is false.
        """
        sources = find_videos(paths, labels=labels, tags=tags)
        if (jobs > 1 or on) and not isinstance(self._encoder, str | None):
            raise SeaError("jobs: several processes need the encoder by its name, not as an object")
        how = ingest.AddOptions(split, fps, frame_features, jobs, on, commit_seconds, progress, wait, waiting)
        return ingest.add(self.record, sources, self.encoder(), how)

    def calibrate(self, recipe: Recipe = MOTION, *, seed: int = 0) -> dict[CurveOf, Calibration]:
        """Fit alignability to this sea's labels, of two clips and of what a search finds; keep it in the sea.

        Raises
        ------
        SeaError
            If fewer than 20 clips with frame features have a label, or all have the same.
        """
        with self.record.writing():
            snapshot = self.record.snapshot()

            def search(ids: Sequence[str], where: str) -> list[Matches]:
                return self.search_many(ids, k=1, recipe=recipe, where=where)

            fitted = calibration.fit(snapshot, recipe, search, seed=seed)
            self.record.put_metadata(calibration.with_calibration(snapshot, recipe, fitted))
        return fitted

    def confirm(self, match: Match, *, same: bool | None, wait: bool = True) -> float | None:
        """Say whether a match shows the query's movement; this moves the likelihoods of the sea's searches.

        Parameters
        ----------
        match : Match
            Found by a search of this sea.
        same : bool, optional
            What is true. None takes an earlier answer back.
        wait : bool
            Wait while another process is writing.

        Returns
        -------
        float, optional
            The likelihood of this match from now on, if it is known.

        Raises
        ------
        SeaError
            If the query was an encoding, which has no name to keep.

        Examples
        --------
        >>> sea = seasync.Sea("footage.sea")
        >>> match = sea.search("query.mp4", k=1)[0]
        >>> likelihood = sea.confirm(match, same=True)
        >>> sea.confirm(match, same=None) == match.alignability  # taken back
        True
        """
        clip, recipe, product = match.part or match.clip, match.fit.recipe, match.fit.product
        if match.query_name is None or clip.id is None or product is None:
            raise SeaError(f"{clip.name}: expected a match of a search for a file or a clip of the sea")
        answer = calibration.Answer(match.query_name, clip.id, bool(same), product, recipe.fingerprint)
        with self.record.writing(wait=wait):
            changed = calibration.with_answer(self.record.snapshot(), answer, kept=same is not None)
            self.record.put_metadata(changed)
            curve = calibration.calibration_of(self.record.snapshot(), recipe, "search")
        return likelihood(product, curve)

    def clips(
        self, where: str | None = None, *, label: str | None = None, limit: int | None = None
    ) -> list[Clip]:
        """List the clips in the order they were added; `where` and `label` as in `search`."""
        snapshot = self.record.snapshot()
        return snapshot.clips(snapshot.condition(where, label), limit=limit)

    def entries(
        self, where: str | None = None, *, label: str | None = None, limit: int | None = None
    ) -> list[ClipEntry]:
        """As `clips`, with all that the sea keeps of each: tags, duration, damage and more."""
        snapshot = self.record.snapshot()
        return snapshot.entries(snapshot.condition(where, label), limit=limit)

    def info(self) -> dict[str, Any]:
        """Describe the sea: clips, hours, bytes, encoder, index and more."""
        return maintenance.info(self.record)

    def verify(
        self, *, files: bool = True, seal: bool = False, progress: Callable[[int, int], None] | None = None
    ) -> list[SeaProblem]:
        """Read every row, compare it with its checksums and, with `files`, read every video file.

        Parameters
        ----------
        files
            Whether to check that the videos exist and are unchanged.
        seal
            Whether to write checksums for clips without problems that have none yet: those that an earlier
            version of Seasync added.
        progress
            Called with the number of clips checked, and of all clips.

        Returns
        -------
        list of SeaProblem
            What is wrong; empty if all is well.
        """
        return maintenance.verify(self.record, files=files, seal_too=seal, progress=progress)

    def remove(
        self,
        *,
        clips: Sequence[str] = (),
        files: Sequence[Place] = (),
        labels: Sequence[str] = (),
        wait: bool = True,
    ) -> int:
        """Remove clips. The videos themselves are not touched.

        Parameters
        ----------
        clips
            Ids, or their first 8 digits or more.
        files
            Videos: all of their clips.
        labels
            Labels: all clips that have them.
        wait
            Whether to wait while another process writes to this sea.

        Returns
        -------
        int
            How many clips were removed.
        """
        return maintenance.remove(self.record, clips=clips, files=files, labels=labels, wait=wait)

    def relocate(self, root: Place, *, old: Place | None = None) -> int:
        """Tell the sea that its videos have moved.

        Parameters
        ----------
        root
            The folder (or URI) where they are now.
        old
            The folder where they were. Default: the deepest folder that contains all of the sea's videos.

        Returns
        -------
        int
            How many videos are found at their new place.

        Raises
        ------
        SeaError
            If none of them is found there, or some are still at the old place only.
        """
        return maintenance.relocate(self.record, root, old=old)

    def rebuild(self, kind: IndexKind = "auto", *, on: Cluster | None = None) -> None:
        """Build the search index again.

        Parameters
        ----------
        kind
            ``"auto"`` (none for up to 50,000 clips), ``"exact"`` (none), ``"ivf_rq"`` or ``"ivf_pq"``.
        on
            A Ray cluster to run on.
        """
        with self.record.writing(alone=True):
            index.build(self.record, kind, on)

    def sweep(self) -> int:
        """Delete files that no version of the sea uses, such as those of an `add` that was killed.

        Returns
        -------
        int
            How many bytes were deleted.

        Raises
        ------
        Busy
            If another process is writing.
        """
        return maintenance.sweep(self.record)

    def _encode_here(self, clip: Clip, *, content: str | None = None) -> tuple[Encoding, float]:
        return encode_clip(clip, self.encoder(), fps=self.fps, content=content), end_of(clip)
