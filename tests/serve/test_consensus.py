"""Single alignments that the query's other matches correct, as in a search."""

from __future__ import annotations

from typing import Any

import pytest

from seasync.alignment.consensus import apply_consensus
from seasync.sea.sea import Sea
from seasync.serve.models import AlignmentRequest, SpanForm
from tests.serve.conftest import Server
from tests.serve.films import film, pace

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


@pytest.fixture
def takes(server: Server, films: Any, tmp_path: Any) -> list[str]:
    """A leader and four uploaded takes of the same movement, each with its own timing."""
    paces = [pace(60), *(pace(50 + 7 * n, bend=0.8 * (-1) ** n, wait=2 * n) for n in range(4))]
    files = [film(tmp_path / f"take {n}.mp4", one, action="arc", tint=9 * n) for n, one in enumerate(paces)]
    return [str(server.upload(file).json()["ref"]) for file in files]


def takes_path(server: Server, query: str, match: str, **asked: Any) -> list[list[float]]:
    params = {"query": query, "match": match, **asked}
    answer = server.client.get("/api/v1/seas/-/alignment", params=params)
    assert answer.status_code == 200, answer.text
    found: list[list[float]] = answer.json()["path"]
    return found


def test_takes_without_a_sea_correct_each_other_as_matches_of_a_search_do(
    server: Server, takes: list[str]
) -> None:
    backend = server.backend
    workspace = backend.sea("-")
    alone = [
        backend.solver.solve(workspace, AlignmentRequest(query=takes[0], match=ref)) for ref in takes[1:]
    ]
    clips = [backend.library.clip(workspace, SpanForm(ref=ref)) for ref in takes[1:]]
    matches = [workspace.query(clip, alone=True).encoding for clip in clips]
    leader, *followers = takes
    changed = 0
    for ref, corrected in zip(followers, apply_consensus(alone, matches), strict=True):
        expected = [list(row) for row in corrected.to_json()["path"]]
        plain = takes_path(server, leader, ref)
        others = [other for other in followers if other != ref]
        assert takes_path(server, leader, ref, consensus=True, takes=others) == expected
        assert takes_path(server, leader, ref, takes=others) == plain  # not asked for
        assert takes_path(server, leader, ref, consensus=True, takes=others[:1]) == plain  # too few
        changed += plain != expected
    assert changed


def test_a_missing_take_is_named(server: Server, takes: list[str]) -> None:
    gone = f"upload:{'0' * 32}"
    asked = {"query": takes[0], "match": takes[1], "consensus": True, "takes": [gone]}
    answer = server.client.get("/api/v1/seas/-/alignment", params=asked)
    assert (answer.status_code, gone in answer.json()["detail"]) == (404, True)
