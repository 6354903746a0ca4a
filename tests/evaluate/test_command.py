"""`seasync evaluate`: every table from the command line, in every format."""

from __future__ import annotations

import csv
import io
import json

import pytest
from typer.testing import CliRunner

from seasync.cli.evaluate import evaluate
from seasync.errors import DataError
from tests import videos
from tests.evaluate import datasets


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return str(datasets.features(tmp_path_factory.mktemp("features")))


def run(*arguments):
    return CliRunner().invoke(evaluate, arguments, catch_exceptions=False)


@pytest.mark.parametrize(
    ("table", "metric"),
    [
        ("avr", "FPE"),
        ("agreement", "disagreement ms"),
        ("apa", "APA"),
        ("phases", "tau"),
        ("rerank", "R@1"),
        ("indicators", "area"),
        ("cost", "ms"),
    ],
)
def test_every_table_prints_json_with_rows_paper_and_settings(folder, table, metric):
    result = run(table, folder, "--json")
    assert result.exit_code == 0
    content = json.loads(result.stdout)
    assert {"rows", "paper", "settings"} <= set(content)
    assert content["rows"][0][metric] is not None
    assert len(content["rows"][0][f"{metric}_interval"]) == 2
    assert content["settings"]["seed"] == 0


def test_other_formats(folder):
    rows = list(csv.DictReader(io.StringIO(run("rerank", folder, "--csv").stdout)))
    assert {row["rerank"] for row in rows if row["source"] == "seasync"} == {
        "none",
        "dtw",
        "draq",
        "product",
        "order",
    }
    assert run("rerank", folder, "--latex").stdout.startswith("% seasync evaluate rerank")
    assert "Re-ranking the first 25" in run("rerank", folder).stdout


def test_all_tables_in_one_report(folder, tmp_path):
    result = run("all", folder, "--json", "--report", str(tmp_path / "r.html"))
    assert set(json.loads(result.stdout)) == {
        "rerank",
        "avr",
        "apa",
        "agreement",
        "indicators",
        "cost",
        "phases",
    }
    assert (tmp_path / "r.html").read_text().count("<table>") == 7


def test_the_same_seed_gives_the_same_figures(folder):
    one, two = (json.loads(run("indicators", folder, "--json", "--seed", "3").stdout) for _ in range(2))
    assert one == two


def test_a_limit_keeps_some_clips_of_each_label(folder):
    settings = json.loads(run("rerank", folder, "--json", "--limit", "6").stdout)["settings"]
    assert (settings["queries"], settings["labels"]) == (6, 3)


def test_bad_usage(folder, tmp_path):
    assert run("phases", folder, "--protocol", "mine").exit_code == 2
    assert run("apa", folder, "--partial", "perhaps").exit_code == 2
    with pytest.raises(DataError, match="no such folder"):
        run("avr", str(tmp_path / "gone"))


def test_annotate_writes_the_page(tmp_path):
    (tmp_path / "wave").mkdir()
    videos.numbered(tmp_path / "wave" / "a.mp4", 9)
    result = run("annotate", str(tmp_path))
    assert "mark 1 clip;" in result.stdout.replace("\n", " ")
    assert (tmp_path / "annotate.html").exists()
