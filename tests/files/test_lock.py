"""One process at a time; the operating system releases the lock of a process that dies."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from seasync.files import lock
from seasync.files.local import Locked

HOLD = """
import sys
from pathlib import Path
from seasync.files import lock
from seasync.files.local import Locked
with lock(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_another_process_is_waited_for_until_it_is_killed(tmp_path: Path) -> None:
    file, waited = tmp_path / "lock", []
    command = [sys.executable, "-c", HOLD, str(file)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(Locked, match="held by another process"), lock(file, wait=False):
            pass

        def kill() -> None:
            waited.append(1)
            holder.kill()

        with lock(file, waiting=kill):
            assert waited == [1]
    with lock(file, wait=False, waiting=kill):
        assert waited == [1]
    assert file.exists()


def test_threads_keep_each_other_out(tmp_path: Path) -> None:
    inside, most = 0, 0

    def work() -> None:
        nonlocal inside, most
        for _ in range(3):
            with lock(tmp_path / "lock"):
                inside += 1
                most = max(most, inside)
                inside -= 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1


def test_what_is_raised_inside_releases_it(tmp_path: Path) -> None:
    for _ in range(2):
        with pytest.raises(ValueError), lock(tmp_path / "lock", wait=False):
            raise ValueError
