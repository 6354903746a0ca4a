"""An alignment is solved once; everything made from it gets the solved one."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from seasync.alignment import Alignment, align_encodings
from seasync.encoding import Encoding
from seasync.errors import ServeError
from seasync.serve.solver import size_of
from seasync.serve.worker import Recent
from tests.encoders.models import colour_grid
from tests.serve.conftest import Server, running
from tests.serve.films import film, pace

API = "/api/v1/seas/small"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """The encoder's file, which a test may take away."""
    return colour_grid(tmp_path / "model.onnx")


def test_what_is_made_from_an_alignment_neither_encodes_nor_solves_again(
    tmp_path: Path, films: Path, model: Path
) -> None:
    """Once the alignment is known the encoder is gone: whoever encodes or solves again fails."""
    with running(tmp_path / "small.sea", tmp_path / "state", f"onnx:{model}", roots=[films]) as server:
        paths = {"paths": [str(films / "right" / "a.mp4")]}
        assert server.wait(server.client.post(f"{API}/add", json=paths).json())["state"] == "done"
        query, match = (
            server.upload(film(tmp_path / f"{n}.mp4", pace(40 + n, bend=0.2), action="right")).json()["ref"]
            for n in range(2)
        )
        pair = {"query": query, "match": match}
        mark = [{"kind": "moment", "name": "top", "frame": 9, "seconds": 0.3}]
        server.client.put(f"{API}/marks/{query}", json=mark)
        assert server.client.get(f"{API}/alignment", params=pair).status_code == 200
        model.unlink()
        for made in ("picture.png", "timeline.otio", "timeline.mlt", "marks.csv", "cost.png"):
            answer = server.client.get(f"{API}/alignment/{made}", params=pair)
            assert answer.status_code == 200, (made, answer.text)
        job = server.client.post(f"{API}/alignment/film", json={"alignment": pair}).json()
        assert server.wait(job)["state"] == "done"
        unknown = server.client.get(f"{API}/alignment", params=pair | {"start": 0.2})
        assert unknown.status_code == 422  # so the encoder really is gone


def test_videos_for_a_comparison_are_encoded_before_it_is_asked_for(
    tmp_path: Path, encoder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEASYNC_CACHE", str(tmp_path / "cache"))

    def encoded() -> set[Path]:
        return set((tmp_path / "cache").rglob("*.npz"))

    with running(tmp_path / "small.sea", tmp_path / "state", encoder) as server:
        refs = []
        for n in range(2):
            data = film(tmp_path / f"{n}.mp4", pace(40 + n, bend=0.2), action="right").read_bytes()
            asked = {"name": f"{n}.mp4", "compare": True}
            refs.append(server.client.post("/api/v1/uploads", params=asked, content=data).json()["ref"])
        last = server.backend.solver.encode_ahead(server.backend.sea("-"), refs[1])
        last.result()  # one comes after the other: the first video is encoded, too
        before = encoded()
        assert len(before) == 2
        pair = {"query": refs[0], "match": refs[1]}
        assert server.client.get("/api/v1/seas/-/alignment", params=pair).status_code == 200
        assert encoded() == before


@pytest.fixture
def solved(encoding: Callable[[int], Encoding]) -> Callable[[int], Alignment]:
    return lambda length: align_encodings(encoding(length), encoding(length))


@pytest.fixture
def encoding(films: Path, encoder: str) -> Callable[[int], Encoding]:
    from seasync.clip import Clip
    from seasync.encoders import encode_clip, get_encoder

    return lambda n: encode_clip(Clip(str(films / "right" / "a.mp4"), end=0.2 * n), get_encoder(encoder))


def test_remembered_alignments_are_bounded(solved: Callable[[int], Alignment]) -> None:
    alignments = {n: solved(n) for n in (4, 6, 8)}
    assert all(one.cost is not None for one in alignments.values())
    room = sum(100 * len(one.path) + one.cost.nbytes for one in alignments.values())  # type: ignore[union-attr]
    cache = Recent[Alignment](room - 1, size_of)
    for n, alignment in alignments.items():
        cache.put(("sea", n, ""), alignment)
    assert cache.get(("sea", 4, "")) is None
    assert cache.get(("sea", 6, "")) is alignments[6]
    tiny = Recent[Alignment](1, size_of)
    tiny.put(("sea", 8, ""), alignments[8])
    assert tiny.get(("sea", 8, "")) is alignments[8]  # the newest stays, however large


def test_requests_of_one_server_share_it(server: Server) -> None:
    pair = {"query": server.clip("right/a"), "match": server.clip("right/b")}
    backend = server.backend
    from seasync.serve.models import AlignmentRequest

    sea, request = backend.sea("small"), AlignmentRequest(**pair)
    assert backend.solver.solve(sea, request) is backend.solver.solve(sea, request)
    for_files = backend.solver.solve_for_files(sea, request)
    assert for_files.cost is None
    assert for_files.path is backend.solver.solve(sea, request).path
    assert backend.solver.solve_for_files(sea, request, cost=True).cost is not None


@pytest.mark.parametrize("detail", ["full", "coarse"])
def test_equal_requests_at_the_same_time_solve_once(server: Server, detail: str) -> None:
    from seasync.serve.models import AlignmentQuery

    sea = server.backend.sea("small")
    pair = {"query": server.clip("right/a"), "match": server.clip("right/c"), "consensus": True}
    request = AlignmentQuery(**pair, start=0.1 if detail == "full" else 0.12, detail=detail)
    together = Barrier(4)

    def solve(number: int) -> Alignment:
        together.wait()
        return server.backend.solver.solve_soon(sea, request)[0]

    with ThreadPoolExecutor(4) as threads:
        first, *others = threads.map(solve, range(4))
    assert all(one is first for one in others)


def test_an_error_is_not_remembered(solved: Callable[[int], Alignment]) -> None:
    from seasync.serve.solver import SingleFlight

    def fail() -> Alignment:
        raise ServeError("no such clip")

    flights, alignment = SingleFlight(), solved(4)
    with pytest.raises(ServeError, match="no such clip"):
        flights.call("key", fail)
    assert flights.call("key", lambda: alignment) is alignment
