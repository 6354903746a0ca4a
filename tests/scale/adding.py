"""Adds in processes of their own, so that they race, and can be killed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from multiprocessing.synchronize import Event

from seasync.sea.ray import Cluster
from seasync.sea.sea import Sea
from tests.sea.adding import context


def add(begun: Event, environment: Mapping[str, str], uri: str, folder: str, encoder: str) -> None:
    """Commit after every clip, so that there is much to come in between."""
    os.environ.update(environment)
    sea = Sea(uri, encoder)
    begun.wait()
    sea.add(folder, labels="folder", split=0.5, commit_seconds=0)


def racing(count: int, *given: object) -> None:
    """Run so many adds at once, to their end."""
    begun = context.Event()
    adds = [context.Process(target=add, args=(begun, dict(os.environ), *given)) for _ in range(count)]
    for process in adds:
        process.start()
    begun.set()
    for process in adds:
        process.join()
    assert [process.exitcode for process in adds] == [0] * count


def add_on(environment: Mapping[str, str], uri: str, folder: str, encoder: str, cluster: str) -> None:
    """An add on a cluster, with a commit after every shard."""
    os.environ.update(environment)
    on = Cluster(cluster, clips=4)
    Sea(uri, encoder).add(folder, labels="folder", split=0.5, commit_seconds=0, on=on)
