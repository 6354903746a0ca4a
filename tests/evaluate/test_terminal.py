"""Tables on a terminal of 80 columns: nothing is cut, digits are steady, names are text."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from seasync.cli.evaluate import evaluate
from seasync.errors import DataError
from seasync.evaluate.results import Table, body, print_table
from tests.evaluate import datasets

ROWS = [
    {"features": "dinov2-small", "recipe": recipe, "FPE": figure, "FPE_interval": [figure / 2, figure * 2]}
    | {f"figure number {n}": figure / n for n in range(1, 7)}
    for recipe, figure in (("paper", 8.4), ("motion", 12.25))
]


def table(title: str = "Cycle") -> Table:
    return Table("avr", title, ROWS, {}, notes=("A note about [brackets] that stay.",))


def test_a_wide_table_continues_below_instead_of_being_cut(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    print_table(table())
    said = capsys.readouterr().out
    assert max(map(len, said.splitlines())) <= 80
    assert "…" not in said
    for n in range(1, 7):
        assert f"figure number {n}" in said
    assert said.count("recipe") > 1, "each part repeats the settings"
    assert said.count("dinov2-small") == 1, "what all rows share is said once"


def test_names_in_brackets_are_not_markup(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(table("Cycle on golf [2024] [bold]"))
    said = capsys.readouterr().out
    assert "Cycle on golf [2024] [bold]" in said
    assert "about [brackets] that stay" in said


def test_all_figures_of_a_column_have_the_same_decimals() -> None:
    assert [cells[2] for cells in body(table())] == ["8.4 [4.2, 16.8]", "12.2 [6.1, 24.5]"]


def test_recall_is_left_out_where_there_is_one_action(tmp_path: Path) -> None:
    folder = datasets.features(tmp_path / "features")
    first, *others = sorted(path for path in folder.iterdir() if path.is_dir())
    for path in others:
        for file in path.iterdir():
            file.rename(first / f"{path.name}-{file.name}")
        path.rmdir()
    (folder / "phases.csv").unlink()
    run = CliRunner().invoke(evaluate, ["rerank", str(folder)])
    assert isinstance(run.exception, DataError)
    assert "R@k needs several actions" in str(run.exception)
