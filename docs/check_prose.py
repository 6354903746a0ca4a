"""Check what users read: short sentences, no banned phrases.

That is the docs, the help of the command line, the messages and docstrings in the code, and the web page.
`python docs/check_prose.py` prints the median sentence length and what is wrong, and then exits with 1.
Banned phrases are in `docs/banned_phrases.txt`, one regular expression per line, with what to say instead.
"""

from __future__ import annotations

import ast
import re
import statistics
import sys
from pathlib import Path

HERE = Path(__file__).parent
CODE = HERE.parent / "src" / "seasync"
SPEAKS = re.compile(r"(Error|Parameter|Extra|warn|print|echo)$")  # calls whose text users read
MOST_WORDS = 18  # in the median sentence
PAGES = [
    *sorted(HERE.rglob("*.md")),
    *(
        HERE.parent / name
        for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "RELEASE.md")
    ),
]


def prose(text: str) -> str:
    """The text without code, tables, directives, links' targets and emphasis."""
    text = re.sub(r"^(```|:::).*?^\1[^\n]*$", "", text, flags=re.M | re.S)
    text = re.sub(r"^\s*(\|.*|<.*>|#+ .*|\$ .*)$", "", text, flags=re.M)
    text = re.sub(r"`[^`]*`", "CODE", text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return re.sub(r"[*_]{1,2}", "", text)


def sentences(text: str) -> list[str]:
    """Sentences of prose; a list item or a paragraph ends one too."""
    parts = re.split(r"\n\s*\n|^\s*(?:[-*]|\d+\.)\s+|(?<=[.!?])\s+", prose(text), flags=re.M)
    return [" ".join(part.split()) for part in parts if len(part.split()) > 2]


def banned(text: str) -> list[str]:
    """Each banned phrase that the prose holds, with what to say instead."""
    rules = [
        line.split("\t")
        for line in (HERE / "banned_phrases.txt").read_text(encoding="utf-8").splitlines()
        if line and not line.startswith("#")
    ]
    plain = prose(text)
    return [
        f"{found.group(0)!r}: {advice}"
        for pattern, advice in rules
        for found in re.finditer(pattern, plain, re.IGNORECASE)
    ]


def help_texts() -> dict[str, str]:
    """The help of every command and option."""
    import typer

    from seasync.cli import app

    found: dict[str, str] = {}

    def collect(command: object, name: str) -> None:
        texts = [getattr(command, "help", "") or ""]
        texts += [getattr(each, "help", "") or "" for each in getattr(command, "params", ())]
        found[name] = "\n\n".join(texts)
        for child, inner in getattr(command, "commands", {}).items():
            collect(inner, f"{name} {child}")

    collect(typer.main.get_command(app), "seasync")
    return found


def messages(tree: ast.AST) -> str:
    """What the code says to users: the texts of its errors, warnings and prints, a paragraph each."""
    calls = [
        each
        for each in ast.walk(tree)
        if isinstance(each, ast.Call) and SPEAKS.search(ast.unparse(each.func))
    ]
    return "\n\n".join(_text(argument) for call in calls for argument in call.args)


def _text(value: ast.expr) -> str:
    """A string of the code, with `CODE` for what is filled in."""
    parts = value.values if isinstance(value, ast.JoinedStr) else [value]
    return "".join(
        each.value if isinstance(each, ast.Constant) and isinstance(each.value, str) else "CODE"
        for each in parts
    )


def docstrings(tree: ast.AST) -> str:
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return "\n\n".join(
        ast.get_docstring(each) or "" for each in ast.walk(tree) if isinstance(each, documented)
    )


def main() -> int:
    texts = {
        str(page.relative_to(HERE.parent)): page.read_text(encoding="utf-8")
        for page in PAGES
        if page.exists()
    }
    texts.pop("docs/cli.md", None)  # made of the help texts
    texts |= help_texts()
    trees = {str(file.relative_to(CODE)): ast.parse(file.read_text("utf-8")) for file in CODE.rglob("*.py")}
    texts |= {f"messages of {name}": messages(tree) for name, tree in trees.items()}
    lengths = [len(sentence.split()) for text in texts.values() for sentence in sentences(text)]
    median = statistics.median(lengths)
    texts |= {f"docstrings of {name}": docstrings(tree) for name, tree in trees.items()}
    texts |= {
        file.name: "\n\n".join(re.findall(r"\"[^\"\n]*\"|`[^`]*`", file.read_text("utf-8")))
        for file in CODE.rglob("*.js")
    }
    problems = [f"{name}: {problem}" for name, text in texts.items() for problem in banned(text)]
    print(f"{len(lengths)} sentences, median length {median:g} words (at most {MOST_WORDS})")
    print(*problems, sep="\n")
    return int(median > MOST_WORDS or bool(problems))


if __name__ == "__main__":
    sys.exit(main())
