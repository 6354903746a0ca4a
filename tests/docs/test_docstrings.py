"""The examples in the docstrings of the public surface run, in the folder in which those of the docs run."""

from __future__ import annotations

import doctest
import warnings
from pathlib import Path

import pytest

import seasync

PUBLIC = {name: getattr(seasync, name) for name in seasync.__all__ if name not in ("render", "sample")}
PUBLIC |= {f"render.{name}": getattr(seasync.render, name) for name in seasync.render.__all__}
PUBLIC |= {f"sample.{name}": getattr(seasync.sample, name) for name in seasync.sample.__all__}
# Made by others, whose examples show them.
MADE = {"Body", "sample.Sample", "sample.SampleClip", "sample.alignment_error", "sample.true_warp"}


def examples(name: str) -> list[doctest.DocTest]:
    """The examples of a public name, its own and those of its methods."""
    found = doctest.DocTestFinder().find(PUBLIC[name], name, module=False, globs={"seasync": seasync})
    return [test for test in found if test.examples]


SHOWN = sorted(name for name in PUBLIC if callable(PUBLIC[name]) and examples(name))


def test_what_users_call_has_an_example() -> None:
    called = {name for name, each in PUBLIC.items() if callable(each) and not name.endswith("Error")}
    assert called - set(SHOWN) - MADE == set()


@pytest.mark.parametrize("name", SHOWN)
def test_the_examples_of_a_docstring_run(name: str, place: Path) -> None:
    said: list[str] = []
    for test in examples(name):
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            runner.run(test, out=said.append)
    assert said == []
