"""Whether the sentences of a timing report are true: `python -m benchmarks.timing_words DIR [--quick]`.

DIR holds sets with key events (golf, robots/drawer, falls; those that are there). Each clip is compared with
its ten nearest by clip vector; of these pairs, some hundred are drawn. What the report says is compared with
the events of both clips, and it is wrong if they differ by more than the noise of the labels: two frames of
golf (30 a second) and of the drawer (15 a second), three of falls (30 a second). Golf's movement lasts from
toe-up to mid-follow-through (the outer two events are noisy), the drawer's from the first event to the last.

- Speed: "b takes 1.20 s for what a does in 1.00 s". Its direction, and the error of the ratio.
- Same: "the same speed", or no moment that differs, where the durations differ.
- Moments and stretches without marks: "b is 0.21 s later" and "loses 0.30 s", on golf, whose events are close
  together; what lies outside the events is not judged.
- Marks: the same, and how long phases last, with the events of the query given as marks. Times count from
  the first event. Falls have one event: what is judged is when it happens in the match.
Said to be unsure, or not said at all, counts as "unknown".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.goals import Goals, parser, show
from benchmarks.golf import CANDIDATES, ranked, similarities
from benchmarks.marks import Truth, load
from seasync.alignment import MOTION, Alignment, align_encodings
from seasync.alignment.prepare import refined
from seasync.encoders import DEFAULT, get_encoder
from seasync.group.timing import NOTABLE_SECONDS, Report, compare_timing
from seasync.marks import Mark
from seasync.options import Side
from seasync.pair import pair_fps

Seconds = NDArray[np.float64]
# The noise of the labels in seconds, the longest clip, and the events of the movement.
NOISE = {"golf": 2 / 30, "robots/drawer": 2 / 15, "falls": 3 / 30}
LENGTH = {"golf": 0.0, "robots/drawer": 30.0, "falls": 0.0}
MOVEMENT = {"golf": slice(1, 7), "robots/drawer": slice(0, 4), "falls": slice(0, 1)}
DENSE = ("golf",)  # sets whose events are so close that they say when any moment between them happens
DIFFERENT = 0.1  # relative difference of durations that should be put into words
DIRECTED = 0.03  # the report calls a smaller difference of speeds the same, or too close to say
SPEED = re.compile(r"^b takes ([\d.]+) s for what a does in ([\d.]+) s")
NAMES: Mapping[Side, str] = {"query": "a", "match": "b"}


def main() -> int:
    arguments = parser(__doc__, "folder", quick="golf only, 100 pairs")
    arguments.add_argument("--encoder", default=DEFAULT)
    arguments.add_argument("--pairs", type=int, default=400, help="at most so many pairs of each set")
    arguments.add_argument("--seed", type=int, default=0)
    options = arguments.parse_args()
    goals, rows = Goals(options), {}
    for name in ("golf",) if options.quick else NOISE:
        if not (options.folder / name / "events.csv").exists():
            continue
        rate = pair_fps(get_encoder(options.encoder), LENGTH[name])
        truth = load(options.folder / name, name, options.encoder, rate)
        pairs = draw_pairs(truth, 100 if options.quick else options.pairs, options.seed)
        rows[name] = measured(truth, pairs)
        show({name: rows[name]})
        if "speed" not in rows[name]:
            continue
        speed = rows[name]["speed"]
        goals.at_most(f"{name}: direction of the speed wrong", speed["direction wrong"], 0.02)
        goals.at_most(f"{name}: median log error of the speed", speed["median log error"], 0.05)
        goals.at_most(f"{name}: no difference, falsely", rows[name]["same"]["wrong"], 0.02)
        goals.at_least(f"{name}: direction said of what differs", speed["said of different"], 0.8)
    return goals.finish(rows)


def draw_pairs(truth: Truth, count: int, seed: int) -> list[tuple[int, int]]:
    """Pairs of each clip with its nearest ten, drawn without repetition."""
    nearest = ranked(similarities(truth.encodings, MOTION))[:, :CANDIDATES]
    every = [(query, int(match)) for query, row in enumerate(nearest) for match in row]
    drawn = np.random.default_rng(seed).permutation(len(every))[:count]
    return [every[n] for n in np.sort(drawn)]


@dataclass(frozen=True)
class Claim:
    """Something that a report says: seconds by which the match is later or longer, and the true ones."""

    kind: str
    said: float
    true: float
    sure: bool = True


@dataclass(frozen=True)
class Speed:
    """The speed that a report states, if any, and the true durations in both clips."""

    said: float | None
    query: float
    match: float
    same: bool


def measured(truth: Truth, pairs: list[tuple[int, int]]) -> dict[str, dict[str, object]]:
    """Figures of the sentences by kind."""
    events, noise = truth.seconds[:, MOVEMENT[truth.name]], NOISE[truth.name]
    names = truth.events[MOVEMENT[truth.name]]
    claims: list[Claim] = []
    speeds: list[Speed] = []
    counts = {"pairs": len(pairs), "aligning": 0, "one sentence if not aligning": 0}
    for query, match in pairs:
        pair = truth.encodings[query], truth.encodings[match]
        found, moments = (
            align_encodings(*pair, recipe=refined(MOTION, pair[0])),
            (events[query], events[match]),
        )
        report = compare_timing(found, {}, NAMES)
        if not found.alignable:
            counts["one sentence if not aligning"] += len(report.summary) == 1
            continue
        counts["aligning"] += 1
        if len(names) > 1:
            speeds.append(said_speed(report, *moments))
        if truth.name in DENSE:
            claims += said_of_moments(report, *moments)
        claims += said_of_marks(found, names, *moments)
    rows: dict[str, dict[str, object]] = {"all": dict(counts)}
    if speeds:
        rows["speed"] = judge_speeds(speeds, noise)
        rows["same"] = judge_same(speeds, noise)
    for kind in dict.fromkeys(one.kind for one in claims):
        rows[kind] = judge([one for one in claims if one.kind == kind], noise)
    return rows


def said_speed(report: Report, query: Seconds, match: Seconds) -> Speed:
    found = [said for text in report.summary if (said := SPEED.match(text))]
    ratio = float(found[0][2]) / max(float(found[0][1]), 0.01) if found else None
    same = any(text.startswith("No moment") or "the same speed" in text for text in report.summary)
    return Speed(ratio, float(np.ptp(query)), float(np.ptp(match)), same)


def said_of_moments(report: Report, query: Seconds, match: Seconds) -> list[Claim]:
    """Moments and stretches of the report whose times lie between the events."""
    partner = known_between(query, match)
    zero, claims = report.zero["query"], []
    for one in report.moments:
        true = partner(one.query) - partner(zero) - (one.query - zero)
        claims.append(Claim("moments", one.later, true, one.sure))
    for text in report.summary:
        if lost := re.match(r"^From ([\d.]+)(.*?) to (.*), b (loses|gains) ([\d.]+) s", text):
            start, end = (moment_of(part, lost[3], report) for part in (lost[1] + lost[2], lost[3]))
            true = partner(end) - partner(start) - (end - start)
            claims.append(Claim("stretches", float(lost[5]) * (1 if lost[4] == "loses" else -1), true))
    return [one for one in claims if np.isfinite(one.true)]


def moment_of(words: str, last: str, report: Report) -> float:
    """The second of the query that "0.50 s before the start" says; `last` has the part that was left out."""
    if words == "the end":
        return report.start["query"] + report.seconds["query"]
    said = words if "before" in words or "after" in words else f"{words} {last}"
    return report.zero["query"] + float(words.split()[0]) * (-1 if "before" in said else 1)


def said_of_marks(found: Alignment, names: list[str], query: Seconds, match: Seconds) -> list[Claim]:
    """What the report says if the query's events are marked, and times count from the first."""
    marks = [Mark(name, float(second)) for name, second in zip(names, query, strict=True)]
    if not found.warp(keep="query").covers(query[0]):
        return [Claim("marks", 0.0, 0.0, sure=False) for _ in names]
    report = compare_timing(found, {"query": marks}, NAMES, since=float(query[0]))
    place, claims = dict(zip(names, match.tolist(), strict=True)), []
    alone = len(names) == 1
    for one in report.moments:
        if one.source == "query" and (alone or one.name != names[0]):
            said = one.match if alone else one.later
            true = place[one.name] - (0 if alone else match[0] + one.query - query[0])
            claims.append(Claim("marks", said, true, one.sure))
    for phase, lasting in zip(report.phases, np.diff(match) - np.diff(query), strict=False):
        claims.append(Claim("phases", phase.difference, float(lasting), "unsure" not in phase.text))
    return claims


def known_between(query: Seconds, match: Seconds) -> Callable[[float], float]:
    """Where events of both clips put a moment of the query; NaN outside of them."""
    return lambda second: float(np.interp(second, query, match, np.nan, np.nan))


def judge_speeds(speeds: list[Speed], noise: float) -> dict[str, object]:
    """Of the stated speeds: the share with a wrong direction, and errors; and how many are not stated."""
    said = [(one.said, one) for one in speeds if one.said is not None]
    directed = [(ratio, one) for ratio, one in said if abs(ratio - 1) >= DIRECTED]
    wrong = [(one.match - one.query) * (1 if ratio > 1 else -1) > noise for ratio, one in directed]
    errors = np.abs([np.log(ratio * one.match / one.query) for ratio, one in said])
    different = [one for one in speeds if abs(np.log(one.match / one.query)) > np.log1p(DIFFERENT)]
    stated = [one.said is not None and abs(one.said - 1) >= DIRECTED for one in different]
    return {
        "said": len(said),
        "unknown": sum(one.said is None or (abs(one.said - 1) < DIRECTED and not one.same) for one in speeds),
        "direction wrong": share(wrong),
        "median log error": float(np.median(errors)) if said else 0.0,
        "off by more than 1.3": share(errors > np.log(1.3)),
        "different": len(different),
        "said of different": share(stated),
    }


def judge_same(speeds: list[Speed], noise: float) -> dict[str, object]:
    """How often no difference is stated, and how often that is wrong."""
    quiet = [one for one in speeds if one.same]
    wrong = [abs(one.match - one.query) > noise + DIRECTED * max(one.match, one.query) for one in quiet]
    return {
        "said": len(quiet),
        "wrong": share(wrong),
        "wrong of all": len(speeds) and sum(wrong) / len(speeds),
    }


def judge(claims: list[Claim], noise: float) -> dict[str, object]:
    """Of sure claims: the share with a wrong direction, falsely without a difference, and their errors."""
    sure = [one for one in claims if one.sure]
    said = [one for one in sure if abs(one.said) >= NOTABLE_SECONDS]
    same = [one for one in sure if abs(one.said) < NOTABLE_SECONDS]
    errors = np.abs([one.said - one.true for one in sure])
    return {
        "said": len(sure),
        "unknown": len(claims) - len(sure),
        "direction wrong": share([one.true * np.sign(one.said) < -noise for one in said]),
        "same falsely": share([abs(one.true) > noise + NOTABLE_SECONDS for one in same]),
        "median error ms": 1000 * float(np.median(errors)) if sure else 0.0,
        "off by more than the noise": share(errors > noise),
    }


def share(yes: list[bool] | NDArray[np.bool_]) -> float:
    return float(np.mean(yes)) if len(yes) else 0.0


if __name__ == "__main__":
    raise SystemExit(main())
