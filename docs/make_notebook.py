"""Write docs/notebooks/takes.ipynb: runs its cells and stores what they show. `python docs/make_notebook.py`.

It needs no Jupyter: a cell's last expression is shown as notebooks do, by `_repr_html_` or `repr`.
"""

from __future__ import annotations

import ast
import json
import os
import tempfile
import warnings
from pathlib import Path
from typing import Any

FILE = Path(__file__).parent / "notebooks" / "takes.ipynb"
CELLS = (
    """# Several takes in a notebook

A generated sample stands in for your clips: figures that perform four actions.
Use a folder of your own instead.""",
    """import seasync
from seasync.sample import make

sample = make("sample", clips=9, seconds=(3, 4), size=(160, 120))
sea = seasync.Sea("sample.sea", "dinov2-small@112")  # small pictures need no more
sea.add("sample", labels="folder");""",
    """## Find what moves in step

A search shows its matches as a table.""",
    """squat = next(clip for clip in sample.clips if clip.action == "squat")
matches = sea.search(squat.file, k=3)
matches""",
    """## Look at one alignment

The path says which moments correspond.""",
    """matches[0].alignment""",
    """## All takes on one clock

Thin lines are takes, the thick one is their mean.
Above the dashed line they are faster than the reference.""",
    """group = seasync.align_group(squat.file, sea, label="squat")
group""",
    """## Marks of one take, in all takes

Each carried mark has a confidence; the marks you give have none.""",
    """from seasync.marks import Mark

lowest = Mark("lowest", float(squat.key_seconds[0]))
carried = group.carry_marks({str(squat.file): [lowest]})
[(take, round(own[0].seconds, 2), own[0].confidence) for take, own in carried.items()]""",
)


def run(source: str, names: dict[str, Any]) -> Any:
    """Run a cell; return the value of its last expression, or None."""
    body = ast.parse(source).body
    shown = body.pop() if isinstance(body[-1], ast.Expr) and not source.rstrip().endswith(";") else None
    exec(compile(ast.Module(body, []), "cell", "exec"), names)
    return eval(compile(ast.Expression(shown.value), "cell", "eval"), names) if shown else None


def is_code(cell: str) -> bool:
    """Whether a cell is code; the others are prose."""
    return not cell.startswith("#")


def notebook() -> dict[str, Any]:
    """Run all cells; the notebook with what they show."""
    names: dict[str, Any] = {}
    cells: list[dict[str, Any]] = []
    for number, source in enumerate(CELLS):
        lines = source.splitlines(keepends=True)
        cell: dict[str, Any] = {"id": f"cell-{number}", "metadata": {}, "source": lines}
        if is_code(source):
            value = run(source, names)
            count = 1 + sum(one["cell_type"] == "code" for one in cells)
            outputs = [] if value is None else [_output(value, count)]
            cells.append({"cell_type": "code", **cell, "execution_count": count, "outputs": outputs})
        else:
            cells.append({"cell_type": "markdown", **cell})
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def _output(value: object, count: int) -> dict[str, Any]:
    if hasattr(value, "_repr_html_"):  # the plain form may hold this machine's paths
        html = value._repr_html_().splitlines(keepends=True)
        data = {"text/plain": [f"<{type(value).__name__}>"], "text/html": html}
    else:
        data = {"text/plain": repr(value).splitlines(keepends=True)}
    return {"output_type": "execute_result", "execution_count": count, "data": data, "metadata": {}}


def main() -> None:
    warnings.simplefilter("ignore")
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            content = notebook()
        finally:
            os.chdir(before)
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(FILE)


if __name__ == "__main__":
    main()
