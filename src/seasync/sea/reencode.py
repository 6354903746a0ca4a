"""Write the clips of a sea to another sea, encoded again."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from seasync.clip import Clip
from seasync.encoding import Encoding
from seasync.errors import SeaError, VideoError
from seasync.sea.rows import ENTRY_COLUMNS, Row, SeaFacts

if TYPE_CHECKING:
    from seasync.sea.clip_library import ClipLibrary

Encode = Callable[[Clip, Encoding | None], Encoding]
ROWS = 256  # clips that are written at a time
OFTEN = 16  # … where each takes a while


def reencode(
    source: ClipLibrary,
    target: ClipLibrary,
    encode: Encode,
    *,
    condition: str | None = None,
    rows: int = ROWS,
    progress: Callable[[int, int], None] | None = None,
) -> list[str]:
    """Write the clips of `source` to `target`, encoded by `encode`.

    Clips that `target` already has are left alone, so an interrupted call can be repeated. It commits after
    every `rows` clips. `source` does not change.

    Parameters
    ----------
    encode : callable
        From a clip and what the old sea holds of it (None without frame features) to its new encoding.
    condition : str, optional
        Which clips, in SQL; default: all.
    progress : callable, optional
        Called with the clips done and all that are to be done.

    Returns
    -------
    list of str
        Why clips were left out: their files cannot be read.
    """
    snapshot = source.record.snapshot()
    wanted = snapshot.table(["id"], condition)
    there = set(target.record.snapshot().table(["id"])["id"].to_pylist()) if target.exists() else set()
    missing = [
        row
        for row, name in zip(*(wanted[c].to_pylist() for c in ("_rowid", "id")), strict=True)
        if name not in there
    ]
    new, failures = target.encoder(), list[str]()
    with target.record.writing():
        for start in range(0, len(missing), rows):
            chosen = missing[start : start + rows]
            entries = snapshot.entries_of(snapshot.take(chosen, ENTRY_COLUMNS))
            written = list[Row]()
            for entry, held in zip(entries, snapshot.encodings(chosen), strict=True):
                if progress:
                    progress(start + len(written), len(missing))
                try:
                    written.append(Row(entry, encode(entry.clip, held)))
                except VideoError as error:
                    failures.append(str(error))
            if written:
                facts = SeaFacts.of(new.name, snapshot.facts.fps, written[0].encoding)
                target.record.append(written, facts)
    return failures


def reencode_from_videos(
    source: ClipLibrary, target: ClipLibrary, *, progress: Callable[[int, int], None] | None = None
) -> list[str]:
    """Write the clips of `source` to `target`, read from their videos and encoded by `target`'s encoder.

    Raises
    ------
    SeaError
        If both have the same encoder: there is nothing to do.
    """
    from seasync.encoders import encode_clip

    encoder, fps = target.encoder(), source.fps
    if encoder.fingerprint == source.record.snapshot().facts.fingerprint:
        raise SeaError(f"{source.uri}: is already encoded by {encoder.name}; name another encoder")
    return reencode(
        source, target, lambda clip, _: encode_clip(clip, encoder, fps=fps), rows=OFTEN, progress=progress
    )
