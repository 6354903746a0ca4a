"""`seasync evaluate paper` on small data sets in the documented layouts, with pictures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from seasync.cli.evaluate import evaluate
from seasync.errors import SeasyncError
from seasync.evaluate.data import open_dataset
from seasync.evaluate.tables import paper
from tests import videos
from tests.encoders.models import colour_grid
from tests.evaluate import datasets

pytestmark = pytest.mark.filterwarnings("ignore::seasync.evaluate.dataset.IncompleteData")
MADE = {"avr-penn", "avr-penn-ucf", "avr-kinetics", "apa-penn", "phases-penn", "rerank-penn", "rerank-ucf"}


@pytest.fixture(scope="module")
def everything(tmp_path_factory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("paper")
    penn = datasets.penn(root / "penn")
    (penn / "frames").mkdir()
    for item in open_dataset(penn).items:
        length = len(item.encode("joints").seconds)
        videos.folder(penn / "frames" / item.name, length)
    return {
        "--penn": penn,
        "--ucf": datasets.ucf(root / "ucf"),
        "--kinetics": datasets.kinetics(root / "kinetics"),
        "encoder": colour_grid(root / "m.onnx"),
    }


def run(*arguments: object) -> str:
    result = CliRunner().invoke(evaluate, ["paper", *map(str, arguments)], catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


def test_every_table_is_made_from_data_in_the_published_layouts(
    everything: dict[str, Path], tmp_path: Path
) -> None:
    given = [word for name, place in everything.items() if name != "encoder" for word in (name, place)]
    encoder = f"onnx:{everything['encoder']}"
    report = tmp_path / "paper.html"
    made = json.loads(run(*given, "--encoder", encoder, "--json", "--report", report))
    assert set(made) == {*MADE, "indicators-penn"}
    assert made["avr-penn-ucf"]["settings"]["data"] == "Penn Action ⇄ UCF101"
    assert {row["candidates"] for row in made["avr-penn-ucf"]["rows"]} == {"retrieved"}
    assert all(row["CPE"] is not None for row in made["avr-penn-ucf"]["rows"])
    assert {row["dataset"] for row in made["avr-penn-ucf"]["paper"]} == {"Penn ⇄ UCF"}
    assert {row["candidates"] for row in made["avr-penn"]["rows"]} == {"retrieved", "oracle"}
    assert {row["dataset"] for row in made["avr-kinetics"]["paper"]} == {"Kinetics"}
    notes = made["avr-penn"]["notes"]
    assert "Not here: BYOL (--byol FILE)." in notes
    assert any("the paper's by those of NMS" in note for note in notes)
    assert report.read_text().count("<section>") == len(made)


def test_what_is_missing_is_said(everything: dict[str, Path]) -> None:
    text = run("--ucf", everything["--ucf"], "--encoder", f"onnx:{everything['encoder']}", "--latex")
    assert text.startswith("% seasync evaluate rerank-ucf")
    with pytest.raises(SeasyncError, match=r"Table 2 on Penn Action \(--penn DIR"):
        paper.paper_tables({}, {})


def test_the_papers_encoders_stand_where_the_paper_has_them() -> None:
    named = {"BYOL": "byol:b.pth", "CARL": "carl:c.pth", "NMS": "nms:n.onnx"}
    of = {part.name: [*paper._encoders(part, named)] for part in paper.PARTS}
    assert of["rerank-ucf"] == of["indicators-penn"] == ["nms:n.onnx"]
    assert of["avr-penn"] == [*named.values()]
    assert of["phases-penn"] == [*named.values(), "byol:b.pth+carl:untrained", "carl:c.pth@32/16"]
    assert {part.name: paper._retriever(part, named) for part in paper.PARTS}["avr-kinetics"] == "nms:n.onnx"
    assert paper._retriever(paper.PARTS[5], named) is None
