"""A Ray cluster of three nodes on this machine, each with one core to give."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.scale.store import free_ports

PATIENCE = 60  # seconds


class ThreeNodes:
    """The cluster; `lose_worker` and `lose_node` kill processes of it, and of nothing else."""

    def __init__(self) -> None:
        from ray.cluster_utils import Cluster

        (port,) = free_ports(1)
        head = {"num_cpus": 1, "include_dashboard": False, "ray_client_server_port": port}
        self._cluster: Any = Cluster(initialize_head=True, head_node_args=head)
        self.client = f"ray://127.0.0.1:{port}"
        self.nodes = [self._cluster.add_node(num_cpus=1) for _ in range(2)]
        self.address: str = self._cluster.address
        self.lost: list[int] = []  # workers

    def lose_worker(self, task: str) -> threading.Thread:
        """SIGKILL the first process that is seen at work on `task`, in the background until it is done."""
        killer = threading.Thread(target=self._kill_one, args=(task,))
        killer.start()
        return killer

    def _kill_one(self, task: str) -> None:
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            for process in self._workers():
                with suppress(psutil.NoSuchProcess):
                    if process.name().startswith(f"ray::{task}"):
                        process.kill()
                        self.lost.append(process.pid)
                        return
            time.sleep(0.01)

    def lose_node(self) -> None:
        self._cluster.remove_node(self.nodes.pop(), allow_graceful=False)

    def shutdown(self) -> None:
        self._cluster.shutdown()

    def _workers(self) -> Iterator[psutil.Process]:
        for node in [self._cluster.head_node, *self.nodes]:
            raylet = psutil.Process(node.all_processes["raylet"][0].process.pid)
            yield from raylet.children(recursive=True)


@contextmanager
def three_nodes() -> Iterator[ThreeNodes]:
    """Where Ray is not installed: a visible skip, and a failure in CI."""
    try:
        import ray
    except ImportError:
        message = "no Ray here (pip install 'seasync[ray]')"
        pytest.fail(message) if os.environ.get("CI") else pytest.skip(message)
    with ray_folder():
        cluster = _started()
        try:
            yield cluster
        finally:
            ray.shutdown()
            cluster.shutdown()


def _started() -> ThreeNodes:
    """On a machine that has much else to do, Ray may give up on a node; then once more."""
    try:
        return ThreeNodes()
    except Exception as error:  # Ray has no class for it
        if "timed out during startup" not in str(error):
            raise
        return ThreeNodes()


@contextmanager
def ray_folder() -> Iterator[None]:
    """Ray's sockets need a short path; its token would otherwise be written to the user's home."""
    folder = tempfile.mkdtemp(prefix="ray", dir="/tmp")
    os.makedirs(f"{folder}/ray")
    Path(folder, "token").write_text(uuid.uuid4().hex)
    settings = {
        "RAY_TMPDIR": folder,
        "RAY_AUTH_TOKEN_PATH": f"{folder}/token",
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_health_check_initial_delay_ms": "0",  # a node that is gone is soon missed
        "RAY_health_check_period_ms": "1000",
        "RAY_health_check_failure_threshold": "10",
    }
    before = {name: os.environ.get(name) for name in settings}
    os.environ.update(settings)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
        shutil.rmtree(folder, ignore_errors=True)
