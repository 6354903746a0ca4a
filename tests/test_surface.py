"""The public surface, the reference made from the code, what is imported when."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

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


def test_command_line_reference_is_fresh() -> None:
    root = Path(__file__).parents[1]
    sys.path.insert(0, str(root / "docs"))
    try:
        from make_cli import reference
    finally:
        sys.path.pop(0)
    assert (root / "docs" / "cli.md").read_text(encoding="utf-8") == reference(), "run `make docs`"
