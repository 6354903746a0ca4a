"""Adding on a cluster gives the rows of a local run, whatever dies on the way."""

from __future__ import annotations

import json
import os
import shutil
import socket
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from seasync.cli import main
from seasync.errors import SeaError
from seasync.files.store import objects
from seasync.ranking import query_vector
from seasync.sea import ray as on_ray
from seasync.sea.index import standard_of
from seasync.sea.ingest import Added, PendingClip
from seasync.sea.ray import Cluster
from seasync.sea.sea import Sea
from tests.cli.run import seasync
from tests.scale.adding import add_on, context
from tests.scale.cluster import ThreeNodes, ray_folder, three_nodes
from tests.scale.store import Store
from tests.scale.test_writers import unused
from tests.sea.footage import encoding, facts, row, videos
from tests.sea.test_ingest import contents

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.filterwarnings("ignore:lance is not fork-safe"),  # Ray starts programs, not forks
    pytest.mark.filterwarnings("ignore:unclosed file.*ray:ResourceWarning"),  # Ray's own logs
]


@pytest.fixture(scope="module")
def nodes() -> Iterator[ThreeNodes]:
    with three_nodes() as cluster:
        yield cluster


@pytest.fixture
def doomed() -> Iterator[ThreeNodes]:
    """A cluster that loses a node, and is of no more use then."""
    with three_nodes() as cluster:
        yield cluster


@pytest.fixture(scope="module")
def footage(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eighteen videos, one of them there twice, and one that is none."""
    folder = videos(tmp_path_factory.mktemp("footage"), 18)
    shutil.copy(folder / "dive/001.mp4", folder / "dive/twin.mp4")
    (folder / "dive/bad.mp4").write_text("no video")
    return folder


HOW = {"labels": "folder", "split": 0.5}


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory, footage: Path, encoder: str) -> tuple[Added, list]:  # type: ignore[type-arg]
    sea = Sea(tmp_path_factory.mktemp("local") / "s.sea", encoder)
    return sea.add(footage, **HOW), contents(sea)


def test_a_worker_and_a_node_are_lost_and_no_row_is(
    bucket: str,
    store: Store,
    footage: Path,
    encoder: str,
    doomed: ThreeNodes,
    local: tuple[Added, list],  # type: ignore[type-arg]
) -> None:
    sea, shards = Sea(f"{bucket}/s.sea", encoder, storage_options=store.options), []

    def progress(added: Added) -> None:
        shards.append(added.done)
        if len(shards) == 5:
            doomed.lose_node()

    cluster = Cluster(doomed.address, clips=4)
    losing = doomed.lose_worker("encoded")
    added = sea.add(footage, **HOW, on=cluster, progress=progress, commit_seconds=0)
    losing.join()
    expected, rows = local
    assert len(doomed.lost) == 1
    assert len(shards) > 10
    assert vars(added) == vars(expected)
    assert contents(sea) == rows
    assert sea.verify() == []
    sea.sweep()
    assert unused(sea) == set()
    assert objects(f"{sea.uri}/_writers") == []
    again = sea.add(footage, **HOW, on=cluster)
    assert (again.added, again.present, len(again.failed)) == (0, added.added + added.present, 1)


def test_a_driver_that_was_killed_is_run_again_and_goes_on(
    bucket: str,
    store: Store,
    footage: Path,
    encoder: str,
    nodes: ThreeNodes,
    local: tuple[Added, list],  # type: ignore[type-arg]
) -> None:
    sea = Sea(f"{bucket}/s.sea", encoder, storage_options=store.options)
    options = " ".join(f"{key}={value}" for key, value in store.options.items())
    environment = dict(os.environ) | {"SEASYNC_STORAGE_OPTIONS": options}
    given = (environment, sea.uri, str(footage), encoder, nodes.address)
    driver = context.Process(target=add_on, args=given)
    driver.start()
    while driver.is_alive() and len(sea) < 8:
        pass
    driver.kill()
    driver.join()
    before = len(sea)
    expected, rows = local
    assert 8 <= before < len(rows)
    assert contents(sea) == rows[:before]
    added = sea.add(footage, **HOW, on=Cluster(nodes.address, clips=4))
    assert added.added == expected.added - before
    assert contents(sea) == rows
    assert sea.verify() == []
    assert unused(sea) == set()


def test_on_ray_starts_one_here_and_ends_it(
    tmp_path: Path,
    footage: Path,
    encoder: str,
    local: tuple[Added, list],  # type: ignore[type-arg]
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ["add", footage, "--sea", tmp_path / "s.sea", "--encoder", encoder, "--labels", "folder"]
    words += ["--split", "0.5", "--on", "ray", "--jobs", "2", "--json"]
    monkeypatch.setattr("sys.argv", ["seasync", *map(str, words)])
    with ray_folder(), pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 1  # for the bad file
    report, (expected, rows) = json.loads(capsys.readouterr().out), local
    assert (report["added"], report["present"]) == (expected.added, expected.present)
    assert [failure["file"] for failure in report["failed"]] == [str(footage / "dive/bad.mp4")]
    assert contents(Sea(tmp_path / "s.sea")) == rows
    assert "RAY_AUTH_MODE" not in os.environ  # else no actor would start on a cluster that has no tokens


def test_clips_that_kill_their_worker_are_bad_files(
    tmp_path: Path, clips: Path, encoder: str, nodes: ThreeNodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = on_ray.encoded

    def deadly(job: on_ray.Task, clips: list[PendingClip]) -> on_ray.Shard:
        if any("001" in clip.file for clip in clips):
            os._exit(1)
        return whole(job, clips)

    monkeypatch.setattr(on_ray, "encoded", deadly)
    sea = Sea(tmp_path / "s.sea", encoder)
    added = sea.add(clips, on=Cluster(nodes.address, clips=3))
    assert (added.added, len(sea), added.done) == (8, 8, added.size)
    assert [failure.file for failure in added.failed] == [str(clips / "dive/001.mp4")]
    assert "every worker that tried it died" in added.failed[0].reason


def test_a_cluster_that_is_not_there_is_said(tmp_path: Path, clips: Path, encoder: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        free = taken.getsockname()[1]
    for address in (f"ray://127.0.0.1:{free}", f"127.0.0.1:{free}"):
        with pytest.raises(SeaError, match="no Ray cluster answers there"):
            Sea(tmp_path / "s.sea", encoder).add(clips, on=Cluster(address))


def test_where_no_cluster_runs_auto_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))  # in which no cluster has left its address
    monkeypatch.setattr("ray._private.services.find_gcs_addresses", cache(set))  # nor runs another test's
    with pytest.raises(SeaError, match=r"^auto: no Ray cluster runs") as said, Cluster("auto").connected():
        pass
    assert "ray start --head" in str(said.value)
    assert "--address" not in str(said.value), "an option of Ray's programs, not of ours"


def test_an_index_built_on_a_cluster_that_loses_workers_finds_what_all_clips_compared_do(
    bucket: str, store: Store, nodes: ThreeNodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    sea = Sea(f"{bucket}/s.sea", storage_options=store.options)
    for first in range(0, 1200, 300):
        sea.record.append([row(n, kind=n % 40, frames=4) for n in range(first, first + 300)], facts())
    queries = [encoding(5000 + n, kind=n, frames=4) for n in range(40)]
    whole = sea.record.snapshot()
    exact = [
        whole.vectors.nearest(whole, query_vector(query, whole.vectors.standard, trajectory=True)[None], 10)[
            0
        ][0]
        for query in queries
    ]
    sea.remove(clips=[str(sea.clips()[0].id)])
    where = ["--sea", sea.uri, "--index", "ivf_rq", "--on", nodes.address]
    where += [part for option in store.options.items() for part in ("--storage-option", "=".join(option))]
    with Cluster(nodes.address).connected() as ray, pytest.raises(ray.exceptions.WorkerCrashedError):
        ray.get(ray.remote(max_retries=0)(lambda: os._exit(1)).remote())  # one is lost before
    with monkeypatch.context() as patch:
        patch.setenv("RAY_AUTH_MODE", "token")  # which the cluster has not
        done = seasync("sea", "rebuild", *where)
    assert (done.returncode, sea.record.snapshot().index) == (1, None)
    assert "set RAY_AUTH_MODE=disabled); the old one is in use" in done.stderr
    losing = nodes.lose_worker("PoolActor")  # and one of those that lance-ray builds with
    done = seasync("sea", "rebuild", *where)  # in a process of its own, as users do
    losing.join()
    assert done.returncode == 0, done.stderr
    assert len(nodes.lost) == 1
    snapshot = sea.record.snapshot()
    assert snapshot.index is not None
    assert (snapshot.index.kind, snapshot.index.unindexed_rows(snapshot)) == ("ivf_rq", 0)
    assert [name for name in snapshot.dataset.schema.names if "vector_" in name] == [snapshot.index.column]
    np.testing.assert_allclose(snapshot.index.standard.mean, standard_of(snapshot).mean, rtol=1e-6)
    np.testing.assert_allclose(snapshot.index.standard.std, standard_of(snapshot).std, rtol=1e-6)
    hits = 0
    for query, truth in zip(queries, exact, strict=True):
        vector = query_vector(query, snapshot.index.standard, trajectory=True)
        hits += len(set(snapshot.index.nearest(snapshot, vector[None], 10)[0][0]) & set(truth))
    assert hits > 0.9 * 400
    assert len(sea) == 1199
    assert sea.verify(files=False) == []


def test_a_client_of_the_cluster_adds_as_well(
    tmp_path: Path, clips: Path, encoder: str, nodes: ThreeNodes
) -> None:
    sea = Sea(tmp_path / "s.sea", encoder)
    assert sea.add(clips, labels="folder", on=Cluster(nodes.client, clips=3)).added == 9
    assert sea.verify() == []
