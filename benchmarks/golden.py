"""What the method answered at a commit, kept in a folder to compare later code with.

    python -m benchmarks.golden make DIR --data DATA [--commit REV] [--python PYTHON]
    python -m benchmarks.golden compare DIR [--quick] [--only WORDS] [--allow FIELD…] [--json FILE]

DATA is the folder of `benchmarks.world`. `make` encodes its clips once, in a worktree of the commit, and
lets the code of that commit align 2,000 pairs of them, search with 200 of them, put a group on one clock, and
carry marks. All is drawn by a seed. Of each choice of recipe, partial, order and anchors there are 200 pairs
or more, of the default all 2,000. `compare` lets the present code answer the same and exits 1 if anything
differs.

Numbers agree if they differ by less than 1e-6 of their size, likelihoods by less than 1e-5. A path may differ
if it costs the same. Where key events are known, the error in ms of entries that differ is shown before and
after. PYTHON has what the old code needs, if the present environment does not.
"""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from argparse import Namespace
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.goals import HERE, Goals, commit, parser

Doubles = NDArray[np.float64]
Answer = dict[str, Any]
PAIRS, SEED = 2_000, 30
COMPOSITES, FPS = 100, 7.5
FOLDERS = (
    "repetitions", "tpl", "views", "robots/drawer", "robots/bottle", "falls", "gestures", "actions", "golf"
)  # fmt: skip
PARTS = (("auto", "same"), ("auto", "any"), ("never", "same"), ("always", "same"), ("always", "any"))
CHOICES = [
    *((recipe, *parts, a) for recipe, parts, a in product(("motion", "paper"), PARTS, ("free", "anchored"))),
    ("motion at 30", "auto", "same", "free"),  # as `seasync align` refines it
]
SEARCHES: list[tuple[Answer, int]] = [
    ({}, 120),
    ({"recipe": "paper"}, 40),
    ({"partial": "never"}, 20),
    ({"partial": "always", "rerank": "product"}, 20),
]
IN_GROUP, LABELED = 12, 10
EXACT = 1e-6
WIDTHS = {"likelihood": 10.0, "alignability": 10.0}  # how much wider than EXACT a field may differ
ALIKE, NEAR, FAR = 0.5, 0.15, 0.2  # shares of pairs: one movement, one folder, two folders; else composites


def main() -> int:
    arguments = parser(__doc__, quick="one pair in eleven, which has all choices")
    arguments.add_argument("task", choices=("make", "record", "compare"))
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("--data", type=Path, help="for make")
    arguments.add_argument("--commit", default="c411fd8", help="for make: default: the last one with align/")
    arguments.add_argument("--python", default=sys.executable, help="for make: the interpreter")
    arguments.add_argument(
        "--only", default="", help="only pairs whose choice has these words, such as paper"
    )
    arguments.add_argument("--allow", nargs="+", default=[], metavar="FIELD", help="fields that may differ")
    options = arguments.parse_args()
    if options.task == "make":
        return make(options)
    if options.task == "record":  # what make runs with the code of the old commit
        return record(options.folder, options.data)
    return compare(options)


def make(options: Namespace) -> int:
    """Run `record` with the code of a commit, in a worktree that has no compiled kernels."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        git = ["git", "-C", str(HERE), "worktree"]
        subprocess.run([*git, "add", "--detach", str(tree), options.commit], check=True)
        try:
            command = [options.python, "-m", "benchmarks.golden", "record", str(options.folder.resolve())]
            paths = os.pathsep.join(map(str, (tree / "src", HERE)))
            command += ["--data", str(options.data.resolve())]
            done = subprocess.run(command, check=False, cwd=HERE, env={**os.environ, "PYTHONPATH": paths})
        finally:
            subprocess.run([*git, "remove", "--force", str(tree)], check=True)
    return done.returncode


def record(folder: Path, data: Path) -> int:
    import seasync

    clips = drawn_clips(data)
    folder.mkdir(parents=True, exist_ok=True)
    store(folder / "clips.npz", clips)
    clips = load(folder / "clips.npz")
    fill(folder / "clips.sea", clips)
    entries = drawn_pairs(clips)
    answers = list(solved(entries, clips))
    paths = [answer.pop("path", np.zeros((0, 2), np.int16)) for answer in answers]
    np.savez_compressed(
        folder / "paths.npz", cells=np.concatenate(paths), ends=np.cumsum([len(path) for path in paths])
    )
    rest = others(folder / "clips.sea", clips)
    about = {
        "commit": commit(Path(seasync.__file__).parents[2]),
        "recipes": {name: recipe.fingerprint for name, recipe in recipes().items()},
        "clips": Counter(clip.label.partition("/")[0] for clip in clips),
    }
    text = json.dumps(about | {"entries": entries, "answers": answers, "others": rest})
    (folder / "golden.json").write_text(text)
    print(f"{len(entries)} alignments of {len(clips)} clips, by {about['commit']}, in {folder}")
    return 0


# ---- clips


@dataclass(frozen=True, eq=False)
class GoldenClip:
    """An encoded clip; its label begins with its folder. `events` (E,) are seconds, NaN where not known."""

    name: str
    label: str
    encoding: Any
    events: Doubles

    @property
    def composite(self) -> bool:
        return self.label.startswith("composite/")


def drawn_clips(data: Path) -> list[GoldenClip]:
    """Every clip of the data, and composites of their encodings."""
    from seasync.encoders import encode_clip, get_encoder

    encoder, clips = get_encoder(), []
    for place in FOLDERS:
        events = read_events(data / place / "events.csv")
        files = sorted((data / place).rglob("*.mp4"))
        for number, file in enumerate(files, 1):
            print(f"\r{place}: {number}/{len(files)} clips  ", end="", flush=True)
            encoding = encode_clip(file, encoder)
            moments, label = events.get(file.name, (np.zeros(0), label_of(place, file)))
            seconds = np.interp(moments, encoding.frames, encoding.seconds)
            clips.append(GoldenClip(str(file), label or label_of(place, file), encoding, seconds))
    print()
    return clips + list(composites(clips))


def label_of(place: str, file: Path) -> str:
    """The movement of a clip: its folder, or its name in `views`, where two cameras saw one take."""
    if place == "views":
        return f"views/{file.stem.partition('-')[0]}"
    return place if file.parent.name in (Path(place).name, "clips") else f"{place}/{file.parent.name}"


def read_events(file: Path) -> dict[str, tuple[Doubles, str]]:
    """Frame numbers of key events by clip, and the film it is of, if the table names films."""
    if not file.is_file():
        return {}
    with file.open(newline="") as opened:
        rows = list(csv.DictReader(opened))
    if "film" not in rows[0]:
        first = list(rows[0]).index("frames") + 1
        return {row["clip"]: (np.array([float(v) for v in list(row.values())[first:]]), "") for row in rows}
    names = {
        row["film"]: list(dict.fromkeys(r["event"] for r in rows if r["film"] == row["film"])) for row in rows
    }
    found = {row["clip"]: (np.full(len(names[row["film"]]), np.nan), f"tpl/{row['film']}") for row in rows}
    for row in rows:
        found[row["clip"]][0][names[row["film"]].index(row["event"])] = float(row["frame"])
    return found


def composites(clips: Sequence[GoldenClip]) -> Iterator[GoldenClip]:
    """Clips put together of the samples of others, a shot each; their events are those of the first drawn."""
    from seasync.encoders.encoder import stream_vector_parts
    from seasync.encoding import Encoding, Stream

    rng = np.random.default_rng(SEED)
    for number in range(COMPOSITES):
        one, other, third = (clips[n] for n in rng.integers(len(clips), size=3))
        length, strange, last = (len(clip.encoding.seconds) for clip in (one, other, third))
        cut = max(1, int(length * rng.uniform(0.35, 0.65)))
        before, after = (one, 0, cut), (one, cut, length)
        kind, parts = [
            ("interrupted", [before, (other, 0, max(2, strange // 2)), after]),
            ("surrounded", [(other, strange // 2, strange), (one, 0, length), (third, 0, max(2, last // 2))]),
            ("swapped", [after, before]),
            ("cut", [(one, length // 4, length)]),
        ][number % 4]
        events, shots = np.full(len(one.events), np.nan), [0]
        for clip, first, end in parts:
            clock = clip.encoding.seconds
            inside = (one.events >= clock[first]) & (one.events < clock[end - 1] + 1 / FPS)
            if clip is one:
                events[inside] = one.events[inside] - clock[first] + shots[-1] / FPS
            shots.append(shots[-1] + end - first)
        features = np.concatenate([clip.encoding.features[first:end] for clip, first, end in parts])
        at, name = np.arange(shots.pop()), one.encoding.streams[0].name
        stream = Stream(name, at / FPS, 4 * at, features, np.array(shots, np.int64))
        encoding = Encoding(one.encoding.encoder, (stream,), *stream_vector_parts(stream))
        yield GoldenClip(f"{kind} {number}", f"composite/{one.label}", encoding, events)


def store(file: Path, clips: Sequence[GoldenClip]) -> None:
    arrays: dict[str, Any] = {"names": [c.name for c in clips], "labels": [c.label for c in clips]}
    for n, clip in enumerate(clips):
        (stream,) = clip.encoding.streams
        values = {"events": clip.events, "mean": clip.encoding.mean, "trajectory": clip.encoding.trajectory}
        values |= {name: getattr(stream, name) for name in ("seconds", "frames", "shots")}
        values["features"] = stream.features.astype(np.float16)
        arrays |= {f"{n} {name}": value for name, value in values.items()}
    arrays |= {"encoder": clips[0].encoding.encoder, "stream": clips[0].encoding.streams[0].name}
    np.savez(file, **arrays)


def load(file: Path) -> list[GoldenClip]:
    from seasync.encoding import Encoding, Stream

    clips = []
    with np.load(file) as kept:
        encoder, stream = str(kept["encoder"]), str(kept["stream"])
        for n, (name, label) in enumerate(zip(kept["names"].tolist(), kept["labels"].tolist(), strict=True)):
            seconds, frames, features, shots, mean, trajectory, events = (
                kept[f"{n} {part}"]
                for part in ("seconds", "frames", "features", "shots", "mean", "trajectory", "events")
            )
            made = Stream(stream, seconds, frames, features.astype(np.float32), shots)
            clips.append(GoldenClip(name, label, Encoding(encoder, (made,), mean, trajectory), events))
    return clips


class StoredEncoder:
    """Gives a sea the encodings that are stored already."""

    def __init__(self, clips: Sequence[GoldenClip]) -> None:
        from seasync.encoders import get_encoder

        encoder = get_encoder()
        self.name, self.fingerprint = encoder.name, encoder.fingerprint
        self.dimension, self.fps = encoder.dimension, encoder.fps
        self._known = {clip.name: clip.encoding for clip in clips}

    def encode_clip(self, clip: Any, **_: object) -> Any:
        return self._known[clip.file]


def fill(folder: Path, clips: Sequence[GoldenClip]) -> None:
    """A sea of all clips but composites; the last golf clips have a label of their own, for the group."""
    from seasync import Sea

    listed = folder.with_suffix(".csv")
    golf = [clip.name for clip in clips if clip.label == "golf"][-IN_GROUP:]
    with listed.open("w", newline="") as opened:
        rows = [(c.name, "group" if c.name in golf else c.label) for c in clips if not c.composite]
        csv.writer(opened).writerows([("file", "label"), *rows])
    added = Sea(folder, StoredEncoder(clips)).add(listed)
    if added.failed:
        raise SystemExit(f"{len(added.failed)} files could not be read, first {added.failed[0]}")


# ---- pairs


def drawn_pairs(clips: Sequence[GoldenClip]) -> list[Answer]:
    """Pairs by number, each with a choice and anchors; every pair has the default and two other choices."""
    rng = np.random.default_rng(SEED)
    by_label, by_folder = defaultdict(list), defaultdict(list)
    for n, clip in enumerate(clips):
        if not clip.composite:
            by_label[clip.label].append(n)
            by_folder[folder_of(clip)].append(n)
    mixed = [n for n, clip in enumerate(clips) if clip.composite]
    whole, folders = [n for some in by_label.values() for n in some], list(by_folder)
    entries: list[Answer] = []
    for number in range(PAIRS):
        kind, rest = rng.uniform(), len(CHOICES) - 1
        query = int(rng.choice(by_folder[folders[number % len(folders)]]))
        match = int(rng.choice(by_label[clips[query].label]))
        if kind > ALIKE:
            match = int(rng.choice(by_folder[folder_of(clips[query])] if kind < ALIKE + NEAR else whole))
        if kind > ALIKE + NEAR + FAR:
            match = mixed[number % len(mixed)]
            query = int(rng.choice(by_label[clips[match].label.partition("/")[2]]))
        pair = (match, query) if rng.uniform() < 0.5 else (query, match)
        for choice in (CHOICES[0], *(CHOICES[1 + (2 * number + more) % rest] for more in (0, 1))):
            anchors: list[tuple[float, float]] = []
            if choice[3] == "anchored":
                anchors = drawn_anchors([clips[n] for n in pair], rng, choice[2] == "any" and number % 2 == 1)
            entries.append({"pair": pair, "choice": choice, "anchors": anchors})
    return entries


def folder_of(clip: GoldenClip) -> str:
    return clip.label.partition("/")[0]


def drawn_anchors(
    pair: Sequence[GoldenClip], rng: np.random.Generator, crossing: bool
) -> list[tuple[float, float]]:
    """Two moments of the query, and two of the match, in the same order or crossing."""
    spans = [clip.encoding.seconds[[0, -1]] for clip in pair]
    first, second = (
        [float(np.interp(place + rng.uniform(-0.1, 0.1), (0, 1), span)) for span in spans]
        for place in (0.3, 0.7)
    )
    if crossing:
        first[1], second[1] = second[1], first[1]
    return [(first[0], first[1]), (second[0], second[1])]


def recipes() -> dict[str, Any]:
    from seasync import MOTION, PAPER

    return {"motion": MOTION, "paper": PAPER, "motion at 30": replace(MOTION, grid_fps=30.0)}


def solved(entries: Sequence[Answer], clips: Sequence[GoldenClip]) -> Iterator[Answer]:
    """What the code in use answers: costs, pieces, likelihood, path (L, 2); the error where it is known."""
    from seasync import SeasyncError

    align_encodings, known = aligner(), recipes()
    begin = time.monotonic()
    for number, entry in enumerate(entries, 1):
        if number % 100 == 0 or number == len(entries):
            print(
                f"\r{number}/{len(entries)} alignments, {time.monotonic() - begin:.0f} s ", end="", flush=True
            )
        query, match = (clips[n] for n in entry["pair"])
        recipe, partial, order, _ = entry["choice"]
        options = {"partial": partial, "order": order, "anchors": [tuple(each) for each in entry["anchors"]]}
        try:
            found = align_encodings(query.encoding, match.encoding, recipe=known[recipe], **options)
        except SeasyncError as error:
            yield {"failed": str(error)}
            continue
        pieces = [(*p.query, *p.match, p.dtw_cost, p.random_cost) for p in found.pieces]
        answer = {"dtw_cost": found.dtw_cost, "random_cost": found.random_cost, "draq": found.draq}
        answer |= {"coverage": found.coverage, "likelihood": found.likelihood, "error": None}
        if query.events.size and query.events.size == match.events.size:
            placed = found.warp(keep="query").at(query.events)
            off = np.abs(placed - match.events)
            answer["error"] = float(1000 * np.nanmean(off)) if np.isfinite(off).any() else None
        yield plain(answer | {"pieces": pieces}) | {"path": np.asarray(found.path, np.int16)}
    print()


def aligner() -> Any:
    """`align_encodings` of this commit: the room was named `align` before it was named `alignment`."""
    try:
        return import_module("seasync.alignment").align_encodings
    except ModuleNotFoundError:
        return import_module("seasync.align").align_encodings


# ---- searches, a group, marks


def others(sea_folder: Path, clips: Sequence[GoldenClip]) -> Answer:
    """Matches of searches, a group on one clock with its marks, and marks carried over the sea."""
    from seasync import Sea, align_group
    from seasync.group import carry_over_sea
    from seasync.marks import Mark

    sea, rng, known = Sea(sea_folder), np.random.default_rng(SEED), recipes()
    events = {clip.name: clip.events for clip in clips}
    stored = sorted(sea.clips(), key=lambda clip: clip.file)
    asked = rng.permutation(len(stored)).tolist()
    found: Answer = {}
    for options, count in SEARCHES:
        named = {**options, "recipe": known[options.get("recipe", "motion")]}
        for n in (asked.pop() for _ in range(count)):
            matches = sea.search(stored[n].id, **named)
            found[f"search {Path(stored[n].file).name} {options}"] = [
                {
                    "file": form["clip"]["file"],
                    **{
                        name: form[name]
                        for name in ("similarity", "score", "draq", "coverage", "alignability")
                    },
                    "span": [form["match_start"], form["match_end"]],
                    "pieces": [[*piece["query"], *piece["match"], piece["draq"]] for piece in form["pieces"]],
                    "dtw_cost": match.alignment.dtw_cost,
                }
                for match, form in ((match, match.to_json()) for match in matches)
            ]
        print(f"searches {options or 'as shipped'}: {count}", flush=True)

    def marks(clip: Any) -> list[Any]:
        return [Mark(str(n), float(second)) for n, second in enumerate(events[clip.file])]

    takes = [clip for clip in stored if clip.label == "group"]
    group = align_group(takes[0].id, sea, label="group")
    form: Answer = group.to_json()
    found["group"] = {name: form[name] for name in ("takes", "left_out", "tempo", "moments", "ahead")}
    for take in form["takes"] + form["left_out"]:
        take.pop("clip", None)  # ids are drawn when a sea is made
    carried = group.carry_marks({str(clip.id): marks(clip) for clip in takes[:3]})
    names = {str(clip.id): Path(clip.file).name for clip in stored}
    found["group, marks"] = {names.get(k, Path(k).name): [in_short(m) for m in v] for k, v in carried.items()}
    golf = [clip for clip in stored if clip.label == "golf"]
    labeled = {str(golf[n].id): marks(golf[n]) for n in rng.permutation(len(golf))[:LABELED]}
    for each in carry_over_sea(sea, labeled, label="golf")[1]:
        found[f"carried to {Path(each.clip.file).name}"] = [in_short(mark) for mark in each.marks]
    return plain(found)


def in_short(mark: Any) -> list[Any]:
    return [mark.name, mark.seconds, mark.confidence]


def plain(value: Answer) -> Answer:
    """As JSON has it."""
    made: Answer = json.loads(json.dumps(value, default=lambda other: other.tolist()))
    return made


# ---- comparison


def compare(options: Namespace) -> int:
    warnings.simplefilter("ignore")
    kept = json.loads((options.folder / "golden.json").read_text())
    stored = np.load(options.folder / "paths.npz")
    paths = np.split(stored["cells"], stored["ends"][:-1])
    clips = load(options.folder / "clips.npz")
    numbers = [
        n for n, entry in enumerate(kept["entries"])
        if options.only in " ".join(entry["choice"]) and not (options.quick and n // 3 % 11)
    ]  # fmt: skip
    entries, rows = [kept["entries"][n] for n in numbers], defaultdict(list)
    for n, entry, new in zip(numbers, entries, solved(entries, clips), strict=True):
        row = compared(kept["answers"][n], new, paths[n], options.allow)
        rows[" ".join(entry["choice"])].append(
            row | {"pair": " – ".join(Path(clips[k].name).stem for k in entry["pair"])}
        )
    if not options.only:
        for name, (old, new) in answered(options, kept["others"], clips).items():
            fields = {field: off for field, off in differences(old, new) if field not in options.allow}
            rows[name.partition(" ")[0]].append({"fields": fields, "other path": False, "pair": name})
    print(f"\nmade by {kept['commit']}, with the recipes {kept['recipes']}")
    print(f"now {commit(HERE)}, with the recipes { {name: r.fingerprint for name, r in recipes().items()} }")
    print(f"\n{'':34}{'entries':>9}{'differ':>9}{'other path, same cost':>23}   error, ms (n)   fields")
    for name, some in rows.items():
        show(name, some)
    differ = [row for some in rows.values() for row in some if row["fields"]]
    for row in sorted(differ, key=lambda row: -max(row["fields"].values()))[:12]:
        said = ", ".join(f"{field} by {off:.2g}" for field, off in row["fields"].items())
        print(f"  {row['pair']}: {said}")
    goals = Goals(options)
    goals.at_most("entries that differ", len(differ), 0)
    return goals.finish({name: [row for row in some if row["fields"]] for name, some in rows.items()})


def answered(options: Namespace, old: Answer, clips: Sequence[GoldenClip]) -> dict[str, tuple[Any, Any]]:
    """Searches, group and marks, as they were answered and as they are now."""
    with tempfile.TemporaryDirectory() as folder:  # a copy, so that the sea itself stays as it was written
        copy = Path(folder) / "clips.sea"
        shutil.copytree(options.folder / "clips.sea", copy)
        new = others(copy, clips)
    return {name: (old.get(name), new.get(name)) for name in sorted(old.keys() | new.keys())}


def compared(old: Answer, new: Answer, path: NDArray[np.int16], allowed: Sequence[str]) -> Answer:
    """The fields that differ, and by what share; whether another path of the same cost was taken."""
    mine, theirs = (dict(answer) for answer in (old, new))
    errors = [answer.pop("error", None) for answer in (mine, theirs)]
    moved = not np.array_equal(theirs.pop("path", path), path)
    pieces = [answer.pop("pieces", []) for answer in (mine, theirs)]
    fields = {field: off for field, off in differences(mine, theirs) if field not in allowed}
    moved |= bool(list(differences(*pieces)))
    return {"fields": fields, "other path": moved and not fields, "errors": errors}


def differences(old: Any, new: Any, field: str = "value") -> Iterator[tuple[str, float]]:
    """Each field of nested values that differs, with the largest difference as a share of the value."""
    worst: dict[str, float] = {}

    def look(old: Any, new: Any, field: str) -> None:
        if isinstance(old, dict) and isinstance(new, dict):
            for name in old.keys() | new.keys():
                look(old.get(name), new.get(name), name)
        elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
            for one, other in zip(old, new, strict=True):
                look(one, other, field)
        elif isinstance(old, int | float) and isinstance(new, int | float):
            off = abs(old - new) / max(abs(old), abs(new), 1e-3)
            if off > EXACT * WIDTHS.get(field, 1.0):
                worst[field] = max(off, worst.get(field, 0.0))
        elif old != new:
            worst[field] = float("inf")

    look(old, new, field)
    yield from worst.items()


def show(name: str, rows: Sequence[Answer]) -> None:
    differ = [row for row in rows if row["fields"]]
    known = [row["errors"] for row in differ if None not in row.get("errors", [None])]
    errors = " → ".join(f"{mean:.0f}" for mean in np.mean(known, 0)) + f" ({len(known)})" if known else ""
    moved = sum(row["other path"] for row in rows)
    fields = Counter(field for row in differ for field in row["fields"])
    said = ", ".join(f"{field} {count}" for field, count in fields.most_common())
    print(f"{name:34}{len(rows):9}{len(differ):9}{moved:23}   {errors:14}  {said}")


if __name__ == "__main__":
    raise SystemExit(main())
