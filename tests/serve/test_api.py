"""The API: seas, clips, footage, search, alignments, what is made of them."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from seasync.sea.sea import Sea
from tests.serve.conftest import Server
from tests.serve.films import film, frame, number_of, pace
from tests.videos import number_of as numbered_as, numbered, write

API = "/api/v1/seas/small"
Start = Callable[..., Server]


@pytest.fixture
def pair(server: Server) -> dict[str, str]:
    return {"query": server.clip("right/a"), "match": server.clip("right/b")}


def test_about_and_seas_say_what_is_here(server: Server, films: Path) -> None:
    about = server.client.get("/api/v1").json()
    assert about["seas"] == ["small"]
    assert about["roots"] == [str(films)]
    (info,) = server.client.get("/api/v1/seas").json()
    assert info["clips"] == 6
    assert info["labels"] == {"arc": 3, "right": 3}
    assert server.client.get("/api/v1/seas/other").status_code == 404


def test_clips_are_filtered_and_paged(server: Server) -> None:
    def names(**params: object) -> list[str]:
        return [
            clip["file"][-8:] for clip in server.client.get(f"{API}/clips", params=params).json()["clips"]
        ]  # type: ignore[arg-type]

    everything = names()
    assert len(everything) == 6
    assert names(limit=2) + names(limit=2, offset=2) + names(limit=2, offset=4) == everything
    assert sorted(names(label="arc")) == ["rc/a.mp4", "rc/b.mp4", "rc/c.mp4"]
    assert names(text="RIGHT/B") == ["ht/b.mp4"]
    assert names(text="%' OR 1=1 --") == []
    assert server.client.get(f"{API}/clips", params={"text": "arc", "limit": 1}).json()["total"] == 3


def test_a_clip_is_taken_out_and_its_file_stays(start: Start, sea: Path, films: Path) -> None:
    server = start(sea, roots=[films])
    ref = server.clip("arc/c")
    assert server.client.delete(f"{API}/clips/{ref[5:]}").status_code == 204
    assert server.client.get(f"{API}/clips/{ref[5:]}").status_code == 404
    assert server.client.delete(f"{API}/clips/{ref[5:]}").status_code == 404
    assert len(Sea(sea)) == 5
    assert (films / "arc" / "c.mp4").exists()


def test_search_by_clip_equals_the_library(server: Server, films: Path, encoder: str) -> None:
    ref = server.clip("right/a")
    answer = server.client.post(f"{API}/search", json={"query": {"ref": ref}, "k": 3}).json()
    found = Sea(server.sea, encoder).search(films / "right" / "a.mp4", k=3)
    assert [match["clip"]["id"] for match in answer["matches"]] == [match.clip.id for match in found]
    assert [match["draq"] for match in answer["matches"]] == pytest.approx([match.draq for match in found])
    assert answer["verdict"] == found.verdict
    gone = server.client.post(f"{API}/search", json={"query": {"ref": f"clip:{'0' * 32}"}})
    assert (gone.status_code, gone.json()["detail"]) == (404, f"clip:{'0' * 32}: no such clip in this sea")
    assert {match["clip"]["label"] for match in answer["matches"][:2]} == {"right"}


def test_answers_are_kept_with_the_sea_and_can_be_taken_back(start: Start, sea: Path, films: Path) -> None:
    server = start(sea, roots=[films])
    query = {"ref": server.clip("right/a")}
    matches = server.client.post(f"{API}/search", json={"query": query, "k": 3}).json()["matches"]
    said = {"query": query, "match": matches[0]["clip"]["ref"], "same": True}
    answered = server.client.post(f"{API}/answers", json=said)
    assert (answered.status_code, answered.json()["before"]) == (200, matches[0]["likelihood"])
    assert Sea(sea).info()["answers"] == 1
    taken_back = server.client.post(f"{API}/answers", json=said | {"same": None})
    assert taken_back.json()["after"] == answered.json()["before"]
    assert Sea(sea).info()["answers"] == 0
    own = server.client.post(f"{API}/answers", json=said | {"match": query["ref"]})
    assert (own.status_code, own.json()["detail"]) == (
        422,
        f"{query['ref']}: not in the sea, or the query's own footage",
    )


def test_search_by_upload_and_by_span(server: Server, tmp_path: Path) -> None:
    new = film(tmp_path / "new.mp4", pace(40, bend=0.3), action="arc", tint=25)
    ref = server.upload(new).json()["ref"]
    whole = server.client.post(f"{API}/search", json={"query": {"ref": ref}}).json()
    assert whole["matches"][0]["clip"]["label"] == "arc"
    span = {"ref": server.clip("right/a"), "start": 0.5, "end": 1.5}
    part = server.client.post(f"{API}/search", json={"query": span}).json()
    assert server.clip("right/a") not in [match["clip"]["ref"] for match in part["matches"]]
    outside = server.client.post(f"{API}/search", json={"query": span | {"start": 50.0, "end": 60.0}})
    assert outside.status_code == 422
    assert "2.00 s" in outside.json()["detail"]


def test_a_span_of_next_to_nothing_is_one_frame(server: Server) -> None:
    span = {"ref": server.clip("right/a"), "start": 0.5, "end": 0.5000001}
    answer = server.client.post(f"{API}/search", json={"query": span})
    assert answer.status_code == 200
    assert answer.json()["matches"]


def test_alignment_and_its_warps(server: Server, pair: dict[str, str], films: Path) -> None:
    from seasync.alignment import Warp
    from seasync.alignment.warp import Stretch
    from seasync.pair import align

    answer = server.client.get(f"{API}/alignment", params=pair).json()
    known = align(films / "right/a.mp4", films / "right/b.mp4", encoder=Sea(server.sea).encoder())
    assert answer["draq"] == pytest.approx(known.draq, abs=1e-6)
    assert answer["path"][-1][0] == known.query_frames[-1]
    times = np.linspace(0, 1.9, 20)
    for keep in ("query", "match"):
        knots = [
            Stretch(np.array(one["times"]), np.array(one["values"]), one["end"])
            for one in answer["warps"][keep]
        ]
        assert Warp(tuple(knots)).at(times) == pytest.approx(known.warp(keep=keep).at(times), abs=1e-5)


def test_anchors_bend_the_alignment(server: Server, pair: dict[str, str]) -> None:
    plain = server.client.get(f"{API}/alignment", params=pair).json()
    anchored = server.client.get(f"{API}/alignment", params=pair | {"anchor": ["1.0=0.4"]}).json()

    def passes(path: list[list[float]]) -> bool:
        return any(abs(row[1] - 1.0) < 0.05 and abs(row[3] - 0.4) < 0.05 for row in path)

    assert passes(anchored["path"])
    assert not passes(plain["path"])
    assert anchored["dtw_cost"] > plain["dtw_cost"]
    assert server.client.get(f"{API}/alignment", params=pair | {"anchor": ["1=x"]}).status_code == 422


def test_cost_as_array_and_as_picture(server: Server, pair: dict[str, str]) -> None:
    array = np.load(io.BytesIO(server.client.get(f"{API}/alignment/cost.npy", params=pair).content))
    axes = server.client.get(f"{API}/alignment", params=pair).json()["axes"]
    assert array.shape == (axes["query"]["count"], axes["match"]["count"])
    picture = Image.open(io.BytesIO(server.client.get(f"{API}/alignment/cost.png", params=pair).content))
    assert picture.size == array.shape
    shades = np.asarray(picture.convert("L"), float)[::-1].T
    assert np.corrcoef(shades.ravel(), array.ravel())[0, 1] > 0.8


def test_timelines_are_downloads(server: Server, pair: dict[str, str]) -> None:
    for form in ("csv", "json", "otio", "fcpxml", "edl", "mlt", "xml"):
        answer = server.client.get(f"{API}/alignment/timeline.{form}", params=pair | {"keep": "match"})
        assert answer.status_code == 200, form
        assert "attachment" in answer.headers["content-disposition"]
        if form == "mlt":
            names = zipfile.ZipFile(io.BytesIO(answer.content)).namelist()
            assert sorted(name.rpartition(".")[2] for name in names) == ["mlt", "wav"]
        if form == "csv":
            assert answer.text.startswith("match_frame,")
    folders = sorted(part.name for part in server.state.iterdir() if part.is_dir())
    assert folders == ["films", "incoming", "seas", "uploads"]


def test_a_film_is_a_job_with_a_result(server: Server, pair: dict[str, str], tmp_path: Path) -> None:
    from seasync.video import probe

    asked = {"alignment": pair, "layout": "stack", "labels": False}
    job = server.client.post(f"{API}/alignment/film", json=asked).json()
    assert server.client.get(f"/api/v1/jobs/{job['id']}/result").status_code == 409
    assert server.wait(job)["state"] == "done"
    answer = server.client.get(f"/api/v1/jobs/{job['id']}/result")
    (tmp_path / "film.mp4").write_bytes(answer.content)
    assert probe(tmp_path / "film.mp4").height == 240


def test_an_animation_is_a_film_too_but_not_a_retimed_one(server: Server, pair: dict[str, str]) -> None:
    asked = {"alignment": pair, "form": "gif", "size": [100, 60]}
    job = server.wait(server.client.post(f"{API}/alignment/film", json=asked).json())
    answer = server.client.get(f"/api/v1/jobs/{job['id']}/result")
    assert answer.headers["content-type"] == "image/gif"
    assert answer.content[:4] == b"GIF8"
    refused = server.client.post(f"{API}/alignment/film", json=asked | {"layout": "retime"})
    assert refused.status_code == 422
    assert "an animation shows both" in refused.json()["detail"]


def test_what_is_in_step_in_part_is_told_with_its_spans(server: Server, tmp_path: Path) -> None:
    """A film that goes on after the action: half of it has no counterpart."""
    steps = [*pace(60), *([1.0] * 5)]
    noise = np.random.default_rng(0).integers(0, 255, (60, 15, 20, 3), np.uint8).repeat(8, 1).repeat(8, 2)
    pictures = [*(frame(i, p, action="right") for i, p in enumerate(steps)), *noise]
    ref = server.upload(write(tmp_path / "longer.mp4", pictures)).json()["ref"]
    asked = {"query": ref, "match": server.clip("right/b")}
    whole = server.client.get(f"{API}/alignment", params=asked | {"partial": "never"}).json()
    assert (len(whole["pieces"]), whole["coverage"]["query"]) == (1, 1.0)
    part = server.client.get(f"{API}/alignment", params=asked).json()
    assert part["verdict"].startswith("aligns in part: ")
    assert part["pieces"][0]["query"][1] == pytest.approx(2.1, abs=0.3)
    assert part["coverage"]["query"] < 0.8
    found = server.client.post(f"{API}/search", json={"query": {"ref": ref}, "label": "right"}).json()[
        "matches"
    ]
    assert all(match["pieces"] for match in found)
    assert any(match["pieces"][0]["query"][1] < 3 and match["coverage"]["query"] < 1 for match in found)


def test_thumbnails_and_strips_show_the_frames_asked_for(server: Server) -> None:
    ref = server.clip("right/a")

    def picture(path: str, **params: object) -> np.ndarray:
        answer = server.client.get(f"{API}/footage/{ref}/{path}", params=params)  # type: ignore[arg-type]
        assert answer.headers["content-type"] == "image/jpeg"
        return np.asarray(Image.open(io.BytesIO(answer.content)))

    assert number_of(picture("thumbnail", at=0.5, height=240)) == 15
    assert number_of(picture("thumbnail", height=120)) == 30
    strip = picture("strip", at=[0.1, 1.0, 1.8], height=120)
    assert [number_of(part) for part in np.split(strip, 3, axis=1)] == [3, 30, 54]


def test_video_comes_in_ranges(server: Server, films: Path) -> None:
    ref = server.clip("right/a")
    whole = (films / "right" / "a.mp4").read_bytes()
    part = server.client.get(f"{API}/footage/{ref}/video", headers={"Range": "bytes=100-299"})
    assert part.status_code == 206
    assert part.content == whole[100:300]
    assert (
        server.client.get(f"{API}/footage/{ref}/video", headers={"Range": "bytes=999999999-"}).status_code
        == 416
    )


def test_footage_tells_when_its_frames_are_shown(server: Server) -> None:
    ref = server.clip("right/c")
    known = server.client.get(f"{API}/footage/{ref}", params={"start": 0.4, "end": 1.0}).json()
    assert known["plays"] == "direct"
    assert known["first"] == 10
    assert known["seconds"] == pytest.approx(np.arange(10, 25) / 25, abs=1e-5)


def test_what_browsers_do_not_play_gets_a_proxy_with_the_same_frames(server: Server, tmp_path: Path) -> None:
    from seasync.video import read
    from seasync.video.source import frame_table

    pts = [0, 10, 40, 55, 90, 100, 140, 200, 220, 260]
    old = numbered(tmp_path / "old.avi", 10, codec="mpeg4")
    odd = numbered(tmp_path / "odd.mkv", 10, codec="mpeg4", pts=pts, time_base=Fraction(1, 100))
    new = numbered(tmp_path / "new.mp4", 10, codec="libx265", options={"x265-params": "log-level=none"})
    tape = numbered(tmp_path / "tape.mpg", 10, codec="mpeg2video")
    for file in (old, odd, new, tape):
        ref = server.upload(file).json()["ref"]
        known = server.client.get(f"{API}/footage/{ref}").json()
        assert known["plays"] == "needs proxy"
        assert server.client.get(f"{API}/footage/{ref}/video").status_code == 409
        assert server.wait(server.client.post(f"{API}/footage/{ref}/proxy").json())["state"] == "done"
        assert server.client.get(f"{API}/footage/{ref}").json()["plays"] == "proxy"
        (tmp_path / "proxy.mp4").write_bytes(server.client.get(f"{API}/footage/{ref}/video").content)
        table = frame_table(tmp_path / "proxy.mp4")
        assert table.seconds == pytest.approx(known["seconds"], abs=2e-4)
        shown = [numbered_as(image) for frames in read(tmp_path / "proxy.mp4") for image in frames.data]
        assert shown == list(range(10))


def test_anchors_are_kept_in_the_sea(server: Server, pair: dict[str, str], start: Start, films: Path) -> None:
    place = f"{API}/anchors/{pair['query']}/{pair['match']}"
    anchors = [{"query": 1.0, "match": 1.2}, {"query": 0.5, "match": 0.8}]
    assert server.client.put(place, json=anchors).status_code == 200
    elsewhere = start(server.sea, roots=[films])
    assert elsewhere.client.get(place).json()["anchors"] == anchors[::-1]
    server.client.put(place, json=[])
    assert elsewhere.client.get(place).json()["anchors"] == []
    assert len(Sea(server.sea)) == 6


def test_marks_are_exported_as_evaluation_reads_them(
    server: Server, pair: dict[str, str], tmp_path: Path
) -> None:
    from seasync.evaluate.dataset import read_events

    def mark(kind: str, name: str, frame: int) -> dict[str, object]:
        return {"kind": kind, "name": name, "frame": frame, "seconds": frame / 30}

    for ref, shift in ((pair["query"], 0), (pair["match"], 5)):
        marks = [
            mark("moment", "top", 40 + shift),
            mark("moment", "start", 10 + shift),
            mark("phase", "up", 0),
        ]
        assert server.client.put(f"{API}/marks/{ref}", json=marks).status_code == 200
    assert server.client.get(f"{API}/mark-names").json() == {"moment": ["start", "top"], "phase": ["up"]}
    (tmp_path / "events.csv").write_text(server.client.get(f"{API}/marks.csv").text)
    assert (tmp_path / "events.csv").read_text().startswith("clip,start,top\n")
    events = read_events(tmp_path / "events.csv")
    assert {clip: list(frames) for clip, frames in events.items()} == {
        "right/a.mp4": [10, 40],
        "right/b.mp4": [15, 45],
    }
    phases = server.client.get(f"{API}/marks.csv", params={"form": "phases"}).text
    assert phases.splitlines()[:2] == ["clip,frame,phase,name", "right/a.mp4,0,0,up"]
    carried = server.client.get(f"{API}/alignment/marks.csv", params=pair).text.splitlines()
    assert carried[0] == "frame,seconds,kind,name"
    assert len(carried) == 4


def test_the_schema_is_served(server: Server) -> None:
    schema = server.client.get("/api/v1/openapi.json").json()
    assert "/api/v1/seas/{sea}/search" in schema["paths"]
    json.dumps(schema)
