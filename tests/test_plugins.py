"""What another installed package adds is used from the command line; a broken one never stops anything."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.cli.run import seasync
from tests.videos import write

EXAMPLE = Path(__file__).parent / "plugin_example"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that pip installed the example package into."""
    pytest.importorskip("hatchling", reason="needs the extra 'test'")
    source, target = (tmp_path_factory.mktemp(name) for name in ("source", "installed"))
    shutil.copytree(EXAMPLE, source, dirs_exist_ok=True)
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
    environment = os.environ | {"PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    subprocess.run([*command, "--target", target, source], check=True, env=environment, timeout=120)
    return target


@pytest.fixture
def clips(installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two short clips of a bright spot that moves across, and the package on the path."""
    monkeypatch.setenv("PYTHONPATH", str(installed), prepend=os.pathsep)
    for name, count in (("across_1", 30), ("across_2", 40)):
        pictures = np.zeros((count, 64, 64, 3), np.uint8)
        for n, picture in enumerate(pictures):
            at = round(56 * n / (count - 1))
            picture[20:40, at : at + 8] = 255
        write(tmp_path / f"{name}.mp4", pictures)
    return tmp_path


def test_an_encoder_a_format_and_a_storage_of_another_package(
    clips: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HERE_ROOT", str(clips))
    pair = "here://across_1.mp4", clips / "across_2.mp4"
    done = seasync("export", *pair, "--to", clips / "warp.txt", "--encoder", "brightness:8")
    assert done.returncode == 0, done.stderr
    (moment, shown) = (clips / "warp.txt").read_text().splitlines()[0].split()
    assert float(moment) == pytest.approx(float(shown), abs=0.2)


def test_a_data_set_of_another_package(clips: Path) -> None:
    done = seasync("evaluate", "rerank", f"flat:{clips}", "--json")
    assert f"flat {clips}: one action" in done.stderr  # it was read, and has too few actions for this table


def test_a_broken_one_is_a_warning_and_then_an_unknown_name(clips: Path) -> None:
    pair = clips / "across_1.mp4", clips / "across_2.mp4"
    done = seasync("align", *pair, "--encoder", "broken:1")
    assert done.returncode == 1
    warning, error = done.stderr.splitlines()
    assert "encoders plugin 'broken' of the package seasync-example does not load" in warning
    assert error.startswith("seasync: broken:1: no such encoder")
    assert "brightness:…" in error


def test_one_that_fails_is_named_in_one_line(clips: Path) -> None:
    pair = clips / "across_1.mp4", clips / "across_2.mp4"
    done = seasync("align", *pair, "--encoder", "brightness:many")
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("seasync: brightness: the package seasync-example failed (ValueError: invalid")


def test_all_plugins_are_listed(clips: Path) -> None:
    listed = json.loads(seasync("version", "--all", "--json").stdout)["plugins"]
    assert "brightness (encoders, seasync-example 1.0)" in listed
    assert "here (storage, seasync-example 1.0)" in listed
