"""Retrieval: exact, indexed, with and without an index, while rows come and go."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest

from seasync.encoding import Floats
from seasync.errors import SeaError
from seasync.ranking import Standard, clip_vectors, query_vector
from seasync.sea import index, index as exact
from seasync.sea.index import INDEX
from seasync.sea.record import Record
from seasync.sea.rows import matrix
from seasync.sea.sea import Sea
from tests.sea.footage import encoding, facts, row

KINDS = 12


def fill(sea: Sea, first: int, count: int) -> None:
    rows = [row(n, kind=n % KINDS, label=f"kind {n % KINDS}", frames=4) for n in range(first, first + count)]
    sea.record.append(rows, facts())


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """600 clips of 12 kinds. Not to be changed."""
    sea = Sea(tmp_path_factory.mktemp("made") / "s.sea")
    fill(sea, 0, 600)
    return Path(sea.uri)


@pytest.fixture
def sea(made: Path, tmp_path: Path) -> Sea:
    import shutil

    return Sea(shutil.copytree(made, tmp_path / "s.sea"))


def found(
    sea: Sea, seed: int, k: int = 10, where: str | None = None, *, trajectory: bool = True
) -> list[str]:
    """Ids of the nearest clips to a new encoding."""
    snapshot = sea.record.snapshot()
    query = query_vector(
        encoding(seed, kind=seed % KINDS, frames=4), snapshot.vectors.standard, trajectory=trajectory
    )
    ((rows, similarities, _),) = snapshot.vectors.nearest(snapshot, query[None], k, where)
    assert (np.diff(similarities) <= 1e-6).all()
    return snapshot.take(rows, ["id"])["id"].to_pylist() if len(rows) else []


def truth(sea: Sea, seed: int, k: int = 10, standard: Standard | None = None) -> list[str]:
    """The same by faiss, from the raw parts."""
    faiss = pytest.importorskip("faiss", reason="needs the extra 'dev'")
    table = sea.record.snapshot().dataset.to_table(columns=["id", "mean", "trajectory"])
    mean = matrix(table["mean"])
    standard = standard or Standard.of([mean])
    vectors = clip_vectors(mean, matrix(table["trajectory"]), standard)
    flat = faiss.IndexFlatIP(vectors.shape[1])
    flat.add(vectors)
    query = query_vector(encoding(seed, kind=seed % KINDS, frames=4), standard, trajectory=True)
    return [table["id"][int(n)].as_py() for n in flat.search(query[None], k)[1][0]]


def test_small_seas_are_searched_exactly(sea: Sea) -> None:
    assert sea.info()["index"] == "exact"
    assert all(found(sea, seed) == truth(sea, seed) for seed in range(1000, 1010))


def test_exact_search_in_pieces_gives_the_same(sea: Sea, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = [found(sea, seed, where="label <> 'kind 3'") for seed in range(1000, 1005)]
    monkeypatch.setattr(exact, "EXACT_UP_TO", 10)
    monkeypatch.setattr(exact, "CHUNK", 64)
    sea = Sea(sea.uri)
    assert [found(sea, seed, where="label <> 'kind 3'") for seed in range(1000, 1005)] == whole


@pytest.mark.parametrize("kind", ["ivf_rq", "ivf_pq"])
def test_the_index_finds_what_exact_search_finds(sea: Sea, kind: str) -> None:
    sea.rebuild(kind)
    assert sea.info()["index"] == kind
    hits = [len({*found(sea, seed)} & {*truth(sea, seed)}) for seed in range(1000, 1020)]
    assert np.mean(hits) > 9
    condition = "label = 'kind 5'"
    assert len(found(sea, 1000, 10, condition)) == 10
    assert {clip.label for clip in sea.clips(condition)} == {"kind 5"}
    ids = {clip.id for clip in sea.clips(condition)}
    assert set(found(sea, 1000, 10, condition)) <= ids


def test_rows_added_after_the_build_are_found_and_removed_ones_are_not(sea: Sea) -> None:
    sea.rebuild("ivf_rq")
    fill(sea, 600, 60)
    assert sea.info()["unindexed"] == 60
    standard = sea.record.snapshot().vectors.standard
    best = truth(sea, 1000, 60, standard)
    assert len({*found(sea, 1000, 60)} & {*best}) > 55
    new = {str(clip.id) for clip in sea.clips()[600:]}
    assert new & {*found(sea, 1000, 60)} == new & {*best} != set()
    gone = found(sea, 1000, 5)
    sea.remove(clips=gone)
    assert not {*gone} & {*found(sea, 1000, 60)}


def test_without_its_index_a_sea_still_answers(sea: Sea) -> None:
    before = found(sea, 1000)
    sea.rebuild("ivf_rq")
    sea.record.open().drop_index(f"{sea.record.snapshot().index.column}_idx")  # type: ignore[union-attr]
    assert found(sea, 1000) == before
    sea.rebuild("exact")
    assert found(sea, 1000) == before
    assert not [name for name in sea.record.snapshot().dataset.schema.names if name.startswith("vector_")]


def test_an_interrupted_build_changes_nothing_and_is_swept(sea: Sea, monkeypatch: pytest.MonkeyPatch) -> None:
    sea.rebuild("ivf_rq")
    before, column = found(sea, 1000), sea.record.snapshot().index.column  # type: ignore[union-attr]

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Record, "put_metadata", stop)
        with pytest.raises(KeyboardInterrupt):
            sea.rebuild("ivf_rq")
    assert found(Sea(sea.uri), 1000) == before
    sea.rebuild("ivf_rq")
    names = [name for name in sea.record.snapshot().dataset.schema.names if name.startswith("vector_")]
    assert len(names) == 1
    assert names != [column]


def test_readers_go_on_while_the_index_is_built(sea: Sea) -> None:
    reader, seen = Sea(sea.uri), []
    builder = threading.Thread(target=sea.rebuild, args=("ivf_rq",))
    builder.start()
    while builder.is_alive():
        seen.append(len(found(reader, 1000)))
    builder.join()
    assert set(seen) <= {10}
    assert len(found(reader, 1000)) == 10


def test_a_build_is_due_when_the_sea_outgrows_or_leaves_its_index(
    sea: Sea, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not index.is_due(sea.record.snapshot())
    monkeypatch.setattr(index, "EXACT_UP_TO", 500)
    assert index.is_due(sea.record.snapshot())
    sea.rebuild()
    assert sea.info()["index"] == "ivf_rq"
    assert not index.is_due(sea.record.snapshot())
    fill(sea, 600, 100)
    assert not index.is_due(sea.record.snapshot())
    fill(sea, 700, 100)
    assert index.is_due(sea.record.snapshot())


def test_a_build_is_due_when_the_sea_drifts(sea: Sea) -> None:
    sea.rebuild("ivf_rq")
    snapshot = sea.record.snapshot()
    assert snapshot.index is not None
    moved = Standard(snapshot.index.standard.mean + snapshot.index.standard.std, snapshot.index.standard.std)
    sea.record.put_metadata({INDEX: index.Index("ivf_rq", snapshot.index.column, moved).to_json()})
    assert index.is_due(sea.record.snapshot())


def test_an_unknown_kind_of_index_is_refused(sea: Sea) -> None:
    with pytest.raises(SeaError, match="expected one of auto, exact, ivf_rq, ivf_pq"):
        sea.rebuild("hnsw")


def test_many_vectors_at_once_give_what_each_gives_alone(sea: Sea) -> None:
    for kind in ("exact", "ivf_rq"):
        sea.rebuild(kind)
        snapshot = sea.record.snapshot()
        standard = snapshot.vectors.standard
        asked: Floats = np.stack(
            [query_vector(encoding(n, frames=4), standard, trajectory=True) for n in range(5)]
        )
        together = snapshot.vectors.nearest(snapshot, asked, 7)
        for vector, (rows, _, _) in zip(asked, together, strict=True):
            assert rows.tolist() == snapshot.vectors.nearest(snapshot, vector[None], 7)[0][0].tolist()
