"""The server under load, and videos in step in a real browser.

`python -m benchmarks.serve [--quick] [--seconds S] [--only load|play|drop|coach|loop]`
`python -m benchmarks.serve --against CHECKOUT [--seconds S]`

1. Searches of a sea of 10,000 synthetic clips (as in `benchmarks.search`) by clip id: in this process with
   `sea.search`, by one thread and by one per core (the better counts); then by 32 clients over HTTP.
2. Meanwhile videos are added, and a visitor opens the page again and again.
3. Chromium plays 2, 4 and 9 films in step; each frame of the leader is drawn with a frame of each follower:
   how far is that from the warp?
4. Two clips of five seconds are dropped on the start page, without a sea: when is the first frame in
   step, and when is the full alignment there?
5. A coach's task: two phone clips, the largest difference of their timing, the film of both: in clicks and
   seconds. Then the weight of the page.
6. A pair loops for ten minutes: does the browser's memory grow?

With `--against`, a folder with another commit checked out, only part 1 runs, with each code by turns.
"""

from __future__ import annotations

import http.client
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import lance
import numpy as np

from benchmarks.goals import Goals, parser
from benchmarks.load_client import cpu_seconds, run_clients
from benchmarks.page import coach, dropped, film, loop, play, server
from benchmarks.search import WIDTH, Clips
from benchmarks.turns import against, run
from seasync.encoders import get_encoder
from seasync.sea.rows import FACTS, FORMAT, SeaFacts
from seasync.sea.sea import Sea
from seasync.serve import Client

CLIPS, CLIENTS, K = 10_000, 32, 10
ADDED = 24
WARM_SECONDS = 6.0  # of searches that are not counted: a server loads much when it starts
# Every commit's benchmark has these functions; its options differ. The clients are ours for all of them:
# heavier ones would take more from a server that answers faster. None counts how it starts.
LOAD_ALONE = """
import sys, tempfile
from contextlib import contextmanager
from pathlib import Path
from benchmarks import serve
from benchmarks.goals import Goals
seconds, warm_seconds, folder_of_clients = float(sys.argv[1]), float(sys.argv[2]), sys.argv[3]
sys.path.append(folder_of_clients)
from load_client import cpu_seconds, run_clients

def clients(address, seconds):
    return run_clients(address, serve.CLIENTS, serve.CLIPS, serve.K, seconds)

@contextmanager
def warm_server(*places, cold=serve.server):
    with cold(*places) as (address, process):
        clients(address, warm_seconds)
        yield address, process

serve.clients, serve.server, serve.cpu_seconds = clients, warm_server, cpu_seconds
serve.WARM_SECONDS = 0.0  # it is warm
with tempfile.TemporaryDirectory() as folder:
    model = serve.tiny_model(Path(folder) / "tiny.onnx")
    serve.load(Path(folder), f"onnx:{model}", seconds, Goals())
"""


def main() -> int:
    options = parser(__doc__, quick="a shorter load, fewer films, neither a task nor a loop", against=True)
    options.add_argument("--seconds", type=float, help="how long the clients search; default 60, quick 8")
    options.add_argument("--only", choices=("load", "play", "drop", "coach", "loop"), help="only this part")
    args = options.parse_args()
    seconds = args.seconds or (8.0 if args.quick else 60.0)
    goals, figures = Goals(args), {}
    if args.against:
        return against(args.against, over_http(seconds), goals)
    folder = Path(tempfile.mkdtemp(prefix="seasync-serve-"))
    try:
        encoder = f"onnx:{tiny_model(folder / 'tiny.onnx')}"
        if args.only in (None, "load"):
            figures = load(folder, encoder, seconds, goals)
        if args.only in (None, "play"):
            play(folder, encoder, goals, seconds=5.0, tiles=(2, 4) if args.quick else (2, 4, 9))
        if args.only in (None, "drop"):
            dropped(folder, goals)
        if args.only == "coach" or not (args.only or args.quick):
            coach(folder, goals)
        if args.only == "loop" or not (args.only or args.quick):
            loop(folder, encoder, goals, seconds=600)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return goals.finish(figures)


def load(folder: Path, encoder: str, seconds: float, goals: Goals) -> dict[str, float]:
    """Searches by clients while clips are added and the page is opened."""
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
        clients(address, WARM_SECONDS)
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
    print(f"CPU of a search: {each[0]:.0f} ms in process, {each[1]:.0f} ms of the server's, all included")
    p50, p95 = np.percentile(visits.times, (50, 95))
    print(f"the page meanwhile: p50 {1000 * p50:.0f} ms, p95 {1000 * p95:.0f} ms")
    goals.at_least("serve throughput over in process", rate / alone[0], 0.7)
    goals.at_most("serve requests failed", found[1] + visits.failed, 0)
    goals.at_most("serve clips lost while adding", CLIPS + ADDED - clips, 0)
    wrong = [problem for problem in Sea(place).verify() if problem.file.startswith(str(films))]
    goals.at_most("serve problems of added clips", len(wrong), 0)
    goals.at_most("serve page while searching, p95", p95, 2.0, " s")
    return {"a second in process": alone[0], "a second over HTTP": rate, "CPU ms of the server": each[1]}


def over_http(seconds: float) -> Callable[[Path], dict[str, float]]:
    """How to measure a checkout: the seconds that each search takes of many clients'."""

    def measure(place: Path) -> dict[str, float]:
        printed = run(place, "-c", LOAD_ALONE, seconds, WARM_SECONDS, Path(__file__).parent)
        (line,) = (line for line in printed.splitlines() if "over HTTP, adding" in line)
        return {"serve seconds of a search": 1 / float(line.split("adding")[1].split()[0])}

    return measure


def in_process(sea: Sea, seconds: float) -> tuple[float, str, float]:
    """Searches a second, by how many threads, and the CPU seconds of one."""
    best = 0.0, "", 0.0
    for threads in sorted({1, os.cpu_count() or 1}):
        until = [time.monotonic() + 1e9]

        def work(seed: int, until: list[float] = until) -> int:
            rng, count = np.random.default_rng(seed), 0
            while time.monotonic() < until[0]:
                sea.search(f"{rng.integers(CLIPS):032x}", k=K).form()
                count += 1
            return count

        sea.search("0" * 32, k=K).form()
        began, spent = time.monotonic(), time.process_time()
        until[0] = began + seconds / 2
        with ThreadPoolExecutor(threads) as pool:
            count = sum(pool.map(work, range(threads)))
        rate, spent = count / (time.monotonic() - began), time.process_time() - spent
        best = max(best, (rate, f"{threads} threads" if threads > 1 else "1 thread", spent / count))
    return best


def clients(address: str, seconds: float) -> tuple[list[float], int]:
    """Seconds that each answered search took, and how many failed."""
    return run_clients(address, CLIENTS, CLIPS, K, seconds)


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
