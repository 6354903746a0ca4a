"""Several at a time on one sea, on a store that may go away: nothing is lost and nothing comes twice."""

from __future__ import annotations

import os
import signal
import threading
from collections import Counter
from pathlib import Path

import pytest
from lance.fragment import write_fragments

from seasync.errors import SeaError
from seasync.files.store import objects
from seasync.sea import writers
from seasync.sea.record import Appender
from seasync.sea.rows import to_table
from seasync.sea.sea import Sea
from seasync.sea.snapshot import plain_errors
from seasync.sea.writers import Busy
from tests.scale.adding import add, context, racing
from tests.scale.store import Store, running
from tests.sea.footage import facts, row, video, videos
from tests.sea.test_ingest import contents

pytestmark = pytest.mark.cluster


def by_id(sea: Sea) -> list[dict]:  # type: ignore[type-arg]
    return sorted(contents(sea), key=lambda each: each["id"])


def unused(sea: Sea) -> set[str]:
    """Data files that no version uses."""
    dataset = sea.record.open()
    versions = [dataset.checkout_version(each["version"]) for each in dataset.versions()]
    fragments = [each for version in versions for each in version.get_fragments()]
    used = {file.path for each in fragments for file in each.metadata.files}
    return {each.uri.rpartition("/")[2] for each in objects(f"{sea.uri}/data")} - used


def test_adds_that_race_bring_each_clip_once(bucket: str, tmp_path: Path, encoder: str) -> None:
    folder = videos(tmp_path / "clips", 4, frames=15)
    racing(3, f"{bucket}/s.sea", str(folder), encoder)
    local = Sea(tmp_path / "s.sea", encoder)
    local.add(folder, labels="folder", split=0.5)
    sea = Sea(f"{bucket}/s.sea")
    assert by_id(sea) == by_id(local)
    assert sea.verify() == []
    assert objects(f"{sea.uri}/_writers") == []


def test_a_reader_sees_whole_clips_only_while_others_add(bucket: str, tmp_path: Path, encoder: str) -> None:
    folder = videos(tmp_path / "clips", 15, frames=10)
    first = sorted(folder.rglob("*.mp4"))[0]
    Sea(f"{bucket}/s.sea", encoder).add(first)
    reader, counts = Sea(f"{bucket}/s.sea", encoder), []
    looked = threading.Condition()

    def wait_for_the_reader(_: object) -> None:
        with looked:
            seen = len(counts) + 2  # a look that began before the commit may still be under way
            looked.wait_for(lambda: len(counts) >= seen, timeout=60)

    adds = [
        threading.Thread(
            target=Sea(f"{bucket}/s.sea", encoder).add,
            args=(part,),
            kwargs={"commit_seconds": 0, "progress": wait_for_the_reader},
        )
        for part in sorted(folder.iterdir())
    ]
    reader.search(first)  # what is loaded once is loaded now
    for each in adds:
        each.start()
    while any(each.is_alive() for each in adds):
        with looked:
            counts.append(len(reader.record.snapshot()))
            looked.notify_all()
        for match in reader.search(first, k=5):
            assert match.alignment.match_seconds[-1] == pytest.approx(8 / 15)
    for each in adds:
        each.join()
    assert counts == sorted(counts)
    assert len(set(counts)) > 3  # it looked in between
    assert len(reader) == 15
    assert reader.verify() == []


def test_clips_that_another_brought_meanwhile_are_taken_back(bucket: str) -> None:
    one = Sea(f"{bucket}/s.sea")
    one.record.append([row(0)], facts())
    appender = Appender(one.record)
    Sea(one.uri).record.append([row(1), row(2)], facts())
    assert appender.append([row(2), row(3)], facts()) == 1
    assert Counter(clip.id for clip in Sea(one.uri).clips()) == Counter(
        row(n).entry.clip.id for n in range(4)
    )


def test_clips_that_another_brought_before_the_latest_commit_are_not_brought_again(bucket: str) -> None:
    one = Sea(f"{bucket}/s.sea")
    one.record.append([row(0)], facts())
    appender = Appender(one.record)
    Sea(one.uri).record.append([row(2)], facts())
    assert appender.append([row(1)], facts()) == 1
    assert appender.append([row(2)], facts()) == 0
    fragments = write_fragments(to_table([row(2)], facts()), one.record.open())
    assert appender.append_fragments(fragments, [str(row(2).entry.clip.id)]) == 0
    assert Counter(clip.id for clip in Sea(one.uri).clips()) == Counter(
        row(n).entry.clip.id for n in range(3)
    )


def test_no_version_has_a_clip_twice_that_another_added_before_the_commit(bucket: str) -> None:
    one = Sea(f"{bucket}/s.sea")
    one.record.append([row(0)], facts())
    appender = Appender(one.record)
    Sea(one.uri).record.append([row(1), row(2)], facts())
    appender.append([row(2), row(3)], facts())
    appender.append([row(1)], facts())
    now = Sea(one.uri).record.open()
    for version in now.versions():
        ids = now.checkout_version(version["version"]).to_table(columns=["id"])["id"].to_pylist()
        assert len(ids) == len(set(ids))
    assert len(ids) == 4


def left_by_a_killed_writer(sea: Sea, monkeypatch: pytest.MonkeyPatch) -> writers.SharedWriter:
    """The announcement of a writer that died right after a commit of a clip that another had just added."""
    sea.record.append([row(0)], facts())
    appender = Appender(Sea(sea.uri).record)
    table = to_table([row(2), row(3)], facts())
    fragments = write_fragments(table, sea.record.open())
    sea.record.append([row(1), row(2)], facts())
    killed = writers.SharedWriter(sea.uri, sea.record.storage_options)
    killed.announce()
    writers._own_writers.discard(killed.id)  # as if its process had ended

    def die(*given: object) -> int:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("seasync.sea.record._remove_duplicates", die)
        with pytest.raises(KeyboardInterrupt):
            appender.append_fragments(fragments, table["id"].to_pylist())
    assert len(sea) == 5
    return killed


def test_copies_that_a_killed_writer_could_not_take_back_are_removed_by_the_next(
    bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sea = Sea(f"{bucket}/s.sea")
    killed = left_by_a_killed_writer(sea, monkeypatch)
    with Sea(sea.uri).record.writing():
        assert objects(f"{sea.uri}/_writers") != []
        assert Counter(clip.id for clip in Sea(sea.uri).clips()) == Counter(
            row(n).entry.clip.id for n in range(4)
        )
    killed.end()
    assert objects(f"{sea.uri}/_writers") == []


def test_copies_of_a_writer_that_is_killed_meanwhile_are_removed_by_those_at_work(
    bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sea = Sea(f"{bucket}/s.sea")
    with Sea(sea.uri).record.writing():
        killed = left_by_a_killed_writer(sea, monkeypatch)
    assert Counter(clip.id for clip in Sea(sea.uri).clips()) == Counter(
        row(n).entry.clip.id for n in range(4)
    )
    killed.end()
    assert objects(f"{sea.uri}/_writers") == []


def test_a_commit_whose_answer_was_lost_is_not_made_again(
    bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import lance

    sea = Sea(f"{bucket}/s.sea")
    sea.record.append([row(0)], facts())
    commit = lance.LanceDataset.commit

    def silent(*given: object, **more: object) -> None:
        commit(*given, **more)
        raise OSError("the answer was lost")

    monkeypatch.setattr(lance.LanceDataset, "commit", staticmethod(silent))
    assert sea.record.append([row(1), row(2)], facts()) == 2
    assert len(Sea(sea.uri)) == 3


def test_a_conflict_of_versions_is_said_and_loses_nothing(bucket: str) -> None:
    sea, other = Sea(f"{bucket}/s.sea"), Sea(f"{bucket}/s.sea")
    sea.record.append([row(n) for n in range(20)], facts())
    stale = sea.record.open()
    other.record.append([row(30)], facts())
    with pytest.raises(SeaError, match="another writer came in between: run it again"), plain_errors(sea.uri):
        stale.add_columns({"more": "frames + 1"})
    assert len(sea) == 21
    assert sea.verify(files=False) == []


def test_fragments_with_rows_missing_are_not_committed(bucket: str) -> None:
    sea = Sea(f"{bucket}/s.sea")
    sea.record.append([row(0)], facts())
    fragments = write_fragments(to_table([row(1)], facts()), sea.record.open())
    with pytest.raises(SeaError, match="1 rows were written of 2; nothing is committed"):
        Appender(sea.record).append_fragments(
            fragments, [str(row(1).entry.clip.id), str(row(2).entry.clip.id)]
        )
    assert len(sea) == 1
    assert len(unused(sea)) == 1
    assert sea.sweep() > 0
    assert unused(sea) == set()
    assert len(sea) == 1


def test_who_builds_or_sweeps_is_alone(bucket: str) -> None:
    sea, other = Sea(f"{bucket}/s.sea"), Sea(f"{bucket}/s.sea")
    sea.record.append([row(n) for n in range(20)], facts())
    with sea.record.writing(), other.record.writing():
        with pytest.raises(Busy, match="another process is writing"):
            other.sweep()
        with pytest.raises(Busy), other.record.writing(alone=True, wait=False):
            pass
    waited = []
    with sea.record.writing(alone=True):
        for alone in (True, False):
            with pytest.raises(Busy), other.record.writing(alone=alone, wait=False):
                pass
        adding = threading.Thread(target=_append_when_free, args=(other, waited))
        adding.start()
        while not waited:
            pass
        assert len(sea) == 20
    adding.join()
    assert (len(sea), waited) == (21, ["waiting"])
    sea.rebuild("ivf_pq")
    assert objects(f"{sea.uri}/_writers") == []


def _append_when_free(sea: Sea, waited: list[str]) -> None:
    with sea.record.writing(waiting=lambda: waited.append("waiting")):
        sea.record.append([row(30)], facts())


def test_an_add_that_was_killed_is_in_nobodys_way(bucket: str, tmp_path: Path, encoder: str) -> None:
    folder = videos(tmp_path / "clips", 6, frames=30)
    sea = Sea(f"{bucket}/s.sea", encoder)
    sea.add(video(tmp_path / "first.mp4"))
    begun = context.Event()
    process = context.Process(target=add, args=(begun, dict(os.environ), sea.uri, str(folder), encoder))
    process.start()
    begun.set()
    while len(sea) < 3:
        pass
    os.kill(process.pid or 0, signal.SIGKILL)
    process.join()
    assert len(objects(f"{sea.uri}/_writers")) == 1
    assert sea.verify() == []
    sea.sweep()
    assert objects(f"{sea.uri}/_writers") == []
    assert unused(sea) == set()
    sea.add(folder, labels="folder", split=0.5)
    local = Sea(tmp_path / "s.sea", encoder)
    local.add(tmp_path / "first.mp4")
    local.add(folder, labels="folder", split=0.5)
    assert by_id(sea) == by_id(local)


def test_a_silent_writer_of_another_machine_is_dead_by_the_stores_clock(
    bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sea = Sea(f"{bucket}/s.sea")
    sea.record.append([row(0)], facts())
    away = writers.SharedWriter(sea.uri, sea.record.storage_options, alone=True)
    away._announcement = away._announcement.replace(b'"host": "', b'"host": "far away ')
    away.announce()
    with pytest.raises(Busy):
        sea.sweep()
    monkeypatch.setattr(writers, "DEAD_SECONDS", -1.0)
    sea.sweep()
    assert objects(f"{sea.uri}/_writers") == []
    with pytest.raises(SeaError, match="could not be reached"):
        away.check()
    away.end()


def test_a_store_that_goes_away_is_said_and_the_add_goes_on_when_it_is_back(
    tmp_path: Path, clips: Path, encoder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "store").mkdir()
    with running(tmp_path / "store") as store:
        for name, value in store.environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("SEASYNC_STORAGE_OPTIONS", "client_max_retries=1 client_retry_timeout=1")
        sea = Sea(f"{store.bucket('sea')}/s.sea", encoder)
        stop = _after(4, store)
        with pytest.raises(SeaError, match="the store does not answer: check its address, and run it again"):
            sea.add(clips, labels="folder", commit_seconds=0, progress=lambda _: stop())
        store.start()
        again = Sea(sea.uri, encoder)
        assert 1 <= len(again) < 9
        assert again.add(clips, labels="folder").failed == []
        local = Sea(tmp_path / "s.sea", encoder)
        local.add(clips, labels="folder")
        assert by_id(again) == by_id(local)
        again.sweep()
        assert unused(again) == set()


def _after(calls: int, store: Store):  # type: ignore[no-untyped-def]
    left = iter(range(calls, -1, -1))

    def stop() -> None:
        if next(left, 0) == 1:
            store.stop()

    return stop
