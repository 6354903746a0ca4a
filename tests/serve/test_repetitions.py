"""The repetitions of a video, from the HTTP API."""

from pathlib import Path

from tests.serve.conftest import Server
from tests.serve.films import film, pace

API = "/api/v1/seas/-/repetitions"


def test_the_repetitions_of_an_upload_are_counted(server: Server, tmp_path: Path) -> None:
    forth_and_back = pace(15) + pace(15)[::-1]
    file = film(tmp_path / "five.mp4", forth_and_back * 5, action="right")
    ref = server.upload(file).json()["ref"]
    [first, *_] = server.client.get(API, params={"ref": ref}).json()
    assert first["count"] in (4, 5)
    assert first["repetitions"][0]["number"] == 1
    assert first["film"]["end"] == 5.0
    template = {"ref": ref, "like_start": 1.0, "like_end": 2.0}
    [given] = server.client.get(API, params=template).json()
    assert given["template"] == [1.0, 2.0]


def test_a_template_must_be_whole_and_within_the_video(server: Server, tmp_path: Path) -> None:
    ref = server.upload(film(tmp_path / "once.mp4", pace(30), action="right")).json()["ref"]
    for span in ({"like_start": 0.1}, {"like_start": 0.1, "like_end": 9.0}):
        answer = server.client.get(API, params={"ref": ref, **span})
        assert answer.status_code == 422
        assert "like_start" in answer.text
