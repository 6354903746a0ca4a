"""The example notebook: what is stored is what runs."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def maker() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_notebook", DOCS / "make_notebook.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_stored_notebook_has_the_cells_and_what_they_show(maker: ModuleType) -> None:
    stored = json.loads(maker.FILE.read_text(encoding="utf-8"))
    assert ["".join(cell["source"]) for cell in stored["cells"]] == list(maker.CELLS)
    shown = [output for cell in stored["cells"] for output in cell.get("outputs", [])]
    assert len(shown) == 4
    assert sum("<svg" in "".join(output["data"].get("text/html", "")) for output in shown) == 2
    assert maker.FILE.stat().st_size < 100_000


@pytest.mark.usefixtures("real_weights")
def test_every_cell_runs(maker: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for cell in filter(maker.is_code, maker.CELLS):
        maker.run(cell, names)
    assert len(names["group"].takes) >= 1
    assert set(names["carried"])  # every take by its name
