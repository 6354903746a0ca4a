"""CONTRIBUTING names modules, functions and rooms that exist."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "src" / "seasync"
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(("file", "name"), re.findall(r"`([\w/]+\.py): ([\w.]+)`", TEXT))
def test_every_step_of_the_walk_is_in_the_code(file: str, name: str) -> None:
    scope: list[ast.stmt] = ast.parse((SOURCES / file).read_text(encoding="utf-8")).body
    for part in name.split("."):
        (found,) = [
            node for node in scope if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == part
        ]
        scope = found.body


def test_every_file_that_is_named_is_there() -> None:
    named = re.findall(r"`((?:[\w]+/)+[\w]+\.py|[\w]+\.py|(?:[\w]+/)+)`", TEXT)
    places = (SOURCES, ROOT, *SOURCES.iterdir(), SOURCES / "render" / "timelines")
    missing = [file for file in named if not any((place / file).exists() for place in places)]
    assert named
    assert not [file for file in missing if "NAME" not in file and "TOPIC" not in file]


def test_the_rooms_are_those_of_the_import_contract_in_its_order() -> None:
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    layers = " | ".join(contract["contracts"][0]["layers"])
    wanted = [room.strip().removeprefix("seasync.") for room in layers.split("|")]
    table = TEXT.split("| room | what is in it |")[1].split("\n\n")[0]
    rooms = [
        room.removesuffix("/").removesuffix(".py")
        for row in table.splitlines()
        for room in re.findall(r"`([\w./]+)`", row.split("|")[1] if "|" in row else "")
    ]
    assert rooms == wanted
