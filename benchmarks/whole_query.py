"""The stages of one query with given features; part of `python -m benchmarks.search`."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from benchmarks.goals import Goals
from benchmarks.search import FRAMES, WIDTH, Clips, make_sea
from seasync.alignment import MOTION, align_encodings
from seasync.encoders import get_encoder
from seasync.encoders.encoder import TakesFrames
from seasync.ranking import rank
from seasync.similarity import Neighborhood, query_vector
from seasync.video import Frames


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
        near = Neighborhood.of(vector, found.vectors, len(snapshot.vectors.standard.mean))
        best = rank(query, encodings, found.similarity, recipe=MOTION, neighborhood=near).pick()
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
