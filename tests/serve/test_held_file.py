"""A file that is replaced after it was checked is not sent."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import anyio
import pytest
from starlette.types import Message, Receive, Scope, Send

from seasync.errors import ServeError
from seasync.serve.media import HeldFileResponse, open_held

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")


@pytest.fixture
def served(tmp_path: Path) -> Path:
    """A file in a served folder; outside of it lies a secret of the same name."""
    for folder, content in (("served/inside", b"video"), ("outside", b"secret")):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "a.mp4").write_bytes(content)
    return (tmp_path / "served/inside/a.mp4").resolve()


def secret(served: Path) -> Path:
    return served.parents[2] / "outside" / "a.mp4"


def test_the_file_itself_is_opened(served: Path) -> None:
    with open_held(served) as held:
        assert held.read() == b"video"


def test_a_link_in_place_of_the_file_is_refused(served: Path) -> None:
    served.unlink()
    served.symlink_to(secret(served))
    with pytest.raises(ServeError, match="has been moved or replaced"):
        open_held(served)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere this is not noticed")
def test_a_link_in_place_of_a_folder_on_the_way_is_refused(served: Path) -> None:
    served.parent.rename(served.parents[1] / "before")
    served.parent.symlink_to(secret(served).parent)
    assert served.read_bytes() == b"secret"
    with pytest.raises(ServeError, match="has been moved or replaced"):
        open_held(served)


@pytest.mark.timeout(60)
def test_a_fifo_in_place_of_the_file_is_refused_at_once(served: Path) -> None:
    served.unlink()
    os.mkfifo(served)
    with pytest.raises(ServeError, match="has been moved or replaced"):
        open_held(served)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the file is opened again")
def test_what_was_opened_is_sent_whatever_takes_its_place(served: Path) -> None:
    answer = HeldFileResponse(served, filename="a.mp4")
    served.unlink()
    served.symlink_to(secret(served))
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        await anyio.sleep_forever()
        raise AssertionError

    scope: Scope = {"type": "http", "method": "GET", "headers": [], "asgi": {"spec_version": "2.4"}}
    anyio.run(_call, answer, scope, receive, send)
    assert b"".join(message.get("body", b"") for message in sent) == b"video"


async def _call(answer: HeldFileResponse, scope: Scope, receive: Receive, send: Send) -> None:
    await answer(scope, receive, send)
