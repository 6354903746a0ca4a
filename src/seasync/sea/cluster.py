"""Where Ray runs: a cluster that is there already, or one that is started on this machine and ended again."""

from __future__ import annotations

import os
import socket
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from seasync.errors import MissingExtra, SeaError

CONNECT_SECONDS = 5
ATTEMPTS = 4  # of a task whose worker or node dies
AUTHENTICATION = "RAY_AUTH_MODE"
# Ray's own words name options of its programs, which ours have not.
NONE_HERE = (
    "no Ray cluster runs on this machine; start one with `ray start --head`, or say ray (one started for "
    "this work alone) or ray://HOST:PORT (one elsewhere)"
)


def _check_answers(address: str) -> None:
    """Raise SeaError at once where nobody listens; Ray itself would try for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not port.isdigit():
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS).close()
    except OSError as error:
        raise SeaError(f"{address}: no Ray cluster answers there ({error.strerror or error})") from error


def _connect(ray: Any, address: str, local_cpus: int) -> None:
    """Connect, in several attempts.

    Ray's server for clients (ray://) forks a process for each of them while other threads run. Such a process
    may hang before it begins; Ray gives up on it after half a minute, and the next one comes up.
    """
    started_here = {"num_cpus": local_cpus, "include_dashboard": False} if address == "local" else {}
    for left in reversed(range(ATTEMPTS)):
        try:
            with warnings.catch_warnings():  # Ray's processes are programs of their own, not forks
                warnings.filterwarnings("ignore", "lance is not fork-safe")
                ray.init(address, log_to_driver=False, logging_level="error", **started_here)
            return
        except ConnectionAbortedError:
            if not left:
                raise
            ray.shutdown()


@contextmanager
def _authentication_as_it_was() -> Iterator[None]:
    """Take back what Ray leaves in the environment when it starts a cluster: that its tokens are to be used.

    A driver that asks for tokens on a cluster without them can run tasks, but no actors: it refuses the calls
    of the cluster's head, which then takes it for dead.
    """
    before = os.environ.get(AUTHENTICATION)
    try:
        yield
    finally:
        if before is None and os.environ.pop(AUTHENTICATION, None) is not None:
            from ray._raylet import Config  # type: ignore[attr-defined]

            Config.initialize("")  # as Ray itself does when it has set it


@dataclass(frozen=True)
class Cluster:
    """A Ray cluster, and what one task takes of it.

    Attributes
    ----------
    on
        ``"ray"``: a cluster started on this machine for this work alone; ``"auto"``: the one that runs on
        this machine (for both, RAY_ADDRESS goes first); ``"ray://HOST:PORT"`` or ``"HOST:PORT"``: that one.
    tasks
        How many tasks run at a time, at most. 0: as many as there is room for.
    cpus
        CPU cores per task, and threads of its encoder.
    gpus
        GPUs per task; fractions are allowed.
    clips
        How many clips one task encodes.
    """

    on: str = "ray"
    tasks: int = 0
    cpus: float = 1
    gpus: float = 0
    clips: int = 32

    @contextmanager
    def connected(self) -> Iterator[Any]:
        """Connect to Ray; a cluster that this starts ends with the block.

        Raises
        ------
        SeaError
            If there is no such cluster.
        """
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        try:
            import ray
        except ImportError:
            raise MissingExtra("ray", "work on a cluster") from None
        if ray.is_initialized():
            yield ray
            return
        named = os.environ.get("RAY_ADDRESS") if self.on in ("ray", "auto") else None
        address = named or ("local" if self.on == "ray" else self.on)
        _check_answers(address)
        with _authentication_as_it_was():
            try:
                _connect(ray, address, self._local_cpus)
            except (ConnectionError, ValueError, RuntimeError, TimeoutError) as error:
                said = " ".join(str(error).split())[:200]
                none = NONE_HERE if address == "auto" else f"no Ray cluster answers there ({said})"
                raise SeaError(f"{address}: {none}") from error
            try:
                yield ray
            finally:
                ray.shutdown()

    @property
    def _local_cpus(self) -> int:
        wanted = self.tasks * self.cpus if self.tasks else os.cpu_count() or 1
        return max(1, int(-(-wanted // 1)))

    def places(self, ray: Any) -> int:
        """How many tasks the cluster has room for at this moment."""
        there = ray.cluster_resources()
        room = there.get("CPU", 0) // self.cpus if self.cpus else float("inf")
        if self.gpus:
            room = min(room, there.get("GPU", 0) // self.gpus)
        return max(1, int(min(room, self.tasks or room)))

    def remote(self, ray: Any, function: Any, *, attempts: int = ATTEMPTS, light: bool = False) -> Any:
        """Make a function a task. Its process is used again, with the encoder it has loaded.

        A `light` task reads files and needs no GPU.
        """
        return ray.remote(
            num_cpus=self.cpus, num_gpus=0 if light else self.gpus, max_retries=attempts - 1, max_calls=0
        )(function)
