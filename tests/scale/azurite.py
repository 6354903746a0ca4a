"""Azure's blob storage on loopback: Azurite, Microsoft's emulator, started for the tests and ended after."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from seasync.files.store import AZURITE, opened
from tests.scale.store import PATIENCE, free_ports

ACCOUNT, KEY, _ = AZURITE


@contextmanager
def azurite(folder: Path) -> Iterator[dict[str, str]]:
    """The options to reach it by; it has a container `tests`. Where it is not installed: a visible skip."""
    own = Path(sys.prefix) / "node_modules/.bin"  # where tests/install_programs.sh puts it
    program = shutil.which("azurite-blob") or shutil.which("azurite-blob", path=str(own))
    if program is None:
        pytest.skip("no Azurite here (npm install azurite)")
    (port,) = free_ports(1)
    where = ["--location", str(folder), "--blobHost", "127.0.0.1", "--blobPort", str(port)]
    command = [program, *where, "--silent", "--disableTelemetry", "--skipApiVersionCheck"]
    with (folder / "log").open("ab") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        options = {
            "azure_storage_account_name": ACCOUNT,
            "azure_storage_account_key": KEY,
            "azure_storage_endpoint": f"http://127.0.0.1:{port}/{ACCOUNT}",
            "allow_http": "true",
            "client_max_retries": "2",
            "client_retry_timeout": "3",
        }
        _wait(process, folder / "log")
        system, name = opened("az://tests", options)
        system.create_dir(name)
        yield options
    finally:
        process.kill()
        process.wait()


def _wait(process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + PATIENCE
    while "successfully listens" not in log.read_text(errors="replace"):
        if process.poll() is not None or time.monotonic() > end:
            raise RuntimeError(f"no answer: {log.read_text(errors='replace')[-2000:]}")
        time.sleep(0.1)
