"""Comparisons: two uploads in step without a sea; kept, named, saved to a file and opened elsewhere."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import pytest

from seasync.serve import Limits
from tests.serve.conftest import Server, running
from tests.serve.films import film, pace

API = "/api/v1/seas/-"
Start = Callable[..., Server]


@pytest.fixture
def empty(tmp_path: Path, start: Start) -> Server:
    """A server whose sea does not exist yet."""
    return start(tmp_path / "none.sea", state=tmp_path / "state")


@pytest.fixture
def takes(tmp_path: Path) -> list[Path]:
    """The same movement twice, at other speeds."""
    return [film(tmp_path / f"take {n}.mp4", pace(40 + 8 * n, bend=0.4 * n), action="right") for n in (1, 2)]


def compare(server: Server, takes: list[Path]) -> dict[str, str]:
    query, match = (server.upload(take).json()["ref"] for take in takes)
    return {"query": query, "match": match}


def test_two_uploads_are_aligned_without_a_sea(empty: Server, takes: list[Path]) -> None:
    pair = compare(empty, takes)
    full = empty.client.get(f"{API}/alignment", params=pair).json()
    assert (full["detail"], full["alignable"]) == ("full", True)
    for made in ("timeline.csv", "picture.png", "report"):
        assert empty.client.get(f"{API}/alignment/{made}", params=pair).status_code == 200, made
    job = empty.client.post(f"{API}/alignment/film", json={"alignment": pair}).json()
    assert empty.wait(job)["state"] == "done"
    assert empty.client.get("/api/v1").json()["seas"] == ["small"]  # the workspace is not one of the seas
    assert not empty.sea.exists()


def test_long_videos_get_a_coarse_answer_first(empty: Server, tmp_path: Path) -> None:
    long = [
        film(tmp_path / f"{n}.mp4", pace(80 + n), action="right", fps=Fraction(8)) for n in range(2)
    ]  # ten seconds
    pair = compare(empty, long)
    first, full, again = (
        empty.client.get(f"{API}/alignment", params=pair | {"detail": detail}).json()
        for detail in ("coarse", "full", "coarse")
    )
    assert [one["detail"] for one in (first, full, again)] == ["coarse", "full", "full"]  # it is known then
    assert first["axes"]["query"]["count"] < full["axes"]["query"]["count"]


def test_short_videos_get_the_full_answer_at_once(empty: Server, takes: list[Path]) -> None:
    pair = compare(empty, takes)
    answer = empty.client.get(f"{API}/alignment", params=pair | {"detail": "coarse"}).json()
    assert answer["detail"] == "full"


def test_two_spans_of_one_film_are_compared(empty: Server, tmp_path: Path) -> None:
    both = film(tmp_path / "both.mp4", [*pace(40), *pace(50, bend=0.4)], action="right")
    ref = empty.upload(both).json()["ref"]
    spans = {"end": 40 / 30, "match_start": 40 / 30}
    answer = empty.client.get(f"{API}/alignment", params={"query": ref, "match": ref, **spans}).json()
    assert answer["alignable"]
    assert answer["axes"]["match"]["start"] == pytest.approx(40 / 30, abs=0.1)


def test_a_comparison_is_kept_named_changed_and_forgotten(empty: Server, takes: list[Path]) -> None:
    pair = compare(empty, takes)
    kept = empty.client.post("/api/v1/comparisons", json={"alignment": pair})
    assert kept.status_code == 201
    known = kept.json()
    assert known["name"] == "take 1.mp4 and take 2.mp4"
    again = empty.client.post("/api/v1/comparisons", json={"alignment": pair}).json()
    assert again["id"] == known["id"]
    place = f"/api/v1/comparisons/{known['id']}"
    renamed = empty.client.patch(place, json={"name": "Before and after"}).json()
    assert (renamed["name"], renamed["alignment"]["query"]) == ("Before and after", pair["query"])
    moved = empty.client.patch(place, json={"alignment": pair | {"start": 0.2}}).json()
    assert (moved["name"], moved["alignment"]["start"]) == ("Before and after", 0.2)
    assert [one["id"] for one in empty.client.get("/api/v1/comparisons").json()] == [known["id"]]
    assert empty.client.delete(place).status_code == 204
    assert empty.client.get(place).status_code == 404
    missing = {"alignment": pair | {"match": f"upload:{'0' * 32}"}}
    assert empty.client.post("/api/v1/comparisons", json=missing).status_code == 404


def test_several_takes_are_kept_as_a_grid(empty: Server, takes: list[Path], tmp_path: Path) -> None:
    pair = compare(empty, takes)
    third = empty.upload(film(tmp_path / "take 3.mp4", pace(44), action="right")).json()["ref"]
    asked = {"alignment": pair | {"takes": [third], "consensus": True}, "grid": True}
    kept = empty.client.post("/api/v1/comparisons", json=asked).json()
    assert (kept["name"], kept["grid"]) == ("take 1.mp4 and 2 takes", True)
    assert empty.client.post("/api/v1/comparisons", json=asked).json()["id"] == kept["id"]
    two = empty.client.post("/api/v1/comparisons", json=asked | {"grid": False}).json()
    assert (two["id"] != kept["id"], two["grid"]) == (True, False)
    empty.client.delete(f"/api/v1/comparisons/{two['id']}")
    place = f"/api/v1/comparisons/{kept['id']}"
    led = {"query": third, "match": pair["query"], "takes": [pair["match"]]}  # another one leads
    changed = empty.client.patch(place, json={"alignment": led}).json()
    assert (changed["name"], changed["grid"]) == (kept["name"], True)
    assert changed["videos"] == {"query": "take 3.mp4", "match": "take 1.mp4"}
    for ref in (third, *pair.values()):
        assert empty.client.delete(f"/api/v1/uploads/{ref[7:]}").status_code == 409  # all are needed
    assert empty.client.get(f"{place}/file").status_code == 409


def test_uploads_of_a_comparison_do_not_expire(start: Start, tmp_path: Path, takes: list[Path]) -> None:
    first = start(tmp_path / "none.sea", state=tmp_path / "state")
    pair = compare(first, takes)
    other = first.upload(film(tmp_path / "other.mp4", pace(20), action="left")).json()["id"]
    kept = first.client.post("/api/v1/comparisons", json={"alignment": pair}).json()
    assert first.client.delete(f"/api/v1/uploads/{pair['query'][7:]}").status_code == 409
    first.client.__exit__(None, None, None)
    later = start(tmp_path / "none.sea", state=tmp_path / "state", limits=Limits(upload_hours=0.0))
    assert later.client.get(f"/api/v1/uploads/{other}").status_code == 404
    assert later.client.get(f"{API}/footage/{pair['query']}").status_code == 200
    later.client.delete(f"/api/v1/comparisons/{kept['id']}")
    later.upload(film(tmp_path / "third.mp4", pace(21), action="left"))  # which looks for room
    assert later.client.get(f"/api/v1/uploads/{pair['match'][7:]}").status_code == 404


def test_a_comparison_is_saved_to_a_file_and_opened_elsewhere(
    empty: Server, takes: list[Path], tmp_path: Path, encoder: str
) -> None:
    pair = compare(empty, takes)
    anchors = [{"query": 0.5, "match": 0.6}]
    marks = [{"kind": "moment", "name": "top", "frame": 20, "seconds": 20 / 30}]
    empty.client.put(f"{API}/anchors/{pair['query']}/{pair['match']}", json=anchors)
    empty.client.put(f"{API}/marks/{pair['match']}", json=marks)
    drawings = [{"kind": "line", "seconds": 0.5, "points": [[0.1, 0.2], [0.3, 0.4]], "always": True}]
    empty.client.put(f"{API}/drawings/{pair['query']}/{pair['match']}", json=drawings)
    known = empty.client.post("/api/v1/comparisons", json={"alignment": pair, "name": "My swing"}).json()
    file = empty.client.get(f"/api/v1/comparisons/{known['id']}/file")
    assert (
        "My%20swing.seasync" in file.headers["content-disposition"]
        or "My swing.seasync" in (file.headers["content-disposition"])
    )
    with zipfile.ZipFile(io.BytesIO(file.content)) as archive:
        assert sorted(archive.namelist()) == ["comparison.json", "videos/match.mp4", "videos/query.mp4"]
        manifest = json.loads(archive.read("comparison.json"))
        assert archive.read("videos/query.mp4") == takes[0].read_bytes()
    assert manifest["alignment"]["draq"] < 1
    with running(tmp_path / "far.sea", tmp_path / "far", encoder) as far:
        opened = far.client.post("/api/v1/comparisons/file", content=file.content)
        assert opened.status_code == 201, opened.text
        there = opened.json()
        assert there["name"] == "My swing"
        refs = there["alignment"]["query"], there["alignment"]["match"]
        assert far.client.get(f"{API}/anchors/{refs[0]}/{refs[1]}").json()["anchors"] == anchors
        assert far.client.get(f"{API}/marks/{refs[1]}").json()["marks"] == marks
        assert far.client.get(f"{API}/drawings/{refs[0]}/{refs[1]}").json()["drawings"] == drawings
        assert far.client.get(
            f"{API}/alignment", params={"query": refs[0], "match": refs[1], "anchor": "0.5=0.6"}
        ).is_success
        small = empty.client.get(f"/api/v1/comparisons/{known['id']}/file", params={"embed": False}).content
        assert len(small) < len(file.content) / 2
        assert far.client.post("/api/v1/comparisons/file", content=small).json()["id"] == there["id"]
    with running(tmp_path / "third.sea", tmp_path / "third", encoder) as third:
        refused = third.client.post("/api/v1/comparisons/file", content=small)
        assert refused.status_code == 409
        assert "upload take 1.mp4 and take 2.mp4 first" in refused.text
        assert third.files() == set()


def test_files_that_are_no_comparison_are_refused_and_nothing_stays(empty: Server) -> None:
    def packed(**entries: bytes) -> bytes:
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in entries.items():
                archive.writestr(name, data)
        return out.getvalue()

    video = {"name": "a.mp4", "content": "0" * 32, "entry": "v"}
    good = {
        "format": 1,
        "name": "x",
        "request": {},
        "videos": {"query": video, "match": video},
        "anchors": [],
        "marks": {},
    }
    hostile = {
        "text": b"not a zip",
        "no manifest": packed(other=b"{}"),
        "no json": packed(**{"comparison.json": b"{"}),
        "other fields": packed(**{"comparison.json": json.dumps(good | {"evil": 1}).encode()}),
        "newer": packed(**{"comparison.json": json.dumps(good | {"format": 99}).encode(), "v": b""}),
        "no video": packed(**{"comparison.json": json.dumps(good).encode(), "v": b"text"}),
        "entry missing": packed(**{"comparison.json": json.dumps(good).encode()}),
        "huge manifest": packed(**{"comparison.json": b" " * (1 << 25)}),
        "bomb": packed(**{"comparison.json": json.dumps(good).encode(), "v": b"\0" * (1 << 24)}),
    }
    for name, data in hostile.items():
        answer = empty.client.post("/api/v1/comparisons/file", content=data)
        assert answer.status_code in (409, 413, 422), (name, answer.text)
        assert empty.files() == set(), name
    assert empty.client.get("/api/v1/comparisons").json() == []


def test_videos_with_long_names_are_kept_and_saved(server: Server, films: Path, tmp_path: Path) -> None:
    refs = []
    for side in "ab":
        content = (films / "right" / f"{side}.mp4").read_bytes()
        answer = server.client.post("/api/v1/uploads", params={"name": f"{side * 200}.mp4"}, content=content)
        refs.append(answer.json()["ref"])
    kept = server.client.post("/api/v1/comparisons", json={"alignment": {"query": refs[0], "match": refs[1]}})
    name = kept.json()["name"]
    assert len(name) <= 120
    assert name.startswith("aaaa")
    assert "….mp4" not in name
    assert name.count("a.mp4") == name.count("b.mp4") == 1
    saved = server.client.get(f"/api/v1/comparisons/{kept.json()['id']}/file")
    assert saved.status_code == 200
    server.client.delete(f"/api/v1/comparisons/{kept.json()['id']}")


def test_a_file_without_videos_finds_them_in_a_served_sea(
    empty: Server, films: Path, sea: Path, start: Start
) -> None:
    pair = compare(empty, [films / "right" / "a.mp4", films / "right" / "b.mp4"])
    known = empty.client.post("/api/v1/comparisons", json={"alignment": pair}).json()
    file = empty.client.get(f"/api/v1/comparisons/{known['id']}/file", params={"embed": False}).content
    opened = start(sea, roots=[films]).client.post("/api/v1/comparisons/file", content=file)
    assert opened.status_code == 201, opened.text
    assert opened.json()["alignment"]["query"] == pair["query"]  # the same content
    closed = start(sea, roots=[sea.parent]).client.post("/api/v1/comparisons/file", content=file)
    assert closed.status_code == 409  # that server may not open the files of its sea
    assert "upload a.mp4 and b.mp4 first" in closed.json()["detail"]


def test_a_comparison_that_several_keep_and_change_at_once_is_one(empty: Server, takes: list[Path]) -> None:
    pair = compare(empty, takes)
    with ThreadPoolExecutor(8) as pool:
        asked = {"alignment": pair}
        kept = pool.map(lambda _: empty.client.post("/api/v1/comparisons", json=asked).json(), range(8))
        (known,) = {one["id"] for one in kept}
    place = f"/api/v1/comparisons/{known}"
    for number in range(10):
        moved = {"alignment": pair | {"start": number / 100}}
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda body: empty.client.patch(place, json=body), [{"name": f"n{number}"}, moved]))
        found = empty.client.get(place).json()
        assert (found["name"], found["alignment"]["start"]) == (f"n{number}", number / 100)


def test_an_index_with_many_entries_is_not_read(empty: Server) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for number in range(50_000):
            archive.writestr(f"{number:040}", b"")
    answer = empty.client.post("/api/v1/comparisons/file", content=out.getvalue())
    assert (answer.status_code, "too many entries" in answer.json()["detail"]) == (422, True)
    assert empty.files() == set()
