"""The house stays in few files: no module is a part of another one, and names are given once."""

from __future__ import annotations

from pathlib import Path

import seasync
from benchmarks.size import complaints, read_modules


def test_no_module_is_a_part_of_another_and_names_are_given_once() -> None:
    assert complaints(read_modules(Path(seasync.__file__).parent)) == []


def test_a_small_module_with_one_importer_is_found(tmp_path: Path) -> None:
    house = tmp_path / "house"
    house.mkdir()
    (house / "__init__.py").write_text("")
    (house / "large.py").write_text("from house.small import Thing\n" + "x = Thing()\n" * 80)
    (house / "small.py").write_text("class Thing:\n    pass\n")
    (house / "other.py").write_text("class Thing:\n    pass\n" + "x = 1\n" * 80)
    assert complaints(read_modules(house)) == [
        "house.small (2 lines) belongs into house.large",
        "class Thing is defined in house.other, house.small",
    ]
