"""The compare report: differences in words and numbers, measured against films of known timing."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import pytest

from tests.serve.conftest import Server
from tests.serve.films import film, frame, pace
from tests.videos import write

API = "/api/v1/seas/-"


@pytest.fixture
def pair(server: Server, tmp_path: Path) -> dict[str, str]:
    """The movement in 2 s, and in 3 s at the same course: half of it takes half a second longer."""
    files = [
        film(tmp_path / f"{name}.mp4", pace(count), action="right") for name, count in (("a", 60), ("b", 90))
    ]
    query, match = (server.upload(file).json()["ref"] for file in files)
    return {"query": query, "match": match}


def mark(kind: str, name: str, seconds: float) -> dict[str, object]:
    return {"kind": kind, "name": name, "frame": round(seconds * 30), "seconds": seconds}


def test_marks_are_compared_and_carried_over(server: Server, pair: dict[str, str]) -> None:
    marks = [mark("moment", "middle", 1.0), mark("moment", "end", 1.9)]
    server.client.put(f"{API}/marks/{pair['query']}", json=marks)
    server.client.put(f"{API}/marks/{pair['match']}", json=[mark("moment", "end", 2.8)])
    report = server.client.get(f"{API}/alignment/report", params=pair).json()
    assert report["seconds"] == {"query": pytest.approx(2.0, abs=0.1), "match": pytest.approx(3.0, abs=0.1)}
    moments = {one["name"]: one for one in report["moments"]}
    assert (moments["middle"]["source"], moments["end"]["source"]) == ("query", "both")
    assert moments["middle"]["match"] == pytest.approx(1.5, abs=0.1)
    assert moments["middle"]["later"] == pytest.approx(0.5, abs=0.1)
    assert moments["end"]["later"] == pytest.approx(0.9, abs=0.1)
    assert moments["end"]["text"] == f"b.mp4 is {moments['end']['later']:.2f} s later at end."
    later = [abs(one["later"]) for one in report["moments"]]
    assert later == sorted(later, reverse=True)
    (phase,) = report["phases"]
    assert phase["name"] == "middle to end"
    assert phase["difference"] == pytest.approx(0.4, abs=0.12)
    assert "b.mp4 takes" in report["summary"][0]
    assert np.mean([1 / one["speed"] for one in report["tempo"]]) == pytest.approx(1.5, abs=0.1)
    rows = list(
        csv.DictReader(io.StringIO(server.client.get(f"{API}/alignment/report.csv", params=pair).text))
    )
    end = next(row for row in rows if row["name"] == "end")
    assert float(end["match_later_seconds"]) == pytest.approx(moments["end"]["later"], abs=1e-3)
    for ref in pair.values():
        server.client.put(f"{API}/marks/{ref}", json=[])


def test_phases_last_until_the_next_or_the_end(server: Server, pair: dict[str, str]) -> None:
    marks = [mark("phase", "up", 0.0), mark("phase", "down", 1.0)]
    server.client.put(
        f"{API}/marks/{pair['match']}", json=[mark("phase", "up", 0.0), mark("phase", "down", 1.5)]
    )
    server.client.put(f"{API}/marks/{pair['query']}", json=marks)
    report = server.client.get(f"{API}/alignment/report", params=pair).json()
    assert [one["name"] for one in report["phases"]] == ["up", "down"]
    assert report["phases"][0]["seconds"] == {"query": 1.0, "match": 1.5}
    assert report["phases"][1]["difference"] == pytest.approx(0.5, abs=0.12)
    for ref in pair.values():
        server.client.put(f"{API}/marks/{ref}", json=[])


def test_without_marks_the_largest_differences_are_named(server: Server, pair: dict[str, str]) -> None:
    report = server.client.get(f"{API}/alignment/report", params=pair).json()
    assert report["phases"] == []
    assert report["moments"][0]["later"] == pytest.approx(1.0, abs=0.15)
    assert "after the start" in report["moments"][0]["text"]
    assert len(report["summary"]) > 1


def test_times_count_from_a_chosen_moment(server: Server, pair: dict[str, str]) -> None:
    report = server.client.get(f"{API}/alignment/report", params=pair | {"since": "1.0"}).json()
    assert report["zero"]["query"] == 1
    assert report["zero"]["match"] == pytest.approx(1.5, abs=0.1)
    for one in report["moments"]:
        since = one["match"] - report["zero"]["match"], one["query"] - report["zero"]["query"]
        assert one["later"] == pytest.approx(since[0] - since[1], abs=1e-3)
        assert "the chosen moment" in one["text"] or "At the end" in one["text"]
    refused = server.client.get(f"{API}/alignment/report", params=pair | {"since": "99"})
    assert (refused.status_code, "no counterpart at 99.00 s" in refused.text) == (422, True)


def test_waiting_before_the_movement_counts_for_nothing(server: Server, tmp_path: Path) -> None:
    files = []
    for name, before, count, after in (("quick", 45, 60, 30), ("slow", 90, 80, 45)):
        course = [0.0] * before + pace(count) + [1.0] * after
        pictures = (frame(0, share, action="arc") for share in course)  # without numbers, nothing moves
        files.append(write(tmp_path / f"{name}.mp4", pictures))
    query, match = (server.upload(file).json()["ref"] for file in files)
    report = server.client.get(f"{API}/alignment/report", params={"query": query, "match": match}).json()
    assert report["zero"] == {"query": pytest.approx(1.5, abs=0.3), "match": pytest.approx(3.0, abs=0.4)}
    assert max(abs(one["later"]) for one in report["moments"]) == pytest.approx(20 / 30, abs=0.15)
    took, only, *_ = report["summary"]
    assert float(took.partition("slow.mp4 takes ")[2].split()[0]) == pytest.approx(80 / 30, abs=0.5)
    assert "s of quick.mp4 (4" in only  # 2 s of 4.5 s
    assert "before and after that, hardly anything moves" in only
    whole = server.client.get(
        f"{API}/alignment/report", params={"query": query, "match": match, "since": "0"}
    ).json()
    assert whole["zero"]["query"] == 0


def test_of_a_pair_that_does_not_align_nothing_else_is_said(server: Server, tmp_path: Path) -> None:
    noise = np.random.default_rng(0).integers(0, 255, (40, 15, 20, 3), np.uint8).repeat(8, 1).repeat(8, 2)
    files = [write(tmp_path / "noise.mp4", noise), film(tmp_path / "arc.mp4", pace(60), action="arc")]
    query, match = (server.upload(file).json()["ref"] for file in files)
    report = server.client.get(f"{API}/alignment/report", params={"query": query, "match": match}).json()
    assert report["summary"] == ["These two do not align, so their timing cannot be compared."]
    assert (report["moments"], report["phases"]) == ([], [])


def test_a_mark_stands_for_the_moment_beside_it(server: Server, pair: dict[str, str]) -> None:
    before = server.client.get(f"{API}/alignment/report", params=pair).json()["moments"][0]
    server.client.put(f"{API}/marks/{pair['query']}", json=[mark("moment", "finish", before["query"])])
    moments = server.client.get(f"{API}/alignment/report", params=pair).json()["moments"]
    near = [one["name"] for one in moments if abs(one["query"] - before["query"]) < 0.05]
    assert near == ["finish"]
    server.client.put(f"{API}/marks/{pair['query']}", json=[])


def test_a_pause_in_one_video_is_named(server: Server, tmp_path: Path) -> None:
    steady = pace(60)
    pausing = [*steady[:30], *[steady[30]] * 20, *steady[30:]]
    files = [film(tmp_path / f"{n}.mp4", one, action="arc") for n, one in enumerate((steady, pausing))]
    query, match = (server.upload(file).json()["ref"] for file in files)
    report = server.client.get(f"{API}/alignment/report", params={"query": query, "match": match}).json()
    [sentence] = [text for text in report["summary"] if "loses" in text]
    start, end = (float(part.split()[0]) for part in sentence.removeprefix("From ").split(" to "))
    assert start < 1 < end + 0.1
    lost = float(sentence.rpartition("loses ")[2].split()[0])
    assert lost == pytest.approx(20 / 30, abs=0.15)


def test_the_same_timing_is_said_to_be_the_same(server: Server, tmp_path: Path) -> None:
    files = [film(tmp_path / f"{n}.mp4", pace(60), action="arc", tint=20 * n) for n in range(2)]
    query, match = (server.upload(file).json()["ref"] for file in files)
    report = server.client.get(f"{API}/alignment/report", params={"query": query, "match": match}).json()
    took, nothing, *_ = report["summary"]
    assert "the same speed" in took
    assert nothing == "No moment differs by more than a frame or so."
    assert report["moments"] == []


def test_a_wait_of_one_video_does_not_count_as_its_movement(server: Server, tmp_path: Path) -> None:
    """The first waits 2 s and moves in 2 s; the second waits .2 s and moves in 2.67 s: it is slower."""
    files = []
    for name, before, count in (("waits", 60, 60), ("slow", 6, 80)):
        pictures = (frame(0, share, action="arc") for share in [0.0] * before + pace(count))
        files.append(write(tmp_path / f"{name}.mp4", pictures))
    query, match = (server.upload(file).json()["ref"] for file in files)
    report = server.client.get(f"{API}/alignment/report", params={"query": query, "match": match}).json()
    assert report["zero"]["query"] == pytest.approx(2.0, abs=0.3)
    speed = float(report["summary"][0].rpartition("(")[2].partition("×")[0])
    assert speed == pytest.approx(60 / 80, abs=0.1)
