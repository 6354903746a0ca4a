"""Flipped bits: one in a file of a sea. `verify` finds each that changes what the sea holds.

A search that reads what a flip has changed of features, vectors or times refuses; it does not answer wrongly.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import lance  # imported once, by the server that the processes are forked from
import numpy as np

from seasync.errors import SeasyncError
from seasync.sea.maintenance import edit_clip
from seasync.sea.sea import Sea
from stress.bench import rows
from stress.journal import Round
from stress.kind import Kind, Play
from tests.sea.adding import context
from tests.sea.footage import facts, row

assert lance
context.set_forkserver_preload([__name__])
MISSED, WRONG, OTHER = "missed", "wrong answers", "other errors"
CLIPS = 24
USED = ("mean", "trajectory", "seconds_0", "numbers_0", "shots_0", "found_0", "features_0")
REFUSED = "refused"
Seen = dict[str, Any]


class Flips:
    """Copies of one sea, each with one flipped bit."""

    def __init__(self, folder: Path, *, indexed: bool) -> None:
        self._whole, self._copy = folder / "whole.sea", folder / "copy.sea"
        make_sea(self._whole, indexed=indexed)
        self._files = sorted(
            file for file in self._whole.rglob("*") if file.is_file() and file.stat().st_size
        )
        self._kinds = sorted({self._kind(file) for file in self._files})
        self._indexed, self._before = indexed, look(self._whole)

    def _kind(self, file: Path) -> str:
        return file.relative_to(self._whole).parts[0]

    def play(self, seed: int, looked: Callable[[Path], Seen | str]) -> Round:
        """Flip one bit: in seven of ten rounds anywhere in the data, else in another kind of file."""
        rng = np.random.default_rng(seed)
        kind = "data" if rng.uniform() < 0.7 else str(rng.choice(self._kinds))
        files = [each for each in self._files if self._kind(each) == kind]
        sizes = np.array([each.stat().st_size for each in files])
        file = files[rng.choice(len(files), p=sizes / sizes.sum())]
        place, bit = int(rng.integers(file.stat().st_size)), int(rng.integers(8))
        shutil.rmtree(self._copy, ignore_errors=True)
        shutil.copytree(self._whole, self._copy)
        target = self._copy / file.relative_to(self._whole)
        flipped = bytearray(target.read_bytes())
        flipped[place] ^= 1 << bit
        target.write_bytes(flipped)
        played = Round(f"a bit in {kind}")
        where = f"{target.relative_to(self._copy)}, byte {place}, bit {bit}"
        now = looked(self._copy)
        if isinstance(now, str):  # Lance may end the whole process: nobody overlooks that
            played.facts = {"file": target.name, "byte": place, "bit": bit, "ended": now}
            return played
        changed = {
            name for name, value in now["content"].items() if value != self._before["content"].get(name)
        }
        changed |= self._before["content"].keys() - now["content"].keys()
        played.facts = {"changed": sorted(changed), "found": now["found"], "where": where}
        played.expect(not changed or now["found"], MISSED, f"{where}: {sorted(changed)}")
        used = not self._indexed and kind == "data" and changed.intersection(USED)
        played.expect(not used or now["answer"] in (REFUSED, self._before["answer"]), WRONG, where)
        for text in now["said"]:
            played.expect("\n" not in text, OTHER, f"{where}: more than one line: {text!r}")
        return played


def make_sea(place: Path, *, indexed: bool) -> None:
    """A sea with all that a sea can have: several commits, removed and changed clips, and an index."""
    sea = Sea(place)
    for start in range(0, CLIPS, 8):
        sea.record.append(
            [row(n, kind=n % 3, label=f"kind {n % 3}") for n in range(start, start + 8)], facts()
        )
    first, second = (str(row(n).entry.clip.id) for n in (2, 9))
    sea.remove(clips=[first])
    edit_clip(sea.record, second, {"label": "another", "tags": ["changed"]})
    if indexed:
        sea.rebuild("ivf_pq")


def look(place: Path) -> Seen:
    """What a sea holds, by column; whether `verify` finds a problem; what a search of all clips answers."""
    said: list[str] = []

    def tried(what: Callable[[], Any]) -> Any:
        try:
            return what()
        except SeasyncError as error:
            said.append(str(error))
            return REFUSED

    def content() -> Seen:
        sea = Sea(place, create=False)
        snapshot = sea.record.snapshot()
        try:
            found, doubled = rows(sea)
        except (OSError, ValueError, RuntimeError) as error:  # Lance's own
            return {"rows": str(error)}
        ids = sorted(found)
        columns = {name: repr([found[clip][name] for clip in ids]) for name in found[ids[0]]}
        entries = repr(sorted(snapshot.metadata.items()))
        return columns | {"rows": repr((ids, doubled)), "facts": repr(snapshot.facts), "entries": entries}

    held = tried(content)
    problems = tried(lambda: Sea(place, create=False).verify(files=False))
    answer = tried(lambda: Sea(place, create=False).search(row(99, kind=1).encoding, k=CLIPS))
    if answer != REFUSED:
        answer = [(str(match.clip.id), match.draq) for match in answer]
    return {
        "content": {"rows": REFUSED} if held == REFUSED else held,
        "found": bool(problems),
        "answer": answer,
        "said": said,
    }


def _send(pipe: Connection, place: Path) -> None:
    pipe.send(look(place))


def look_in_process(place: Path) -> Seen | str:
    """`look`, in a process of its own; how it ended if it did."""
    pipe, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_send, args=(theirs, place))
    process.start()
    theirs.close()
    try:
        seen: Seen | str = pipe.recv()
    except EOFError:
        process.join()
        seen = f"ended with {process.exitcode}"
    process.join()
    return seen


@contextmanager
def opened(work: Path) -> Iterator[Play]:
    seas = [Flips(work / name, indexed=name == "indexed") for name in ("exact", "indexed")]
    yield lambda seed: seas[seed % 2].play(seed, look_in_process)


KIND = Kind("flips", (MISSED, WRONG, OTHER), 1000, opened, " flips")
