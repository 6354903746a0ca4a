"""Two files at the rate for pairs against the rate of a sea: `python -m benchmarks.pair_rate DIR`.

`seasync.align` samples short clips at a higher rate than a sea does. Each clip of a set is the query of
others of its set, aligned as `seasync.align` does; the table has the error of the key events in milliseconds
at both rates, and the difference with its 95 % interval over queries. Clips too long for the higher rate
are left out.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import seasync
from benchmarks.goals import Goals, parser
from benchmarks.world_sets import EVENT_SETS, FootageSet, load_sets
from seasync.evaluate.results import mean_interval
from seasync.pair import PAIR_SECONDS
from seasync.video import frame_table

OTHERS = 8  # clips that each query is aligned with


def main() -> int:
    arguments = parser(__doc__)
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("--sets", nargs="+", default=["falls", "bottle", "golf"], choices=EVENT_SETS)
    arguments.add_argument("--clips", type=int, default=24, help="clips of each set at most")
    given = arguments.parse_args()
    print("set     queries  pairs  rate of a sea  rate for pairs  difference [95 %]")
    figures = {}
    for clips in load_sets(given.folder):
        if clips.name in given.sets:
            figures[clips.name] = measure(clips.some(given.clips))
    return Goals(given).finish(figures)


def measure(clips: FootageSet) -> dict[str, float]:
    assert clips.events is not None
    tables = [frame_table(str(file)) for file in clips.files]
    known = [n for n, table in enumerate(tables) if table.end <= PAIR_SECONDS]
    rates = (float(seasync.get_encoder("dinov2-small").fps), None)
    rows: list[list[float]] = []
    pairs = 0
    for query in known:
        others = [known[(known.index(query) + step) % len(known)] for step in range(1, 1 + OTHERS)]
        errors = []
        for match in (other for other in others if other != query):
            moments, partners = (tables[n].seconds[clips.events[n].astype(int)] for n in (query, match))
            placed = (_placed(clips, query, match, fps, moments) for fps in rates)
            errors.append([float(np.abs(seconds - partners).mean()) for seconds in placed])
        pairs += len(errors)
        rows.append(list(1000 * np.mean(errors, 0)))
    sea, pair = np.mean(rows, 0)
    low, high = mean_interval([second - first for first, second in rows])
    figures = f"{sea:12.0f} ms{pair:13.0f} ms{pair - sea:9.0f} [{low:.0f}, {high:.0f}]"
    print(f"{clips.name:8}{len(known):7}{pairs:7}{figures}", flush=True)
    return {"queries": len(known), "pairs": pairs, "rate of a sea, ms": sea, "rate for pairs, ms": pair}


def _placed(clips: FootageSet, query: int, match: int, fps: float | None, moments: np.ndarray) -> np.ndarray:
    alignment = seasync.align(clips.files[query], clips.files[match], fps=fps)
    return np.asarray(alignment.warp(keep="query").at(moments))


if __name__ == "__main__":
    raise SystemExit(main())
