"""Bodies and drawings over HTTP, with the typed client."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np
import pytest

import seasync
from seasync.errors import ServeError
from seasync.serve import Client, models
from seasync.serve.body_angles import smoothed
from tests.serve.figure import DiscFigure
from tests.serve.films import film, pace
from tests.serve.live import live


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache folder for these tests and the worker processes, which find there what the stand-in found."""
    return tmp_path_factory.mktemp("kept")


@pytest.fixture(autouse=True)
def own_cache(kept: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SEASYNC_CACHE", str(kept))
    return kept


@pytest.fixture(scope="module")
def client(served: Callable[..., AbstractContextManager[str]]) -> Iterator[Client]:
    with served(live) as address, Client(address) as client:
        yield client


@pytest.fixture
def pair(client: Client, tmp_path: Path) -> list[str]:
    """References of two takes whose bodies the stand-in has found."""
    files = [film(tmp_path / f"{count}.mp4", pace(count), action="right") for count in (40, 60)]
    for file in files:
        seasync.find_body(file, model=DiscFigure())
    return [client.upload(file).ref for file in files]


def test_the_angles_of_two_bodies_over_synced_time(client: Client, pair: list[str]) -> None:
    with pytest.raises(ServeError, match="POST to its `body` first"):
        client.bodies.get("-", pair[0])
    for ref in pair:
        assert client.wait(client.bodies.find("-", ref)).result == {"found": 1.0}
    body = client.bodies.get("-", pair[0])
    assert (len(body.seconds), body.note, len(body.names)) == (40, None, 13)
    request = client.align("-", *pair).request
    angles = client.bodies.angles("-", request)
    knee = next(one for one in angles.angles if one.name == "left knee")
    assert knee.query[0] == pytest.approx(180, abs=4)
    assert knee.query[-1] == pytest.approx(90, abs=6)
    differences = [value for value in knee.difference if value is not None]
    assert max(map(abs, differences)) < 20  # the same movement: in step, the knees are alike
    mirrored = client.bodies.angles("-", request, mirror=True)
    other = next(one for one in mirrored.angles if one.name == "right knee")
    assert other.match == knee.match
    rows = list(csv.DictReader(io.StringIO(client.bodies.angles_table("-", request))))
    assert len(rows) == len(knee.query)
    assert float(rows[0]["left knee query"]) == knee.query[0]


def test_angles_lose_their_jitter_and_keep_steady_movements() -> None:
    seconds = np.arange(90) / 30
    steady = 180 - 40 * seconds
    steady[30:34] = np.nan  # out of sight
    assert smoothed(seconds, steady) == pytest.approx(steady, nan_ok=True)
    jitter = np.random.default_rng(0).normal(0, 5, 90)
    left = np.nanstd(smoothed(seconds, steady + jitter) - steady)
    assert left < 0.55 * np.std(jitter)
    swing = 90 + 45 * np.cos(2 * np.pi * seconds)  # from end to end in half a second
    assert np.abs(smoothed(seconds, swing) - swing).max() < 0.06 * 90


def test_raw_angles_are_those_of_the_frames(client: Client, pair: list[str]) -> None:
    for ref in pair:
        client.wait(client.bodies.find("-", ref))
    request = client.align("-", *pair).request
    smooth, raw = (client.bodies.angles_table("-", request, raw=raw) for raw in (False, True))
    assert smooth != raw
    assert smooth.splitlines()[0] == raw.splitlines()[0]


def test_a_video_without_a_body_says_so(client: Client, pair: list[str], tmp_path: Path) -> None:
    file = film(tmp_path / "empty.mp4", [1.33] * 20, action="right")
    seasync.find_body(file, model=DiscFigure())
    ref = client.upload(file).ref
    client.wait(client.bodies.find("-", ref))
    assert client.bodies.get("-", ref).note == "No body found in empty.mp4."
    assert client.bodies.get("-", ref).joints == [None] * 20


def test_drawings_are_kept(client: Client, pair: list[str]) -> None:
    drawing = models.DrawingForm(kind="angle", seconds=0.5, points=[(0.1, 0.2), (0.3, 0.4), (0.5, 0.2)])
    client.bodies.set_drawings("-", *pair, [drawing])
    assert client.bodies.drawings("-", *pair) == [drawing]
    client.bodies.set_drawings("-", *pair, [])
    assert client.bodies.drawings("-", *pair) == []
    with pytest.raises(ValueError, match="expected 2 points"):
        models.DrawingForm(kind="line", seconds=0, points=[(0, 0), (1, 1), (0, 1)])
