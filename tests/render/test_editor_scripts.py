"""The scripts for editing programs, as far as they run without the program."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from PIL import Image

from seasync.alignment import Alignment
from seasync.render.timelines import export
from tests.render.conftest import true_map
from tests.videos import number_of

SCRIPTS = Path(__file__).parents[2] / "docs" / "editors"
RENDER = """
import bpy, sys
bpy.context.scene.view_settings.view_transform = "Standard"
bpy.context.scene.render.filepath = sys.argv[-1]
bpy.ops.render.render(animation=True)
"""


@pytest.fixture(scope="module")
def resolve() -> ModuleType:
    spec = importlib.util.spec_from_file_location("resolve_retime", SCRIPTS / "resolve_retime.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Recorder:
    """Answers every call of Resolve's interface with itself, and remembers the keys."""

    def __init__(self) -> None:
        self.keys: dict[int, Any] = {}

    def __getattr__(self, name: str) -> Recorder:
        return self

    def __call__(self, *_: object) -> Recorder:
        return self

    def __setattr__(self, name: str, value: object) -> None:
        if name == "keys":
            object.__setattr__(self, name, value)

    def GetAttrs(self) -> dict[str, float]:
        return {"COMPN_GlobalStart": 100.0}

    def SetKeyFrames(self, keys: dict[int, Any], replace: bool) -> None:
        self.keys = keys


def test_keys_of_resolve_follow_the_frame_map(
    resolve: ModuleType, aligned: Alignment, tmp_path: Path
) -> None:
    export(aligned, tmp_path / "frames.csv")
    frames = resolve.keys(tmp_path / "frames.csv")
    numbers = np.arange(90)
    between = np.interp(numbers, list(frames), list(frames.values()))
    assert np.abs(between - true_map(numbers / 30) * 30).max() <= 0.51

    item = Recorder()
    resolve.retime(item, {0: 6, 89: 110})
    assert {at: key[1] for at, key in item.keys.items()} == {100: 106, 189: 210}


def test_blender_shows_the_frames_of_the_map(
    aligned: Alignment, pair: tuple[Path, Path], tmp_path: Path
) -> None:
    blender = shutil.which("blender")
    if blender is None:
        pytest.skip("blender is not installed (apt-get install blender)")
    export(aligned, tmp_path / "frames.csv")
    (tmp_path / "render.py").write_text(RENDER)
    names = [Path(shutil.copy(file, tmp_path)).name for file in pair]  # as people type them
    script = SCRIPTS / "blender_retime.py"
    build = [blender, "--background", "--python", script, "--", "frames.csv", *names, "project.blend"]
    show = [blender, "--background", "project.blend", "--python", "render.py", "--", f"{tmp_path}/frame"]
    for command in (build, show):
        subprocess.run(command, check=True, capture_output=True, timeout=120, cwd=tmp_path)
    numbers = [
        number_of(np.asarray(Image.open(file).convert("RGB"))) for file in sorted(tmp_path.glob("*.png"))
    ]
    expected = aligned.warp().at(np.arange(90) / 30) * 30
    assert len(numbers) == 90
    assert np.abs(np.array(numbers) - expected).max() < 0.51
