"""The vocabulary: one definition for everything that takes a choice."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from seasync import options
from seasync.errors import SeaError

SOURCES = Path(options.__file__).parent


def test_choices_are_listed_in_order() -> None:
    assert options.values(options.Partial) == ("auto", "never", "always")
    assert options.values(options.Layout) == ("side", "stack", "overlay", "retime", "grid", "curve")
    assert options.suffixes(options.AnimationFormat) == (".webp", ".gif")


def test_a_wrong_choice_is_named_with_the_right_ones() -> None:
    options.expect("partial", "auto", options.Partial)
    with pytest.raises(ValueError, match="partial='sometimes': expected one of auto, never, always"):
        options.expect("partial", "sometimes", options.Partial)
    with pytest.raises(SeaError, match="rerank=None"):
        options.expect("rerank", None, options.Rerank, SeaError)


def test_no_choice_of_the_vocabulary_is_spelled_out_elsewhere() -> None:
    known = {frozenset(get_args(kind)) for kind in vars(options).values() if get_args(kind)}
    copies = [
        f"{file.relative_to(SOURCES)}: {found}"
        for file in SOURCES.rglob("*.py")
        if file != SOURCES / "options.py"
        for found in re.findall(r"Literal\[([^\]]*)\]", file.read_text(encoding="utf-8"))
        if frozenset(re.findall(r'"([^"]*)"', found)) in known
    ]
    assert not copies


def test_the_vocabulary_loads_nothing_heavy() -> None:
    code = (
        "import sys; sys.modules['seasync'] = type(sys)('seasync'); "
        f"sys.modules['seasync'].__path__ = [{str(SOURCES)!r}]\n"
        "import seasync.options\n"
        "assert not {'numpy', 'typer', 'pydantic'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
