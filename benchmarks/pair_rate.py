"""Two files at the rate for pairs against the rate of a sea: `python -m benchmarks.pair_rate DIR`.

`seasync.align` samples short clips at a higher rate than a sea does. Each clip of a set is the query of
others of its set, aligned as `seasync.align` does; the table has the error of the key events in milliseconds
at both rates, and the difference with its 95 % interval over queries. Clips too long for the higher rate are
aligned at one rate. Last: how often the true partner of a key event lies in the range that the alignment
gives around each moment.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import seasync
from benchmarks.goals import Goals, parser, show
from benchmarks.world_sets import EVENT_SETS, Doubles, FootageSet, load_sets
from seasync.evaluate.results import mean_interval
from seasync.pair import PAIR_SECONDS
from seasync.video import frame_table

OTHERS = 8  # clips that each query is aligned with


def main() -> int:
    arguments = parser(__doc__, "folder")
    arguments.add_argument("--sets", nargs="+", default=list(EVENT_SETS), choices=EVENT_SETS)
    arguments.add_argument("--clips", type=int, default=24, help="clips of each set at most")
    given = arguments.parse_args()
    figures = {}
    for clips in load_sets(given.folder):
        if clips.name in given.sets:
            figures[clips.name] = measure(clips.some(given.clips))
            show({clips.name: figures[clips.name]})
    return Goals(given).finish(figures)


def measure(clips: FootageSet) -> dict[str, Any]:
    assert clips.events is not None
    tables = [frame_table(str(file)) for file in clips.files]
    moments = [table.seconds[of.astype(int)] for table, of in zip(tables, clips.events, strict=True)]
    count, rows, within = len(tables), [], []
    pairs = [
        [(query, (query + step) % count) for step in range(1, 1 + min(OTHERS, count - 1))]
        for query in range(count)
    ]
    for some in pairs:
        errors = []
        for query, match in some:
            files = clips.files[query], clips.files[match]
            at_pair_rate = seasync.align(*files)
            within += inside(at_pair_rate, moments[query], moments[match])
            both = [at_pair_rate]
            if max(tables[n].end for n in (query, match)) <= PAIR_SECONDS:
                both = [seasync.align(*files, fps=seasync.get_encoder("dinov2-small").fps), at_pair_rate]
            placed = [each.warp(keep="query").at(moments[query]) for each in (both[0], both[-1])]
            errors.append([float(np.abs(seconds - moments[match]).mean()) for seconds in placed])
        rows.append(1000 * np.mean(errors, 0))
    sea, pair = np.mean(rows, 0)
    return {
        "queries": count,
        "pairs": sum(map(len, pairs)),
        "rate of a sea, ms": sea,
        "rate for pairs, ms": pair,
        "difference, ms": pair - sea,
        "difference interval": mean_interval([second - first for first, second in rows]),
        "within": float(np.mean(within)),
    }


def inside(alignment: seasync.Alignment, moments: Doubles, partners: Doubles) -> list[bool]:
    """Whether the partner of each moment lies in the range around it, to half a step of the grid."""
    bounds = alignment.uncertainty
    if bounds is None:
        return []
    low, high = (np.interp(moments, alignment.query_seconds, side) for side in bounds.T)
    known, step = np.isfinite(low), alignment.match_step / 2
    return ((low - step <= partners) & (partners <= high + step))[known].tolist()


if __name__ == "__main__":
    raise SystemExit(main())
