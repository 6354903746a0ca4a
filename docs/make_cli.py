"""Writes docs/cli.md, the command-line reference, from the commands themselves: `make docs`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from inspect import cleandoc
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import typer

TARGET = Path(__file__).with_name("cli.md")


def reference() -> str:
    """The whole reference as Markdown."""
    from seasync.cli import app

    command = typer.main.get_command(app)
    lines = ["# Command line", "", "Made from the code by `make docs`.", ""]
    lines += _section(command, "seasync")
    return "\n".join(lines).rstrip() + "\n"


def _section(command: Any, path: str) -> Iterator[str]:
    yield from (f"{'#' * (1 + len(path.split()))} `{path}`", "", cleandoc(command.help), "")
    children = getattr(command, "commands", {})
    if not children:
        yield from _parameters(command, path)
    elif rows := [
        each for each in _options(command) if each.name not in ("install_completion", "show_completion")
    ]:
        yield from ("Options for all commands. They come before the name of the command:", "")
        yield from _table(
            (_spelled(each, get_type_hints(command.callback)[each.name]), each) for each in rows
        )
    for name, child in children.items():
        yield from _section(child, f"{path} {name}")


def _parameters(command: Any, path: str) -> Iterator[str]:
    """Written out from the parameters alone, so that another version of typer gives the same."""
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    usage = [_name(each) if each.required else f"[{_name(each)}]" for each in arguments]
    yield from ("```", " ".join([path, *usage, "[OPTIONS]"]), "```", "")
    kinds = get_type_hints(command.callback)
    spelled = [(_spelled(each, kinds[each.name]), each) for each in _options(command)]
    if rows := [(_name(each), each) for each in arguments] + spelled:
        yield from _table(rows)
    if command.epilog:
        yield from ("For example:", "", "```sh", *command.epilog.split("\n\n")[1:], "```", "")


def _options(command: Any) -> list[Any]:
    return [each for each in command.params if each.param_type_name == "option" and each.name != "help"]


def _table(rows: Iterable[tuple[str, Any]]) -> Iterator[str]:
    yield from ("| | |", "|---|---|", *(f"| `{name}` | {_text(each)} |" for name, each in rows), "")


def _name(argument: Any) -> str:
    return argument.metavar or argument.name.upper() + ("…" if argument.nargs == -1 else "")


def _spelled(option: Any, kind: Any) -> str:
    choices = [get_args(each) for each in (kind, *get_args(kind)) if get_origin(each) is Literal]
    values = "\\|".join(choices[0]) if choices else option.metavar or option.name.upper()
    return " / ".join([*option.opts, *option.secondary_opts]) + ("" if option.is_flag else f" {values}")


def _text(parameter: Any) -> str:
    default = parameter.show_default if isinstance(parameter.show_default, str) else parameter.default
    plain = " ".join((getattr(parameter, "help", "") or "").split()).replace("|", "\\|")
    if variable := getattr(parameter, "envvar", None):
        plain += f" Or `{variable}` in the environment."
    shown = default not in (None, False, "", (), []) and not callable(default) and not parameter.required
    shown_as = f"`{parameter.opts[0]}`" if default is True else default
    return f"{plain} Default: {shown_as}." if shown else plain


if __name__ == "__main__":
    TARGET.write_text(reference(), encoding="utf-8")
    print(TARGET)
