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
        self,
        sea: str,
        alignment: AlignmentRequest,
        videos: Mapping[Side, str],
        *,
        name: str | None,
        grid: bool = False,
    ) -> Comparison:
        """Keep a comparison. The same request again in the same sea is the same comparison."""
        text = alignment.model_dump_json()
        same = "SELECT * FROM comparisons WHERE sea = ? AND alignment = ? AND grid = ?"
        rows = self._state(same, sea, text, int(grid))
        if rows:
            return self.update(rows[0]["id"], name=name)
        now = time.time()
        comparison = secrets.token_hex(16)
        others = f"{1 + len(alignment.takes)} takes" if grid else _shortened(videos["match"])
        default = f"{_shortened(videos['query'])} and {others}"
        row = {"id": comparison, "sea": sea, "videos": json.dumps(videos), "created": now, "changed": now}
        self._put(row | {"name": name or default, "grid": int(grid)}, alignment)
        return self.get(comparison)

    def get(self, comparison: str) -> Comparison:
        """The comparison with this id, or ServeError."""
        return _model(self._row(comparison))

    def all(self) -> list[Comparison]:
        """All comparisons, the most recently changed first."""
        return [_model(row) for row in self._state("SELECT * FROM comparisons ORDER BY changed DESC")]

    def update(
        self,
        comparison: str,
        *,
        name: str | None = None,
        alignment: AlignmentRequest | None = None,
        videos: Mapping[Side, str] | None = None,
    ) -> Comparison:
        """Change the name of a comparison, or its alignment and the names of the videos."""
        row = dict(self._row(comparison))
        known = AlignmentRequest.model_validate_json(row["alignment"])
        if videos is not None:
            row["videos"] = json.dumps(videos)
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
        grid=bool(row["grid"]),
        videos=json.loads(row["videos"]),
        created=row["created"],
        changed=row["changed"],
    )
