"""The pages of results: their tables are what the files of the benchmarks say."""

from __future__ import annotations

import importlib.util
import json
import shutil
from pathlib import Path
from types import ModuleType

import pytest

from tests.docs.pages import DOCS


@pytest.fixture
def maker() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_results", DOCS / "make_results.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_tables_are_what_the_files_say(maker: ModuleType) -> None:
    pages = {page.name: page.read_text("utf-8") for page in sorted(maker.RESULTS.glob("*.md"))}
    figures = maker.RESULTS / "figures"
    assert [name for name, text in pages.items() if maker.fill(text, figures) != text] == []
    assert sum(text.count("<!-- end -->") for text in pages.values()) > 30


def test_other_recipes_and_edited_tables_are_found(maker: ModuleType, tmp_path: Path) -> None:
    results = tmp_path / "results"
    shutil.copytree(maker.RESULTS, results)
    file, page = results / "figures" / "group.json", results / "alignment.md"
    report = json.loads(file.read_text("utf-8"))
    file.write_text(json.dumps(report | {"recipes": {"motion": "0", "paper": "0"}}), "utf-8")
    page.write_text(page.read_text("utf-8").replace("| golf | 0", "| golf | 1", 1), "utf-8")
    found = maker.check(results)
    assert "alignment.md: run `python docs/make_results.py`" in found
    assert any(each.startswith("group.json: measured with the recipes {'motion': '0'") for each in found)
