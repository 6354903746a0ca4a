"""The public signatures, as stubs: those of the last release lie in tests/public_api/.

python tests/public_api.py            prints what changed incompatibly since the last release
python tests/public_api.py --write    stores the signatures of this checkout, as part of a release
"""

from __future__ import annotations

import inspect
import re
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

import griffe

SOURCES = Path(__file__).parents[1] / "src"
STORED = Path(__file__).parent / "public_api"
MODULES = ("seasync", "seasync.errors", "seasync.render", "seasync.sample")


def stubs() -> dict[str, str]:
    """A stub file for each public module, by its path."""
    package = griffe.load("seasync", search_paths=[str(SOURCES)], resolve_aliases=True)
    files = {}
    for module in MODULES:
        path = "seasync/__init__.pyi" if module == "seasync" else f"{module.replace('.', '/')}.pyi"
        names = getattr(import_module(module), "__all__", None) or _defined(module)
        files[path] = "\n".join(_stub(package, module, name) for name in sorted(names)).rstrip() + "\n"
    return files


def changes(stored: Path = STORED) -> list[str]:
    """What a program written for the stored signatures would trip over, one line each."""
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder))
        old, new = (
            griffe.load("seasync", search_paths=[str(place)], allow_inspection=False)
            for place in (stored, Path(folder))
        )
        return [
            re.sub(r"\x1b\[\d+m", "", breakage.explain(griffe.ExplanationStyle.ONE_LINE)).replace(folder, "")
            for breakage in griffe.find_breaking_changes(old, new)
        ]


def write(folder: Path) -> None:
    """Write the stubs of this checkout below a folder."""
    for path, text in stubs().items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")


def _defined(module: str) -> list[str]:
    found = vars(import_module(module)).items()
    return [name for name, value in found if getattr(value, "__module__", "") == module]


def _stub(package: Any, module: str, name: str) -> str:
    """The stub of one public name. Where it is defined is looked up in the running module."""
    value = getattr(import_module(module), name)
    if inspect.ismodule(value):
        return f"from {module} import {name} as {name}"
    if not (inspect.isclass(value) or inspect.isfunction(value)):
        return f"{name}: {type(value).__name__}"
    found = package[f"{value.__module__}.{value.__qualname__}".removeprefix("seasync.")]
    return _class(found) if found.is_class else _function(found, "")


def _class(found: Any) -> str:
    bases = ", ".join(str(base) for base in found.bases)
    members = {n: each for n, each in found.all_members.items() if n == "__init__" or not n.startswith("_")}
    lines = [f"class {found.name}({bases}):" if bases else f"class {found.name}:"]
    if found.parameters and "__init__" not in members:  # of a dataclass
        lines.append(f"    def __init__({_parameters(found.parameters)}) -> None: ...")
    for name, member in sorted(members.items()):
        each = member.final_target if member.is_alias else member
        if each.is_function:
            lines.append(_function(each, "    "))
        elif each.is_attribute:
            lines.append(f"    {name}: {each.annotation or 'object'}")
    return "\n".join([*lines, "    ..."]) + "\n"


def _function(found: Any, indent: str) -> str:
    ways = {"classmethod", "staticmethod"} & set(found.labels)
    decorators = "".join(f"{indent}@{way}\n" for way in sorted(ways))
    return f"{decorators}{indent}def {found.name}({_parameters(found.parameters)}) -> {found.returns}: ..."


def _parameters(parameters: Any) -> str:
    """As they are written, with the marks for positional-only and keyword-only ones."""
    kinds = griffe.ParameterKind
    stars = {kinds.var_positional: "*", kinds.var_keyword: "**"}
    words, marked = [], False
    for each in parameters:
        if each.kind in (kinds.keyword_only, kinds.var_positional) and not marked:
            marked = True
            if each.kind is kinds.keyword_only:
                words.append("*")
        note = f": {each.annotation}" if each.annotation else ""
        default = "" if each.default is None or each.kind in stars else f" = {each.default}"
        words.append(f"{stars.get(each.kind, '')}{each.name}{note}{default}")
    return ", ".join(words)


if __name__ == "__main__":
    if "--write" in sys.argv[1:]:
        write(STORED)
    else:
        print("\n".join(changes()) or "nothing that worked stops working")
