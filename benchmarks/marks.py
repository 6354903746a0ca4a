"""Marks from a few labeled clips to all: `python -m benchmarks.marks DIR [--set NAME] [--fps N] [--quick]`.

DIR holds sets with key events (golf, robots/drawer, robots/bottle, falls; those that are there). k clips
of a set are drawn as labeled, and their events are carried to all others by the shipped code. Reported: the
mean error of all events and of each, PCE on golf (share of events within max(round((impact - address) / 30),
1) frames, GolfDB's own measure), what a uniform stretch of the labeled clips gives, and how many of the marks
called sure are right.
Brackets are 95 % intervals over the draws. Features are cached: a stopped run goes on where it was.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from numpy.typing import NDArray

from benchmarks.goals import Goals, parser, show
from benchmarks.world_sets import load_events
from seasync import align as _  # noqa: F401  (loads the kernels before the clock runs)
from seasync.alignment import align_many
from seasync.clip import Clip
from seasync.encoders import DEFAULT, encode_clip, get_encoder
from seasync.encoding import Encoding
from seasync.evaluate.results import mean_interval
from seasync.group import clock as group_clock
from seasync.group.carry import SURE, Carrier, LabeledClip
from seasync.marks import Mark

# Published by GolfDB for a network trained on 1,050 swings, over all four splits, slow motion included.
SWINGNET = "SwingNet (trained on 1,050 labeled swings, published): PCE .761, inner six .918"
SETS = {"golf": ("clips", 0.05), "robots/drawer": ("", 0.5), "robots/bottle": ("", 0.5), "falls": ("", 0.1)}
COUNTS = (1, 3, 5, 10, 20, 40)
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Truth:
    """A set: its clips, the seconds and frames (N, E) of their events, and its tolerance for "sure"."""

    name: str
    clips: list[Clip]
    encodings: list[Encoding]
    seconds: Floats
    frames: Floats
    tolerance: float
    events: list[str]


def main() -> int:
    arguments = parser(__doc__, "folder", quick="two draws of 5 and 10 labeled swings")
    arguments.add_argument("--encoder", default=DEFAULT)
    arguments.add_argument("--fps", type=float, help="sampled frames a second; default: the encoder's own")
    arguments.add_argument("--set", action="append", choices=SETS, help="only this set; may be repeated")
    arguments.add_argument(
        "--labeled", type=int, nargs="+", default=COUNTS, help="how many clips are labeled"
    )
    arguments.add_argument("--draws", type=int, default=20)
    options = arguments.parse_args()
    rows = []
    for name in SETS:
        wanted = ("golf",) if options.quick else options.set or SETS
        if name not in wanted or not (options.folder / name / "events.csv").exists():
            continue
        truth = load(options.folder / name, name, options.encoder, options.fps)
        _remember_alignments()
        for count in options.labeled if not options.quick else (5, 10):
            if count <= len(truth.clips) - 8:
                rows.append(measured(truth, count, 2 if options.quick else options.draws))
                show({f"{name}, {count} labeled": rows[-1]})
    print(SWINGNET)
    goals = Goals(options)
    golf = {row["labeled"]: row for row in rows if row["set"] == "golf"}
    if 40 in golf:
        goals.at_least("golf, 40 labeled: PCE of the inner six", golf[40]["inner PCE"], 0.94)
        goals.at_least("golf, 40 labeled: PCE", golf[40]["PCE"], 0.79)
    if 10 in golf:
        goals.at_least("golf, 10 labeled: PCE of the inner six", golf[10]["inner PCE"], 0.91)
    for row in rows:
        if row["labeled"] >= 5:
            goals.at_least(
                f"{row['set']}, {row['labeled']} labeled: sure marks that are right", row["sure right"], 0.9
            )
            goals.at_most(
                f"{row['set']}, {row['labeled']} labeled: error", row["error ms"], row["stretch ms"], " ms"
            )
    return goals.finish(rows)


def load(folder: Path, name: str, encoder: str, fps: float | None) -> Truth:
    below, tolerance = SETS[name]
    names, frames = load_events(folder / "events.csv")
    events = (
        (folder / "events.csv").read_text(encoding="utf-8").splitlines()[0].split(",")[-frames.shape[1] :]
    )
    chosen = [n for n, clip in enumerate(names) if (folder / below / clip).exists()]
    clips = [Clip(str(folder / below / names[n])) for n in chosen]
    model = get_encoder(encoder)
    encodings = [encode_clip(clip, model, fps=fps) for clip in clips]
    seconds = [_seconds_of(e, frames[n].astype(float)) for e, n in zip(encodings, chosen, strict=True)]
    return Truth(name, clips, encodings, np.stack(seconds), frames[chosen].astype(float), tolerance, events)


def measured(truth: Truth, count: int, draws: int) -> dict[str, object]:
    """Figures of so many labeled clips, over random draws of them."""
    rng = np.random.default_rng(0)
    columns: dict[str, list[float]] = {}
    for _draw in range(draws):
        order = rng.permutation(len(truth.clips))
        for key, value in one_draw(truth, order[:count], order[count:]).items():
            columns.setdefault(key, []).append(value)
    figures = {key: float(np.nanmean(values)) for key, values in columns.items()}
    intervals = {
        f"{key} interval": mean_interval(columns[key])
        for key in ("error ms", "PCE", "inner PCE")
        if key in columns
    }
    return {"set": truth.name, "labeled": count, "draws": draws} | figures | intervals


def one_draw(truth: Truth, labeled: NDArray[np.int64], targets: NDArray[np.int64]) -> dict[str, float]:
    known = [
        LabeledClip(truth.clips[n], truth.encodings[n], _marks(truth.seconds[n])) for n in labeled.tolist()
    ]
    carrier = Carrier(known, tolerance_seconds=truth.tolerance)
    carried = carrier.carry(
        [truth.clips[n] for n in targets], lambda numbers: [truth.encodings[targets[n]] for n in numbers]
    )
    events = truth.seconds.shape[1]
    placed, sure = np.full((len(targets), events), np.nan), np.zeros((len(targets), events))
    for row, each in enumerate(carried):
        for mark in each.marks:
            placed[row, int(mark.name)] = mark.seconds
            sure[row, int(mark.name)] = mark.confidence or 0.0
    true = truth.seconds[targets]
    errors = np.abs(placed - true)
    within = errors <= truth.tolerance
    figures = {
        "error ms": 1000 * float(np.nanmean(errors)),
        "stretch ms": 1000 * float(np.abs(_stretched(truth, labeled, targets) - true).mean()),
        "placed": float(np.isfinite(placed).mean()),
        "sure": float((sure >= SURE).mean()),
        "sure right": float(within[sure >= SURE].mean()) if (sure >= SURE).any() else 1.0,
    }
    for event, wrong in zip(truth.events, errors.T, strict=True):
        figures[f"{event} ms"] = 1000 * float(np.nanmean(wrong))
    if truth.name == "golf":
        frames = np.stack(
            [_frames_of(truth.encodings[t], row) for t, row in zip(targets, placed, strict=True)]
        )
        swing = truth.frames[targets]
        bound = np.maximum(np.round((swing[:, 5] - swing[:, 0]) / 30), 1)[:, None]
        right = np.abs(np.round(frames) - swing) <= bound
        figures |= {"PCE": float(right.mean()), "inner PCE": float(right[:, 1:-1].mean())}
        apart = np.abs(frames - swing)
        figures |= {
            "error frames": float(np.nanmean(apart)),
            "inner frames": float(np.nanmean(apart[:, 1:-1])),
        }
    return figures


def _marks(seconds: Floats) -> tuple[Mark, ...]:
    return tuple(Mark(str(number), float(moment)) for number, moment in enumerate(seconds))


def _stretched(truth: Truth, labeled: NDArray[np.int64], targets: NDArray[np.int64]) -> Floats:
    """The labeled clips' events at the same share of the target's length: the median over them."""
    shares = []
    for n in labeled:
        first, last = truth.encodings[n].seconds[[0, -1]]
        shares.append((truth.seconds[n] - first) / (last - first))
    ends = np.array([truth.encodings[t].seconds[[0, -1]] for t in targets])
    return ends[:, :1] + np.median(shares, axis=0)[None] * np.diff(ends, axis=1)


def _seconds_of(encoding: Encoding, frames: Floats) -> Floats:
    step = (encoding.seconds[-1] - encoding.seconds[0]) / (encoding.frames[-1] - encoding.frames[0])
    beyond = np.maximum(frames - encoding.frames[-1], 0) * step
    return np.interp(frames, encoding.frames, encoding.seconds) + beyond


def _frames_of(encoding: Encoding, seconds: Floats) -> Floats:
    rate = (encoding.frames[-1] - encoding.frames[0]) / (encoding.seconds[-1] - encoding.seconds[0])
    beyond = np.maximum(seconds - encoding.seconds[-1], 0) * rate
    return np.interp(seconds, encoding.seconds, encoding.frames) + beyond


def _remember_alignments() -> None:
    """Align each pair of clips once for all draws: the results are the same."""
    known: dict[tuple[int, int], object] = {}

    def aligned(query: Encoding, matches: list[Encoding], **settings: object) -> list[object]:
        new = [match for match in matches if (id(query), id(match)) not in known]
        for match, found in zip(new, align_many(query, new, **settings), strict=True):  # type: ignore[arg-type]
            warp = found.warp(keep="match").smooth()
            once = SimpleNamespace(smooth=lambda warp=warp: warp)
            known[id(query), id(match)] = SimpleNamespace(
                alignable=found.alignable, draq=found.draq, warp=lambda keep, once=once: once
            )
        return [known[id(query), id(match)] for match in matches]

    group_clock.align_many = aligned  # type: ignore[assignment]


if __name__ == "__main__":
    raise SystemExit(main())
