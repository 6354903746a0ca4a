"""What all benchmarks share: goals that fall short, and the JSON file."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks.goals import Goals, parser
from benchmarks.turns import TURNS, against
from seasync.alignment import MOTION


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
