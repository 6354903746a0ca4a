"""A sea from 10,000 clips up: latency, recall, memory, disk, and what a cluster costs.

`python -m benchmarks.scale [--quick] [--parts points s3 ray] [--sizes N …] [--folder DIR]`

Clips are synthetic but structured, as in `benchmarks.search`; clip vectors have 768 dimensions. Every point
is made, built and searched in processes of their own, so that memory is told apart. With `--folder`, seas are
kept there and found again: what is searched anew needs no building.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import lance
import numpy as np
import pyarrow as pa

from benchmarks.goals import Goals, parser
from benchmarks.ingest import make_videos
from benchmarks.search import BATCH, FACTS, FRAMES, WIDTH, Clips, draw_queries
from seasync.encoding import Floats
from seasync.ranking import query_vector
from seasync.sea import rows as layout
from seasync.sea.copies import copy
from seasync.sea.ray import Cluster
from seasync.sea.rows import matrix
from seasync.sea.sea import Sea

SIZES = (10_000, 100_000, 650_000)
QUICK_SIZES = (5_000, 60_000)
K = 10
FEATURE_BYTES = FRAMES * (2 * WIDTH + 16)  # of a clip of 8.5 s: half precision, with times and frame numbers
PARTS = ("points", "s3", "ray")


def make(folder: Path, count: int) -> dict[str, float]:
    """Write a sea of `count` clips without frame features."""
    clips = Clips()

    def batches() -> Iterator[pa.RecordBatch]:
        for first in range(0, count, BATCH):
            yield from clips.table(first, min(BATCH, count - first), frame_features=False).to_batches()

    reader = pa.RecordBatchReader.from_batches(layout.schema(FACTS), batches())
    lance.write_dataset(reader, folder, max_rows_per_file=200_000)
    return {"record_mb": _megabytes(folder)}


def build(folder: Path, count: int) -> dict[str, float]:
    """Make the index; the peak of memory is this process's."""
    before, begin = _peak_megabytes(), time.perf_counter()
    Sea(folder).rebuild("ivf_rq")
    spent = time.perf_counter() - begin
    return {
        "build_s": spent,
        "build_cpu_s": sum(resource.getrusage(resource.RUSAGE_SELF)[:2]),
        "build_mb": _peak_megabytes() - before,
        "index_mb": _megabytes(folder / "_indices"),
        "disk_mb": _megabytes(folder),
    }


def search(folder: Path, count: int) -> dict[str, float]:
    """Latency of single queries, cold and warm, memory they take, recall@10 against all clips compared."""
    import psutil

    queries = draw_queries()
    process = psutil.Process()
    before, begin = process.memory_info().rss, time.perf_counter()
    snapshot = Sea(folder).record.snapshot()
    vectors = np.stack([query_vector(q, snapshot.vectors.standard, trajectory=True) for q in queries])
    snapshot.vectors.nearest(snapshot, vectors[:1], K)
    first = time.perf_counter() - begin
    found = [snapshot.vectors.nearest(snapshot, vector[None], K)[0][0] for vector in vectors]
    spent = []
    for vector in vectors:
        begin = time.perf_counter()
        snapshot.vectors.nearest(snapshot, vector[None], K)
        spent.append(time.perf_counter() - begin)
    grown = (process.memory_info().rss - before) / 1e6
    truth = _exact(snapshot, vectors)
    shared = [len(set(a.tolist()) & set(b.tolist())) / K for a, b in zip(found, truth, strict=True)]
    return {
        "first_ms": first * 1e3,
        "p50_ms": float(np.median(spent)) * 1e3,
        "p95_ms": float(np.quantile(spent, 0.95)) * 1e3,
        "search_mb": grown,
        "recall": float(np.mean(shared)),
    }


def _exact(snapshot: Any, vectors: Floats) -> list[np.ndarray]:
    """Row ids of the K nearest of all, by comparing every vector."""
    best = np.full((len(vectors), K), -np.inf, np.float32)
    rows = np.zeros((len(vectors), K), np.uint64)
    column = snapshot.index.column
    for batch in snapshot.dataset.scanner(columns=[column], with_row_id=True, batch_size=16_384).to_batches():
        scores = np.concatenate([best, vectors @ matrix(batch[column]).T], axis=1)
        ids = np.concatenate(
            [rows, np.broadcast_to(batch["_rowid"].to_numpy(), (len(rows), len(batch)))], axis=1
        )
        top = np.argpartition(-scores, K - 1, axis=1)[:, :K]
        best, rows = np.take_along_axis(scores, top, 1), np.take_along_axis(ids, top, 1)
    return list(rows)


def measure(stage: Callable[[Path, int], dict[str, float]], folder: Path, count: int) -> dict[str, float]:
    """One stage in a process of its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(stage, (folder, count))


def point(folder: Path, count: int) -> dict[str, float]:
    """All figures of a sea of `count` clips; what was made or built in an earlier run is not made again."""
    kept = folder.with_suffix(".json")
    figures: dict[str, float] = json.loads(kept.read_text()) if kept.exists() else {}
    if "record_mb" not in figures:
        shutil.rmtree(folder, ignore_errors=True)
        figures = measure(make, folder, count)
        kept.write_text(json.dumps(figures))
    if "build_s" not in figures:
        figures |= measure(build, folder, count)
        kept.write_text(json.dumps(figures))
    figures |= measure(search, folder, count)
    kept.write_text(json.dumps(figures))
    return figures


def points(folder: Path, sizes: tuple[int, ...], goals: Goals) -> dict[int, dict[str, float]]:
    """Measure every size and print the table."""
    columns = {
        "p50_ms": "p50 ms",
        "p95_ms": "p95 ms",
        "first_ms": "first ms",
        "recall": "recall@10",
        "search_mb": "memory MB",
        "record_mb": "record MB",
        "index_mb": "index MB",
        "disk_mb": "disk MB",
        "build_s": "build s",
        "build_cpu_s": "CPU s",
        "build_mb": "build MB",
    }
    print("     clips" + "".join(f"{title:>11}" for title in columns.values()))
    found = {}
    for count in sizes:
        place = folder / f"{count}.sea"
        found[count] = figures = point(place, count)
        shown = (
            f"{figures.get(name, np.nan):{'11.3f' if name == 'recall' else '11.1f'}}" for name in columns
        )
        print(f"{count:10,}" + "".join(shown), flush=True)
    small, large = sizes[0], sizes[-1]
    growth = found[large]["p50_ms"] / found[small]["p50_ms"]
    goals.at_most(f"latency growth from {small:,} to {large:,} clips", growth, 0.5 * large / small, "×")
    goals.at_least(f"recall@10 at {large:,}", found[large]["recall"], 0.95)
    return found


def model(found: dict[int, dict[str, float]]) -> None:
    """What larger seas would take, by least squares through the points that were measured here.

    Latency and the memory of a build grow with √n (partitions, and clips in each), all else with n.
    """
    root, line = np.sqrt, np.asarray
    fits = {
        name: _fit(shape, {size: figures[name] for size, figures in found.items() if name in figures})
        for name, shape in (
            ("p50_ms", root),
            ("build_mb", root),
            ("search_mb", line),
            ("disk_mb", line),
            ("build_cpu_s", line),
        )
    }
    print("\n              query ms  search node GB  disk GB  with features GB  build CPU h  build GB")
    for power in range(5, 10):
        count = 10.0**power
        value = {
            name: np.polyval(fit, root(count) if name in ("p50_ms", "build_mb") else count)
            for name, fit in fits.items()
        }
        features = value["disk_mb"] / 1e3 + count * FEATURE_BYTES / 1e9
        print(
            f"{count:13,.0f}{value['p50_ms']:9.1f}{value['search_mb'] / 1e3:16.1f}"
            f"{value['disk_mb'] / 1e3:9.0f}{features:18,.0f}"
            f"{value['build_cpu_s'] / 3600:13.2f}{value['build_mb'] / 1e3:10.1f}"
            f"{'' if count <= max(found) else '  extrapolated'}"
        )


def _fit(shape: Callable[[Any], Any], points: dict[int, float]) -> np.ndarray:
    """The line through these points over `shape` of their sizes, each counting by its share."""
    sizes = shape(np.array(list(points), float))
    return np.polyfit(sizes, list(points.values()), 1, w=1 / sizes)


def on_s3(folder: Path, count: int) -> None:
    """A search node on object storage: its first query and later ones, the index read ahead or not."""
    from tests.scale.store import running

    with tempfile.TemporaryDirectory() as scratch, running(Path(scratch)) as store:
        os.environ |= store.environment
        uri = f"{store.bucket('seas')}/{count}.sea"
        begin = time.perf_counter()
        moved = copy(Sea(folder).record, Sea(uri).record)
        rate = moved / 1e6 / (time.perf_counter() - begin)
        print(f"\n{count:,} clips on S3 (loopback), copied at {rate:.0f} MB/s")
        for ahead in (False, True):
            first, p50, p95 = measure(_node, Path(uri), int(ahead)).values()
            how = "index read ahead" if ahead else "as it comes"
            print(f"{how:18} first query {first:6.0f} ms, p50 {p50:5.1f} ms, p95 {p95:5.1f} ms", flush=True)


def _node(uri: Path, ahead: int) -> dict[str, float]:
    """One search node; `uri` as a path, which has lost a slash."""
    queries = draw_queries()
    begin = time.perf_counter()
    snapshot = Sea(str(uri).replace(":/", "://")).record.snapshot()
    if ahead and snapshot.index:
        snapshot.index.prewarm(snapshot)
        begin = time.perf_counter()
    vectors = np.stack([query_vector(q, snapshot.vectors.standard, trajectory=True) for q in queries])
    spent = []
    for vector in vectors[:100]:
        snapshot.vectors.nearest(snapshot, vector[None], K)
        spent.append(time.perf_counter() - begin)
        begin = time.perf_counter()
    later = np.array(spent[1:]) * 1e3
    return {"first": spent[0] * 1e3, "p50": float(np.median(later)), "p95": float(np.quantile(later, 0.95))}


def on_ray(folder: Path, clips: int, seconds: float, goals: Goals) -> None:
    """Ingest of the same videos here and on a Ray cluster of two workers; Ray's own start is not counted."""
    files = make_videos(folder, clips, seconds)
    cluster = Cluster("ray", tasks=2, clips=max(1, clips // 8))
    spent = {}
    print(f"\ningest of {clips} clips of {seconds:g} s", flush=True)
    with cluster.connected():
        for name, how in (("here", {}), ("on Ray, 2 workers", {"on": cluster})):
            # What a process loads once is loaded before.
            Sea(folder / f"warm {name}.sea").add(*files[:2], **how)
            begin = time.perf_counter()
            added = Sea(folder / f"{name}.sea").add(*files, **how)
            spent[name] = time.perf_counter() - begin
            assert (added.added, added.failed) == (clips, [])
            print(f"{name:20}{clips / spent[name]:7.2f} clips a second", flush=True)
    share = spent["here"] / spent["on Ray, 2 workers"]
    goals.at_least("ingest on Ray with 2 workers, of the local runner's throughput", share, 0.85)


def _megabytes(folder: Path) -> float:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 1e6


def _peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def main() -> int:
    arguments = parser(__doc__, quick="smaller seas, within 45 seconds")
    arguments.add_argument("--sizes", type=int, nargs="*", help="numbers of clips; 6 KB of disk each")
    arguments.add_argument("--folder", type=Path, help="where to make and keep the seas")
    arguments.add_argument("--parts", nargs="*", default=PARTS, choices=PARTS, help="what to measure")
    options = arguments.parse_args()
    goals, found = Goals(options), {}
    sizes = tuple(options.sizes or (QUICK_SIZES if options.quick else SIZES))
    folder = options.folder or Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    try:
        if "points" in options.parts:
            found = points(folder, sizes, goals)
            model(found)
        if "s3" in options.parts:
            count = sizes[:2][-1]
            point(folder / f"{count}.sea", count)
            on_s3(folder / f"{count}.sea", count)
        if "ray" in options.parts:
            with tempfile.TemporaryDirectory() as scratch:
                on_ray(Path(scratch), *((8, 2.0) if options.quick else (24, 3.0)), goals)
    finally:
        if options.folder is None:
            shutil.rmtree(folder)
    return goals.finish(found)


if __name__ == "__main__":
    sys.exit(main())
