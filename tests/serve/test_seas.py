"""Seas and clips changed over HTTP: names, labels, tags, order; seas made and deleted; the phone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from seasync.errors import ServeError
from seasync.serve import Client
from seasync.serve.security import Access, phone
from tests.serve.films import film, pace
from tests.serve.live import live


@pytest.fixture(scope="module")
def client(served: Callable[..., AbstractContextManager[str]]) -> Iterator[Client]:
    with served(live) as address, Client(address) as client:
        yield client


def test_a_clip_is_renamed_labelled_and_tagged(client: Client) -> None:
    clip = next(client.clips("small", text="right/a"))
    changed = client.change("small", clip.id, name="Best take", label="swing", tags=["side view", "2026"])
    assert (changed.name, changed.label, changed.tags) == ("Best take", "swing", ["side view", "2026"])
    assert changed.file == clip.file
    for text in ("best t", "SWING", "side view"):
        assert [one.id for one in client.clips("small", text=text)] == [clip.id], text
    assert client.footage("small", clip.ref).name == "Best take"
    other = next(client.clips("small", text="right/b"))
    found = client.search("small", other.ref, k=5).matches
    assert "Best take" in [match.clip.name for match in found]
    back = client.change("small", clip.id, name="", label="", tags=[])
    assert (back.name, back.label, back.tags) == ("a.mp4", None, [])
    assert client.change("small", clip.id, label="right").label == "right"
    assert client.search("small", clip.ref).matches  # its features are still there


def test_clips_are_sorted(client: Client) -> None:
    def names(order: str, reverse: bool = False) -> list[str]:
        found = client.clips("small", order=order, reverse=reverse)  # type: ignore[arg-type]
        return [clip.file[-len("right/a.mp4") :] for clip in found]

    assert [name[-5] for name in names("name")] == ["a", "a", "b", "b", "c", "c"]
    assert [name[-5] for name in names("name", reverse=True)] == ["c", "c", "b", "b", "a", "a"]
    assert {name[:3] for name in names("label")[:3]} == {"/ar"} or "arc" in names("label")[0]
    lengths = [clip.end - clip.start for clip in client.clips("small", order="length")]
    assert lengths == sorted(lengths)
    assert names("added", reverse=True) == names("added")[::-1]


def test_a_sea_is_made_filled_and_deleted(client: Client, tmp_path: Path) -> None:
    made = client.make_sea("my-takes")
    assert (made.clips, made.deletable) == (0, True)
    with pytest.raises(ServeError, match="already"):
        client.make_sea("my-takes")
    upload = client.upload(film(tmp_path / "new.mp4", pace(30), action="left"))
    client.wait(client.add("my-takes", uploads=[upload.id]))
    assert client.sea("my-takes").clips == 1
    client.delete_sea("my-takes")
    assert "my-takes" not in client.server().seas
    with pytest.raises(ServeError, match="no such upload"):
        client.footage("-", upload.ref)
    with pytest.raises(ServeError, match="not made here"):
        client.delete_sea("small")


def test_the_phone_gets_an_address_that_opens_the_page_once() -> None:
    access = Access("192.168.1.5", "/sync", "a+b")
    found = phone(access, 8080)
    place, _, code = found.address.partition("?code=")
    assert place == "http://192.168.1.5:8080/sync/"
    assert [access.codes.take(one) for one in ("a+b", code, code)] == [False, True, False]
    assert found.qr.startswith("<svg")
    assert "://0.0.0.0" not in phone(Access("0.0.0.0", "", "t"), 80).address
    with pytest.raises(ServeError, match="--host"):
        phone(Access(), 8080)


def test_a_sea_that_several_delete_at_once_is_deleted_once(client: Client) -> None:
    def delete(_: int) -> int:
        try:
            client.delete_sea("short-lived")
        except ServeError as error:
            return error.status
        return 204

    for _ in range(3):
        client.make_sea("short-lived")
        with ThreadPoolExecutor(8) as pool:
            answers = sorted(pool.map(delete, range(8)))
        assert answers == [204, *[404] * 7]


def test_changes_of_one_clip_at_once_are_all_kept(client: Client) -> None:
    clip = next(client.clips("small", text="arc/c"))

    def change(**changes: object) -> None:
        while True:
            try:
                client.change("small", clip.id, **changes)
                return
            except ServeError as error:
                if error.status != 409:  # busy
                    raise

    for number in range(5):
        with ThreadPoolExecutor(2) as pool:
            both = {"label": f"label {number}"}, {"tags": [f"tag {number}"]}
            list(pool.map(lambda changes: change(**changes), both))
        found = client.clip("small", clip.id)
        assert (found.label, found.tags) == (f"label {number}", [f"tag {number}"])
    client.change("small", clip.id, label="arc", tags=[])
