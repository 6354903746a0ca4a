"""What is searched for: a file, a span of one, a clip of the sea itself, or an encoding."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from seasync.clip import Clip
from seasync.encoders import content_hash
from seasync.encoding import Encoding
from seasync.errors import EncoderError, SeaError, VideoError
from seasync.files import Place, fetch
from seasync.sea.rows import ID_DIGITS, clip_id

if TYPE_CHECKING:
    from seasync.sea.found import RowIds
    from seasync.sea.snapshot import Snapshot


@dataclass(frozen=True, eq=False)
class Query:
    """An encoding to search for, and where it is from.

    Attributes
    ----------
    own
        Row ids of the clips that show the same footage; they are not answers.
    end
        When the clip's last frame ends, in seconds of its file.
    content
        Hash of the bytes of the clip's file, where the clip was not named by its id.
    """

    encoding: Encoding
    clip: Clip | None
    own: RowIds
    end: float = math.inf
    content: str | None = None


Asked = Clip | Encoding | Query | Place


class Encode(Protocol):
    """Encodes a clip that the sea does not hold."""

    def __call__(self, clip: Clip, *, content: str | None = None) -> tuple[Encoding, float]:
        """The clip's encoding, and the second of its file at which its last frame ends.

        `content` is the hash of the file's bytes, where it is known already.
        """
        ...


def resolve(
    snapshot: Snapshot, asked: Asked, encode: Encode, *, start: float | None = None, end: float | None = None
) -> Query:
    """Encode what is asked for, unless the sea has that very clip; find its own footage in the sea.

    `asked` is a video file or a span of one; a clip of the sea, by its id or the first 8 digits or more of
    it; an encoding by the sea's encoder; or a query that was resolved before, which is not encoded again.
    `start` and `end` narrow a file or a clip, in seconds of the file.
    """
    narrowed = start is not None or end is not None
    if narrowed and isinstance(asked, Encoding | Query):
        raise SeaError("start, end: an encoding is searched for whole; encode the span instead")
    if isinstance(asked, Encoding):
        asked = Query(asked, None, np.empty(0, np.uint64))
    if isinstance(asked, Query):
        return _again(snapshot, asked)
    clip = asked if isinstance(asked, Clip) else _named(snapshot, str(asked))
    if narrowed:
        clip = Clip.of(clip, start, end)
    if clip.id is None and not fetch(clip.file).exists():
        raise VideoError(f"{clip.file}: no such file, nor a clip of this sea by its id")
    return _look_up(snapshot, clip, None if clip.id else content_hash(clip.file), encode)


def _again(snapshot: Snapshot, query: Query) -> Query:
    """The same query on a sea that may have changed since: its own footage is looked up again."""
    if query.encoding.encoder != snapshot.facts.fingerprint:
        raise EncoderError(
            f"the query is encoded by {query.encoding.encoder}, the sea by {snapshot.facts.fingerprint}; "
            "use the encoder of the sea"
        )
    if query.clip is None:
        return query
    clip = replace(query.clip, id=None) if query.content else query.clip
    return _look_up(snapshot, clip, query.content, lambda clip, *, content=None: (query.encoding, query.end))


def _look_up(snapshot: Snapshot, clip: Clip, content: str | None, encode: Encode) -> Query:
    """Find a clip, by its id or by the hash of its file, and its own footage; encode what is not there."""
    known = snapshot.clip_table
    table = (
        known.equal(snapshot, "id", clip.id) if clip.id else known.equal(snapshot, "content", str(content))
    )
    if clip.id is not None:
        if not len(table):
            raise SeaError(f"{snapshot.dataset.uri}: no clip has the id {clip.id}")
        (clip,) = snapshot.clips_of(table)
        table = known.equal(snapshot, "content", table["content"][0].as_py())
    elif len(table):
        this = clip_id(table["content"][0].as_py(), clip.start, clip.end)
        clip = replace(clip, id=this if this in table["id"].to_pylist() else None)
    rows = table["_rowid"].to_numpy()
    start, length = table["start"].to_numpy(), table["duration"].to_numpy()
    until = np.inf if clip.end is None else clip.end
    overlapping = rows[(start < until) & (start + length > clip.start)]
    if clip.id is None:
        encoding, end = encode(clip, content=content)
        return Query(encoding, clip, overlapping, end, content)
    this = table["id"].to_numpy() == clip.id
    (kept,) = snapshot.encodings(rows[this])
    encoding = kept or encode(clip)[0]
    return Query(encoding, clip, overlapping, float((start + length)[this][0]), content)


def _named(snapshot: Snapshot, name: str) -> Clip:
    if Path(name).exists() or not re.fullmatch("[0-9a-f]{8,32}", name):
        return Clip(name)
    if len(name) == ID_DIGITS:
        found = snapshot.clips_of(snapshot.clip_table.equal(snapshot, "id", name))
    else:
        found = snapshot.clips(f"starts_with(id, '{name}')", limit=2)
    if len(found) > 1:
        raise SeaError(f"{name}: several clips have an id that begins with this; give more digits")
    return found[0] if found else Clip(name)
