"""Writes the tables of docs/results/*.md from the JSON files of benchmarks: `python docs/make_results.py`.

`python -m benchmarks.all DATA` makes the files, docs/results/figures/NAME.json. A page says what goes where:

    <!-- measured: NAME -->                     the command and the commit of the file NAME.json
    <!-- goals: NAME -->                        its goals: what was measured, and the target
    <!-- table: NAME TABLE -->                  one of the tables below
    <!-- evaluated: TABLE; COLUMNS; COLUMNS --> columns of a table of `seasync evaluate`, from tables.json:
                                                settings (`NAME=VALUE`: only rows with it), then figures

What stands between such a line and the next `<!-- end -->` is replaced. With `--check` nothing is written;
the exit code is 1 if a page is not what the files say, or if a file was measured with other recipes than the
code's.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).with_name("results")
BLOCK = re.compile(r"<!-- (measured|goals|table|evaluated): ([^>]+?) -->\n.*?<!-- end -->", re.DOTALL)
Figures = dict[str, Any]
Row = Sequence[str]
Read = Callable[[str], Figures]


def main() -> int:
    if "--check" not in sys.argv:
        for page in sorted(RESULTS.glob("*.md")):
            page.write_text(fill(page.read_text(encoding="utf-8"), RESULTS / "figures"), encoding="utf-8")
        return 0
    wrong = check(RESULTS)
    for each in wrong:
        print(each, file=sys.stderr)
    return int(bool(wrong))


def check(results: Path) -> list[str]:
    """Pages that are not what the files say, and files measured with other recipes than the code has now."""
    from seasync.alignment import RECIPES

    pages = {page.name: page.read_text(encoding="utf-8") for page in sorted(results.glob("*.md"))}
    now = {name: recipe.fingerprint for name, recipe in RECIPES.items()}
    files = sorted((results / "figures").glob("*.json"))
    then = {file.name: json.loads(file.read_text(encoding="utf-8"))["recipes"] for file in files}
    said = "measured with the recipes {}, the code has {}; measure it again"
    return [
        *(
            f"{name}: run `python docs/make_results.py`"
            for name, text in pages.items()
            if fill(text, results / "figures") != text
        ),
        *(f"{name}: {said.format(recipes, now)}" for name, recipes in then.items() if recipes != now),
    ]


def fill(text: str, figures: Path) -> str:
    """The text of a page with all its blocks written again, from the files of a folder."""

    def read(name: str) -> Figures:
        file = figures / f"{name}.json"
        if not file.exists():
            raise SystemExit(f"{file}: no such file; `python -m benchmarks.all DATA --only {name}` makes it")
        report: Figures = json.loads(file.read_text(encoding="utf-8"))
        return report

    def block(found: re.Match[str]) -> str:
        lines = BLOCKS[found[1]](read, found[2])
        return "\n".join([found[0].partition("\n")[0], "", *lines, "", "<!-- end -->"])

    return BLOCK.sub(block, text)


def write_measured(read: Read, name: str) -> list[str]:
    report = read(name)
    command = " ".join(["python -m", f"benchmarks.{report['benchmark']}", *_given(report["options"])])
    return [f"`{command}`, at commit `{report['commit'][:12]}`."]


def _given(options: Figures) -> Iterator[str]:
    """The options of a benchmark as they were given; folders and files by their last name."""
    for option, value in options.items():
        values = value if isinstance(value, list) else [value]
        if value is True:
            yield f"--{option}"
        elif option in ("folder", "folders", "data", "penn") and value:
            yield from (f"{Path(str(each)).name}/" for each in values)
        elif value and option in ("fps", "labeled", "set", "sets"):
            yield f"--{option} {' '.join(map(str, values))}"


def write_goals(read: Read, name: str) -> list[str]:
    rows = [("what", "measured", "goal")]
    for goal in read(name)["goals"]:
        target = f"{goal['sign']} {goal['target']:g}{goal['unit']}"
        shown = f"{goal['measured']:.4g}{goal['unit']}"
        rows.append((goal["name"], shown, target if goal["ok"] else f"{target}, short"))
    return as_table(rows)


def write_table(read: Read, words: str) -> list[str]:
    name, _, table = words.partition(" ")
    return as_table(TABLES[table](read(name)["figures"]))


def write_evaluated(read: Read, words: str) -> list[str]:
    """A table of `seasync evaluate`: of the rows with the settings asked for, each once."""
    table, *asked = ([part.strip() for part in each.split(",")] for each in words.split(";"))
    settings, figures = asked
    only = dict(name.split("=") for name in settings if "=" in name)
    names = [name for name in settings if "=" not in name]
    rows = read("tables")["figures"][", ".join(table)]["rows"]
    rows = [row for row in rows if all(row.get(name) == value for name, value in only.items())]
    once = {tuple(_setting(row, name) for name in names): row for row in reversed(rows)}
    cells = [[*said, *(_cell(row, name, rows) for name in figures)] for said, row in reversed(once.items())]
    return as_table([[*names, *figures], *cells])


BLOCKS: dict[str, Callable[[Read, str], list[str]]] = {
    "measured": write_measured,
    "goals": write_goals,
    "table": write_table,
    "evaluated": write_evaluated,
}


def _setting(row: Figures, name: str) -> str:
    if name == "recipe" and row.get("recipe") == "paper" and "context" in row:
        return "paper" if row["context"] else "paper, no context"
    value = row.get(name)
    return "" if value is None else {True: "yes", False: "no"}.get(value, str(value))


def _cell(row: Figures, name: str, rows: Sequence[Figures]) -> str:
    value, around = row.get(name), row.get(f"{name}_interval")
    if value is None:
        return ""
    sizes = [abs(other[name]) for other in rows if other.get(name)]
    # A column of milliseconds and seconds needs digits for each value, any other column the same for all.
    largest = abs(value) if max(sizes, default=0) > 1000 * min(sizes, default=1) else max(sizes, default=0)
    digits = 0 if largest >= 1000 else 1 if largest >= 10 else 3
    return _number({"mean": value, "interval": around or (value, value)}, digits)


def as_table(rows: Sequence[Row] | Iterator[Row]) -> list[str]:
    header, *rest = rows
    return [f"| {' | '.join(row)} |" for row in (header, ["---"] * len(header), *rest)]


def _number(value: Figures, digits: int = 0, *, brief: bool = False) -> str:
    low, high = value["interval"]
    mean = f"{value['mean']:.{digits}f}"
    shown = mean if brief or low == high else f"{mean} [{low:.{digits}f}, {high:.{digits}f}]"
    return shown.replace("-", "−")


def _share(value: float, digits: int = 0) -> str:
    return f"{100 * value:.{digits}f} %"


# ---- benchmarks.world


def _events(world: Figures) -> Iterator[Row]:
    yield "clips", "", "average of ten, ms", "pick, ms", "APA, ten", "APA, pick"
    for name, rows in world["events"].items():
        for row, columns in rows.items():
            # APA is read off the path, which a uniform stretch does not have.
            keys = () if row == "uniform stretch" else ("ten, APA", "pick, APA")
            apa = [_number(columns[key], 3) for key in keys if key in columns] or ["", ""]
            shown = f"**{row}**" if row == "motion" else row
            yield name, shown, _number(columns["ten, ms"]), _number(columns["pick, ms"]), *apa


def _offsets(world: Figures) -> Iterator[Row]:
    yield "clips", "alone, ms", "without offsets", "with consensus, ms", "without offsets"
    for name, rows in world["events"].items():
        keys = "ten, ms", "offsets out, ms"
        shown = (rows[row][key] for row in ("motion, alone", "motion") for key in keys)
        yield name, *(_number(value, brief=True) for value in shown)


def _in_part(world: Figures) -> Iterator[Row]:
    yield "clips", "share of matches aligned in part", "their error, ms", "the same pairs whole, ms"
    for name, rows in world["events"].items():
        columns = rows["motion, alone"]
        errors = (columns.get(key) for key in ("partial, ms", "the same whole, ms"))
        shown = ["" if error is None else _number(error) for error in errors]
        yield name, _share(columns["partial, share"]["mean"], 1), *shown


def _ranking(world: Figures) -> Iterator[Row]:
    yield "clips", "vector: R@1", "P@10", "DRAQ: R@1", "P@10", "shipped: R@1", "P@10"
    for name, rows in world["retrieval"].items():
        parts = [rows[key][column] for key in ("vector", "DRAQ", "shipped") for column in ("R@1", "P@10")]
        yield name, *(_number(value, 1, brief=n < 4) for n, value in enumerate(parts))


def _views(world: Figures) -> Iterator[Row]:
    yield "two cameras", "uniform stretch, ms", "motion, ms", "of these, the verdict is “aligns”"
    for name, rows in world["views"].items():
        yield name, _number(rows["uniform stretch"]), _number(rows["motion"]), _share(rows["aligns"]["mean"])


def _unseen(world: Figures) -> Iterator[Row]:
    yield "clips", "searches", "error", "unseen, 50 % or more", "unseen, 90 % or more", "seen, 50 % or more"
    for name, row in world["open set"].items():
        shares = (row[column] for column in ("false at 50 %", "false at 90 %", "recall"))
        shown = ("" if share is None or share != share else _share(share) for share in shares)
        yield name, str(row["searches"]), f"{row['error']:.3f}", *shown


def _expected(world: Figures) -> Iterator[Row]:
    yield "a fifth of the pairs each", "expected, ms", "true, ms", "true over expected"
    for name, row in world["expected error"].items():
        if name != "all":
            expected, true = row["expected, ms"], row["true, ms"]
            yield name, f"{expected:.0f}", f"{true:.0f}", f"{true / expected:.2f}"


def _likelihood(world: Figures) -> Iterator[Row]:
    sets = world["per cent"]
    last = "others of other sets: error, left out"
    yield "clips", "error as shipped", "error, left out", "AUC", "pairs", last
    for name, row in sets.items():
        other = sets.get(f"{name}, left out", sets.get(f"{name}, each left out"))
        if other is not None:
            strange = sets.get(f"{name}, strangers left out", sets.get(f"{name}, strangers, each left out"))
            errors = f"{row['error']:.3f}", f"{other['error']:.3f}"
            rest = "" if strange is None else f"{strange['error']:.3f}"
            yield name, *errors, f"{other['AUC']:.3f}", str(row["pairs"]), rest


# ---- benchmarks.left_out


def _chosen(setting: str, digits: int) -> Callable[[Figures], Iterator[Row]]:
    def rows(left_out: Figures) -> Iterator[Row]:
        yield "left out", "chosen on the others", "here", "shipped value here", "best here"
        for name, chosen, *figures in left_out[setting]:
            value = "no limit" if chosen > 1e6 else f"{chosen:.3g}"
            yield name, value, *(f"{figure:.{digits}f}" for figure in figures)

    return rows


# ---- benchmarks.partial, benchmarks.interrupted


def _planted(partial: Figures) -> Iterator[Row]:
    """The mean over the kinds that all ways can do."""
    ways = "full DTW", "open ends", "subsequence", "free gaps", "seasync"
    yield "", "whole DTW", "open ends", "subsequence DTW", "free gaps", "Seasync"
    for name, kinds in partial.items():
        rows = [row for row in kinds.values() if "open ends" in row]
        yield name, *(f"{sum(row[way] for row in rows) / len(rows):.3f}" for way in ways)


def _kinds(partial: Figures) -> Iterator[Row]:
    yield "", *(f"{name}, {way}" for name in partial for way in ("whole DTW", "Seasync"))
    for kind in next(iter(partial.values())):
        ways = [(kinds[kind], way) for kinds in partial.values() for way in ("full DTW", "seasync")]
        yield kind, *(f"{row[way]:.3f}" if way in row else "" for row, way in ways)


def _interrupted(sets: Figures) -> Iterator[Row]:
    yield "", "films", "whole DTW", "Seasync"
    for name, row in sets.items():
        yield name, str(row["clips"]), f"{row['whole']:.3f}", f"{row['seasync']:.3f}"


# ---- benchmarks.marks


def _marks(rows: Sequence[Figures]) -> Iterator[Row]:
    yield "clips", "labeled", "mean error, ms", "uniform stretch, ms", "sure", "of those, right"
    for row in rows:
        error = {"mean": row["error ms"], "interval": row["error ms interval"]}
        sure = ("none", "") if not row["sure"] else (_share(row["sure"]), _share(row["sure right"]))
        yield row["set"], str(row["labeled"]), _number(error), f"{row['stretch ms']:.0f}", *sure


def _swings(rows: Sequence[Figures]) -> Iterator[Row]:
    yield "labeled swings", "PCE, all eight events", "PCE, inner six", "mean error, ms", "frames, inner six"
    for row in rows:
        figures = [
            _number({"mean": row[name], "interval": row[f"{name} interval"]}, digits)
            for name, digits in (("PCE", 3), ("inner PCE", 3), ("error ms", 0))
        ]
        yield str(row["labeled"]), *figures, f"{row['inner frames']:.2f}"


# ---- benchmarks.golf, benchmarks.pair_rate, benchmarks.verdict


def _rates(rows: Sequence[Figures]) -> Iterator[Row]:
    columns = [
        f"{what} {of}"
        for of in ("average of ten", "of the pick of ten")
        for what in ("APA", "event error", "inner event error")
    ]
    yield "", *(column.removesuffix(" of ten").replace("of the ", "") for column in columns)
    for row in rows:
        shown = (_number(row[name], 3 if "APA" in name else 2) if name in row else "" for name in columns)
        yield row["recipe"], *shown


def _pair_rate(sets: Figures) -> Iterator[Row]:
    yield "", "pairs", "rate of a sea, ms", "rate for pairs, ms", "difference", "events within the range"
    for name, row in sets.items():
        means = (f"{row[f'rate {of}, ms']:.0f}" for of in ("of a sea", "for pairs"))
        low, high = row["difference interval"]
        shown = f"{row['difference, ms']:+.0f} [{low:+.0f}, {high:+.0f}]".replace("-", "−")
        yield name, str(row["pairs"]), *means, shown, _share(row["within"])


def _verdict(rows: Sequence[Figures]) -> Iterator[Row]:
    yield "recipe", "encoder", "threshold", "recall", "precision at even odds", "AUC"
    for row in rows:
        figures = (f"{row[name]:.2f}" for name in ("threshold", "recall", "precision at even odds", "AUC"))
        yield row["recipe"], f"`{row['encoder']}`", *figures


TABLES: dict[str, Callable[[Any], Iterator[Row]]] = {
    "events": _events,
    "offsets": _offsets,
    "in part": _in_part,
    "ranking": _ranking,
    "views": _views,
    "likelihood": _likelihood,
    "unseen": _unseen,
    "expected": _expected,
    "score weight": _chosen("score_weight", 1),
    "contrast weight": _chosen("contrast_weight", 1),
    "company": _chosen("company", 1),
    "margin": _chosen("margin", 2),
    "planted": _planted,
    "kinds": _kinds,
    "interrupted": _interrupted,
    "marks": _marks,
    "swings": _swings,
    "rates": _rates,
    "pairs": _pair_rate,
    "verdict": _verdict,
}

if __name__ == "__main__":
    sys.exit(main())
