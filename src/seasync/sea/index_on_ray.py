"""The index of a sea, built on a Ray cluster: by fragments, each step with one commit.

Tasks measure mean and standard deviation of their fragments, then write the clip vectors beside them;
lance-ray trains the index once and lets workers fill its segments.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from seasync.errors import MissingExtra, SeaError
from seasync.sea.cluster import ATTEMPTS, Cluster
from seasync.sea.index import KINDS, Index, partitions, quantization, vectors_of
from seasync.sea.record import Record
from seasync.sea.rows import matrix
from seasync.similarity import Moments, Standard

if TYPE_CHECKING:
    from seasync.encoding import Floats

SAMPLES = 256  # vectors for each center that is trained


def standard_on(ray: Any, cluster: Cluster, record: Record) -> Standard:
    """Mean and standard deviation of the set, by a pass of all workers."""
    first = record.snapshot().table(["mean"], limit=1)
    if not len(first):
        raise SeaError(f"{record.uri}: the sea is empty; there is nothing to index")
    origin = matrix(first["mean"])[0]
    task = cluster.remote(ray, _moments, light=True)
    parts = [
        task.remote(record.uri, record.storage_options, record.snapshot().version, numbers, origin)
        for numbers in _shares(ray, cluster, record)
    ]
    whole = Moments(origin.astype(np.float64))
    for part in _got(ray, parts):
        whole = whole.with_those_of(part)
    return whole.standard()


def write_vectors_on(ray: Any, cluster: Cluster, record: Record, index: Index) -> None:
    """The index's column, written beside each fragment by tasks, in one commit."""
    import lance
    from lance.dataset import LanceOperation

    dataset = record.open()
    task = cluster.remote(ray, _with_vectors, light=True)
    parts = [
        task.remote(record.uri, record.storage_options, dataset.version, numbers, index)
        for numbers in _shares(ray, cluster, record)
    ]
    done = [pair for part in _got(ray, parts) for pair in part]
    rows = sum(fragment.physical_rows for fragment, _ in done)
    if rows != sum(fragment.physical_rows for fragment in dataset.get_fragments()):
        raise SeaError(f"{record.uri}: not all rows have a vector; nothing is committed, run it again")
    operation = LanceOperation.Merge([fragment for fragment, _ in done], done[0][1])
    lance.LanceDataset.commit(dataset, operation, read_version=dataset.version)


def create_on(ray: Any, cluster: Cluster, record: Record, index: Index, rows: int) -> None:
    """Train the index and fill it, segment by segment, on the cluster; one commit."""
    try:
        from lance_ray import create_index
    except ImportError:
        raise MissingExtra("ray", "an index built on a cluster") from None
    from ray.exceptions import RayError

    centres, again = partitions(rows), ATTEMPTS - 1
    dimension = record.open().schema.field(index.column).type.list_size
    try:
        create_index(
            record.uri,
            index.column,
            KINDS[index.kind],
            metric="dot",
            num_partitions=centres,
            sample_rate=max(2, min(SAMPLES, rows // max(centres, 256))),
            num_workers=cluster.places(ray),
            storage_options=record.storage_options or None,
            ray_remote_args={"num_cpus": cluster.cpus, "max_restarts": again, "max_task_retries": again},
            **quantization(index.kind, dimension),
        )
    except (RayError, RuntimeError) as error:
        raise _failed(error) from error


def _moments(
    uri: str, options: dict[str, str], version: int, numbers: Sequence[int], origin: Floats
) -> Moments:
    found = Moments(origin.astype(np.float64))
    dataset = _at(uri, options, version)
    for number in numbers:
        for batch in dataset.get_fragment(number).to_batches(columns=["mean"]):
            found.take(matrix(batch["mean"]))
    return found


def _with_vectors(
    uri: str, options: dict[str, str], version: int, numbers: Sequence[int], index: Index
) -> list[tuple[Any, Any]]:
    dataset = _at(uri, options, version)
    made = vectors_of(index, dataset.schema)
    return [
        dataset.get_fragment(number).merge_columns(made, columns=["mean", "trajectory"]) for number in numbers
    ]


def _at(uri: str, options: dict[str, str], version: int) -> Any:
    import lance

    return lance.dataset(uri, version=version, storage_options=options or None)


def _shares(ray: Any, cluster: Cluster, record: Record) -> list[list[int]]:
    """The numbers of the fragments, a few for each task."""
    numbers = [fragment.fragment_id for fragment in record.snapshot().dataset.get_fragments()]
    count = min(len(numbers), 4 * cluster.places(ray))
    return [part.tolist() for part in np.array_split(np.array(numbers), count)]


def _got(ray: Any, tasks: Sequence[Any]) -> list[Any]:
    from ray.exceptions import RayError

    try:
        return list(ray.get(list(tasks)))
    except RayError as error:
        raise _failed(error) from error


def _failed(error: Exception) -> SeaError:
    text = str(error).strip()
    said = text.splitlines()[-1].strip()
    if "references to the actor were removed" in text:
        said += "; if the cluster has no tokens: set RAY_AUTH_MODE=disabled"
    return SeaError(f"the cluster could not build the index ({said}); the old one is in use, run it again")
