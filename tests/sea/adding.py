"""An add in a process of its own, so that it can be killed."""

from __future__ import annotations

import multiprocessing
import os
from multiprocessing.synchronize import Event

import lance  # imported once by the server that the processes are forked from
import onnxruntime

from seasync.sea.sea import Sea

context = multiprocessing.get_context("forkserver")
context.set_forkserver_preload([__name__])


def add(begun: Event, uri: str, folder: str, encoder: str, cache: str) -> None:
    """Commit after every clip, so that there is much to interrupt."""
    assert lance
    assert onnxruntime
    os.environ["SEASYNC_CACHE"] = cache
    begun.set()
    Sea(uri, encoder).add(folder, labels="folder", split=0.5, commit_seconds=0)
