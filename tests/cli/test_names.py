"""File names and labels in [brackets] are text to every command that prints them, never rich markup."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from seasync.sample import make
from tests.cli.run import seasync
from tests.encoders.models import colour_grid

NAME = "take [bold] [2].mp4"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three clips, two of them of one action, and a sea of them; every name and label has brackets."""
    folder = tmp_path_factory.mktemp("names")
    clips = make(folder / "sample", clips=5, seconds=(1, 2), size=(96, 72)).clips
    same = [clip.file for clip in clips if clip.action == clips[0].action]
    label = folder / "[red] dive"
    label.mkdir()
    for number, file in enumerate((*same[:2], clips[1].file)):
        shutil.copy(file, label / f"{number} {NAME}")
    shutil.rmtree(folder / "sample")
    model = colour_grid(folder / "grid.onnx", size=64, cells=8)
    done = seasync(
        "add", label, "--labels", "folder", "--sea", folder / "s.sea", "--encoder", f"onnx:{model}"
    )
    assert done.returncode == 0, done.stderr
    return folder


def clip(folder: Path, number: int) -> Path:
    return folder / "[red] dive" / f"{number} {NAME}"


def said(*arguments: object) -> str:
    done = seasync(*arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def test_search_prints_file_label_and_title(folder: Path) -> None:
    text = said("search", clip(folder, 0), clip(folder, 1), "--sea", folder / "s.sea")
    assert text.count(str(clip(folder, 0))) == 2, "as a title and as a match"
    assert "[red] dive" in text


def test_find_prints_the_film(folder: Path) -> None:
    encoder = f"onnx:{folder / 'grid.onnx'}"
    assert NAME in said("find", clip(folder, 0), clip(folder, 1), "--encoder", encoder)


def test_films_pictures_timelines_and_labels_are_named(folder: Path, tmp_path: Path) -> None:
    pair = (clip(folder, 0), clip(folder, 1), "--encoder", f"onnx:{folder / 'grid.onnx'}")
    for command, name in (("render", "a [b].png"), ("export", "a [b].csv")):
        assert f"a [b].{name[-3:]}" in said(command, *pair, "--to", tmp_path / name)
    assert "both [b].svg" in said("align", *pair, "--picture", tmp_path / "both [b].svg")
    grid = said(
        "render", *pair[:2], clip(folder, 2), *pair[2:], "--layout", "grid", "--to", tmp_path / "g.png"
    )
    assert f"2 {NAME}: " in grid


def test_a_sea_lists_its_clips_and_labels(folder: Path) -> None:
    assert str(clip(folder, 0)) in said("sea", "list", "--sea", folder / "s.sea")
    assert "[red] dive 3" in said("sea", "info", "--sea", folder / "s.sea")
    listed = json.loads(said("sea", "list", "--sea", folder / "s.sea", "--json"))
    assert {form["label"] for form in listed} == {"[red] dive"}


def test_an_error_names_the_file(folder: Path, tmp_path: Path) -> None:
    done = seasync("align", tmp_path / NAME, clip(folder, 0))
    assert done.stderr == f"seasync: {tmp_path / NAME}: no such file\n"
