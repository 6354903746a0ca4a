"""Repetitions found in one film: `python -m benchmarks.repetitions DIR [--quick]`.

DIR is the data folder. Its films in `repetitions` have the starts of 2–4 repetitions each, placed by hand.
Other films are made of features: a repetition cut out of one of these films, or a golf swing, a fall or a
pitch, 5–30 times in a row ("again"), and such clips of different people in a row ("of many"). Every
repetition has a tempo of its own (1.5× slower to 1.5× faster); half of the films have pauses, half foreign
footage before, between and after.

Starts are compared after one shift per film, the one with the most hits: where a cycle begins is a matter of
taste. A start is hit within .25 s or 15 % of the film's median period. Repetitions that are incomplete at the
beginning or the end of a film do not count, found or not.
"""

import csv
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from benchmarks.goals import Goals, parser, show
from seasync.alignment.spans import Span
from seasync.clip import Clip
from seasync.encoders import Encoder, encode_clip, get_encoder
from seasync.encoders.encoder import stream_vector_parts
from seasync.encoding import Encoding, Floats, Seconds, Stream
from seasync.repetitions import find_movements

RATE, DENSE = 7.5, 15  # samples per second of films, and of the clips they are made of
FASTER = 1.5
FEWEST, MOST = 5, 30
LONGEST = 8.0  # seconds of a clip that counts as one repetition
LONGEST_FILM = 150.0
FOREIGN = ("actions/yoga*/*.mp4", "falls/*-cam1.mp4", "gestures/*/*.mp4")
COMPLETE = 0.8  # share of a period that the film must show of its last repetition
Source = tuple[str, float, float]  # file, start, end


@dataclass(frozen=True, eq=False)
class Film:
    """A film whose repetitions are known: starts and, where they are known, ends, in seconds."""

    name: str
    kind: str
    encoding: Encoding
    starts: Sequence[float]
    ends: Sequence[float]

    @property
    def period(self) -> float:
        return float(np.median(np.diff(self.starts)))


def main() -> int:
    options = parser(__doc__, "data", quick="two made films of each kind")
    options.add_argument("--seed", type=int, default=0)
    given = options.parse_args()
    goals, encodings = Goals(given), Encodings()
    labeled = list(labeled_films(given.data, encodings))
    made = list(make_films(given.data, encodings, labeled, count=2 if given.quick else 9, seed=given.seed))
    figures: dict[str, dict[str, dict[str, float]]] = defaultdict(dict)
    for kind in dict.fromkeys(film.kind for film in (*labeled, *made)):
        films = [film for film in (*labeled, *made) if film.kind == kind]
        for name, method in METHODS.items():
            figures[kind][name] = measure(films, method)
    show(figures)
    groups = {"films": labeled, "made films": [film for film in made if not film.kind.endswith("many")]}
    for name, films in groups.items():
        own = measure(films, METHODS["seasync"])
        goals.at_least(f"{name}: precision of starts", own["precision"], 0.9)
        goals.at_least(f"{name}: recall of starts", own["recall"], 0.9)
        goals.at_least(f"{name}: count exact", own["exact"], 0.8)
    shifts = {film.name: round(score(film, METHODS["seasync"](film))[3], 2) for film in labeled}
    print("shifts in seconds:", ", ".join(f"{name} {shift:g}" for name, shift in shifts.items()))
    return goals.finish(figures)


# The films.


class Encodings:
    """Encodings of files, each made once."""

    def __init__(self) -> None:
        self._encoder: Encoder = get_encoder("dinov2-small")
        self._known: dict[tuple[str, float], Encoding] = {}

    def of(self, file: str, fps: float = RATE) -> Encoding:
        if (file, fps) not in self._known:
            self._known[file, fps] = encode_clip(Clip(file), self._encoder, fps=fps)
        return self._known[file, fps]

    def at(self, file: str, times: Seconds) -> Floats:
        """The features of a file at any times, between those of its samples."""
        dense = self.of(file, DENSE)
        before = np.clip(np.searchsorted(dense.seconds, times, "right") - 1, 0, len(dense.seconds) - 2)
        share = (times - dense.seconds[before]) / np.diff(dense.seconds)[before]
        weight = share.clip(0, 1)[:, None].astype(np.float32)
        return np.asarray(
            dense.features[before] * (1 - weight) + dense.features[before + 1] * weight, np.float32
        )


def labeled_films(folder: Path, encodings: Encodings) -> Iterator[Film]:
    """The films with starts that were placed by hand."""
    starts: dict[str, list[float]] = defaultdict(list)
    with (folder / "repetitions" / "starts.csv").open(newline="") as opened:
        for row in csv.DictReader(opened):
            starts[row["clip"]].append(float(row["seconds"]))
    for name, own in starts.items():
        encoding = encodings.of(str(folder / "repetitions" / name))
        yield Film(
            name, name.partition("/")[0], encoding, own, [*own[1:], own[-1] + float(np.median(np.diff(own)))]
        )


def make_films(
    folder: Path, encodings: Encodings, labeled: Sequence[Film], *, count: int, seed: int
) -> Iterator[Film]:
    """`count` films of each kind."""
    cut = [
        [(str(folder / "repetitions" / film.name), *span)]
        for film in labeled
        for span in pairwise(film.starts)
    ]
    pools: dict[str, list[list[Source]]] = {"cut out": cut}
    for name, pattern in (
        ("golf", "golf/clips/*"),
        ("falls", "falls/*-cam0*"),
        ("pitches", "actions/baseball*/*"),
    ):
        files = sorted(map(str, folder.glob(f"{pattern}.mp4")))
        own = [(file, 0.0, float(encodings.of(file).seconds[-1])) for file in files]
        short = [clip for clip in own if clip[2] <= LONGEST]
        pools |= {f"{name} again": [[clip] for clip in short], f"{name} of many": [short]}
    foreign = [str(file) for pattern in FOREIGN for file in sorted(folder.glob(pattern))[::5]]
    for number, (kind, choice) in enumerate(pools.items()):
        for n in range(count):
            rng = np.random.default_rng((seed, number, n))
            yield _made(f"{kind} {n}", kind, choice[int(rng.integers(len(choice)))], foreign, encodings, rng)


def _made(
    name: str,
    kind: str,
    pool: Sequence[Source],
    foreign: Sequence[str],
    encodings: Encodings,
    rng: np.random.Generator,
) -> Film:
    count = int(rng.integers(FEWEST, MOST + 1))
    count = max(FEWEST, min(count, int(LONGEST_FILM / np.mean([end - start for _, start, end in pool]))))
    pauses, strange = rng.random(2) < 0.5
    chosen = [pool[k] for _ in range(-(-count // len(pool))) for k in rng.permutation(len(pool))][:count]
    parts: list[Floats] = []
    counts, cuts = [], []  # whether each part is a repetition, and begins with a cut

    def add(features: Floats, *, counted: bool, cut: bool) -> None:
        parts.append(features)
        counts.append(counted)
        cuts.append(cut)

    def add_foreign() -> None:
        file = foreign[int(rng.integers(len(foreign)))]
        length = min(rng.uniform(1, 5), float(encodings.of(file, DENSE).seconds[-1]))
        add(encodings.at(file, np.arange(0, length, 1 / RATE)), counted=False, cut=True)

    breaks = {0, int(rng.integers(1, count))} if strange else set()
    for at, (file, start, end) in enumerate(chosen):
        if at in breaks:
            add_foreign()
        tempo = float(np.exp(rng.uniform(-1, 1) * np.log(FASTER)))
        shown = encodings.at(file, np.arange(start + rng.uniform(0, 0.1), end, tempo / RATE))
        add(shown, counted=True, cut=kind != "cut out" or at in breaks)
        if pauses and rng.random() < 0.3:
            still = shown[-1:].repeat(int(rng.uniform(0.5, 2) * RATE), 0)
            noise = 0.02 * shown.std() * rng.standard_normal(still.shape)
            add((still + noise).astype(np.float32), counted=False, cut=False)
    if strange:
        add_foreign()
    begins = np.cumsum([0, *map(len, parts)])
    shots = np.unique([0, *(int(begins[k]) for k, cut in enumerate(cuts) if cut)])
    features, own = np.concatenate(parts), encodings.of(chosen[0][0])
    times = np.arange(len(features)) / RATE
    stream = Stream(own.streams[0].name, times, np.arange(len(features)) * 4, features, shots)
    spans = [(begins[k] / RATE, begins[k + 1] / RATE) for k, counted in enumerate(counts) if counted]
    starts, ends = zip(*spans, strict=True)
    return Film(name, kind, Encoding(own.encoder, (stream,), *stream_vector_parts(stream)), starts, ends)


# The methods: each finds the starts of a film's repetitions.


def found_by_seasync(film: Film) -> list[float]:
    """Without a template: the movement that explains most."""
    found = find_movements(film.encoding)
    return [each.start for each in found[0].repetitions] if found else []


def found_with_one_given(film: Film) -> list[float]:
    """With the first whole repetition as a template."""
    found = find_movements(film.encoding, template=Span(film.starts[0], film.ends[0]))
    return [each.start for each in found[0].repetitions] if found else []


def found_by_self_similarity(film: Film) -> list[float]:
    """A period from the first high peak of the autocorrelation of features; repetitions all along."""
    features = film.encoding.features.astype(np.float32)
    features = features - features.mean(0)
    spectrum = np.fft.rfft(features, 2 * len(features), axis=0)
    sums = np.fft.irfft((np.abs(spectrum) ** 2).sum(1))[: len(features)]
    alike = sums / (len(features) - np.arange(len(features)))
    lags = np.arange(4, max(len(features) // 2, 5) + 1)
    inner = [k for k in lags[:-1] if alike[k] >= alike[k - 1] and alike[k] >= alike[k + 1]]
    high = [k for k in inner if alike[k] >= 0.8 * max(alike[inner])]
    period = (high[0] if high else len(features)) / RATE
    return list(np.arange(0, _end(film) - COMPLETE * period, period))


def found_by_period(film: Film) -> list[float]:
    """As if the median period were known."""
    return list(np.arange(0, _end(film) - COMPLETE * film.period, film.period))


def always_three(film: Film) -> list[float]:
    return list(np.linspace(0, _end(film), 3, endpoint=False))


Method = Callable[[Film], list[float]]
METHODS: dict[str, Method] = {
    "seasync": found_by_seasync,
    "one repetition given": found_with_one_given,
    "self-similarity": found_by_self_similarity,
    "length / median period": found_by_period,
    "always 3": always_three,
}


# The measures.


def _end(film: Film) -> float:
    return float(film.encoding.seconds[-1]) + 1 / RATE


def measure(films: Sequence[Film], method: Method) -> dict[str, float]:
    """Precision and recall of starts, and in how many films the count is exact, or off by one at most."""
    rows = np.array([score(film, method(film))[:3] for film in films])
    hits, found, true = rows.sum(0)
    apart = np.abs(rows[:, 1] - rows[:, 2])
    return {
        "films": len(films),
        "precision": float(hits / max(found, 1)),
        "recall": float(hits / true),
        "exact": float((apart == 0).mean()),
        "off by one": float((apart <= 1).mean()),
    }


def score(film: Film, starts: Sequence[float]) -> tuple[int, int, int, float]:
    """Hits, how many found and true repetitions count, and the film's shift in seconds."""
    true, tolerance = np.array(film.starts), max(0.25, 0.15 * film.period)
    apart = np.subtract.outer(starts, true).ravel() if len(starts) else np.empty(0)
    shifts = sorted(apart[np.abs(apart) <= 0.6 * film.period], key=abs)
    tried = [_hits(np.array(starts) - shift, true, tolerance) for shift in shifts]
    pairs = max(tried, key=len, default=[])
    shift = float(np.median([starts[i] - true[j] for i, j in pairs])) if pairs else 0.0
    shifted = np.array(starts) - shift
    pairs = _hits(shifted, true, tolerance)
    hit = {i for i, _ in pairs}
    early = sum(i not in hit and each < true[0] - tolerance for i, each in enumerate(shifted))
    late = sum(i not in hit and each > true[-1] + tolerance for i, each in enumerate(shifted))
    reached = {j for _, j in pairs}
    counted = sum(j in reached or each + COMPLETE * film.period <= _end(film) for j, each in enumerate(true))
    return len(pairs), len(shifted) - min(early, 1) - min(late, 1), counted, shift


def _hits(starts: Seconds, true: Seconds, tolerance: float) -> list[tuple[int, int]]:
    """Pairs of a found and a true start, each used once."""
    pairs: list[tuple[int, int]] = []
    for j, each in enumerate(true):
        free = [i for i in range(len(starts)) if all(i != used for used, _ in pairs)]
        near = min(free, key=lambda i: abs(starts[i] - each), default=None)
        if near is not None and abs(starts[near] - each) <= tolerance:
            pairs.append((near, j))
    return pairs


if __name__ == "__main__":
    raise SystemExit(main())
