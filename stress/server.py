"""A busy server with small limits: after each minute its caches, memory, disk and jobs are as they should."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import psutil

from seasync.sea.sea import Sea
from stress.clients import TOKEN, Clients
from stress.good_files import write_good_files
from stress.journal import Round
from stress.kind import Kind, Play
from stress.small_server import MB, small_limits
from tests.encoders.models import colour_grid
from tests.serve.films import film, footage, pace

MEASURES = ("5xx", "stuck jobs", "over limits", "other errors")
MINUTES, CLIENTS = 10, 32
ROUND_SECONDS = 60.0
WARM_ROUNDS = 3
GROWTH_BYTES = 80 * MB  # of the server's own process, from the warm-up to the end


class BusyServer:
    """The server's process, and what is measured of it."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._state, self._cache = folder, folder / "state", folder / "cache"
        os.environ["SEASYNC_CACHE"] = str(self._cache)
        self._films = footage(folder / "films")
        for n in range(4):
            film(self._films / "left" / f"{n}.mp4", pace(40 + 7 * n), action="left", tint=5 * n)
        write_good_files(folder / "good")
        encoder = f"onnx:{colour_grid(folder / 'grid.onnx')}"
        self._sea = folder / "served.sea"
        Sea(self._sea, encoder).add(self._films / "right", self._films / "arc")
        self._limits = small_limits(MINUTES)
        command = [sys.executable, "-m", "stress.small_server", self._sea, self._state, encoder, str(MINUTES)]
        self._log = (folder / "log").open("w")
        self._process = subprocess.Popen(
            [*map(str, command), str(self._films)], stdout=subprocess.PIPE, stderr=self._log, text=True
        )
        assert self._process.stdout is not None
        self._address = self._process.stdout.readline().strip().split("?")[0].rstrip("/")
        self._resident: list[int] = []
        self._opened: list[int] = []

    def play(self, seed: int) -> Round:
        played = Round("a minute")
        clients = Clients(self._address, self._films, self._folder / "good", count=CLIENTS, seed=seed)
        clients.run(ROUND_SECONDS)
        for what in clients.wrong[:10]:
            played.expect(False, "5xx" if ": 5" in what else "other errors", what)
        stuck = self._wait_for_jobs(120.0)
        played.expect(not stuck, "stuck jobs", f"{len(stuck)}: {stuck[:2]}")
        played.facts = self._measure(played) | {"statuses": {str(k): v for k, v in clients.statuses.items()}}
        log = (self._folder / "log").read_text()
        raised = sorted(
            set(re.findall(r"^[\w.]+(?:Error|Exception|Disconnect)\b.{0,200}", log, re.MULTILINE))
        )
        played.expect("Traceback" not in log, "other errors", f"in the log: {raised[:5]}")
        (self._folder / "log").write_text("")
        problems = Sea(self._sea).verify()
        played.expect(not problems, "other errors", f"the sea does not verify: {problems[:2]}")
        return played

    def _wait_for_jobs(self, seconds: float) -> list[str]:
        end = time.monotonic() + seconds
        headers = {"Authorization": f"Bearer {TOKEN}"}
        while True:
            jobs = httpx.get(f"{self._address}/api/v1/jobs", headers=headers, timeout=60).json()
            waiting = [
                f"{job['kind']} {job['state']}" for job in jobs if job["state"] in ("queued", "running")
            ]
            if not waiting or time.monotonic() > end:
                return waiting
            time.sleep(0.5)

    def _measure(self, played: Round) -> dict[str, float]:
        """Memory, files and disk, against the limits."""
        server = psutil.Process(self._process.pid)
        self._resident.append(server.memory_info().rss)
        self._opened.append(server.num_fds())
        limits = self._limits
        sizes = {
            "cache": (_size(self._cache / "serve"), limits.cache_bytes * 33 / 32 + MB / 10),
            "films": (_size(self._state / "films"), limits.film_bytes * 33 / 32 + MB),
            "uploads": (_size(self._state / "uploads"), limits.quota_bytes),
            "incoming": (_size(self._state / "incoming"), 0),
        }
        for name, (size, most) in sizes.items():
            played.expect(size <= most, "over limits", f"{name}: {size} bytes, more than {most:.0f}")
        if len(self._resident) > WARM_ROUNDS:
            grown = self._resident[-1] - self._resident[WARM_ROUNDS - 1]
            played.expect(grown < GROWTH_BYTES, "over limits", f"memory has grown by {grown / MB:.0f} MB")
            opened = self._opened[-1] - self._opened[WARM_ROUNDS - 1]
            played.expect(opened < 40, "over limits", f"{opened} more files are open")
        measured = {name: size for name, (size, _) in sizes.items()}
        return measured | {"rss_mb": round(self._resident[-1] / MB), "files": self._opened[-1]}

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(30)
        self._log.close()


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


@contextmanager
def opened(work: Path) -> Iterator[Play]:
    server = BusyServer(work)
    try:
        yield server.play
    finally:
        server.close()


KIND = Kind("server", MEASURES, MINUTES, opened, " minutes")
