"""Search at scale: the sea's index against faiss, and a whole query against one frame of the encoder.

`python -m benchmarks.search [--quick] [--folder DIR] [--against CHECKOUT]`

Clips are synthetic but structured: 700 kinds of movement, each with its own mean and trajectory, in 64 latent
dimensions of falling weight, so that neighbours mean something. All methods search the same 768-d vectors.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import faiss
import lance
import numpy as np
import pyarrow as pa

from benchmarks.goals import Goals, parser
from benchmarks.turns import against, run, work
from seasync.alignment import MOTION, align_encodings
from seasync.encoders import get_encoder
from seasync.encoders.encoder import TakesFrames
from seasync.encoding import Encoding, Floats, Stream
from seasync.ranking import Standard, clip_vectors, query_vector, rank
from seasync.sea import rows as layout
from seasync.sea.rows import FORMAT, SeaFacts, matrix, vectors_column
from seasync.sea.sea import Sea
from seasync.video import Frames

WIDTH, FRAMES, KINDS, LATENT = 384, 64, 700, 64
FACTS = SeaFacts(FORMAT, "synthetic", "synthetic/1", 7.5, (("synthetic", WIDTH),), WIDTH)
BATCH = 10_000
QUERIES = 200
# A sea and queries for `--against`, made by the older code: newer code reads it too.
MAKE = """
import sys
from pathlib import Path
import numpy as np
from benchmarks.search import Clips, make_sea
folder, clips = Path(sys.argv[1]), Clips(seed=2)
make_sea(folder, int(sys.argv[2]), frame_features=True).rebuild("ivf_rq")
queries = [clips.query() for _ in range(10)]
parts = {"features": [q.features for q in queries], "mean": [q.mean for q in queries]}
np.savez(folder.with_suffix(".npz"), **parts, trajectory=[q.trajectory for q in queries])
print("made")
"""


class Clips:
    """Draws synthetic clips: raw means and trajectories (N, 384), and frame features out of a small pool."""

    def __init__(self, seed: int = 0) -> None:
        self.rng = np.random.default_rng(seed)
        weights = (1 + np.arange(LATENT, dtype=np.float32)) ** -0.5
        self.bases = [np.linalg.qr(self._noise(WIDTH, LATENT))[0].T * weights[:, None] for _ in range(2)]
        self.kinds = [self._noise(KINDS, LATENT) for _ in range(2)]
        walks = self._noise(256, FRAMES, WIDTH).cumsum(1)
        self.pool = (walks - walks.mean(1, keepdims=True)).astype(np.float16)

    def _noise(self, *shape: int) -> Floats:
        return self.rng.standard_normal(shape, np.float32)

    def draw(self, count: int) -> tuple[Floats, Floats]:
        kind = self.rng.integers(0, KINDS, count)
        latent = [centres[kind] + 0.7 * self._noise(count, LATENT) for centres in self.kinds]
        mean, trajectory = (
            z @ basis + 0.02 * self._noise(count, WIDTH) for z, basis in zip(latent, self.bases, strict=True)
        )
        return mean, trajectory

    def table(self, first: int, count: int, *, frame_features: bool) -> pa.Table:
        mean, trajectory = self.draw(count)
        names = [f"{n:032x}" for n in range(first, first + count)]
        ends = np.arange(0, (count + 1) * FRAMES, FRAMES, dtype=np.int32)
        schema = layout.schema(FACTS)
        columns = {name: pa.nulls(count, schema.field(name).type) for name in schema.names}
        columns |= {
            "id": names,
            "file": names,
            "content": names,
            "start": np.zeros(count),
            "duration": np.full(count, FRAMES / 7.5),
            "frames": np.full(count, FRAMES, np.int32),
            "split": ["none"] * count,
            "part": np.zeros(count, np.int32),
            "parts": np.ones(count, np.int32),
            "mean": vectors_column(mean),
            "trajectory": vectors_column(trajectory),
        }
        if frame_features:
            chosen = self.rng.integers(0, len(self.pool), count)
            features = (self.pool[chosen] + mean[:, None].astype(np.float16)).reshape(-1, WIDTH)
            seconds, numbers = np.tile(np.arange(FRAMES) / 7.5, count), np.tile(np.arange(FRAMES) * 4, count)
            columns |= {
                "seconds_0": pa.ListArray.from_arrays(ends, pa.array(seconds)),
                "numbers_0": pa.ListArray.from_arrays(ends, pa.array(numbers)),
                "shots_0": pa.ListArray.from_arrays(
                    np.arange(count + 1, dtype=np.int32), np.zeros(count, np.int64)
                ),
                "found_0": np.ones(count),
                "features_0": pa.ListArray.from_arrays(ends, vectors_column(features)),
            }
        return pa.table(columns, schema=schema)

    def query(self) -> Encoding:
        mean, trajectory = self.draw(1)
        features = self.pool[self.rng.integers(len(self.pool))].astype(np.float32) + mean
        stream = Stream("synthetic", np.arange(FRAMES) / 7.5, np.arange(FRAMES) * 4, features)
        return Encoding(FACTS.fingerprint, (stream,), mean[0], trajectory[0])


def draw_queries() -> list[Encoding]:
    """Clips of the same kinds as those of a sea, but none of them."""
    draws, kinds = Clips(seed=1), Clips()
    draws.kinds, draws.bases = kinds.kinds, kinds.bases
    return [draws.query() for _ in range(QUERIES)]


def make_sea(folder: Path, count: int, *, frame_features: bool) -> Sea:
    clips = Clips()
    for first in range(0, count, BATCH):
        size = min(BATCH, count - first)
        table = clips.table(first, size, frame_features=frame_features)
        lance.write_dataset(table, folder, mode="append" if first else "create")
    return Sea(folder)


def median_ms(call: Callable[[Floats], object], queries: Floats) -> float:
    spent = []
    for query in queries:
        begin = time.perf_counter()
        call(query)
        spent.append(time.perf_counter() - begin)
    return float(np.median(spent)) * 1e3


def recall(found: list[list[int]], truth: np.ndarray) -> float:
    k = truth.shape[1]
    return float(
        np.mean(
            [len(set(row[:k]) & set(exact.tolist())) / k for row, exact in zip(found, truth, strict=True)]
        )
    )


def compare(folder: Path, count: int) -> dict[str, float]:
    """Index, Flat and IVF-PQ + refine on one set; prints a table, gives the figures for the goals."""
    sea = make_sea(folder, count, frame_features=False)
    begin = time.perf_counter()
    sea.rebuild("ivf_rq")
    built = time.perf_counter() - begin
    disk = sum(f.stat().st_size for f in (folder / "_indices").rglob("*") if f.is_file()) / 1e6
    snapshot = sea.record.snapshot()
    standard = snapshot.vectors.standard
    queries = draw_queries()
    by_both = np.stack([query_vector(query, standard, trajectory=True) for query in queries])
    by_mean = np.stack([query_vector(query, standard, trajectory=False) for query in queries])
    order = {row: n for n, row in enumerate(snapshot.table([])["_rowid"].to_pylist())}

    def ours(vectors: Floats, k: int) -> list[list[int]]:
        return [
            [order[row] for row in rows.tolist()]
            for rows, _, _ in snapshot.vectors.nearest(snapshot, vectors, k)
        ]

    ours(by_both, 10)
    figures = {
        "ms10": median_ms(lambda query: snapshot.vectors.nearest(snapshot, query[None], 10), by_both),
        "ms100": median_ms(lambda query: snapshot.vectors.nearest(snapshot, query[None], 100), by_both),
    }
    memory = resident_growth(folder)
    vectors = stored_vectors(sea, standard)
    flat = faiss.IndexFlatIP(vectors.shape[1])
    flat.add(vectors)
    truth, truth_mean = flat.search(by_both, 100)[1], flat.search(by_mean, 10)[1]
    figures["flat"] = median_ms(lambda query: flat.search(query[None], 10), by_both[:50])
    figures["recall10"] = recall(ours(by_both, 10), truth[:, :10])
    figures["recall100"] = recall(ours(by_both, 100), truth)
    figures["recall_mean"] = recall(ours(by_mean, 10), truth_mean)
    begin = time.perf_counter()
    pq = faiss.index_factory(
        vectors.shape[1], f"IVF{int(count**0.5)},PQ96x4fs,RFlat", faiss.METRIC_INNER_PRODUCT
    )
    faiss.omp_set_num_threads(1)  # its training spins more than it works with two
    pq.train(vectors[:: max(1, count // 20_000)])
    pq.add(vectors)
    faiss.omp_set_num_threads(2)
    pq_built = time.perf_counter() - begin
    inner = faiss.downcast_index(pq)
    inner.k_factor = 10
    faiss.extract_index_ivf(faiss.downcast_index(inner.base_index)).nprobe = 32
    pq_ms = median_ms(lambda query: pq.search(query[None], 10), by_both)
    pq_recall = [recall(pq.search(by_both, k)[1].tolist(), truth[:, :k]) for k in (10, 100)]
    raw = vectors.nbytes / 1e6
    print(f"\n{count:,} clips × {vectors.shape[1]}")
    print("                        p50 ms  vs Flat  recall@10  recall@100  memory MB  disk MB  build s")
    rows = [
        ("faiss Flat (exact)", figures["flat"], 1.0, 1.0, raw, raw, 0.0),
        ("faiss IVF-PQ + refine", pq_ms, *pq_recall, 1.07 * raw, 1.07 * raw, pq_built),
        (
            "sea (Lance IVF_RQ)",
            figures["ms10"],
            figures["recall10"],
            figures["recall100"],
            memory,
            disk,
            built,
        ),
    ]
    for name, ms, *recalls, held, stored, seconds in rows:
        found = "".join(f"{each:{width}.3f}" for each, width in zip(recalls, (11, 12), strict=True))
        share = f"1/{figures['flat'] / ms:.0f}"
        print(f"{name:22}{ms:8.2f}{share:>9}{found}{held:11.0f}{stored:9.0f}{seconds:9.1f}")
    print(f"sea, k=100: {figures['ms100']:.2f} ms; by the mean alone: recall@10 {figures['recall_mean']:.3f}")
    return figures


def stored_vectors(sea: Sea, standard: Standard) -> Floats:
    batches = sea.record.snapshot().dataset.to_batches(columns=["mean", "trajectory"])
    return np.concatenate(
        [clip_vectors(matrix(b["mean"]), matrix(b["trajectory"]), standard) for b in batches]
    )


def resident_growth(folder: Path) -> float:
    """MB by which a process of its own grows through opening the sea and 50 searches."""
    script = (
        "import psutil, numpy as np, sys\n"
        "from seasync.sea.sea import Sea\n"
        "import lance, pyarrow\n"
        "before = psutil.Process().memory_info().rss\n"
        "s = Sea(sys.argv[1]).record.snapshot()\n"
        "r = np.random.default_rng(0)\n"
        "for _ in range(50): s.vectors.nearest(s, r.standard_normal((1, 768), np.float32), 10)\n"
        "print((psutil.Process().memory_info().rss - before) / 1e6)\n"
    )
    return float(
        subprocess.run(
            [sys.executable, "-c", script, folder], capture_output=True, check=True, text=True
        ).stdout
    )


def main() -> int:
    options = parser(__doc__, quick="smaller seas, within 45 seconds", against=True)
    options.add_argument("--folder", type=Path, help="where to put the seas meanwhile (12 GB; quick: 2 GB)")
    given = options.parse_args()
    goals, figures = Goals(given), {}
    sizes = (5_000, 30_000) if given.quick else (10_000, 100_000, 650_000)
    scratch = Path(tempfile.mkdtemp(dir=given.folder))
    faiss.omp_set_num_threads(2)
    try:
        if given.against:
            run(given.against, "-c", MAKE, scratch / "whole.sea", 10_000)
            return against(given.against, work("search_sea", scratch / "whole.sea"), goals)
        for size in sizes:
            figures[size] = compare(scratch / f"{size}.sea", size)
            shutil.rmtree(scratch / f"{size}.sea")
        large, small = sizes[-1], sizes[0]
        last = figures[large]
        goals.at_least(f"recall@10 at {large:,}", last["recall10"], 0.95)
        goals.at_least(f"recall@100 at {large:,}", last["recall100"], 0.95)
        if not given.quick:  # the smaller the sea, the less an index gains
            goals.at_least(f"times faster than Flat at {large:,}", last["flat"] / last["ms10"], 40, "×")
        goals.at_most(
            f"latency growth from {small:,} to {large:,} clips ({large / small:g}×)",
            last["ms10"] / figures[small]["ms10"],
            0.5 * large / small,
            "×",
        )
        for size in (10_000,) if given.quick else (10_000, 100_000):
            figures[f"whole query at {size}"] = whole_query(scratch / f"whole{size}.sea", size, goals)
    finally:
        shutil.rmtree(scratch)
    return goals.finish(figures)


def whole_query(folder: Path, count: int, goals: Goals) -> dict[str, float]:
    """Given features: search, read 100 candidates, rank all, align the best; against one encoder frame.

    Ranking is that of the motion recipe, contrast included. Consensus comes after it,
    among the matches alone.
    """
    sea = make_sea(folder, count, frame_features=True)
    sea.rebuild("ivf_rq")
    clips, snapshot, encoder, frame = Clips(seed=2), sea.record.snapshot(), get_encoder(), one_frame()
    assert isinstance(encoder, TakesFrames)
    names = (
        "search",
        "read",
        "rank",
        "align",
        "whole query",
        "ten matches with consensus",
        "encoder, one frame",
    )
    spent = []
    for _ in range(30):
        query = clips.query()
        marks = [time.perf_counter()]
        vector = query_vector(query, snapshot.vectors.standard, trajectory=True)
        (found,) = snapshot.vectors.nearest(snapshot, vector[None], 100)
        marks.append(time.perf_counter())
        encodings = snapshot.encoding_batch(found.rows)
        assert encodings is not None
        marks.append(time.perf_counter())
        relation = snapshot.cohort.relate(vector, found.vectors) if snapshot.cohort else None
        best = rank(query, encodings, found.similarity, recipe=MOTION, relation=relation).pick()
        marks.append(time.perf_counter())
        align_encodings(query, encodings[best], recipe=MOTION)
        marks.append(time.perf_counter())
        sea.search(query, k=1, candidates=100)
        marks.append(time.perf_counter())
        sea.search(query, k=10, candidates=100)
        marks.append(time.perf_counter())
        encoder.encode([frame])
        marks.append(time.perf_counter())
        spent.append(np.diff(marks) * 1e3)
    medians = np.median(spent[5:], axis=0)
    print(
        f"\none query with given features, {count:,} clips, 100 candidates of {FRAMES}×{WIDTH} (ms, median)"
    )
    print(", ".join(f"{name} {ms:.1f}" for name, ms in zip(names, medians, strict=True)))
    goals.at_most(f"reading 100 candidates at {count:,} clips", medians[1], 5, " ms")
    goals.at_most(f"ranking 100 candidates at {count:,} clips", medians[2], 8, " ms")
    goals.at_most(f"whole query at {count:,} clips", medians[4], 20, " ms")
    goals.at_most(f"whole query at {count:,} clips over one encoder frame", medians[4] / medians[6], 1, "×")
    return {f"{name}, ms": float(ms) for name, ms in zip(names, medians, strict=True)}


def one_frame() -> Frames:
    noise = np.random.default_rng(0).integers(0, 256, (1, 224, 224, 3), np.uint8)
    return Frames(noise, np.zeros(1), np.zeros(1, np.int64))


if __name__ == "__main__":
    sys.exit(main())
