"""A sea and a server do what models of them in memory do. The same in large: `python -m stress models`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("fastapi")

from stress.bench import Bench
from stress.models import SeaMachine, ServerMachine, check
from stress.server_steps import failing_server


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    before = os.environ.get("SEASYNC_CACHE")
    with Bench(Path(tmp_path_factory.mktemp("bench"))) as bench:
        yield bench
    os.environ.pop("SEASYNC_CACHE")
    if before is not None:
        os.environ["SEASYNC_CACHE"] = before


def test_a_sea_is_as_its_model(bench: Bench) -> None:
    check(SeaMachine, bench, examples=5, steps=12)


def test_a_server_is_as_its_model(bench: Bench) -> None:
    check(ServerMachine, bench, examples=1, steps=15)


def test_an_error_at_any_step_of_a_server_loses_nothing(bench: Bench) -> None:
    with failing_server(bench) as server:
        for name, every in (("upload", 9), ("comparison", 4), ("notes", 7)):
            played = server.fail_everywhere(name, every=every)
            assert played.facts["tried"] > 4
            assert played.findings == []
