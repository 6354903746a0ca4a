"""Clips of a sea with their stored features, for work on many of them at once; videos are not opened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from seasync.clip import Clip
from seasync.encoding import Encoding, Seconds
from seasync.errors import SeaError
from seasync.sea.index import RowIds
from seasync.sea.rows import CLIP_COLUMNS
from seasync.sea.search import condition
from seasync.sea.snapshot import Snapshot, all_of

WITH_FEATURES = "found_0 IS NOT NULL"


@dataclass(frozen=True, eq=False)
class StoredClips:
    """Clips that keep frame features, in the order they were added.

    Attributes
    ----------
    clips : tuple of Clip
    ends : ndarray [shape=(N,)]
        When each clip's last frame ends, in seconds of its file.
    tags : tuple of tuple of str
    without_features : tuple of Clip
        Clips that keep only their clip vector.
    """

    snapshot: Snapshot
    clips: tuple[Clip, ...]
    ends: Seconds
    tags: tuple[tuple[str, ...], ...]
    without_features: tuple[Clip, ...]
    _rows: RowIds

    @classmethod
    def of(cls, snapshot: Snapshot, *, label: str | None = None, where: str | None = None) -> StoredClips:
        """The clips of a snapshot that have this label and fulfil this condition."""
        asked = condition(snapshot, where, label)
        table = snapshot.table([*CLIP_COLUMNS, "tags"], all_of(asked, WITH_FEATURES))
        clips = tuple(snapshot.clips_of(table))
        without = tuple(snapshot.clips(all_of(asked, f"NOT ({WITH_FEATURES})")))
        ends = np.array([clip.start for clip in clips]) + table["duration"].to_numpy()
        tags = tuple(tuple(row or ()) for row in table["tags"].to_pylist())
        return cls(snapshot, clips, ends, tags, without, table["_rowid"].to_numpy())

    def __len__(self) -> int:
        return len(self.clips)

    def encodings(self, numbers: Sequence[int]) -> list[Encoding]:
        """The encodings of clips by their numbers."""
        found = self.snapshot.encodings(self._rows[np.asarray(numbers, np.int64)])
        known = [encoding for encoding in found if encoding is not None]
        if len(known) != len(found):
            raise SeaError(
                f"{self.snapshot.dataset.uri}: frame features are missing; run `seasync sea verify`"
            )
        return known
