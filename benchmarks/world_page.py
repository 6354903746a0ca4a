"""The tables of docs/results/accuracy.md: `python -m benchmarks.world_page WORLD.json LEFT_OUT.json`.

The files are those of `--json` of `benchmarks.world` and `benchmarks.left_out`. The text between the
tables is written by hand; each table stands after a comment with its name, and is replaced there.
"""

from __future__ import annotations

import json
import re
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[1] / "docs" / "results" / "accuracy.md"
Figures = dict[str, Any]
Row = Sequence[str]


def main() -> int:
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("world", type=Path)
    parser.add_argument("left_out", type=Path)
    parser.add_argument("--page", type=Path, default=PAGE)
    options = parser.parse_args()
    text = options.page.read_text()
    for name, rows in tables(
        *(json.loads(file.read_text())["figures"] for file in (options.world, options.left_out))
    ):
        mark = rf"(<!-- table: {name} -->\n\n)(?:\|[^\n]*\n)*\n?"
        table = "".join(f"| {' | '.join(row)} |\n" for row in (rows[0], ["---"] * len(rows[0]), *rows[1:]))
        text, count = re.subn(mark, lambda found, table=table: f"{found[1]}{table}\n", text)
        if count != 1:
            raise SystemExit(f"{options.page}: expected one comment `table: {name}`, found {count}")
    options.page.write_text(text)
    return 0


def tables(world: Figures, left_out: Figures) -> Iterator[tuple[str, list[Row]]]:
    """Every table by name, its header first."""
    yield "events", list(_events(world["events"]))
    yield "offsets", list(_offsets(world["events"]))
    yield "partial", list(_partial(world["events"]))
    yield "ranking", list(_ranking(world["retrieval"]))
    yield "views", list(_views(world["views"]))
    yield "per cent", list(_per_cent(world["per cent"]))
    for setting, rows in left_out.items():
        yield setting.replace("^", " "), list(_left_out(setting, rows))


def _events(sets: Figures) -> Iterator[Row]:
    yield "clips", "", "average of ten, ms", "pick, ms", "APA, ten", "APA, pick"
    for name, rows in sets.items():
        for row, columns in rows.items():
            # APA is read off the path, which a uniform stretch does not have.
            keys = () if row == "uniform stretch" else ("ten, APA", "pick, APA")
            apa = [_number(columns[key], 3) for key in keys if key in columns] or ["", ""]
            shown = f"**{row}**" if row == "motion" else row
            yield name, shown, _number(columns["ten, ms"]), _number(columns["pick, ms"]), *apa


def _offsets(sets: Figures) -> Iterator[Row]:
    yield "clips", "alone, ms", "without offsets", "with consensus, ms", "without offsets"
    for name, rows in sets.items():
        keys = "ten, ms", "offsets out, ms"
        shown = (rows[row][key] for row in ("motion, alone", "motion") for key in keys)
        yield name, *(_number(value, brief=True) for value in shown)


def _partial(sets: Figures) -> Iterator[Row]:
    yield "clips", "share of matches aligned in part", "their error, ms", "the same pairs whole, ms"
    for name, rows in sets.items():
        columns = rows["motion, alone"]
        errors = (columns.get(key) for key in ("partial, ms", "the same whole, ms"))
        shown = ["" if error is None else _number(error) for error in errors]
        yield name, f"{columns['partial, share']['mean']:.1%}", *shown


def _ranking(seas: Figures) -> Iterator[Row]:
    yield "clips", "vector: R@1", "P@10", "DRAQ: R@1", "P@10", "shipped: R@1", "P@10"
    for name, rows in seas.items():
        parts = [(rows[key]["R@1"], rows[key]["P@10"]) for key in ("vector", "DRAQ", "shipped")]
        yield name, *(_number(value, 1, brief=n < 4) for n, value in enumerate(sum(parts, ())))


def _views(pairs: Figures) -> Iterator[Row]:
    yield "two cameras", "uniform stretch, ms", "motion, ms"
    for name, rows in pairs.items():
        yield name, _number(rows["uniform stretch"]), _number(rows["motion"])


def _per_cent(sets: Figures) -> Iterator[Row]:
    yield (
        "clips",
        "error as shipped",
        "error, left out",
        "AUC",
        "pairs",
        "others of other sets: error, left out",
    )
    for name, row in sets.items():
        other = sets.get(f"{name}, left out", sets.get(f"{name}, each left out"))
        if other is not None:
            strange = sets.get(f"{name}, strangers left out", sets.get(f"{name}, strangers, each left out"))
            errors = f"{row['error']:.3f}", f"{other['error']:.3f}"
            rest = "" if strange is None else f"{strange['error']:.3f}"
            yield name, *errors, f"{other['AUC']:.3f}", str(row["pairs"]), rest


def _left_out(setting: str, rows: Sequence[Sequence[Any]]) -> Iterator[Row]:
    digits = 2 if setting == "cut" else 1
    yield "left out", "chosen on the others", "here", "shipped value here", "best here"
    for name, chosen, *figures in rows:
        value = "no limit" if chosen > 1e6 else f"{chosen:.3g}"
        yield name, value, *(f"{figure:.{digits}f}" for figure in figures)


def _number(value: Figures, digits: int = 0, *, brief: bool = False) -> str:
    low, high = value["interval"]
    mean = f"{value['mean']:.{digits}f}"
    return mean if brief or low == high else f"{mean} [{low:.{digits}f}, {high:.{digits}f}]"


if __name__ == "__main__":
    raise SystemExit(main())
