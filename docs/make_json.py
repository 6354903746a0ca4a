"""Writes docs/json.md, the reference of the JSON forms, from `seasync.forms`: `make docs`."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

from seasync import forms as json_forms

TARGET = Path(__file__).with_name("json.md")
INTRODUCTION = """\
# JSON forms

The command line (`--json`), Python (`to_json()`) and the HTTP API say the same things under the same keys.
Each form is defined once, in `seasync.forms`. The HTTP API adds what only a server knows, such as the
`ref` of a clip; see [the HTTP API](api.md).

| you ask | you get |
|---|---|
| `seasync align QUERY MATCH --json`, `Alignment.to_json()` | [an alignment](#alignment) |
| `seasync search QUERY --json`, `Matches.to_json()` | [a search](#search), or a list of them |
| `Match.to_json()` | [a match](#match) |
| `seasync find QUERY FILM… --json` | `query` ([clip](#clip)), `found` ([matches](#match)), `failed` |
| `seasync reps FILM --json` | `movements`, a list of [repetitions](#repetitions) |
| `RepeatedMovement.to_json()` | [repetitions](#repetitions) |
| `seasync sea list --json` | a list of [clips](#clip) |
| `seasync replace … --json` | `to`, `old` and `new` ([clips](#clip)), `alignment` ([scores](#scores)) |

Seconds and frames count from the first frame of the file. A number that is unknown is `null`.
"""


def reference() -> str:
    """The whole page as Markdown."""
    tree = ast.parse(inspect.getsource(json_forms))
    forms = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    sections = (line for form in forms.values() for line in _section(form))
    return "\n".join([INTRODUCTION, *sections]).rstrip() + "\n"


def _section(form: ast.ClassDef) -> Iterator[str]:
    yield from (f"## {_title(form.name)}", "", ast.get_docstring(form) or "", "")
    bases = [base.id for base in form.bases if isinstance(base, ast.Name)]
    for base in bases:
        yield from (f"All keys of [{_title(base).lower()}](#{_title(base).lower()}), and:", "")
    yield from ("| key | type | |", "|---|---|---|", *_rows(form), "")


def _rows(form: ast.ClassDef) -> Iterator[str]:
    """A row for each field: its name, its type, and the docstring below it."""
    for field, text in zip(form.body, form.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr):
            kind = _in_json(ast.unparse(field.annotation))
            said = " ".join(ast.literal_eval(text.value).split())
            yield f"| `{ast.unparse(field.target)}` | {kind} | {said} |"


def _in_json(kind: str) -> str:
    """A type of Python in the words of JSON."""
    for pattern, words in (
        (r"list\[str\]", "list of strings"),
        (r"list\[tuple\[float, float, float\]\]", "list of `[number, number, number]`"),
        (r"list\[(\w+)\]", r"list of \1"),
        (r"dict\[Side, float\]", '`{"query": number, "match": number}`'),
        (r"tuple\[float, float\]", "`[number, number]`"),
        (r"\bSpan\b", "`[start, end]`"),
        (r"\bPathRow\b", "`[integer, number, integer, number]`"),
        (r"(\w+)Form\b", lambda found: f"[{found[1]}](#{found[1].lower()})"),
        (r"\bstr\b", "string"),
        (r"\bfloat\b", "number"),
        (r"\bint\b", "integer"),
        (r"\bbool\b", "true or false"),
        (r" \| None", " or null"),
    ):
        kind = re.sub(pattern, words, kind)
    return kind


def _title(name: str) -> str:
    return name.removesuffix("Form")


if __name__ == "__main__":
    TARGET.write_text(reference(), encoding="utf-8")
    print(TARGET)
