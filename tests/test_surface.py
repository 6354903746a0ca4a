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
    from seasync.alignment import dtw

    assert callable(seasync.align)
    assert callable(dtw)


def test_the_names_that_the_docs_promise_come_from_the_room_too() -> None:
    """docs/align.md: `from seasync.align import …`, whatever the room is called inside."""
    code = (
        "from seasync.align import align_encodings, dtw, draq, random_cost\n"
        "import numpy as np\n"
        "cost = np.array([[0.0, 2.0], [2.0, 0.0]])\n"
        "path, value = dtw(cost)\n"
        "assert (path.tolist(), value) == ([[0, 0], [1, 1]], 0.0), (path, value)\n"
        "assert draq(cost) == 0 < random_cost(cost)\n"
        "assert callable(align_encodings)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("room", ["alignment", "encoders", "render", "serve", "train", "video"])
def test_what_a_room_loads_when_it_is_used_is_there(room: str) -> None:
    package = import_module(f"seasync.{room}")
    for name in package.__all__:
        try:
            assert getattr(package, name) is not None, name
        except (ModuleNotFoundError, seasync.errors.MissingExtra) as error:
            if str(getattr(error, "name", "")).startswith("seasync"):
                raise
            pytest.skip(f"needs an extra: {error}")


def test_help_loads_nothing_heavy() -> None:
    heavy = "onnxruntime onnx lance pyarrow av torch matplotlib PIL scenedetect ray fastapi"
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
    assert "Recipe = MOTION" in str(inspect.signature(seasync.Sea.search))
    changed = replace(seasync.PAPER, name="mine", power=2.0)
    assert repr(changed) == "Recipe('mine', context=True, power=2.0)"
