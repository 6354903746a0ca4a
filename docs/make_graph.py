"""Draws docs/_static/architecture.svg, the import graph of the rooms, from the code itself: `make docs`.

Rows are the layers of the import contract in pyproject.toml. A line means that the upper room imports the
lower one; lines that follow from others are left out.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

import grimp

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "docs" / "_static" / "architecture.svg"
WIDTH, ROW, BOX, HEIGHT = 760, 58, 118, 30
SHIFTS = (0, 170, -170)  # rooms that are alone in their row stand aside, so that lines can pass

Edges = dict[str, set[str]]


def rooms() -> list[list[str]]:
    """The rooms of each layer, the highest first."""
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    layers = contract["contracts"][0]["layers"]
    return [[room.strip().removeprefix("seasync.") for room in layer.split("|")] for layer in layers]


def imports(names: list[str]) -> Edges:
    """The rooms that each room imports directly."""
    graph = grimp.build_graph("seasync")
    for name in names:
        if graph.find_children(f"seasync.{name}"):
            graph.squash_module(f"seasync.{name}")
    found: Edges = {}
    for name in names:
        lower = graph.find_modules_directly_imported_by(f"seasync.{name}")
        found[name] = {other for other in names if other != name and f"seasync.{other}" in lower}
    return found


def reduced(edges: Edges) -> Edges:
    """Without the edges that follow from others."""
    reach: Edges = {}

    def below(name: str) -> set[str]:
        if name not in reach:
            reach[name] = set().union(edges[name], *(below(other) for other in edges[name]))
        return reach[name]

    return {
        name: {other for other in lower if not any(other in below(via) for via in lower - {other})}
        for name, lower in edges.items()
    }


def places(layers: list[list[str]]) -> dict[str, tuple[int, int]]:
    """The middle of each room's box."""
    found = {}
    for row, layer in enumerate(layers):
        for at, name in enumerate(layer):
            aside = SHIFTS[row % 3] if len(layer) == 1 else round((at - (len(layer) - 1) / 2) * 190)
            found[name] = WIDTH // 2 + aside, 40 + row * ROW
    return found


def picture() -> str:
    """The graph as SVG."""
    layers = rooms()
    names = [name for layer in layers for name in layer]
    at, edges = places(layers), reduced(imports(names))
    height = 40 + len(layers) * ROW
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        'font-family="sans-serif" font-size="14" text-anchor="middle">',
        f'<rect width="{WIDTH}" height="{height}" rx="12" fill="#fff"/>',
    ]
    for name in names:
        for other in sorted(edges[name], key=names.index):
            (x, y), (to_x, to_y) = at[name], at[other]
            y, to_y, bend = y + HEIGHT // 2, to_y - HEIGHT // 2, (to_y - y) // 2
            lines.append(
                f'<path d="M{x} {y}C{x} {y + bend} {to_x} {to_y - bend} {to_x} {to_y}" fill="none" '
                'stroke="#7a8ca3" stroke-width="1.3"/>'
            )
    for name in names:
        x, y = at[name]
        lines.append(
            f'<rect x="{x - BOX // 2}" y="{y - HEIGHT // 2}" width="{BOX}" height="{HEIGHT}" rx="6" '
            'fill="#eef3f9" stroke="#4a6a8f"/>'
        )
        lines.append(f'<text x="{x}" y="{y + 5}" fill="#1d2b3a">{name}</text>')
    return "\n".join([*lines, "</svg>", ""])


if __name__ == "__main__":
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text(picture(), encoding="utf-8")
    print(TARGET)
