"""A sea and a server against models of them in memory; hypothesis makes up what is done to them."""

from __future__ import annotations

import csv
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, ClassVar

from fastapi.testclient import TestClient
from hypothesis import HealthCheck, seed, settings, strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from seasync.errors import SeasyncError
from seasync.sea.copies import copy, differences
from seasync.sea.maintenance import edit_clip
from seasync.sea.record import Record
from seasync.sea.sea import Sea
from seasync.serve import create_app
from seasync.serve.tasks import SeaLocation
from stress.bench import Bench, rows
from stress.failing import Failing
from stress.journal import Finding, Round
from stress.kind import Kind, Play
from tests.sea.footage import videos

OTHER = "other than the model"
FILES, NAMES = 6, ("up", "down", "it's")
API = "/api/v1"
some_files = st.sets(st.integers(0, FILES - 1), min_size=1)
writers = st.integers(0, 1)  # two programs have the sea open
names = st.sampled_from(NAMES)


class SeaMachine(RuleBasedStateMachine):
    """A sea that two writers change, in turn. The model knows each clip's label and tags."""

    bench: ClassVar[Bench]

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(dir=self.bench.folder))
        footage = self.bench.folder / "modeled"
        if not footage.exists():
            videos(footage, FILES, frames=6)
        self.files = sorted(map(str, footage.rglob("*.mp4")))
        self.seas = [Sea(self.folder / "s.sea", self.bench.encoder) for _ in range(2)]
        self.model: dict[str, tuple[str | None, tuple[str, ...]]] = {}

    def teardown(self) -> None:
        shutil.rmtree(self.folder)

    @rule(writer=writers, files=some_files, label=st.none() | names, tags=st.lists(names, max_size=1))
    def add(self, writer: int, files: set[int], label: str | None, tags: list[str]) -> None:
        self._add(writer, files, label, tags)

    @rule(writer=writers, files=some_files, label=names, at=st.integers(1, 60), late=st.booleans())
    def add_with_an_error(self, writer: int, files: set[int], label: str, at: int, late: bool) -> None:
        """An error on the way; what is there is as before or as after, and the same again goes through."""
        before, _ = rows(Sea(self.seas[0].uri))
        try:
            with Failing(self.folder, at=at, late=late).patched():
                self.seas[writer].add(self._list(files, label), commit_seconds=0)
        except (SeasyncError, OSError):
            pass
        now, doubled = rows(Sea(self.seas[0].uri))
        assert not doubled
        assert before.keys() <= now.keys()
        self._add(writer, files, label, [])

    def _add(self, writer: int, files: set[int], label: str | None, tags: list[str]) -> None:
        new = [self.files[n] for n in sorted(files) if self.files[n] not in self.model]
        added = self.seas[writer].add(self._list(files, label), tags=tags)
        assert not added.failed
        assert added.added <= len(new)
        for file in (self.files[n] for n in files):
            old_label, old_tags = self.model.get(file, (None, ()))
            self.model[file] = (label or old_label, tuple(tags) or old_tags)

    def _list(self, files: set[int], label: str | None) -> Path:
        place = self.folder / "list.csv"
        with place.open("w", newline="") as out:
            writer = csv.writer(out)
            writer.writerow(["file", "label"])
            writer.writerows([self.files[n], label or ""] for n in sorted(files))
        return place

    def _id(self, file: str) -> str:
        (clip,) = [clip for clip in Sea(self.seas[0].uri).clips() if clip.file == file]
        return str(clip.id)

    @precondition(lambda self: self.model)
    @rule(writer=writers, data=st.data())
    def remove_a_clip(self, writer: int, data: st.DataObject) -> None:
        file = data.draw(st.sampled_from(sorted(self.model)))
        assert self.seas[writer].remove(clips=[self._id(file)[:12]]) == 1
        del self.model[file]

    @precondition(lambda self: self.model)
    @rule(writer=writers, label=names)
    def remove_a_label(self, writer: int, label: str) -> None:
        gone = [file for file, (own, _) in self.model.items() if own == label]
        assert self.seas[writer].remove(labels=[label]) == len(gone)
        for file in gone:
            del self.model[file]

    @precondition(lambda self: self.model)
    @rule(writer=writers, label=st.none() | names, tags=st.lists(names, max_size=2), data=st.data())
    def relabel(self, writer: int, label: str | None, tags: list[str], data: st.DataObject) -> None:
        file = data.draw(st.sampled_from(sorted(self.model)))
        edit_clip(self.seas[writer].record, self._id(file), {"label": label, "tags": tags})
        self.model[file] = (label, tuple(tags))

    @precondition(lambda self: len(self.model) > 1)
    @rule(writer=writers, kind=st.sampled_from(["exact", "ivf_pq"]))
    def rebuild(self, writer: int, kind: Any) -> None:
        self.seas[writer].rebuild(kind)

    @precondition(lambda self: self.model)
    @rule(writer=writers)
    def copy(self, writer: int) -> None:
        place = self.folder / "copy.sea"
        shutil.rmtree(place, ignore_errors=True)
        copy(self.seas[writer].record, Record(place))
        assert differences(self.seas[1 - writer].record, Record(place)) == {}

    @precondition(lambda self: self.model)
    @rule(writer=writers)
    def sweep(self, writer: int) -> None:
        self.seas[writer].sweep()

    @invariant()
    def is_as_the_model(self) -> None:
        for sea in (*self.seas, Sea(self.seas[0].uri)):
            entries = sea.entries() if sea.exists() else []
            assert {entry.clip.file: (entry.clip.label, entry.tags) for entry in entries} == self.model
            assert len(entries) == len(self.model)
        if self.model:
            assert self.seas[0].verify() == []
            found = self.seas[1].search(next(iter(self.model)), k=FILES)
            assert {match.clip.file for match in found} <= self.model.keys()


class ServerMachine(RuleBasedStateMachine):
    """A server that is restarted at any time. The model knows its uploads, comparisons and marks."""

    bench: ClassVar[Bench]

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(dir=self.bench.folder))
        served = self.bench.folder / "served by a model.sea"
        if not served.exists():
            Sea(served, self.bench.encoder).add(self.bench.footage)
        self.sea = shutil.copytree(served, self.folder / "small.sea")
        self.video = sorted(self.bench.footage.rglob("*.mp4"))[0].read_bytes()
        self.stack = ExitStack()
        self.uploads: dict[int, str] = {}
        self.comparisons: dict[str, str] = {}
        self.marks: dict[str, list[str]] = {}
        self._start()
        self.refs = [clip["ref"] for clip in self._ask("GET", "/seas/small/clips")["clips"]]

    def _start(self) -> None:
        location = SeaLocation(str(self.sea), self.bench.encoder)
        app = create_app({"small": location}, state=self.folder / "state", warm=False)
        self.client = self.stack.enter_context(TestClient(app, base_url="http://127.0.0.1"))

    def _ask(self, method: str, path: str, **more: Any) -> Any:
        answer = self.client.request(method, API + path, **more)
        assert answer.status_code < 400, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json() if answer.content else None

    def teardown(self) -> None:
        self.stack.close()
        shutil.rmtree(self.folder)

    @rule()
    def restart(self) -> None:
        self.stack.close()
        self._start()

    @rule(number=st.integers(0, 3))
    def upload(self, number: int) -> None:
        content = self.video + bytes([number])
        answer = self._ask("POST", "/uploads", params={"name": f"{number}.mp4"}, content=content)
        assert self.uploads.setdefault(number, answer["id"]) == answer["id"]

    @precondition(lambda self: self.uploads)
    @rule(data=st.data())
    def delete_an_upload(self, data: st.DataObject) -> None:
        number = data.draw(st.sampled_from(sorted(self.uploads)))
        self._ask("DELETE", f"/uploads/{self.uploads.pop(number)}")

    @rule(name=names, at=st.integers(1, 3))
    def keep_a_comparison(self, name: str, at: int) -> None:
        """The same request again is the same comparison, with the new name."""
        pair = {"query": self.refs[0], "match": self.refs[at]}
        done = self._ask("POST", "/comparisons", json={"sea": "small", "alignment": pair, "name": name})
        self.comparisons[done["id"]] = name

    @precondition(lambda self: self.comparisons)
    @rule(name=names, data=st.data())
    def rename_a_comparison(self, name: str, data: st.DataObject) -> None:
        comparison = data.draw(st.sampled_from(sorted(self.comparisons)))
        self._ask("PATCH", f"/comparisons/{comparison}", json={"name": name})
        self.comparisons[comparison] = name

    @precondition(lambda self: self.comparisons)
    @rule(data=st.data())
    def delete_a_comparison(self, data: st.DataObject) -> None:
        comparison = data.draw(st.sampled_from(sorted(self.comparisons)))
        self._ask("DELETE", f"/comparisons/{comparison}")
        del self.comparisons[comparison]

    @rule(at=st.integers(0, 2), marks=st.lists(names, max_size=3, unique=True))
    def set_marks(self, at: int, marks: list[str]) -> None:
        given = [
            {"kind": "moment", "name": name, "seconds": 0.1 * n, "frame": n} for n, name in enumerate(marks)
        ]
        self._ask("PUT", f"/seas/small/marks/{self.refs[at]}", json=given)
        self.marks[self.refs[at]] = marks

    @rule(height=st.sampled_from([60, 62]))
    def make_a_film(self, height: int) -> None:
        pair = {"query": self.refs[0], "match": self.refs[1]}
        job = self._ask("POST", "/seas/small/alignment/film", json={"alignment": pair, "size": [80, height]})
        with self.client.stream("GET", f"{API}/jobs/events", params={"job": job["id"]}) as answer:
            for _ in answer.iter_lines():
                pass
        assert self._ask("GET", f"/jobs/{job['id']}")["state"] == "done"

    @invariant()
    def is_as_the_model(self) -> None:
        uploads = {each["id"] for each in self._ask("GET", "/uploads")}
        assert uploads == set(self.uploads.values())
        assert {each.name for each in (self.folder / "state/uploads").iterdir()} == uploads
        comparisons = {each["id"]: each["name"] for each in self._ask("GET", "/comparisons")}
        assert comparisons == self.comparisons
        for ref, marks in self.marks.items():
            assert [each["name"] for each in self._ask("GET", f"/seas/small/marks/{ref}")["marks"]] == marks


def check(machine: type[Any], bench: Bench, *, examples: int, steps: int, number: int = 0) -> None:
    """Let hypothesis look for steps after which the machine is not as its model."""
    machine.bench = bench
    how = settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(seed(number)(machine), settings=how)


@contextmanager
def opened(work: Path) -> Iterator[Play]:
    with Bench(work) as bench:

        def play(number: int) -> Round:
            machine = SeaMachine if number % 4 else ServerMachine
            played = Round(machine.__name__)
            try:
                check(machine, bench, examples=10 if number % 4 else 3, steps=30, number=number)
            except Exception as error:  # noqa: BLE001 - each is a finding
                said = "; ".join(getattr(error, "__notes__", []))
                played.findings.append(Finding(OTHER, f"{type(error).__name__}: {error} {said}"[:2000]))
            return played

        yield play


KIND = Kind("models", (OTHER,), 40, opened, " rounds")
