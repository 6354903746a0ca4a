"""Single alignments that the query's other matches correct, as in a search."""

from __future__ import annotations

from typing import Any

import pytest

from seasync.search import Sea
from tests.serve.conftest import Server

AT = "/api/v1/seas/small/alignment"


def path(server: Server, **asked: Any) -> list[list[float]]:
    answer = server.client.get(AT, params=asked)
    assert answer.status_code == 200, answer.text
    found: list[list[float]] = answer.json()["path"]
    return found


@pytest.fixture
def corrected(server: Server) -> dict[str, Any]:
    """A pair whose alignment the other matches change, and its path in a search."""
    sea = Sea(server.sea)
    for query in sea.record.snapshot().clips(limit=100):
        alone = {match.clip.id: match.alignment.path for match in sea.search(query, consensus=False)}
        for match in sea.search(query, consensus=True):
            if match.part is None and match.alignment.path.tolist() != alone[match.clip.id].tolist():
                return {
                    "query": f"clip:{query.id}",
                    "match": f"clip:{match.clip.id}",
                    "search": match.alignment.to_json()["path"],
                }
    raise AssertionError("no alignment of the small sea is changed by others")


def test_consensus_gives_the_path_that_a_search_finds(server: Server, corrected: dict[str, Any]) -> None:
    found = corrected.pop("search")
    assert path(server, **corrected, consensus=True) == [list(row) for row in found]
    assert path(server, **corrected) != [list(row) for row in found]


def test_anchors_and_any_order_go_before_consensus(server: Server, corrected: dict[str, Any]) -> None:
    del corrected["search"]
    for how in ({"anchor": "0.5=0.5"}, {"order": "any", "partial": "always"}):
        assert path(server, **corrected, **how, consensus=True) == path(server, **corrected, **how)


def test_two_uploads_are_aligned_as_without_consensus(server: Server, films: Any) -> None:
    refs = [server.upload(films / "right" / f"{name}.mp4").json()["ref"] for name in "ab"]
    pair = {"query": refs[0], "match": refs[1]}
    assert path(server, **pair, consensus=True) == path(server, **pair)
