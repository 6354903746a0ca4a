"""Killed in the middle of things, a sea is whole, and the next add goes on."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import numpy as np
import pytest

from seasync.sea.sea import Sea
from tests.sea.adding import add, context
from tests.sea.footage import videos
from tests.sea.test_ingest import contents

KILLS = 50


def test_killed_at_any_moment_an_add_loses_and_doubles_nothing(
    tmp_path: Path, encoder: str, own_cache: Path
) -> None:
    folder = videos(tmp_path / "clips", 4, frames=15)
    given = (str(folder), encoder, str(own_cache))
    reference = Sea(tmp_path / "whole.sea", encoder)
    reference.add(folder, labels="folder", split=0.5)
    whole = contents(reference)

    def run(uri: str, seconds: float | None) -> tuple[bool, float]:
        """Add, in a process that is killed after so many seconds; whether it was alive then, and how long."""
        begun = context.Event()
        process = context.Process(target=add, args=(begun, uri, *given))
        process.start()
        begun.wait()
        begin = time.monotonic()
        process.join(seconds)
        killed = process.is_alive()
        process.kill()
        process.join()
        return killed, time.monotonic() - begin

    run(str(tmp_path / "first.sea"), None)
    _, lasts = run(str(tmp_path / "timed.sea"), None)
    rng, kills, sizes = np.random.default_rng(0), 0, set()
    for turn in range(4 * KILLS):
        sea = Sea(tmp_path / f"{turn}.sea", encoder)
        killed, alive = run(sea.uri, rng.uniform(0, lasts))
        if not killed:  # a busy machine is now slower, now faster: aim at what an add takes at present
            assert contents(sea) == whole
            lasts = min(lasts, 1.2 * alive)
            continue
        sizes.add(len(sea))
        if len(sea):
            assert sea.verify() == []
            assert contents(sea) == whole[: len(sea)]
        sea.add(folder, labels="folder", split=0.5)
        assert sea.verify() == []
        assert contents(sea) == whole
        kills += 1
        if not len(sizes) > 1 + kills // 10:
            lasts *= 1.2
        if kills == KILLS:
            break
    assert kills == KILLS
    assert len(sizes) > 2, f"the kills all came at the same point: {sizes}"


def test_a_reader_sees_whole_clips_only_while_200_are_added(tmp_path: Path, encoder: str) -> None:
    folder = videos(tmp_path / "clips", 200, frames=6)
    uri = tmp_path / "s.sea"
    first = sorted(folder.rglob("*.mp4"))[0]
    Sea(uri, encoder).add(first)
    writer = threading.Thread(target=Sea(uri, encoder).add, args=(folder,), kwargs={"commit_seconds": 0})
    reader, counts = Sea(uri, encoder), []
    writer.start()
    while writer.is_alive():
        snapshot = reader.record.snapshot()
        counts.append(len(snapshot))
        for match in reader.search(first, k=5):
            assert match.alignment.match_seconds[-1] == pytest.approx(4 / 15)
    writer.join()
    assert counts == sorted(counts)
    assert len(set(counts)) > 3
    assert len(reader) == 200
    assert reader.verify() == []
