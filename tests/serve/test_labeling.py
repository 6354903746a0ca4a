"""Labeling a collection through the API: mark a few clips, carry to all, correct the doubtful ones."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np
import pytest

from seasync.errors import ServeError
from seasync.marks import read_marks
from seasync.serve import Client
from seasync.serve.models import MarkForm as Mark
from tests.serve.films import pace
from tests.serve.live import live

# The films of `tests.serve.films.footage`: when the disc is at each progress, by frame number.
FPS = {"a": 30, "b": 30, "c": 25}
COURSE = {"a": pace(60), "b": pace(72, bend=0.7), "c": pace(50, bend=-0.6)}


@pytest.fixture
def client(served: Callable[..., AbstractContextManager[str]]) -> Iterator[Client]:
    with served(live) as address, Client(address) as client:
        yield client


def when(clip: str, progress: float) -> tuple[int, float]:
    """The frame and the second at which a film of this letter is at a progress."""
    frame = int(np.searchsorted(COURSE[clip], progress))
    return frame, frame / FPS[clip]


def marks_at(clip: str, **named: float) -> list[Mark]:
    found = {name: when(clip, progress) for name, progress in named.items()}
    return [Mark(kind="moment", name=name, frame=f, seconds=s) for name, (f, s) in found.items()]


def test_marks_of_one_clip_reach_all_that_move_like_it(client: Client, tmp_path: Path) -> None:
    clips = {f"{clip.label}/{clip.name[0]}": clip.ref for clip in client.clips("small")}
    with pytest.raises(ServeError, match="mark at least one"):
        client.labeling.carry("small")
    assert client.labeling.summary("small").total == 0
    phase = Mark(kind="phase", name="late", frame=0, seconds=0.0)
    client.set_marks("small", clips["arc/a"], [*marks_at("a", early=0.3, late=0.7), phase])
    done = client.wait(client.labeling.carry("small", label="arc"))
    assert done.result == {"labeled": 1, "carried": 2, "doubtful": 2}
    carried = {each.clip.name[0]: each for each in client.labeling.carried("small")}
    for name, each in carried.items():
        assert (each.marks[0].kind, each.marks[0].name) == ("phase", "late")
        placed = {mark.name: mark.seconds for mark in each.marks if mark.kind == "moment"}
        assert placed["early"] == pytest.approx(when(name, 0.3)[1], abs=0.2)
        assert placed["late"] == pytest.approx(when(name, 0.7)[1], abs=0.2)
        assert all(0 < mark.confidence < 1 for mark in each.marks)
    page = client.labeling.summary("small")
    assert (page.labeled, page.total, page.doubtful, page.outdated) == (1, 2, 2, False)
    assert [each.confidence for each in page.clips] == sorted(each.confidence for each in page.clips)

    client.set_marks("small", clips["arc/b"], marks_at("b", early=0.3, late=0.7))  # a correction
    page = client.labeling.summary("small")
    assert (page.total, page.outdated) == (1, True)
    assert client.wait(client.labeling.carry("small", label="arc")).result["labeled"] == 2  # type: ignore[index]

    rows = list(csv.DictReader(io.StringIO(client.labeling.csv("small").decode())))
    assert {Path(row["clip"]).name: row["confidence"] != "" for row in rows} == {
        "a.mp4": False,
        "b.mp4": False,
        "c.mp4": True,
    }
    (tmp_path / "all.csv").write_bytes(client.labeling.csv("small"))
    assert len(read_marks(tmp_path / "all.csv")) == 3  # what the command line reads


def test_marks_may_come_with_the_request(client: Client) -> None:
    clips = {f"{clip.label}/{clip.name[0]}": clip.ref for clip in client.clips("small")}
    given = {clips["right/a"]: marks_at("a", middle=0.5), "clip:" + 32 * "0": marks_at("a", middle=0.5)}
    client.wait(client.labeling.carry("small", given, label="right"))
    page = client.labeling.summary("small")
    assert page.labeled == 1
    assert {each.clip.label for each in page.clips} == {"right"}
    assert client.marks("small", clips["right/a"]) == []  # nothing is kept that nobody set
    outside = {clips["right/a"]: [Mark(kind="moment", name="never", frame=999, seconds=33.0)]}
    with pytest.raises(ServeError, match=r"'never' is at 33 s, outside the clip"):
        client.wait(client.labeling.carry("small", outside))
