"""What the command line says about itself, and how it shows that it is working."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import version
from typing import Annotated, Any

import pytest
import typer
from typer.testing import CliRunner

import seasync as package
from seasync.cli import app, output as progress
from seasync.cli.output import counted
from seasync.cli.parameters import spread
from tests.cli.run import seasync


def commands() -> list[tuple[str, Any]]:
    found, waiting = [], [("seasync", typer.main.get_command(app))]
    while waiting:
        name, command = waiting.pop()
        children = getattr(command, "commands", {})
        waiting += [(f"{name} {child}", each) for child, each in children.items()]
        if not children:
            found.append((name, command))
    return sorted(found, key=lambda pair: pair[0])


@pytest.mark.parametrize(("name", "command"), commands(), ids=[name for name, _ in commands()])
def test_every_command_says_what_it_does_and_gives_an_example(name: str, command: Any) -> None:
    first = command.help.strip().splitlines()[0]
    assert first.endswith(".")
    assert len(first) <= 110
    heading, *examples = command.epilog.split("\n\n")
    assert heading == "Examples:"
    assert examples
    assert all(example.startswith(name) for example in examples)
    for parameter in command.params:
        if parameter.name != "help":
            assert parameter.help, parameter.name


def test_the_version_is_told_three_ways() -> None:
    assert package.__version__ == version("seasync")
    assert seasync("--version").stdout == f"seasync {package.__version__}\n"
    assert seasync("version").stdout.split() == ["seasync", package.__version__]


def test_dir_lists_what_is_public() -> None:
    assert set(dir(package)) == {*package.__all__, "__version__"}


def test_bad_usage_is_plain_text_on_stderr() -> None:
    done = seasync("align", "a.mp4", "b.mp4", "--partial", "sometimes")
    assert done.returncode == 2
    assert not done.stdout
    assert "'sometimes' is not one of 'auto', 'never', 'always'" in done.stderr
    assert "│" not in done.stderr


def test_an_option_of_another_table_is_refused() -> None:
    done = seasync("evaluate", "rerank", "data", "--protocol", "carl")
    assert done.returncode == 2
    assert "No such option: --protocol" in done.stderr
    assert "--protocol" not in seasync("evaluate", "rerank", "--help").stdout
    assert "--protocol" in seasync("evaluate", "phases", "--help").stdout


@dataclass(frozen=True)
class Size:
    width: Annotated[int, typer.Option(help="How wide.")] = 3
    height: Annotated[int, typer.Option(help="How high.")] = 4


def made_of(*arguments: str, only: tuple[str, ...] | None = None) -> Any:
    """What a command with an option `--name` and those of `Size` is called with."""
    called = []

    def command(name: str, size: Size) -> None:
        called.append((name, size))

    command.__annotations__ |= {"name": str, "size": Size}
    program = typer.Typer()
    program.command()(spread(command, only=only))
    done = CliRunner().invoke(program, arguments)
    return called[0] if called else done.output


def test_options_that_belong_together_arrive_as_one_value() -> None:
    assert made_of("a") == ("a", Size())
    assert made_of("a", "--height", "5") == ("a", Size(3, 5))
    assert made_of("a", "--width", "5", only=("width",)) == ("a", Size(5, 4))
    assert "No such option" in made_of("a", "--height", "5", only=("width",))


def test_piped_work_is_quiet_at_first_and_then_says_a_line_every_half_minute(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = 0.0
    monkeypatch.setattr(progress.time, "monotonic", lambda: now)
    with progress.progress() as show:
        for second in range(95):
            now = float(second)
            show("reading a [b].mp4", second, 100)
    assert capsys.readouterr().err.splitlines() == [
        "seasync: reading a [b].mp4, 30% after 30 s",
        "seasync: reading a [b].mp4, 60% after 60 s",
        "seasync: reading a [b].mp4, 90% after 90 s",
    ]


@pytest.mark.parametrize(("number", "text"), [(0, "0 clips"), (1, "1 clip"), (2, "2 clips")])
def test_plurals(number: int, text: str) -> None:
    assert counted(number, "clip") == text
