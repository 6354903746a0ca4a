"""A proxy before an object store that is slow, breaks connections, and answers with errors."""

from __future__ import annotations

import random
import socket
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import urlsplit


@dataclass
class Trouble:
    """What the proxy does to a piece of a request, with which probability.

    Attributes
    ----------
    errors
        Status codes that it answers instead of the store.
    down_seconds
        Of every `period_seconds` it refuses everything for so long.
    """

    slow: float = 0.0
    slow_seconds: float = 0.3
    cut: float = 0.0
    error: float = 0.0
    errors: tuple[int, ...] = (500, 503)
    period_seconds: float = 1.5
    down_seconds: float = 0.0


class FlakyProxy:
    """Forwards connections to `endpoint`, with trouble while there is any."""

    def __init__(self, endpoint: str, seed: int) -> None:
        self._store = urlsplit(endpoint).hostname or "", urlsplit(endpoint).port or 80
        self._random = random.Random(seed)
        self.trouble: Trouble | None = None
        self.troubled = 0
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.endpoint = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listening.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, suppress(OSError), socket.create_connection(self._store) as store:
            back = threading.Thread(target=_pump, args=(store, client), daemon=True)
            back.start()
            while piece := client.recv(1 << 16):
                if not self._passes(client):
                    break
                store.sendall(piece)
            with suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)

    def _passes(self, client: socket.socket) -> bool:
        """Whether a piece of a request goes on to the store."""
        trouble = self.trouble
        if trouble is None:
            return True
        down = time.monotonic() % trouble.period_seconds < trouble.down_seconds
        if self._random.random() < trouble.slow:
            self.troubled += 1
            time.sleep(self._random.uniform(0, trouble.slow_seconds))
        if down or self._random.random() < trouble.cut:
            self.troubled += 1
            return False
        if self._random.random() < trouble.error:
            self.troubled += 1
            status = self._random.choice(trouble.errors)
            with suppress(OSError):
                client.sendall(
                    f"HTTP/1.1 {status} Trouble\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode()
                )
            return False
        return True


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while piece := source.recv(1 << 16):
            sink.sendall(piece)
        sink.shutdown(socket.SHUT_WR)
