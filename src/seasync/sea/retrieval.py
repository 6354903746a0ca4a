"""From a query to its candidates: the nearest clip vectors, and their encodings."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from seasync.encoding import Encoding
from seasync.errors import VideoError
from seasync.sea.found import Found
from seasync.sea.query import Encode, Query
from seasync.sea.rows import CLIP_COLUMNS
from seasync.sea.snapshot import Snapshot, all_of, quoted
from seasync.similarity import query_vector


def retrieve(
    snapshot: Snapshot, queries: Sequence[Query], k: int, where: str | None, *, trajectory: bool
) -> list[Found]:
    """The k nearest clip vectors to each query, without the query's own footage."""
    vectors = snapshot.vectors
    asked = [query_vector(query.encoding, vectors.standard, trajectory=trajectory) for query in queries]
    extra = max((len(query.own) for query in queries), default=0)
    nearest = vectors.nearest(snapshot, np.stack(asked), k + extra, where) if queries else []
    return [
        found.only(np.flatnonzero(~np.isin(found.rows, query.own))[:k])
        for query, found in zip(queries, nearest, strict=True)
    ]


def with_encodings(snapshot: Snapshot, found: Found, encode: Encode) -> tuple[Found, Sequence[Encoding]]:
    """What was found, with encodings; clips that must be encoded again and cannot be are left out."""
    rows = found.rows
    batch = snapshot.encoding_batch(rows)
    if batch is not None:
        return found, batch
    encodings = snapshot.encodings(rows, vectors=False, half=True)
    missing = [n for n, encoding in enumerate(encodings) if encoding is None]
    clips = snapshot.clips_of(snapshot.take(rows[missing], CLIP_COLUMNS)) if missing else []
    for n, clip in zip(missing, clips, strict=True):
        try:
            encodings[n], _ = encode(clip)
        except VideoError as error:
            warnings.warn(f"a candidate is left out: {error}", stacklevel=2)
    there = np.array([encoding is not None for encoding in encodings], bool)
    found = found if there.all() else found.only(there)
    return found, [encoding for encoding in encodings if encoding is not None]


def condition(snapshot: Snapshot, where: str | None, label: str | None) -> str | None:
    """Both as one condition, checked before time is spent on the query."""
    if where is not None:
        snapshot.expect_condition(where)
    return all_of(where, labelled(label))


def labelled(label: str | None) -> str | None:
    """The condition that a clip has this label."""
    return None if label is None else f"label = {quoted(label)}"
