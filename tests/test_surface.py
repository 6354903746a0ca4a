"""The public surface, the reference made from the code, what is imported when."""

from __future__ import annotations

import inspect
import subprocess
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest

import seasync


def test_all_is_sorted_complete_and_there() -> None:
    public = list(seasync.__all__)
    by_kind = sorted(public, key=lambda name: (not name.isupper(), name.islower(), name))
    assert public == by_kind
    for name in public:
        assert getattr(seasync, name) is not None


def test_align_is_the_function_and_the_room_stays_reachable() -> None:
    from seasync.align import dtw

    assert callable(seasync.align)
    assert callable(dtw)


def test_help_loads_nothing_heavy() -> None:
    heavy = "numba onnxruntime onnx lance pyarrow av torch matplotlib PIL scenedetect ray fastapi"
    code = (
        "import sys, seasync.cli\n"
        f"loaded = [name for name in {heavy.split()!r} if name in sys.modules]\n"
        "assert not loaded, loaded"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("script", "function", "made"),
    [
        ("make_cli", "reference", "cli.md"),
        ("make_json", "reference", "json.md"),
        ("make_http", "reference", "reference/http.md"),
        ("make_graph", "picture", "_static/architecture.svg"),
    ],
)
def test_pages_made_from_the_code_are_fresh(
    script: str, function: str, made: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if script == "make_graph":
        pytest.importorskip("grimp", reason="needs the extra 'dev'")
    docs = Path(__file__).parents[1] / "docs"
    monkeypatch.syspath_prepend(docs)
    make = getattr(import_module(script), function)
    assert (docs / made).read_text(encoding="utf-8") == make(), "run `make docs`"


def test_signatures_name_the_recipes_instead_of_listing_their_values() -> None:
    assert "recipe: 'Recipe' = MOTION" in str(inspect.signature(seasync.Sea.search))
    changed = replace(seasync.PAPER, name="mine", power=2.0)
    assert repr(changed) == "Recipe('mine', context=True, power=2.0)"
