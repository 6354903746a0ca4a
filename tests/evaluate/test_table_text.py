"""Tables as JSON, CSV, LaTeX, Markdown, HTML: all figures arrive, the paper's beside ours."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from seasync.errors import DataError
from seasync.evaluate import results as table_text
from seasync.evaluate.results import (
    Curve,
    Table,
    add_figure,
    add_mean,
    add_median,
    plot,
    run_settings,
    write_report,
)


@pytest.fixture
def table():
    rows = []
    for rerank, values in (("none", [1.0, 2.0, 3.0]), ("draq", [0.5, np.nan, 1.0])):
        row = {"features": "dino_v2", "context": True, "rerank": rerank}
        add_mean(row, "FPE", values)
        rows.append(row)
    paper = [{"features": "NMS", "context": True, "rerank": "draq", "FPE": 9.5, "dataset": "PennAction"}]
    return Table(
        "avr",
        "Cycle & co",
        rows,
        run_settings(seed=0),
        paper,
        main="FPE",
        compare=("context", "rerank"),
        notes=("A note.",),
    )


@pytest.fixture
def curves(table):
    x = np.arange(1.0, 4)
    curve = Curve("DRAQ", x, x / 4, x / 5, x / 3)
    return Table(
        "indicators", "Figure", table.rows, {}, curves=(curve,), axes=("percentile", "APA"), main="FPE"
    )


def test_json_has_rows_paper_and_settings(table):
    content = json.loads(table_text.as_json(table))
    assert content["rows"][1]["FPE"] == 0.75
    low, high = content["rows"][1]["FPE_interval"]
    assert 0.5 <= low <= 0.75 <= high <= 1
    assert content["paper"][0]["FPE"] == 9.5
    assert content["settings"]["versions"]["numpy"]


def test_json_holds_no_nan(table):
    table.rows[0]["FPE"] = float("nan")
    assert json.loads(table_text.as_json(table))["rows"][0]["FPE"] is None
    table.rows[0] = {}
    add_mean(table.rows[0], "FPE", [np.nan])
    assert json.loads(table_text.as_json(table))["rows"][0] == {"FPE": None, "FPE_interval": None}


def test_csv_has_ours_and_the_papers_rows(table):
    rows = list(csv.DictReader(io.StringIO(table_text.as_csv(table))))
    assert [row["source"] for row in rows] == ["seasync", "seasync", "paper"]
    assert float(rows[0]["FPE"]) == 2
    assert float(rows[0]["FPE_low"]) <= 2 <= float(rows[0]["FPE_high"])
    assert rows[2]["FPE_low"] == ""


def test_csv_of_curves_has_their_points(curves):
    rows = list(csv.DictReader(io.StringIO(table_text.as_csv(curves))))
    assert [float(row["APA"]) for row in rows] == [0.25, 0.5, 0.75]


def test_latex_escapes_names(table):
    text = table_text.as_latex(table)
    assert r"dino\_v2" in text
    assert text.count(r"\\") == 3
    assert r"\bottomrule" in text


def test_markdown_puts_the_papers_figure_beside_the_same_setting(table):
    lines = table_text.as_markdown(table).splitlines()
    none, draq = (next(line for line in lines if f"| {name} |" in line) for name in ("none", "draq"))
    assert "NMS 9.5" in draq
    assert "NMS" not in none
    assert "- A note." in lines


def test_the_terminal_shows_the_figures(table, capsys):
    table_text.print_table(table)
    assert "0.750 [" in capsys.readouterr().out


class _Text(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.images = [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag == "img":
            self.images.append(dict(attrs)["src"])


def test_names_with_brackets_are_shown_as_they_are(table, capsys):
    rows = [row | {"features": "onnx:[mine].onnx"} for row in table.rows]
    named = replace(table, title="Cycle on [takes]", rows=rows, notes=("Without [this].",))
    table_text.print_table(named)
    shown = capsys.readouterr().out
    assert "Cycle on [takes]" in shown
    assert "onnx:[mine].onnx" in shown
    assert "Without [this]." in shown


def test_a_report_has_tables_and_plots(table, curves, tmp_path):
    write_report([table, curves], tmp_path / "deep" / "r.html", title="a < b")
    page = (tmp_path / "deep" / "r.html").read_text()
    parsed = _Text()
    parsed.feed(page)
    assert parsed.tags.count("table") == 2
    assert [src.startswith("data:image/png") for src in parsed.images] == [True, True]
    assert "a &lt; b" in page
    assert "Cycle &amp; co" in page
    write_report([table], tmp_path / "r.md", title="x")
    assert "(r_plots/avr.png)" in (tmp_path / "r.md").read_text()
    assert (tmp_path / "r_plots" / "avr.png").read_bytes().startswith(b"\x89PNG")


def test_a_report_of_another_kind_says_what_there_is(table, tmp_path):
    with pytest.raises(DataError, match=r"written as \.html or \.md"):
        write_report([table], tmp_path / "r.pdf", title="x")


def test_a_table_without_its_main_figure_has_no_plot(table):
    assert plot(Table("x", "x", [{"a": 1}], {}, main="FPE")) is None


def test_figures_of_any_statistic_carry_intervals():
    row = {}
    values = np.arange(100.0)
    add_figure(row, "max", lambda drawn: float(values[drawn].max()), 100)
    add_median(row, "median", [np.nan, *values])
    assert row["max"] == 99
    assert row["max_interval"][1] == 99
    assert row["median"] == 49.5
    assert row["median_interval"][0] < 49.5 < row["median_interval"][1]
