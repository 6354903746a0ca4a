"""The server under load, and two videos in step in a real browser.

`python -m benchmarks.serve [--quick] [--seconds S]`

1. A sea of 10,000 synthetic clips (as in `benchmarks.search`) is searched by clip id: in this process with
   `sea.search`, by one thread and by one for each core (the better counts); then by 32 clients over HTTP.
2. Meanwhile videos are added, and a visitor opens the page again and again.
3. Chromium plays two films in step; each frame of the one is drawn with a frame of the other: how far is that
   from the warp?
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from fractions import Fraction
from multiprocessing import get_context
from pathlib import Path
from urllib.parse import urlsplit

import lance
import numpy as np

from benchmarks.goals import Goals
from benchmarks.search import WIDTH, Clips
from seasync.encoders import get_encoder
from seasync.sea.rows import FACTS, FORMAT, SeaFacts
from seasync.search import Sea
from seasync.serve import Client
from seasync.video import Writer

CLIPS, CLIENTS, K = 10_000, 32, 10
ADDED = 24
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seconds", type=float, help="how long the clients search; default 60, quick 8")
    args = parser.parse_args()
    seconds = args.seconds or (8.0 if args.quick else 60.0)
    goals = Goals()
    folder = Path(tempfile.mkdtemp(prefix="seasync-serve-"))
    try:
        encoder = f"onnx:{tiny_model(folder / 'tiny.onnx')}"
        load(folder, encoder, seconds, goals)
        play(folder, encoder, goals, seconds=5.0)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return goals.exit_code


def load(folder: Path, encoder: str, seconds: float, goals: Goals) -> None:
    place = folder / "large.sea"
    made = get_encoder(encoder)
    facts = SeaFacts(FORMAT, made.name, made.fingerprint, 7.5, ((made.name, WIDTH),), WIDTH)
    table = Clips().table(0, CLIPS, frame_features=True)
    lance.write_dataset(table.replace_schema_metadata({FACTS: facts.to_json()}), str(place))
    films = folder / "films"
    for number in range(ADDED):
        film(films / f"{number}.mp4", np.linspace(0, 1, 30 + number), size=(160, 120))
    alone = in_process(Sea(place), seconds / 3)
    with server(place, folder / "state", films) as (address, process):
        job: list[object] = []
        adding = threading.Thread(target=lambda: job.append(add(address, films)))
        visits = Visits(address)
        adding.start(), visits.start()
        spent = cpu_seconds(process)
        found = clients(address, seconds)
        spent = cpu_seconds(process) - spent
        visits.stop()
        adding.join()
        with Client(address) as client:
            clips = client.sea("large").clips
    rate, times = len(found[0]) / seconds, np.array(found[0]) * 1000
    print(f"{'searches of ' + format(CLIPS, ',') + ' clips':34} a second   p50 ms   p99 ms")
    print(f"{'in process, ' + alone[1]:34} {alone[0]:8.1f}")
    p50, p99 = np.percentile(times, (50, 99))
    print(f"{f'{CLIENTS} clients over HTTP, adding':34} {rate:8.1f} {p50:8.0f} {p99:8.0f}")
    each = 1000 * alone[2], 1000 * spent / len(times)
    print(f"CPU of a search: {each[0]:.0f} ms in process, {each[1]:.0f} ms of the server's, page included")
    p50, p95 = np.percentile(visits.times, (50, 95))
    print(f"the page meanwhile: p50 {1000 * p50:.0f} ms, p95 {1000 * p95:.0f} ms")
    goals.at_least("serve throughput over in process", rate / alone[0], 0.7)
    goals.at_most("serve requests failed", found[1] + visits.failed, 0)
    goals.at_most("serve clips lost while adding", CLIPS + ADDED - clips, 0)
    wrong = [problem for problem in Sea(place).verify() if problem.file.startswith(str(films))]
    goals.at_most("serve problems of added clips", len(wrong), 0)
    goals.at_most("serve page while searching, p95", p95, 2.0, " s")


def in_process(sea: Sea, seconds: float) -> tuple[float, str, float]:
    """Searches a second, by how many threads, and the CPU seconds of one."""
    best = 0.0, "", 0.0
    for threads in sorted({1, os.cpu_count() or 1}):
        until = [time.monotonic() + 1e9]

        def work(seed: int, until: list[float] = until) -> int:
            rng, count = np.random.default_rng(seed), 0
            while time.monotonic() < until[0]:
                sea.search(f"{rng.integers(CLIPS):032x}", k=K)
                count += 1
            return count

        sea.search("0" * 32, k=K)
        began, spent = time.monotonic(), time.process_time()
        until[0] = began + seconds / 2
        with ThreadPoolExecutor(threads) as pool:
            count = sum(pool.map(work, range(threads)))
        rate, spent = count / (time.monotonic() - began), time.process_time() - spent
        best = max(best, (rate, f"{threads} threads" if threads > 1 else "1 thread", spent / count))
    return best


def cpu_seconds(process: int) -> float:
    """Of a process alone, where the system tells; its lanes are processes of their own."""
    stat = Path(f"/proc/{process}/stat")
    if not stat.exists():
        return float("nan")
    user, system = stat.read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def clients(address: str, seconds: float) -> tuple[list[float], int]:
    """Seconds that each answered search took, and how many failed; two processes share the clients."""
    with get_context("spawn").Pool(2) as pool:
        parts = pool.starmap(search_for, [(address, CLIENTS // 2, seconds, n) for n in range(2)])
    return [took for times, _ in parts for took in times], sum(failed for _, failed in parts)


def search_for(address: str, count: int, seconds: float, seed: int) -> tuple[list[float], int]:
    def client(number: int) -> tuple[list[float], int]:
        rng = np.random.default_rng([seed, number])
        times, failed = [], 0
        connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=120)
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            body = json.dumps({"query": {"ref": f"clip:{rng.integers(CLIPS):032x}"}, "k": K})
            began = time.monotonic()
            connection.request(
                "POST", "/api/v1/seas/large/search", body, {"Content-Type": "application/json"}
            )
            answer = connection.getresponse()
            good = answer.status == 200 and len(answer.read()) > 1000
            times.append(time.monotonic() - began)
            failed += not good
        connection.close()
        return times, failed

    with ThreadPoolExecutor(count) as pool:
        parts = list(pool.map(client, range(count)))
    return [took for times, _ in parts for took in times], sum(failed for _, failed in parts)


class Visits:
    """Someone who opens the page and the first clips, again and again."""

    def __init__(self, address: str) -> None:
        self.times: list[float] = []
        self.failed = 0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._visit, args=(urlsplit(address).netloc,))

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._done.set()
        self._thread.join()

    def _visit(self, place: str) -> None:
        connection = http.client.HTTPConnection(place, timeout=120)
        while not self._done.wait(0.2):
            began = time.monotonic()
            for path in ("/", "/js/app.js", "/api/v1", "/api/v1/seas/large/clips"):
                connection.request("GET", path)
                answer = connection.getresponse()
                answer.read()
                self.failed += answer.status != 200
            self.times.append(time.monotonic() - began)


def add(address: str, films: Path) -> object:
    with Client(address) as client:
        return client.wait(client.add("large", paths=[str(films)])).result


@contextmanager
def server(sea: Path, state: Path, root: Path) -> Iterator[tuple[str, int]]:
    """A server's address and its process."""
    command = [sys.executable, "-c", "from seasync.cli import main; main()", "serve", "--sea", str(sea)]
    command += ["--state", str(state), "--root", str(root), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        try:
            yield running.stdout.readline().strip(), running.pid
        finally:
            running.terminate()


def play(folder: Path, encoder: str, goals: Goals, *, seconds: float) -> None:
    """Two films of one movement at varying speeds (.7 to 1.45), played in step."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        print("no Chromium here, so nothing is played")
        return
    from playwright.sync_api import sync_playwright

    films = folder / "pair"
    steady = np.linspace(0, 1, 180)
    film(films / "query.mp4", steady, size=(640, 360))
    film(films / "match.mp4", steady + 0.06 * np.sin(2 * np.pi * steady), size=(640, 360))
    Sea(folder / "pair.sea", encoder).add(films)
    with server(folder / "pair.sea", folder / "state2", films) as (address, _), sync_playwright() as browsers:
        with Client(address) as client:
            refs = {clip.name: clip.ref for clip in client.clips("pair")}
        browser = browsers.chromium.launch(executable_path=program, args=FLAGS)
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.goto(f"{address}#/pair/sync?query={refs['query.mp4']}&match={refs['match.mp4']}")
        page.wait_for_selector(".matrix", timeout=60_000)
        page.evaluate("(seasync.player.loop = true, seasync.player.play())")
        page.wait_for_timeout(1000 * (seconds + 1))
        errors = np.round(page.evaluate("seasync.player.errors"), 2)  # browsers' clocks are exact to that
        engine = page.evaluate("seasync.player.engine")
        browser.close()
    p50, p95 = np.percentile(errors, (50, 95))
    print(f"in step by the {engine}: {len(errors)} frames, p50 {p50:.2f}, p95 {p95:.2f} frames off")
    goals.at_most("serve in step while playing, p95", p95, 1.0, " frames")


def film(file: Path, progress: np.ndarray, *, size: tuple[int, int]) -> None:
    """A disc that crosses the picture: how far it is in each frame."""
    file.parent.mkdir(parents=True, exist_ok=True)
    width, height = size
    y, x = np.mgrid[:height, :width]
    with Writer(file, fps=Fraction(30), size=size) as out:
        for share in progress.tolist():
            picture = np.full((height, width, 3), (40, 70, 90), np.uint8)
            away = (x - width * (0.1 + 0.8 * share)) ** 2 + (
                y - height * (0.5 + 0.3 * np.sin(6 * share))
            ) ** 2
            picture[away < (height / 6) ** 2] = (240, int(200 * (1 - share)), 60)
            out.write(picture)


def tiny_model(file: Path) -> Path:
    """A model of 384 numbers a frame that costs next to nothing: mean colours of 16 × 8 cells."""
    import onnx
    from onnx import TensorProto, helper

    nodes = [
        helper.make_node("AveragePool", ["pictures"], ["cells"], kernel_shape=[2, 4], strides=[2, 4]),
        helper.make_node("Flatten", ["cells"], ["feature"]),
    ]
    entry = helper.make_tensor_value_info("pictures", TensorProto.FLOAT, ["batch", 3, 32, 32])
    out = helper.make_tensor_value_info("feature", TensorProto.FLOAT, ["batch", WIDTH])
    graph = helper.make_graph(nodes, "tiny", [entry], [out])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), file)
    return file


if __name__ == "__main__":
    sys.exit(main())
