"""Clips that overlap only in part, with planted truth: `python -m benchmarks.partial DIR… [--quick]`.

A DIR is a folder of clips of one action, a folder of such folders, or `clips/` beside an `events.csv` (clip,
…, frames, then a frame number per key event). Composites are put together of the clips' encodings: foreign
footage around or inside a clip, parts of it, films of many clips, pieces in another order. An alignment is
good if its moments are off by at most 12 frames at 30 a second in the mean. Moments are the key events where
they are known; elsewhere evenly spaced ones of clips that align whole beyond doubt (DRAQ < .4: above, one
push-up gets paired with two), with that alignment as the truth.

Two halves of a push-up are a push-up in either order, and nobody can tell. So pieces in another order are
also counted without such cases: where the order shows, the whole path through the pieces as they come costs
clearly more than the one through the clip as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.goals import Goals, parser, show
from benchmarks.world_sets import load_events
from seasync.alignment import Alignment, align_encodings, cost_matrix, score_many
from seasync.clip import Clip
from seasync.encoders import encode_clip, get_encoder
from seasync.encoders.encoder import is_cut, stream_vector_parts
from seasync.encoding import Encoding, Stream
from seasync.film import find_in

Doubles = NDArray[np.float64]
Warp = Callable[[Doubles], Doubles]
GOOD_FRAMES = 12
BEYOND_DOUBT = 0.4
# Cost of the right order over that of the planted one: from here on, as for contrast, the order says little.
ORDER_SHOWS = 0.85
FILMS_PER_CASE = 2
STEP = 1 / 7.5


@dataclass(frozen=True, eq=False)
class Take:
    """A clip: its encoding, the class tokens that tell cuts (T, d), its action, and its moments or None."""

    encoding: Encoding
    tokens: NDArray[np.float32]
    action: str
    events: Doubles | None


@dataclass(frozen=True, eq=False)
class Case:
    """A query and a match put together, and moments of both that belong together, in seconds."""

    query: Encoding
    match: Encoding
    query_moments: Doubles
    match_moments: Doubles


def main() -> int:
    arguments = parser(__doc__, quick="twelve cases of each kind")
    arguments.add_argument("folders", type=Path, nargs="+")
    arguments.add_argument("--cases", type=int, default=80, help="of each kind, for each folder")
    arguments.add_argument("--seed", type=int, default=0, help="which cases are drawn")
    options = arguments.parse_args()
    rng = np.random.default_rng(options.seed)
    sets = {folder.name: load(folder) for folder in options.folders}
    everything = [take for takes in sets.values() for take in takes]
    count = min(options.cases, 12) if options.quick else options.cases
    report = {name: measure(takes, everything, count, rng) for name, takes in sets.items()}
    show(report)
    goals = Goals(options)
    _check(report, goals)
    return goals.finish(report)


def load(folder: Path) -> list[Take]:
    listed = folder / "events.csv"
    events = dict(zip(*load_events(listed), strict=True)) if listed.is_file() else {}
    files = clip_files(folder)
    encoder, tokens = get_encoder("dinov2-small"), get_encoder("dinov2-small-cls")
    takes = []
    for at, file in enumerate(files, 1):
        print(f"\r{folder.name}: {at}/{len(files)} clips", end="", flush=True)
        encoding = encode_clip(file, encoder)
        numbers = events.get(file.name)
        known = None if numbers is None else np.interp(numbers, encoding.frames, encoding.seconds)
        takes.append(Take(encoding, encode_clip(file, tokens).features, file.parent.name, known))
    print()
    return takes


def clip_files(folder: Path) -> list[Path]:
    """The videos of a folder, in the order of their takes."""
    return sorted((folder / "clips" if (folder / "clips").is_dir() else folder).rglob("*.mp4"))


# ---- composites


@dataclass(frozen=True)
class Part:
    """Samples first … last (exclusive) of a take."""

    take: Take
    first: int = 0
    last: int | None = None


def join(*parts: Part) -> tuple[Encoding, list[float]]:
    """One encoding of the parts in a row; and by how much each part's seconds moved."""
    features, shots, shifts, length = [], [0], [], 0
    before: NDArray[np.float32] | None = None
    for part in parts:
        span = slice(part.first, part.last)
        rows, tokens = part.take.encoding.features[span], part.take.tokens[span]
        if before is not None and is_cut(before, tokens[0]):
            shots.append(length)
        inner = part.take.encoding.shots
        inside = inner[(inner > part.first) & (inner < part.first + len(rows))]
        shots += (inside - part.first + length).tolist()
        shifts.append(length * STEP - float(part.take.encoding.seconds[part.first]))
        features.append(rows)
        before, length = tokens[-1], length + len(rows)
    stream = Stream(
        "dinov2-small",
        np.arange(length) * STEP,
        np.arange(length) * 4,
        np.concatenate(features),
        np.array(shots, np.int64),
    )
    encoder = parts[0].take.encoding.encoder
    return Encoding(encoder, (stream,), *stream_vector_parts(stream)), shifts


def moments(one: Take, other: Take) -> tuple[Doubles, Doubles] | None:
    """Seconds of both takes that belong together; None if nothing is known of them."""
    if one.events is not None and other.events is not None:
        return one.events, other.events
    warp = _whole(one, other)
    asked = np.linspace(one.encoding.seconds[0], one.encoding.seconds[-1], 10)[1:-1]
    return None if warp is None else (asked, warp(asked))


def _whole(one: Take, other: Take) -> Warp | None:
    """How two takes correspond whole to whole; None if that is in doubt."""
    alignment = align_encodings(one.encoding, other.encoding, partial="never")
    return alignment.warp(keep="query").at if alignment.draq < BEYOND_DOUBT else None


def _length(take: Take) -> int:
    return len(take.encoding.seconds)


def _foreign(rng: np.random.Generator, strangers: list[Take], like: Take) -> Part:
    """Footage of another action, half to all as long as the take."""
    stranger = strangers[rng.integers(len(strangers))]
    length = min(_length(stranger), int(_length(like) * rng.uniform(0.5, 1.0)))
    first = int(rng.integers(0, _length(stranger) - length + 1))
    return Part(stranger, first, first + max(2, length))


def _case(one: list[Part], mine: Take, other: list[Part], theirs: Take) -> Case | None:
    """The case of two composites with the moments of `mine` and `theirs` that are in both."""
    known = moments(mine, theirs)
    if known is None:
        return None
    query, query_shifts = join(*one)
    match, match_shifts = join(*other)
    asked = _moved(known[0], one, query_shifts, mine)
    truth = _moved(known[1], other, match_shifts, theirs)
    there = ~np.isnan(asked) & ~np.isnan(truth)
    return Case(query, match, asked[there], truth[there]) if there.sum() >= 2 else None


def _moved(seconds: Doubles, parts: list[Part], shifts: list[float], take: Take) -> Doubles:
    """Where moments of a take are in the composite; NaN where they are left out."""
    out = np.full(len(seconds), np.nan)
    clock = take.encoding.seconds
    for part, shift in zip(parts, shifts, strict=True):
        if part.take is take:
            last = _length(take) if part.last is None else part.last
            inside = (seconds >= clock[part.first] - 1e-9) & (seconds < clock[last - 1] + STEP)
            out[inside] = seconds[inside] + shift
    return out


Builder = Callable[[np.random.Generator, Take, Take, list[Take]], Case | None]


def _around(query_before: bool, query_after: bool, match_before: bool, match_after: bool) -> Builder:
    def build(rng: np.random.Generator, one: Take, other: Take, strangers: list[Take]) -> Case | None:
        def wrap(take: Take, before: bool, after: bool) -> list[Part]:
            front = [_foreign(rng, strangers, take)] if before else []
            back = [_foreign(rng, strangers, take)] if after else []
            return [*front, Part(take), *back]

        return _case(wrap(one, query_before, query_after), one, wrap(other, match_before, match_after), other)

    return build


def _middle(rng: np.random.Generator, one: Take, other: Take, strangers: list[Take]) -> Case | None:
    at = int(_length(other) * rng.uniform(0.35, 0.65))
    parts = [Part(other, 0, at), _foreign(rng, strangers, other), Part(other, at)]
    return _case([Part(one)], one, parts, other)


def _part(begin: float, end: float, match_begin: float = 0.0, match_end: float = 1.0) -> Builder:
    def build(rng: np.random.Generator, one: Take, other: Take, strangers: list[Take]) -> Case | None:
        def slice_of(take: Take, first: float, last: float) -> Part:
            return Part(take, int(_length(take) * first), max(4, int(_length(take) * last)))

        return _case([slice_of(one, begin, end)], one, [slice_of(other, match_begin, match_end)], other)

    return build


KINDS: dict[str, Builder] = {
    "clean": _around(False, False, False, False),
    "foreign start of the match": _around(False, False, True, False),
    "foreign end of the match": _around(False, False, False, True),
    "foreign ends of the match": _around(False, False, True, True),
    "foreign ends of the query": _around(True, True, False, False),
    "foreign ends of both": _around(True, True, True, True),
    "foreign middle of the match": _middle,
    "query: first half": _part(0.0, 0.5),
    "query: second half": _part(0.5, 1.0),
    "query: middle half": _part(0.25, 0.75),
    "staggered: first 70 % and last 70 %": _part(0.0, 0.7, 0.3, 1.0),
}


# ---- other ways, on the same cost matrix: each gives a path (L, 2)


SUBSEQUENCE, OPEN_ENDS = ((1, 1), (1, 0), (0, 1)), ((1, 1), (1, 0), (1, 2))  # steps of query and match


def _open_path(cost: Doubles, steps: tuple[tuple[int, int], ...]) -> list[tuple[int, int]]:
    """The whole query in an open match, by these steps."""
    n, m = cost.shape
    total, came = np.full((n + 1, m + 2), np.inf), np.zeros((n, m), np.int64)
    total[0] = 0.0  # a row and two columns stand before the cells
    by = np.array(steps)
    for i, j in _diagonals(n, m):
        before = total[i[:, None] + 1 - by[:, 0], j[:, None] + 2 - by[:, 1]]
        came[i, j], total[i + 1, j + 2] = before.argmin(1), before.min(1) + cost[i, j]
    path, (i, j) = [], (n - 1, int(total[n, 2:].argmin()))
    while i >= 0:
        path.append((i, j))
        step = steps[came[i, j]]
        i, j = i - step[0], j - step[1]
    return path[::-1]


def _drop_path(cost: Doubles, price: float) -> list[tuple[int, int]]:
    """Every frame of either side may be left out at one price (as Drop-DTW does, with a flat price)."""
    n, m = cost.shape
    cells = np.pad(cost, ((1, 0), (1, 0)), constant_values=np.inf)
    taken, left_out = np.full(
        (2, n + 2, m + 2), np.inf
    )  # the last cell is on the path; the last frame is not
    how_taken, how_left = np.zeros((2, n + 1, m + 1), np.int64)
    left_out[1, 1] = 0.0
    for i, j in islice(_diagonals(n + 1, m + 1), 1, None):
        across, up, aside = (i, j), (i, j + 1), (i + 1, j)
        options = np.stack([left_out[across], taken[across], taken[up], taken[aside]])
        drops = np.stack([left_out[up], taken[up], left_out[aside], taken[aside]])
        how_taken[i, j], taken[i + 1, j + 1] = options.argmin(0), options.min(0) + cells[i, j]
        how_left[i, j], left_out[i + 1, j + 1] = drops.argmin(0), drops.min(0) + price
    path, i, j, on = [], n, m, taken[-1, -1] <= left_out[-1, -1]
    while i or j:
        how = how_taken[i, j] if on else how_left[i, j]
        if on:
            path.append((i - 1, j - 1))
            on, i, j = how != 0, i - (how != 3), j - (how != 2)
        else:
            on, i, j = how % 2 == 1, i - (how < 2), j - (how >= 2)
    return path[::-1]


def _diagonals(n: int, m: int) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Rows and columns of the cells of each antidiagonal."""
    for both in range(n + m - 1):
        i = np.arange(max(0, both - m + 1), min(n, both + 1))
        yield i, both - i


def _warp_of(path: list[tuple[int, int]], alignment: Alignment) -> Warp:
    """Mean partner of each query frame on the path, at unit slope beyond its ends."""
    cells = np.array(path)
    frames, first, counts = np.unique(cells[:, 0], return_index=True, return_counts=True)
    partners = np.add.reduceat(alignment.match_seconds[cells[:, 1]], first) / counts
    times = alignment.query_seconds[frames]

    def warp(seconds: Doubles) -> Doubles:
        inside = np.interp(seconds, times, partners)
        return inside + np.minimum(seconds - times[0], 0) + np.maximum(seconds - times[-1], 0)

    return warp


def ways(case: Case) -> Iterator[tuple[str, Warp]]:
    full = align_encodings(case.query, case.match, partial="never")
    yield "full DTW", full.warp(keep="query").at
    cost = cost_matrix(case.query, case.match).astype(np.float64)
    yield "open ends", _warp_of(_open_path(cost, OPEN_ENDS), full)
    yield "subsequence", _warp_of(_open_path(cost, SUBSEQUENCE), full)
    dropped = _drop_path(cost, float(np.quantile(cost, 0.3)))
    yield "free gaps", _warp_of(dropped, full) if dropped else full.warp(keep="query").at
    yield "seasync", align_encodings(case.query, case.match, partial="auto").warp(keep="query").at


# ---- measurements


def measure(
    takes: list[Take], everything: list[Take], count: int, rng: np.random.Generator
) -> dict[str, dict[str, float]]:
    rows: dict[str, dict[str, float]] = {}
    for kind, build in KINDS.items():
        good: dict[str, list[bool]] = {}
        for case in cases(build, takes, everything, count, rng):
            for name, warp in ways(case):
                off = np.abs(warp(case.query_moments) - case.match_moments).mean() * 30
                good.setdefault(name, []).append(bool(off <= GOOD_FRAMES))
        rows[kind] = {name: float(np.mean(values)) for name, values in good.items()}
    rows["middle shown by another take"] = _retaken(takes, count, rng)
    rows["AUC, overlap or none"] = _presence(takes, everything, count, rng)
    rows["long film, found first"] = {"seasync": _long_films(takes, everything, count, rng)}
    for name, pieces in (("two pieces swapped", 2), ("three pieces permuted", 3)):
        every, shows = _swapped(takes, count, rng, pieces=pieces)
        rows[f"{name}, frames right"] = every
        rows[f"{name}, where the order shows"] = shows
    return rows


def cases(
    build: Builder, takes: list[Take], everything: list[Take], count: int, rng: np.random.Generator
) -> Iterator[Case]:
    made = 0
    for one, other in islice(_pairs(takes, rng), 10 * count):
        strangers = [take for take in everything if take.action != one.action] or takes
        case = build(rng, one, other, strangers)
        if case is not None:
            yield case
            made += 1
        if made == count:
            return


def _pairs(takes: list[Take], rng: np.random.Generator) -> Iterator[tuple[Take, Take]]:
    """Each take, and the one of its action that aligns best with it, as a search would give; in random order.

    When all had their turn, it begins again.
    """
    while True:
        for at in rng.permutation(len(takes)).tolist():
            yield takes[at], partner(takes[at], takes)


def partner(one: Take, takes: list[Take], skip: int = 0) -> Take:
    """The take of the same action that aligns best with this one, but for `skip` better ones."""
    same = [take for take in takes if take.action == one.action and take is not one]
    if one not in _RANKED:
        _RANKED[one] = np.argsort(score_many(one.encoding, [take.encoding for take in same]).draq)
    return same[int(_RANKED[one][skip])]


_RANKED: dict[Take, NDArray[np.int64]] = {}  # the others of its action by DRAQ, for each take


def _presence(
    takes: list[Take], everything: list[Take], count: int, rng: np.random.Generator
) -> dict[str, float]:
    """How well the score tells composites that share an action (in part) from those that share none."""
    scores: dict[bool, list[float]] = {True: [], False: []}
    whole: dict[bool, list[float]] = {True: [], False: []}
    for kind in ("foreign ends of the match", "query: first half", "foreign ends of both"):
        for case in cases(KINDS[kind], takes, everything, count // 2, rng):
            scores[True].append(align_encodings(case.query, case.match, partial="auto").score)
            whole[True].append(align_encodings(case.query, case.match, partial="never").draq)
    while len(scores[False]) < len(scores[True]):
        one = takes[rng.integers(len(takes))]
        strangers = [take for take in everything if take.action != one.action]
        if len({take.action for take in strangers}) == 0:
            return {}
        other, more = strangers[rng.integers(len(strangers))], strangers[rng.integers(len(strangers))]
        match, _ = join(Part(other), _foreign(rng, strangers, more))
        scores[False].append(align_encodings(one.encoding, match, partial="auto").score)
        whole[False].append(align_encodings(one.encoding, match, partial="never").draq)
    return {"full DTW": _auc(whole[True], whole[False]), "seasync": _auc(scores[True], scores[False])}


def _auc(low: list[float], high: list[float]) -> float:
    return float(np.mean(np.array(low)[:, None] < np.array(high)[None]))


def _long_films(
    takes: list[Take], everything: list[Take], count: int, rng: np.random.Generator, *, clips: int = 20
) -> float:
    """Share of films of many other clips in which the one of the query's action is found first (IoU ≥ ½)."""
    hits = []
    for query, target in islice(_pairs(takes, rng), FILMS_PER_CASE * count):
        strangers = [take for take in everything if take.action != query.action]
        order = [strangers[k] for k in rng.permutation(len(strangers))[:clips]]
        place = int(rng.integers(len(order) + 1))
        parts = [Part(take) for take in (*order[:place], target, *order[place:])]
        film, shifts = join(*parts)
        start = float(target.encoding.seconds[0]) + shifts[place]
        end = float(target.encoding.seconds[-1]) + shifts[place] + STEP
        best = find_in(query.encoding, film, Clip("film"))[0].clip
        shared = min(end, best.end or 0) - max(start, best.start)
        hits.append(shared / (max(end, best.end or 0) - min(start, best.start)) >= 0.5)
    return float(np.mean(hits))


def _swapped(
    takes: list[Take], count: int, rng: np.random.Generator, *, pieces: int
) -> tuple[dict[str, float], dict[str, float]]:
    """Against a clip whose pieces are in another order: share of the query's frames that are put right.

    First of all cases, then of those where the order shows.
    """
    right: list[tuple[bool, float, float]] = []
    for one, other in _pairs(takes, rng):
        if len(right) == count:
            break
        warp = _whole(one, other)
        if warp is None:
            continue
        cuts = [0, *(_length(other) * (k + 1) // pieces for k in range(pieces))]
        order = [1, 0] if pieces == 2 else [[1, 2, 0], [2, 0, 1], [2, 1, 0]][int(rng.integers(3))]
        parts = [Part(other, *list(pairwise(cuts))[k]) for k in order]
        match, shifts = join(*parts)
        seconds = one.encoding.seconds
        truth = _moved(warp(seconds), parts, shifts, other)
        in_order, planted = score_many(one.encoding, [other.encoding, match]).dtw_cost
        same, free = (
            align_encodings(one.encoding, match, partial="auto", order=name).warp(keep="query").at(seconds)
            for name in ("same", "any")
        )
        shares = (float((np.abs(found - truth) * 30 <= GOOD_FRAMES).mean()) for found in (same, free))
        right.append((bool(in_order < ORDER_SHOWS * planted), *shares))
    every = np.array(right)

    def means(some: Doubles) -> dict[str, float]:
        return {"full DTW": float(some[:, 1].mean()), "seasync": float(some[:, 2].mean())}

    return means(every), means(every[every[:, 0] == 1])


def _retaken(takes: list[Take], count: int, rng: np.random.Generator) -> dict[str, float]:
    """Share good of clips whose middle is shown by another take: cut out and back, but nothing is foreign."""
    good: list[tuple[bool, bool]] = []
    for one, other in islice(_pairs(takes, rng), 10 * count):
        another = partner(one, takes, 1)
        known, more = moments(one, other), moments(one, another)
        if known is None or more is None or len(good) == count:
            continue
        cuts = np.quantile(known[0], (rng.uniform(0.2, 0.45), rng.uniform(0.55, 0.8)))
        (out, back), (first, last) = (
            np.searchsorted(take.encoding.seconds, np.interp(cuts, *both)).tolist()
            for take, both in ((other, known), (another, more))
        )
        if out < 2 or last < first + 2 or back > _length(other) - 2:
            continue
        match, shifts = join(Part(other, 0, out), Part(another, first, last), Part(other, back))
        before, after = known[0] <= cuts[0], known[0] > cuts[1]
        truth = np.where(
            before, known[1] + shifts[0], np.where(after, known[1] + shifts[2], more[1] + shifts[1])
        )
        found = (align_encodings(one.encoding, match, partial=how) for how in ("never", "auto"))
        off = [np.abs(each.warp(keep="query").at(known[0]) - truth).mean() * 30 for each in found]
        good.append((bool(off[0] <= GOOD_FRAMES), bool(off[1] <= GOOD_FRAMES)))
    whole, ours = np.mean(good, axis=0).tolist()
    return {"full DTW": whole, "seasync": ours}


def _check(report: dict[str, dict[str, dict[str, float]]], goals: Goals) -> None:
    shares = {name: np.mean([rows[kind]["seasync"] for kind in KINDS]) for name, rows in report.items()}
    print("mean share good: " + ", ".join(f"{name} {share:.3f}" for name, share in shares.items()))
    goals.at_least("mean share good", float(np.mean(list(shares.values()))), 0.91)
    swapped = [rows["two pieces swapped, frames right"]["seasync"] for rows in report.values()]
    goals.at_least("two pieces swapped, frames right", float(np.mean(swapped)), 0.91)
    for name, rows in report.items():
        goals.at_least(f"{name}: clean pairs", rows["clean"]["seasync"], rows["clean"]["full DTW"] - 0.005)
        retaken = rows["middle shown by another take"]
        goals.at_least(f"{name}: middle by another take", retaken["seasync"], retaken["full DTW"] - 0.02)
        if presence := rows["AUC, overlap or none"]:
            goals.at_least(f"{name}: AUC, overlap or none", presence["seasync"], 0.95)
        goals.at_least(f"{name}: long film, found first", rows["long film, found first"]["seasync"], 0.97)


if __name__ == "__main__":
    raise SystemExit(main())
