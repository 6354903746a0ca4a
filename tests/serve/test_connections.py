"""Clients that open many connections, or take their time over a request, keep nobody else out."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from seasync.serve import Limits
from tests.serve.live import COMMAND, live

Served = Callable[..., AbstractContextManager[Any]]
HALF = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-"
SLOW_BODY = b"POST /api/v1/uploads?name=a.mp4 HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 90000\r\n\r\nab"


@contextmanager
def opened(
    address: str, count: int, first: bytes, *, source: str = "127.0.0.1"
) -> Iterator[list[socket.socket]]:
    """Connections on which a client has sent no more than this."""
    at = urlsplit(address)
    with ExitStack() as stack:
        sockets = []
        for _ in range(count):
            one = socket.create_connection((at.hostname, at.port), 30, source_address=(source, 0))
            sockets.append(stack.enter_context(one))
            with suppress(ConnectionError):  # closed already
                one.sendall(first)
        yield sockets


def is_closed(connection: socket.socket) -> bool:
    try:
        return connection.recv(1) == b""
    except ConnectionError:
        return True


@pytest.mark.parametrize("sent", [b"", HALF, SLOW_BODY], ids=["nothing", "half headers", "a slow body"])
def test_who_takes_too_long_over_a_request_is_cut_off(served: Served, sent: bytes) -> None:
    limits = Limits(header_seconds=1, body_seconds=1)
    with served(live, limits=limits) as address, opened(address, 3, sent) as slow:
        assert all(is_closed(each) for each in slow)
        assert httpx.get(address).status_code == 200


def test_a_client_that_asks_now_and_then_is_not_cut_off(served: Served) -> None:
    limits = Limits(header_seconds=1.5, body_seconds=1)
    with served(live, limits=limits) as address, opened(address, 1, b"") as (own,):
        for _ in range(8):
            own.sendall(b"HEAD / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            assert own.recv(1 << 16).startswith(b"HTTP/1.1 200")
            time.sleep(0.4)


@pytest.mark.parametrize("limits", [Limits(connections=10), Limits(address_connections=10)])
def test_of_too_many_connections_the_oldest_idle_one_is_closed(served: Served, limits: Limits) -> None:
    with served(live, limits=limits) as address, opened(address, 30, HALF) as many:
        assert httpx.get(address, timeout=10).status_code == 200
        assert is_closed(many[0])
        assert is_closed(many[15])


@pytest.mark.skipif(sys.platform == "darwin", reason="has one address of its own")
def test_those_who_open_many_connections_lose_theirs(served: Served) -> None:
    limits = Limits(connections=40, address_connections=30)
    with served(live, limits=limits) as address, opened(address, 1, b"") as (own,):
        own.sendall(b"HEAD / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert own.recv(1 << 16).startswith(b"HTTP/1.1 200")
        with opened(address, 60, HALF, source="127.0.0.2"), opened(address, 60, HALF, source="127.0.0.3"):
            assert httpx.get(address, timeout=10).status_code == 200
            own.sendall(b"HEAD / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            assert own.recv(1 << 16).startswith(b"HTTP/1.1 200")


@pytest.mark.skipif(sys.platform == "win32", reason="needs ulimit")
def test_more_connections_than_descriptors_stop_nobody(sea: Path, tmp_path: Path) -> None:
    command = ["sh", "-c", 'ulimit -n 256; exec "$@"', "sh", *COMMAND]
    with (
        (tmp_path / "log").open("w") as log,
        subprocess.Popen(
            [*command, "--sea", sea, "--state", tmp_path / "state"],
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        ) as running,
    ):
        try:
            assert running.stdout is not None
            address = running.stdout.readline().strip().partition("?")[0]
            with opened(address, 400, HALF):
                for _ in range(5):
                    assert httpx.get(address, timeout=20).status_code == 200
        finally:
            running.kill()
    assert len((tmp_path / "log").read_text()) < 2000
