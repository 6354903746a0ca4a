"""What all benchmarks share: goals that fall short, and the JSON file."""

from __future__ import annotations

import ast
import importlib.util
import json
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from benchmarks.goals import Goals, parser, show
from benchmarks.golden import compared
from benchmarks.golf import apa
from benchmarks.turns import TURNS, against
from benchmarks.world import pairs, stretched
from benchmarks.world_sets import CachedEncoder, FootageSet, cut_pairs
from seasync.alignment import MOTION, align_encodings
from seasync.encoding import Encoding, Stream
from seasync.sample import make
from seasync.video import read
from tests.encoders.models import colour_grid
from tests.videos import write


@pytest.mark.parametrize("folder", ["benchmarks", "stress"])
def test_the_names_that_programs_take_from_the_package_are_there(folder: str) -> None:
    """Nobody runs them in the tests, so a name that moved would be noticed much later."""
    missing = []
    for file in (Path(__file__).parents[1] / folder).glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and str(node.module).split(".")[0] in ("seasync", folder):
                room = importlib.import_module(str(node.module))
                names = [each.name for each in node.names if not hasattr(room, each.name)]
                missing += [
                    f"{file.name}: {node.module}.{name}" for name in names if not is_module(room, name)
                ]
    assert not missing


def is_module(room: ModuleType, name: str) -> bool:
    return importlib.util.find_spec(f"{room.__name__}.{name}") is not None


def test_goals_and_figures_are_in_the_json_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = parser("A benchmark.", quick="less").parse_args(["--json", str(tmp_path / "out.json")])
    goals = Goals(options)
    goals.at_least("recall", np.float32(0.5), 0.9)
    goals.at_most("seconds", 1.0, 2, " s")
    assert goals.finish({"found": np.arange(2)}) == 1
    assert "goal recall: 0.5 (target ≥ 0.9) SHORT" in capsys.readouterr().out
    told = json.loads((tmp_path / "out.json").read_text())
    assert told["recipes"]["motion"] == MOTION.fingerprint
    assert told["figures"] == {"found": [0, 1]}
    assert [goal["ok"] for goal in told["goals"]] == [False, True]
    assert {"benchmark", "commit"} <= set(told)


def test_the_median_of_the_turns_counts_against_another_checkout(tmp_path: Path) -> None:
    asked: list[Path] = []

    def measure(place: Path) -> dict[str, float]:
        asked.append(place)
        return {"work": 3.0 if place == tmp_path and len(asked) < 5 else 1.0 + (place != tmp_path)}

    assert against(tmp_path, measure, Goals()) == 1  # twice as long as the other code in most turns
    assert asked.count(tmp_path) == TURNS + 1


def test_figures_are_printed_a_line_for_each_row(capsys: pytest.CaptureFixture[str]) -> None:
    around = {"mean": 2.0, "interval": (1.0, 3.0)}
    show({"falls": {"motion": {"ms": around, "n": 3}}, "golf": {"share": 0.5}})
    assert capsys.readouterr().out.split("\n") == [
        "",
        "falls",
        "  motion                            ms 2 [1, 3], n 3",
        "golf                                share 0.5",
        "",
    ]


def test_golden_answers_agree_to_a_millionth_and_may_take_another_path_of_the_same_cost() -> None:
    path = np.array([[0, 0], [1, 1]], np.int16)
    old = {"dtw_cost": 1.0, "draq": 0.5, "pieces": [[0.0, 1.0]], "likelihood": 0.9, "error": 10.0}

    def difference(**changed: object) -> dict[str, object]:
        return compared(old, old | {"path": path} | changed, path, [])

    assert difference() == {"fields": {}, "other path": False, "errors": [10.0, 10.0]}
    assert difference(dtw_cost=1.0 + 1e-7, likelihood=0.9 + 8e-6)["fields"] == {}
    assert difference(path=path[:1])["other path"]
    assert difference(pieces=[[0.0, 0.9]])["other path"]
    assert list(difference(dtw_cost=1.1, path=path[:1])["fields"]) == ["dtw_cost"]  # type: ignore[call-overload]
    assert not difference(dtw_cost=1.1, path=path[:1])["other path"]
    assert compared(old, old | {"draq": 1.0}, path, ["draq"])["fields"] == {}
    assert list(difference(failed="no path")["fields"].values()) == [float("inf")]  # type: ignore[attr-defined]


def test_the_uniform_stretch_is_judged_by_where_it_puts_the_frames() -> None:
    """The match has the movement of the query later: only the alignment knows."""
    rng = np.random.default_rng(0)
    movement = np.cumsum(rng.normal(size=(40, 8)), axis=0)
    delayed = movement[np.interp(np.arange(40), [0, 20, 39], [0, 8, 39]).round().astype(int)]
    alignment = align_encodings(made(movement), made(delayed), partial="never")
    events = np.array([8]), np.array([20])
    assert apa(alignment, *events) > 0.9
    assert apa(alignment, *events, stretched) == pytest.approx(1 - 12 / 40, abs=0.06)


def made(features: np.ndarray) -> Encoding:
    seconds = np.arange(len(features)) / 15
    values = features.astype(np.float32)
    return Encoding("e", (Stream("s", seconds, np.arange(len(features)), values),), values[0], values[0])


def test_pairs_are_cut_out_of_films_that_show_a_query_above_its_match(tmp_path: Path) -> None:
    sample = make(tmp_path / "sample", clips=4, seconds=(1, 1.2), size=(64, 48))
    clips = [np.concatenate([each.data for each in read(clip.file)]) for clip in sample.clips]
    (tmp_path / "films").mkdir()
    darker = [(0.9 * pictures).astype(np.uint8) for pictures in clips]
    for name, query, match in (("own", 1, 1), ("other", 0, 3), ("same", 2, 2)):
        together = zip(clips[query], darker[match], strict=False)
        stacked = [np.concatenate(pictures) for pictures in together]
        write(tmp_path / "films" / f"{name}.mp4", stacked, options={"crf": "10"})
    cut = cut_pairs(tmp_path / "films", tmp_path / "cut")
    assert [f"{file.parent.name}/{file.name}" for file in cut.files[1:3]] == [
        "other/match.mp4",
        "own/query.mp4",
    ]
    assert cut.labels == ("other", "other", "own", "own", "same", "same")
    shown = np.concatenate([each.data for each in read(cut.files[4])]).astype(float)
    assert shown.shape == clips[2].shape
    assert np.abs(shown - clips[2]).mean() < 4
    others = FootageSet("others", (sample.clips[0].file,), ("other",))
    encoder = CachedEncoder(f"onnx:{colour_grid(tmp_path / 'grid.onnx', cells=8)}")
    report = pairs(tmp_path / "seas", tmp_path / "films", [others], encoder)
    row = {"match first": 2, "queries": 3}
    assert report["one sea"] == {"vector": row, "shipped": row}  # the foreign query finds the other clip
    assert report["own sea"]["vector"] == row
