"""An error or a power failure at any step: nothing is lost or doubled, and the same work goes on."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from seasync.errors import SeaError
from seasync.sea.sea import Sea
from stress.bench import Bench, rows
from stress.steps import FLOWS, fail_everywhere, lose_power_everywhere
from tests.sea.footage import facts, row

EVERY = {
    "add to a new sea": 11,
    "add to a sea": 13,
    "search": 4,
    "remove": 9,
    "seal": 9,
}  # the rest: in stress


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    before = os.environ.get("SEASYNC_CACHE")
    with Bench(tmp_path_factory.mktemp("bench")) as bench:
        yield bench
    os.environ.pop("SEASYNC_CACHE")
    if before is not None:
        os.environ["SEASYNC_CACHE"] = before


@pytest.mark.parametrize("name", EVERY)
def test_an_error_at_any_step_loses_nothing(bench: Bench, name: str) -> None:
    (flow,) = (flow for flow in FLOWS if flow.name == name)
    played = fail_everywhere(bench, flow, every=EVERY[name])
    assert played.facts["tried"] > 2
    assert played.findings == []


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs Linux to see what is synced")
@pytest.mark.parametrize("empty", [False, True])
def test_a_power_failure_at_any_step_loses_nothing(bench: Bench, empty: bool) -> None:
    played = lose_power_everywhere(bench, FLOWS[1], empty=empty, every=11)
    assert played.findings == []


def test_a_commit_that_the_power_cut_off_is_dropped(tmp_path: Path) -> None:
    sea = Sea(tmp_path / "s.sea")
    sea.record.append([row(1)], facts())
    before = rows(sea)
    sea.record.append([row(2)], facts())
    newest = min((Path(sea.uri) / "_versions").glob("[0-9]*.manifest"))
    whole = newest.read_bytes()
    newest.write_bytes(b"spoilt")  # damage is not taken for a commit that was never reported
    with pytest.raises(SeaError):
        Sea(sea.uri)
    newest.write_bytes(whole[:100] + bytes(len(whole) - 100))
    assert rows(Sea(sea.uri)) == before
    Sea(sea.uri).record.append([row(2)], facts())
    assert len(Sea(sea.uri)) == 2
    assert Sea(sea.uri).verify(files=False) == []
