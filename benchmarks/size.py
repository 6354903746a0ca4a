"""Size of the house: code lines and modules per room, the share of imports, modules that belong into others.

python -m benchmarks.size [--against CHECKOUT] [--json FILE]

A code line has a token on it; docstrings, comments and blank lines do not count. C, scripts and styles are
counted apart, by lines that are not blank. With --against, a checkout of another commit is counted too and
stands before.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.goals import HERE, Goals, parser

LINES, MODULES, MEDIAN, IMPORTS_PER_CENT = 25_500, 185, 120, 8.0
SMALL = 80  # code lines; a smaller module that only one other imports belongs into it
OTHER_KINDS = {"C": (".c", ".h"), "scripts and styles": (".js", ".css"), "pages": (".html",)}
NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


@dataclass(frozen=True)
class Module:
    """A Python file of the house: its dotted name, its code lines, those that import, whom it imports."""

    name: str
    file: Path
    lines: int
    import_lines: int
    imported: frozenset[str]

    @property
    def room(self) -> str:
        """The folder below the package, or "(top)"."""
        parts = self.name.split(".")
        is_room = len(parts) > 2 or (len(parts) == 2 and self.file.name == "__init__.py")
        return parts[1] if is_room else "(top)"


@dataclass(frozen=True)
class Size:
    """What is counted of a room, or of all."""

    modules: int
    lines: int
    import_lines: int
    median: float


def read_modules(package: Path) -> dict[str, Module]:
    """All modules of a package, by their dotted names."""
    files = {_dotted(file, package.parent): file for file in sorted(package.rglob("*.py"))}
    trees = {name: ast.parse(file.read_text(encoding="utf-8")) for name, file in files.items()}
    passed_on = {
        name: _imported_names(tree, name, is_package=files[name].name == "__init__.py")
        for name, tree in trees.items()
    }
    modules = {}
    for name, tree in trees.items():
        imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
        lines = {line for node in imports for line in range(node.lineno, (node.end_lineno or 0) + 1)}
        targets = (_home(target, passed_on) for target in passed_on[name].values())
        imported = frozenset(target for target in targets if target in files and target != name)
        modules[name] = Module(name, files[name], count_lines(files[name]), len(lines), imported)
    return modules


def count_lines(file: Path) -> int:
    """Lines with a token on them, without docstrings."""
    text = file.read_text(encoding="utf-8")
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in NO_CODE:
            lines |= set(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and (
            ast.get_docstring(node, clean=False) is not None
        ):
            lines -= set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    return len(lines)


def count_others(package: Path) -> dict[str, int]:
    """Lines that are not blank in files of other languages."""
    return {
        kind: sum(
            bool(line.strip())
            for file in package.rglob("*")
            if file.suffix in suffixes
            for line in file.read_text(encoding="utf-8").splitlines()
        )
        for kind, suffixes in OTHER_KINDS.items()
    }


def importers(modules: dict[str, Module]) -> dict[str, list[str]]:
    """For each module, the others that import it or a name that it defines."""
    return {name: [other.name for other in modules.values() if name in other.imported] for name in modules}


def parts_of_others(modules: dict[str, Module]) -> dict[str, str]:
    """Modules under 80 lines that a single other module imports, and that module."""
    return {
        name: users[0]
        for name, users in importers(modules).items()
        if len(users) == 1
        and modules[name].lines < SMALL
        and modules[name].file.name not in ("__init__.py", "__main__.py")
    }


def repeated_classes(modules: dict[str, Module]) -> dict[str, list[str]]:
    """Names of classes that several modules define, and these modules."""
    homes: dict[str, list[str]] = {}
    for module in modules.values():
        for node in ast.walk(ast.parse(module.file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name, []).append(module.name)
    return {name: where for name, where in sorted(homes.items()) if len(where) > 1}


def repeated_files(modules: dict[str, Module], most: int = 2) -> dict[str, int]:
    """File names that occur more than `most` times; every package has its `__init__.py`."""
    names = Counter(module.file.name for module in modules.values())
    return {name: count for name, count in names.items() if count > most and name != "__init__.py"}


def _imported_names(tree: ast.Module, module: str, *, is_package: bool) -> dict[str, str]:
    """The names that a module imports anywhere in it, and where from: a module, or a name in one."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.asname or alias.name: alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = module.split(".")[: -(node.level - is_package) or None]
                base = ".".join([*above, *([node.module] if node.module else [])])
            found |= {alias.asname or alias.name: f"{base}.{alias.name}" for alias in node.names}
    return found


def _home(target: str, passed_on: dict[str, dict[str, str]]) -> str:
    """The module that defines what `target` names, through packages that pass the name on."""
    for _ in range(4):
        if target in passed_on:
            return target
        module, _, name = target.rpartition(".")
        if name not in passed_on.get(module, {}):
            return module
        target = passed_on[module][name]
    return target


def _dotted(file: Path, above: Path) -> str:
    parts = file.relative_to(above).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def measure(modules: dict[str, Module]) -> dict[str, Size]:
    """The size of each room, and of all under "all"."""
    rooms = sorted({module.room for module in modules.values()})
    sizes = {}
    for room in [*rooms, "all"]:
        kept = [module for module in modules.values() if room in (module.room, "all")]
        sizes[room] = Size(
            len(kept),
            sum(module.lines for module in kept),
            sum(module.import_lines for module in kept),
            median(module.lines for module in kept),
        )
    return sizes


def _print(sizes: dict[str, Size], before: dict[str, Size]) -> None:
    was = f"{'modules':>9}{'lines':>8}  → " if before else ""
    print(f"{'room':14}{was}{'modules':>9}{'lines':>8}{'median':>8}{'imports':>9}")
    for room in [*sorted({*sizes, *before} - {"all"}), "all"]:
        old, new = before.get(room, Size(0, 0, 0, 0)), sizes.get(room, Size(0, 0, 0, 0))
        was = f"{old.modules:9}{old.lines:8}  → " if before else ""
        share = f"{new.import_lines / new.lines:9.1%}" if new.lines else ""
        print(f"{room:14}{was}{new.modules:9}{new.lines:8}{new.median:8.0f}{share}")


def main() -> int:
    arguments = parser(__doc__)
    arguments.add_argument("--against", type=Path, help="a checkout of another commit")
    given = arguments.parse_args()
    package = HERE / "src" / "seasync"
    modules = read_modules(package)
    sizes, others = measure(modules), count_others(package)
    before = measure(read_modules(given.against / "src" / "seasync")) if given.against else {}
    _print(sizes, before)
    print(", ".join(f"{lines} lines of {kind}" for kind, lines in others.items()))
    for folder in ("tests", "benchmarks", "stress"):
        places = [place for place in (given.against, HERE) if place]
        counts = [sum(map(count_lines, (place / folder).rglob("*.py"))) for place in places]
        print(f"{folder:14}{' → '.join(map(str, counts))} lines")
    found = complaints(modules)
    print("\n".join(found))
    everything, goals = sizes["all"], Goals(given)
    share = 100 * everything.import_lines / everything.lines
    goals.at_most("lines of Python", everything.lines, LINES)
    goals.at_most("modules", everything.modules, MODULES)
    goals.at_least("lines of the median module", everything.median, MEDIAN)
    goals.at_most("lines that import", share, IMPORTS_PER_CENT, " %")
    goals.at_most("modules that belong into others, names given twice", len(found), 0)
    return goals.finish({"rooms": {room: vars(size) for room, size in sizes.items()}, "others": others})


def complaints(modules: dict[str, Module]) -> list[str]:
    """What is cut too fine or named twice, a line each."""
    small = parts_of_others(modules).items()
    classes, files = repeated_classes(modules).items(), repeated_files(modules).items()
    return [
        *(f"{name} ({modules[name].lines} lines) belongs into {user}" for name, user in small),
        *(f"class {name} is defined in {', '.join(homes)}" for name, homes in classes),
        *(f"{count} files are called {name}" for name, count in files),
    ]


if __name__ == "__main__":
    sys.exit(main())
