"""The connections of a server: how many there may be, and how long a client may take over a request.

uvicorn has no limits on that. Without them, a client that never finishes its headers keeps a connection
permanently, and a few hundred of those keep everybody else out.
"""

import asyncio
import logging
import socket
import sys
from collections import Counter
from collections.abc import Callable
from functools import partial
from time import monotonic
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from seasync.serve.security import Limits

log = logging.getLogger("seasync.serve")
CHECK_SECONDS = 1.0
LEAST_BYTES = 1 << 14  # that a body, or the rest of an answer, must move on in `Limits.body_seconds`
WAITING = 64  # connections that the system accepts before the server does
OTHER_FILES = 100  # descriptors for other things than connections and the files that they get


class Server(uvicorn.Server):
    """Serves an application within limits on its connections.

    Parameters
    ----------
    started
        Called when it answers requests.
    """

    def __init__(self, app: ASGIApp, limits: Limits, started: Callable[[], None] = lambda: None) -> None:
        self._open, self._started, self._told = Connections(limits), started, -float("inf")
        config = uvicorn.Config(
            app,
            http=partial(LimitedConnection, self._open),  # type: ignore[arg-type]
            ws="none",
            backlog=WAITING,
            log_level="error",  # else a line for every malformed request
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=2,
        )
        super().__init__(config)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(self._tell)
        await super().startup(sockets)
        if self.started:
            self._watching = loop.create_task(self._open.watch())
            self._started()

    def _tell(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Log an error of the event loop; one line a minute where connections cannot be accepted."""
        if "accept()" not in str(context.get("message")):
            loop.default_exception_handler(context)
        elif monotonic() - self._told > 60:
            self._told = monotonic()
            log.warning("no connection can be accepted at the moment: %s", context.get("exception"))


class Connections:
    """The open connections of a server, the oldest first."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._most = min(limits.connections, _descriptors())
        self._most_of_one = min(limits.address_connections, max(self._most // 2, 1))
        self._open: dict[LimitedConnection, str] = {}  # with their addresses

    def add(self, connection: "LimitedConnection", address: str) -> None:
        """Count a connection. Where there are too many, one that asks for nothing is closed.

        It is the oldest of the same address, or of the address that has the most.
        """
        self._open[connection] = address
        counts = Counter(self._open.values())
        if counts[address] <= self._most_of_one and len(self._open) <= self._most:
            return
        if counts[address] <= self._most_of_one:
            address = max(counts, key=counts.__getitem__)
        its = (other for other, place in self._open.items() if place == address and other.is_idle)
        closed = next(its, connection)
        self.remove(closed)  # at once: the next one may come before the loop tells that it is lost
        closed.transport.abort()

    def remove(self, connection: "LimitedConnection") -> None:
        """Forget a connection."""
        self._open.pop(connection, None)

    async def watch(self) -> None:
        """Close the connections whose clients take too long, again and again."""
        while True:
            await asyncio.sleep(CHECK_SECONDS)
            for connection in list(self._open):
                connection.check(self._limits)


class LimitedConnection(H11Protocol):
    """A connection that knows what its client has to do next, and since when."""

    def __init__(self, opened: Connections, **options: Any) -> None:
        super().__init__(**options)
        self._opened, self._received = opened, 0
        self._doing: object = None
        self._amount, self._since = 0, monotonic()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._opened.add(self, self.client[0] if self.client else "")

    def connection_lost(self, exc: Exception | None) -> None:
        self._opened.remove(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._received += len(data)
        super().data_received(data)

    @property
    def is_idle(self) -> bool:
        """Whether no request has come whose answer is not made yet."""
        return self.cycle is None or self.cycle.response_complete

    def check(self, limits: Limits) -> None:
        """Close the connection if its client takes too long over headers, a body, or the end of an answer.

        Other answers may wait: a player reads a video as it shows it.
        """
        unsent, seconds = self.transport.get_write_buffer_size(), limits.body_seconds
        doing: object = None
        amount = 0
        if self.is_idle and unsent:
            doing, amount = ("answer", self.cycle), -unsent
        elif self.is_idle:
            doing, seconds = ("headers", self.cycle), limits.header_seconds
        elif self.cycle.more_body and not self.flow.read_paused:
            doing, amount = ("body", self.cycle), self._received
        if doing is None or doing != self._doing or amount - self._amount >= LEAST_BYTES:
            self._doing, self._amount, self._since = doing, amount, monotonic()
        elif monotonic() - self._since > seconds:
            self.transport.abort()


def _descriptors() -> int:
    """How many connections the descriptors of this process are enough for."""
    if sys.platform == "win32":
        return 1 << 16
    import resource

    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return max((files - OTHER_FILES) // 2, 8) if files != resource.RLIM_INFINITY else 1 << 16
