"""`seasync group`: what its table says about each take."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from seasync.cli.group import tempo_range
from tests.cli.run import seasync
from tests.encoders.models import colour_grid
from tests.sea.footage import video


def test_the_tempo_is_from_the_slow_to_the_fast_moments_without_the_extremes() -> None:
    assert tempo_range(np.linspace(0.5, 1.5, 101)) == "60%–140%"


def test_a_stretch_that_the_take_skips_has_no_absurd_tempo() -> None:
    assert tempo_range(np.r_[np.full(50, 0.9), np.full(50, 36.0), np.nan]) == "90%–over 400%"


def test_a_take_without_a_known_tempo_has_a_dash() -> None:
    assert tempo_range(np.full(5, np.nan)) == "–"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "give TAKES"),
        (["b.mp4", "--timing", "t.csv"], "--timing needs --marks"),
        (["b.mp4", "--tempo-bars"], "belong to --film"),
        (["b.mp4", "--tables", "t"], "belong together"),
    ],
)
def test_options_that_need_others_say_so(options: list[str], said: str) -> None:
    done = seasync("group", "a.mp4", *options)
    assert done.returncode == 2
    assert said in done.stderr


def test_a_group_as_json_and_in_words(tmp_path: Path) -> None:
    model = colour_grid(tmp_path / "grid.onnx")
    files = [video(tmp_path / f"{name}.mp4", frames=24) for name in "abc"]
    command = ("group", *files, "--encoder", f"onnx:{model}")
    done = seasync(*command, "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    names = [Path(take["file"]).name for take in told["takes"]]
    printed = seasync(*command).stdout
    assert f"{len(names)} takes on the clock of a.mp4" in printed
    assert all(name in printed for name in names)
