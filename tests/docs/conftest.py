from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from seasync.encoders import registry
from seasync.encoders.encoder import Encoder, FrameEncoder, ImageModel
from seasync.sea.sea import Sea
from tests.docs.place import furnish
from tests.encoders.models import colour_grid
from tests.scale.conftest import bucket, store

__all__ = ["bucket", "store"]


@pytest.fixture(scope="package")
def stand_ins(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Small encoders under the names of the built-in ones: the docs' commands run without weights."""
    model = ImageModel(colour_grid(tmp_path_factory.mktemp("model") / "grid.onnx", cells=8))

    def make(name: str, size: str) -> Encoder:
        named = f"{name}@{size}" if size else name
        width = 26 if name.startswith("pose") else 192  # joints are as many as those of pose
        return FrameEncoder(
            named,
            model,
            dimension=width,
            fingerprint=f"stand-in/{named}",
            split=lambda output: (output[:, :width], None),
        )

    with pytest.MonkeyPatch.context() as patch:
        for name in registry._BUILT_IN:
            patch.setitem(registry._BUILT_IN, name, make)
        registry.loaded.cache_clear()
        yield
    registry.loaded.cache_clear()


@pytest.fixture(scope="package")
def furnished(tmp_path_factory: pytest.TempPathFactory, stand_ins: None) -> Path:
    return furnish(tmp_path_factory.mktemp("furnished") / "at")


@pytest.fixture
def place(tmp_path: Path, furnished: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the furnished folder, as the current folder."""
    copy = shutil.copytree(furnished, tmp_path / "at")
    Sea(copy / "footage.sea").relocate(copy, old=furnished)
    monkeypatch.chdir(copy)
    return copy
