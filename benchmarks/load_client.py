"""Many clients of a server in one small process; part of `benchmarks.serve`.

The process imports nothing large and parses no answers, so that it takes little of the cores that the server
needs. It knows nothing of the code that serves, so that two commits can be compared by it.
"""

from __future__ import annotations

import json
import os
import random
import selectors
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit


def run_clients(address: str, count: int, clips: int, k: int, seconds: float) -> tuple[list[float], int]:
    """The seconds that each search took, and how many failed, of clients in a process of their own."""
    place = urlsplit(address)
    arguments = [str(value) for value in (place.hostname, place.port, count, clips, k, seconds)]
    command = [sys.executable, __file__, *arguments]
    times, failed = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    return times, failed


def cpu_seconds(process: int) -> float:
    """CPU seconds of a process and of those that it started, where the system reports them."""
    spent, started = 0.0, {process}
    for stat in sorted(Path("/proc").glob("[0-9]*/stat"), key=lambda stat: int(stat.parent.name)):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended meanwhile
            continue
        if int(stat.parent.name) == process or int(fields[1]) in started:
            started.add(int(stat.parent.name))
            spent += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return spent or float("nan")


class Connection:
    """One client: sends a search, reads the answer, sends the next."""

    def __init__(self, host: str, port: int, clips: int, k: int, seed: int) -> None:
        self.socket = socket.create_connection((host, port))
        self._head = f"POST /api/v1/seas/large/search HTTP/1.1\r\nHost: {host}:{port}\r\n"
        self._random, self._clips, self._k = random.Random(seed), clips, k
        self._answer = b""

    def ask(self) -> None:
        """Send the next search."""
        clip = self._random.randrange(self._clips)
        body = json.dumps({"query": {"ref": f"clip:{clip:032x}"}, "k": self._k})
        fields = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        self._answer, self._began = b"", time.monotonic()
        self.socket.sendall((self._head + fields + body).encode())

    def read(self) -> tuple[float, bool] | None:
        """Once the answer is complete: the seconds it took, and whether it is good."""
        received = self.socket.recv(1 << 16)
        self._answer += received
        head, end, body = self._answer.partition(b"\r\n\r\n")
        if received and not end:
            return None
        lines = head.lower().split(b"\r\n")
        length = next((int(line[15:]) for line in lines if line.startswith(b"content-length:")), 0)
        if received and len(body) < length:
            return None
        good = lines[0].startswith(b"http/1.1 200") and len(body) > 1000
        return time.monotonic() - self._began, good


def search_for(
    host: str, port: int, count: int, clips: int, k: int, seconds: float
) -> tuple[list[float], int]:
    """The seconds that each search took, and how many failed."""
    waiting, times, failed = selectors.DefaultSelector(), [], 0
    until = time.monotonic() + seconds
    for seed in range(count):
        connection = Connection(host, port, clips, k, seed)
        waiting.register(connection.socket, selectors.EVENT_READ, connection)
        connection.ask()
    while waiting.get_map():
        for key, _ in waiting.select():
            done = key.data.read()
            if done is None:
                continue
            times.append(done[0])
            failed += not done[1]
            if done[1] and time.monotonic() < until:
                key.data.ask()
            else:
                waiting.unregister(key.fileobj)
                key.data.socket.close()
    return times, failed


if __name__ == "__main__":
    host, *numbers, seconds = sys.argv[1:]
    json.dump(search_for(host, *map(int, numbers), float(seconds)), sys.stdout)
