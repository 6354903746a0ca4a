"""Annotations of a sea, which several servers may change."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from seasync.errors import SeaError
from seasync.serve.served_sea import ServedSea
from seasync.serve.stores import AnnotationStore
from seasync.serve.tasks import SeaLocation
from seasync.serve.worker import WorkerProcess


def test_the_version_changes_with_each_value_that_any_server_sets(tmp_path: Path) -> None:
    here, there = (AnnotationStore(str(tmp_path / "_notes"), {}) for _ in range(2))
    seen = [here.version]
    for store, value in ((there, "a"), (here, "b"), (there, None), (here, "c")):
        store.put("name/1", value)
        seen.append(here.version)
        assert here.version == there.version == seen[-1]
    assert seen[0] == 0
    assert len(set(seen)) == len(seen)
    shutil.rmtree(tmp_path / "_notes")
    assert here.version == 0


def test_a_store_that_cannot_be_read_is_an_error_not_empty(tmp_path: Path) -> None:
    AnnotationStore(str(tmp_path / "_notes"), {}).put("name/1", "a")
    for manifest in (tmp_path / "_notes" / "_versions").glob("*.manifest"):
        manifest.write_bytes(b"spoilt")
    with pytest.raises(SeaError, match="_notes"):
        _ = AnnotationStore(str(tmp_path / "_notes"), {}).version


def test_names_that_another_server_gives_are_seen(tmp_path: Path) -> None:
    place = SeaLocation(str(tmp_path / "s.sea"))
    here, there = (ServedSea("s", place, WorkerProcess("test"), 60) for _ in range(2))
    assert here.clip_names() == {}
    there.rename("1", "first")
    assert here.clip_names() == {"1": "first"}
    here.rename("2", "second")
    there.rename("1", "")
    assert here.clip_names() == there.clip_names() == {"2": "second"}
    for served in (here, there):
        served.close()
