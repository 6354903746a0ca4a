"""Two writers that begin one dataset at the same moment: the rows of both are in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import lance.fragment
import pytest

from seasync.errors import SeaError
from seasync.sea.copies import copy
from seasync.sea.record import Record
from tests.sea.footage import facts, row


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    """Lets something happen after the next rows are written, before they are committed."""
    write = lance.fragment.write_fragments

    def arrange(happens: Callable[[], object]) -> None:
        def interrupted(*given: Any, **how: Any) -> Any:
            written = write(*given, **how)
            monkeypatch.setattr(lance.fragment, "write_fragments", write)
            happens()
            return written

        monkeypatch.setattr(lance.fragment, "write_fragments", interrupted)

    return arrange


def test_a_sea_that_another_writer_begins_meanwhile_is_not_overwritten(
    tmp_path: Path, meanwhile: Callable[[Callable[[], object]], None]
) -> None:
    record = Record(tmp_path / "s.sea")
    meanwhile(lambda: Record(tmp_path / "s.sea").append([row(0), row(1)], facts()))
    assert record.append([row(1), row(2)], facts()) == 1
    assert {clip.id for clip in record.snapshot().clips()} == {row(n).entry.clip.id for n in range(3)}
    assert len(record) == 3


def test_a_copy_that_was_killed_at_its_last_file_is_no_sea_yet_and_goes_on(tmp_path: Path) -> None:
    source, target = Record(tmp_path / "a.sea"), Record(tmp_path / "b.sea")
    source.append([row(0), row(1)], facts())
    versions = tmp_path / "b.sea" / "_versions"
    versions.mkdir(parents=True)
    (versions / ".18446744073709551614.1234-abcd.part.manifest").write_bytes(b"half")
    (tmp_path / "b.sea" / "_writer.lock").touch()
    assert not target.exists()
    assert len(target) == 0
    copy(source, target)
    assert len(Record(tmp_path / "b.sea")) == 2


def test_marks_that_another_server_sets_first_are_kept(
    tmp_path: Path, meanwhile: Callable[[Callable[[], object]], None]
) -> None:
    pytest.importorskip("fastapi")
    from seasync.serve.stores import AnnotationStore

    here, there = (AnnotationStore(str(tmp_path / "_notes"), {}) for _ in range(2))
    meanwhile(lambda: there.put("marks/a", [1]))
    here.put("marks/b", [2])
    assert here.with_prefix("marks/") == {"marks/a": [1], "marks/b": [2]}


def test_marks_that_cannot_be_read_are_an_error_not_empty(tmp_path: Path) -> None:
    pytest.importorskip("fastapi")
    from seasync.serve.stores import AnnotationStore

    store = AnnotationStore(str(tmp_path / "_notes"), {})
    store.put("marks/a", [1])
    for manifest in (tmp_path / "_notes" / "_versions").glob("*.manifest"):
        manifest.write_bytes(b"spoilt")
    with pytest.raises(SeaError, match="_notes"):
        store.get("marks/a")
