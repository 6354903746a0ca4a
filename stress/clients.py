"""Clients of a server, good and bad, each in a thread: they search, add, remove, upload, break off."""

from __future__ import annotations

import random
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import numpy as np

from stress.good_files import VIDEOS, mutations_of
from stress.mutate import mutated

TOKEN = "stress-token"
SEA = "/api/v1/seas/served"
LONGEST_SECONDS = 60.0  # for the page, on an overloaded machine
REFUSALS = (504, 507)  # it took too long, no room: said on purpose


class Clients:
    """A number of clients that ask a server until they are stopped.

    Attributes
    ----------
    statuses
        How often each status was answered.
    wrong
        Answers that a server must not give.
    """

    def __init__(self, address: str, films: Path, good: Path, *, count: int, seed: int) -> None:
        self._address, self._films, self._good = address, films, good
        self.statuses: Counter[int] = Counter()
        self.wrong: list[str] = []
        self._end = threading.Event()
        self._threads = [threading.Thread(target=self._ask, args=(seed * 100 + n,)) for n in range(count)]

    def run(self, seconds: float) -> None:
        """Ask for so long."""
        for thread in self._threads:
            thread.start()
        self._end.wait(seconds)
        self._end.set()
        for thread in self._threads:
            thread.join()

    def _ask(self, seed: int) -> None:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        with httpx.Client(base_url=self._address, headers=headers, timeout=600) as http:
            asker = Asker(http, random.Random(seed), self._films, self._good, self._note)
            while not self._end.is_set():
                try:
                    asker.ask()
                except httpx.HTTPError as error:
                    self.wrong.append(f"{asker.doing}: {type(error).__name__}: {error}")

    def _note(self, doing: str, answer: httpx.Response) -> None:
        self.statuses[answer.status_code] += 1
        if answer.status_code >= 500 and answer.status_code not in REFUSALS:
            self.wrong.append(f"{doing}: {answer.status_code} {answer.text[:200]}")


class Asker:
    """One client: draws what to do next."""

    def __init__(
        self,
        http: httpx.Client,
        rng: random.Random,
        films: Path,
        good: Path,
        note: Callable[[str, httpx.Response], None],
    ) -> None:
        self._http, self._rng, self._films, self._good, self._note = http, rng, films, good, note
        self.doing = ""
        weights = {
            self.search: 6, self.align: 4, self.pictures: 4, self.film: 2, self.add: 2, self.remove: 1,
            self.upload: 3, self.upload_hostile: 4, self.comparison: 2, self.open_hostile_file: 1,
            self.marks: 2, self.nonsense: 3, self.wrong_token: 1, self.break_off: 3, self.jobs: 1,
            self.slow: 1,
        }  # fmt: skip
        self._actions, self._weights = list(weights), list(weights.values())

    def ask(self) -> None:
        (action,) = self._rng.choices(self._actions, self._weights)
        self.doing = action.__name__
        action()

    def _send(self, method: str, path: str, **how: Any) -> httpx.Response:
        answer = self._http.request(method, path, **how)
        self._note(f"{self.doing} {method} {path[:80]}", answer)
        return answer

    def _ref(self) -> str:
        """A clip of the sea, an upload, or something that is gone."""
        clips = self._send("GET", f"{SEA}/clips").json().get("clips", [])
        uploads = self._send("GET", "/api/v1/uploads").json()
        refs = [each["ref"] for each in [*clips, *uploads]] or [f"clip:{'0' * 32}"]
        return str(self._rng.choice(refs))

    def _pair(self) -> dict[str, Any]:
        return {"query": self._ref(), "match": self._ref()}

    def search(self) -> None:
        self._send(
            "POST", f"{SEA}/search", json={"query": {"ref": self._ref()}, "k": self._rng.randint(1, 20)}
        )

    def align(self) -> None:
        pair = self._pair()
        self._send("GET", f"{SEA}/alignment", params=pair)
        form = self._rng.choice(["csv", "otio", "edl", "fcpxml", "xml", "mlt", "json"])
        self._send("GET", f"{SEA}/alignment/timeline.{form}", params=pair)

    def pictures(self) -> None:
        ref = self._ref()
        self._send("GET", f"{SEA}/footage/{ref}")
        for _ in range(5):
            at = {"at": self._rng.uniform(0, 2), "height": self._rng.choice([90, 180, 360])}
            self._send("GET", f"{SEA}/footage/{ref}/thumbnail", params=at)
        self._send("GET", f"{SEA}/footage/{ref}/strip", params={"at": [0.1, 0.5, 1.0]})
        self._send("GET", f"{SEA}/footage/{ref}/video", headers={"Range": "bytes=0-999"})

    def film(self) -> None:
        layout = self._rng.choice(["side", "stack", "blend", "nonsense"])
        asked = {"alignment": self._pair(), "layout": layout}
        job = self._send("POST", f"{SEA}/alignment/film", json=asked).json()
        if "id" in job and self._rng.random() < 0.4:
            self._send("DELETE", f"/api/v1/jobs/{job['id']}")
        elif "id" in job:
            self._send("GET", f"/api/v1/jobs/{job['id']}/result")

    def add(self) -> None:
        file = self._rng.choice(sorted(self._films.rglob("*.mp4")))
        self._send("POST", f"{SEA}/add", json={"paths": [str(file)], "label": self._rng.choice(["a", "b"])})

    def remove(self) -> None:
        clips = self._send("GET", f"{SEA}/clips").json().get("clips", [])
        if len(clips) > 3:
            self._send("DELETE", f"{SEA}/clips/{self._rng.choice(clips)['ref'].removeprefix('clip:')}")

    def upload(self) -> None:
        file = self._rng.choice(sorted(self._good.glob("*.m*")))
        answer = self._send("POST", "/api/v1/uploads", params={"name": file.name}, content=file.read_bytes())
        if answer.status_code == 201 and self._rng.random() < 0.3:
            upload = answer.json()["id"]
            what = self._rng.choice(["add", "delete"])
            if what == "add":
                self._send("POST", f"{SEA}/add", json={"uploads": [upload]})
            else:
                self._send("DELETE", f"/api/v1/uploads/{upload}")

    def _hostile(self, name: str) -> bytes:
        rng = np.random.default_rng(self._rng.getrandbits(32))
        return mutated((self._good / name).read_bytes(), mutations_of(name), rng)

    def upload_hostile(self) -> None:
        name = self._rng.choice(list(VIDEOS))
        name_given = self._rng.choice([name, "../../x.mp4", "\u202e.mp4", "a" * 255, "list.m3u8", "x.png"])
        self._send("POST", "/api/v1/uploads", params={"name": name_given}, content=self._hostile(name))

    def open_hostile_file(self) -> None:
        self._send("POST", "/api/v1/comparisons/file", content=self._hostile("pair.seasync"))

    def comparison(self) -> None:
        answer = self._send("POST", "/api/v1/comparisons", json={"sea": "served", "alignment": self._pair()})
        if answer.status_code == 201:
            place = f"/api/v1/comparisons/{answer.json()['id']}"
            self._send("GET", f"{place}/file", params={"embed": self._rng.choice(["true", "false"])})
            self._send("DELETE", place)

    def marks(self) -> None:
        ref = self._ref()
        mark = {"kind": "moment", "name": "m" * self._rng.choice([1, 300]), "frame": 3, "seconds": 0.1}
        self._send("PUT", f"{SEA}/marks/{ref}", json=[mark] * self._rng.randint(0, 3))
        self._send("GET", f"{SEA}/marks/{ref}")

    def jobs(self) -> None:
        self._send("GET", "/api/v1/jobs")
        with self._http.stream("GET", "/api/v1/jobs/events") as answer:
            for _ in answer.iter_lines():  # the first line is enough; then the connection is dropped
                break

    def nonsense(self) -> None:
        odd = [
            None,
            -1,
            1e308,
            "",
            "x" * 500,
            [],
            {},
            "../..",
            "clip:0",
            "s3://b/a.mp4",
            "http://127.0.0.1/",
            True,
        ]
        pick = self._rng.choice
        body = {pick(["query", "alignment", "paths", "k", "ref", "uploads"]): pick(odd) for _ in range(3)}
        method = pick(["GET", "POST", "PUT", "DELETE", "PATCH"])
        place = pick(
            ["/search", "/alignment", "/alignment/film", "/add", "/clips/x", "/footage/x/video", "/nothing"]
        )
        self._send(method, f"{SEA}{place}", json=body)

    def wrong_token(self) -> None:
        """From another address: it is refused for a while, and the others must not be."""
        guess = {"Authorization": f"Bearer {self._rng.random()}"}
        elsewhere = httpx.HTTPTransport(local_address="127.0.0.2")
        with httpx.Client(transport=elsewhere, base_url=self._http.base_url) as stranger:
            answer = stranger.get("/api/v1", headers=guess)
        if answer.status_code not in (401, 429):
            raise httpx.HTTPError(f"a wrong token is answered with {answer.status_code}")

    def break_off(self) -> None:
        """Send a part of a request, or read a part of an answer, and drop the connection."""
        at = urlsplit(str(self._http.base_url))
        with suppress(OSError), socket.create_connection((at.hostname, at.port), timeout=10) as raw:
            head = f"Host: {at.netloc}\r\nAuthorization: Bearer {TOKEN}\r\n"
            if self._rng.random() < 0.5:
                size = self._rng.randint(1000, 900_000)
                raw.sendall(
                    f"POST /api/v1/uploads?name=a HTTP/1.1\r\n{head}Content-Length: {size}\r\n\r\n".encode()
                )
                raw.sendall(bytes(size // 2))
            else:
                raw.sendall(f"GET {SEA}/footage/{self._ref()}/video HTTP/1.1\r\n{head}\r\n".encode())
                raw.recv(100)

    def slow(self) -> None:
        """From another address: many connections on which little comes. Others must be answered."""
        at = urlsplit(str(self._http.base_url))
        head = f"Host: {at.netloc}\r\nAuthorization: Bearer {TOKEN}\r\n"
        upload = f"POST /api/v1/uploads?name=a.mp4 HTTP/1.1\r\n{head}Content-Length: 900000\r\n\r\na"
        first = self._rng.choice(["", f"GET / HTTP/1.1\r\n{head}X-", upload, f"GET / HTTP/1.1\r\n{head}\r\n"])
        with ExitStack() as stack:
            opened = []
            for _ in range(self._rng.choice([10, 150])):
                with suppress(OSError):
                    place = (str(at.hostname), at.port or 80)
                    raw = socket.create_connection(place, timeout=10, source_address=("127.0.0.3", 0))
                    opened.append(stack.enter_context(raw))
                    raw.sendall(first.encode())
            for _ in range(5):
                began = time.monotonic()
                self._send("GET", "/")
                if (seconds := time.monotonic() - began) > LONGEST_SECONDS:
                    raise httpx.HTTPError(f"the page took {seconds:.0f} s beside {len(opened)} slow clients")
                for raw in opened:
                    with suppress(OSError):
                        raw.sendall(b"a")
                time.sleep(1)
