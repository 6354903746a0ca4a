from __future__ import annotations

from pathlib import Path

import pytest

from tests.encoders.models import colour_grid
from tests.sea.footage import videos


@pytest.fixture(scope="session")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A small, real encoder: the mean colours of a grid of cells."""
    return f"onnx:{colour_grid(tmp_path_factory.mktemp('model') / 'grid.onnx', cells=8)}"


@pytest.fixture(scope="session")
def clips(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Nine videos of three actions, in folders of their names. Not to be changed."""
    return videos(tmp_path_factory.mktemp("clips"), 9)
