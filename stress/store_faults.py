"""Rounds with an object store that is slow or fails, and with several writers at once."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from seasync.errors import SeasyncError
from seasync.sea.sea import Sea
from stress.bench import Bench, Rows, rows
from stress.flaky_proxy import FlakyProxy, Trouble
from stress.journal import Round
from stress.victims import Attempt, add
from tests.sea.adding import context
from tests.sea.footage import row

LOST, DOUBLED, OTHER = "lost", "doubled", "other errors"


def begin_at_once(bench: Bench, stack: ExitStack, seed: int, played: Round) -> None:
    """Four writers begin one sea at the same moment, each with rows of its own: all rows are in it."""
    uri, begun, each = bench.place(remote=True), context.Event(), 3
    writers = [
        Attempt("append_rows", {"uri": uri, "first": n * each, "count": each}, begun) for n in range(4)
    ]
    time.sleep(0.3)  # until all of them wait
    begun.set()
    outcomes = [writer.outcome() for writer in writers]
    played.facts = {"outcomes": [kind for kind, _ in outcomes]}
    for kind, text in outcomes:
        played.expect(kind == "done", OTHER, f"{kind}: {text}")
    now, doubled = rows(Sea(uri))
    expected = {row(n).entry.clip.id for n in range(4 * each)}
    played.expect(now.keys() == expected, LOST, f"{len(expected - now.keys())} of {len(expected)} clips")
    played.expect(not doubled, DOUBLED, f"{len(doubled)} clips")


def two_writers(bench: Bench, stack: ExitStack, seed: int, played: Round) -> None:
    """Two processes add the same videos and others, while a reader looks."""
    uri, begun = bench.place(remote=True), context.Event()
    folders = sorted(str(each) for each in bench.footage.iterdir())
    parts = (folders[: 1 + seed % 2], folders)
    writers = [Attempt("add", {"uri": uri, "encoder": bench.encoder, "paths": part}, begun) for part in parts]
    with reading(uri, played):
        begun.set()
        for writer in writers:
            kind, text = writer.outcome()
            played.expect(kind == "done", OTHER, f"{kind}: {text}")
    _expect_whole(bench, uri, played)


def _troubled(bench: Bench, seed: int, played: Round, trouble: Trouble) -> None:
    """An add through a proxy with trouble goes through or says why; again without, it ends as it should."""
    assert bench.store
    direct = os.environ["AWS_ENDPOINT"]
    proxy, uri = FlakyProxy(direct, seed), bench.place(remote=True)
    begun = context.Event()
    begun.set()
    given = {"uri": uri, "encoder": bench.encoder, "paths": [str(bench.footage)]}
    if seed % 2:
        add(uri, bench.encoder, [str(sorted(bench.footage.rglob("*.mp4"))[0])])
    before, _ = rows(Sea(uri))
    try:
        os.environ["AWS_ENDPOINT"] = proxy.endpoint
        proxy.trouble = trouble
        kind, text = Attempt("add", given, begun).outcome(240)
    finally:
        os.environ["AWS_ENDPOINT"] = direct
        proxy.close()
    played.facts = {"outcome": kind, "troubled": proxy.troubled}
    played.expect(kind in ("done", "refused"), OTHER, f"{kind}: {text}")
    played.expect("\n" not in text or kind != "refused", OTHER, f"more than one line: {text!r}")
    now, doubled = rows(Sea(uri))
    gone = [clip for clip, held in before.items() if now.get(clip) != held]
    played.expect(not gone, LOST, f"{len(gone)} clips during the trouble")
    if kind == "done":
        expected = _whole(bench)
        played.expect(now == expected, LOST, f"{len(now)} clips of {len(expected)}, though it said done")
    played.expect(not doubled, DOUBLED, f"{len(doubled)} clips after the trouble")
    add(**given)  # type: ignore[arg-type]
    _expect_whole(bench, uri, played)


def slow_store(bench: Bench, stack: ExitStack, seed: int, played: Round) -> None:
    _troubled(bench, seed, played, Trouble(slow=0.3))


def server_errors(bench: Bench, stack: ExitStack, seed: int, played: Round) -> None:
    _troubled(bench, seed, played, Trouble(error=0.1 if seed % 3 else 0.02, cut=0.02))


def flapping(bench: Bench, stack: ExitStack, seed: int, played: Round) -> None:
    _troubled(bench, seed, played, Trouble(down_seconds=0.5, slow=0.05))


def missing_objects(bench: Bench, stack: ExitStack, seed: int, played: Round) -> None:
    """404 for objects that are there: the worst answer, because it is believed."""
    _troubled(bench, seed, played, Trouble(error=0.08, errors=(404,)))


def _whole(bench: Bench) -> Rows:
    place = bench.folder / "whole.sea"
    if not place.exists():
        add(str(place), bench.encoder, [str(bench.footage)])
    return rows(Sea(place))[0]


def _expect_whole(bench: Bench, uri: str, played: Round) -> None:
    sea = Sea(uri)
    now, doubled = rows(sea)
    expected = _whole(bench)
    played.expect(now == expected, LOST, f"{len(now)} clips of {len(expected)}, or they differ")
    played.expect(not doubled, DOUBLED, f"{len(doubled)} clips at the end")
    problems = sea.verify()
    played.expect(not problems, LOST, str(problems[:2]))


@contextmanager
def reading(uri: str, played: Round) -> Iterator[None]:
    """Read the sea all the time: it has clips once it has any, and never fewer than before."""
    ended, counts = threading.Event(), [0]
    wrong: list[str] = []

    def read() -> None:
        sea = Sea(uri)
        while not ended.wait(0.05):
            try:
                if sea.exists():
                    now, _ = rows(sea)  # two copies may be there for a moment, one of them is taken back
                    counts.append(len(now))
            except SeasyncError as error:
                wrong.append(str(error))

    reader = threading.Thread(target=read)
    reader.start()
    try:
        yield
    finally:
        ended.set()
        reader.join()
    played.expect(not wrong, OTHER, f"a reader: {wrong[:1]}")
    played.expect(counts == sorted(counts), LOST, f"a reader saw {counts}")
