"""Comparisons that people keep, in the state folder of the server."""

from __future__ import annotations

import json
import secrets
import sqlite3
import time
from collections.abc import Mapping

from seasync.errors import ServeError
from seasync.options import Side
from seasync.serve.models import AlignmentRequest, Comparison
from seasync.serve.state_folder import StateFolder

LONGEST_NAME = 57


class ComparisonStore:
    """The comparisons of a server. Uploads that a comparison uses do not expire."""

    def __init__(self, state: StateFolder) -> None:
        self._state = state

    def add(
        self, sea: str, alignment: AlignmentRequest, videos: Mapping[Side, str], *, name: str | None
    ) -> Comparison:
        """Keep a comparison. The same request again in the same sea is the same comparison."""
        text = alignment.model_dump_json()
        rows = self._state("SELECT * FROM comparisons WHERE sea = ? AND alignment = ?", sea, text)
        if rows:
            return self.update(rows[0]["id"], name=name)
        now = time.time()
        comparison = secrets.token_hex(16)
        row = {"id": comparison, "sea": sea, "videos": json.dumps(videos), "created": now, "changed": now}
        default = " and ".join(_shortened(videos[side]) for side in ("query", "match"))
        self._put(row | {"name": name or default}, alignment)
        return self.get(comparison)

    def get(self, comparison: str) -> Comparison:
        """The comparison with this id, or ServeError."""
        return _model(self._row(comparison))

    def all(self) -> list[Comparison]:
        """All comparisons, the most recently changed first."""
        return [_model(row) for row in self._state("SELECT * FROM comparisons ORDER BY changed DESC")]

    def update(
        self, comparison: str, *, name: str | None = None, alignment: AlignmentRequest | None = None
    ) -> Comparison:
        """Change the name or the alignment of a comparison."""
        row = dict(self._row(comparison))
        known = AlignmentRequest.model_validate_json(row["alignment"])
        if alignment and (alignment.query, alignment.match) == (known.match, known.query) != (
            known.query,
            known.match,
        ):
            videos = json.loads(row["videos"])
            row["videos"] = json.dumps({"query": videos["match"], "match": videos["query"]})
        self._put(row | {"name": name or row["name"], "changed": time.time()}, alignment or known)
        return self.get(comparison)

    def remove(self, comparison: str) -> None:
        """Forget a comparison. Its uploads expire like others from now on."""
        self._row(comparison)
        self._state("DELETE FROM comparisons WHERE id = ?", comparison)

    def uses(self, upload: str) -> bool:
        """Whether a comparison uses this upload."""
        text = f"%upload:{upload}%"  # as query, match, or one of the takes that correct them
        return bool(self._state("SELECT id FROM comparisons WHERE alignment LIKE ?", text))

    def _row(self, comparison: str) -> sqlite3.Row:
        rows = self._state("SELECT * FROM comparisons WHERE id = ?", comparison)
        if not rows:
            raise ServeError(f"{comparison}: no such comparison", status=404)
        return rows[0]

    def _put(self, row: dict[str, object], alignment: AlignmentRequest) -> None:
        refs = {"query": alignment.query, "match": alignment.match}
        self._state.put("comparisons", row | refs | {"alignment": alignment.model_dump_json()})


def _shortened(name: str) -> str:
    """A file's name, if need be without its middle: two of them fit into the name of a comparison."""
    return name if len(name) <= LONGEST_NAME else f"{name[:40]}…{name[len(name) - LONGEST_NAME + 41 :]}"


def _model(row: sqlite3.Row) -> Comparison:
    return Comparison(
        id=row["id"],
        name=row["name"],
        sea=row["sea"],
        alignment=AlignmentRequest.model_validate_json(row["alignment"]),
        videos=json.loads(row["videos"]),
        created=row["created"],
        changed=row["changed"],
    )
