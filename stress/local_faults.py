"""Rounds with a disk that is full or read-only, permissions that go away, and a clock that jumps."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from seasync.sea.sea import Sea
from stress.bench import Bench, lost, rows
from stress.journal import Round
from stress.victims import WORK, Attempt
from tests.sea.adding import context

LOST, DOUBLED, OTHER = "lost", "doubled", "other errors"
PAGE = 4096
NOBODY = 65534
DISK_MB = 24


def _disk(bench: Bench, stack: ExitStack) -> Path:
    """A small file system, mounted once."""
    place = bench.folder / "disk"
    if not place.exists():
        place.mkdir()
        size = f"size={DISK_MB}m"
        subprocess.run(["mount", "-t", "tmpfs", "-o", size, "tmpfs", place], check=True)
        stack.callback(subprocess.run, ["umount", "-l", place], check=False)
    for each in place.iterdir():
        shutil.rmtree(each) if each.is_dir() else each.unlink()
    return place


def _cases(bench: Bench, place: Path, rng: np.random.Generator) -> tuple[str, dict[str, object], Path]:
    """Work on a sea on the small disk: which, with what, on which sea."""
    match int(rng.integers(5)):
        case 0:
            sea = Path(shutil.copytree(bench.made, place / "made.sea"))
            return "rebuild", {"uri": str(sea)}, sea
        case 1:
            sea = Path(shutil.copytree(bench.made, place / "made.sea"))
            clips = [str(clip.id) for clip in Sea(sea).clips(label="kind 2")]
            return "remove", {"uri": str(sea), "clips": clips, "labels": ["kind 1"]}, sea
        case 2:
            sea = place / "copy.sea"
            return "copy_to", {"uri": str(bench.made), "target": str(sea)}, sea
        case _:
            sea = place / "s.sea"
            return "add", {"uri": str(sea), "encoder": bench.encoder, "paths": [str(bench.footage)]}, sea


def _disturbed(
    played: Round, work: str, given: dict[str, object], sea: Path, disturb: Callable[[], None],
    repair: Callable[[], None], *, user: int | None = None,
) -> None:  # fmt: skip
    """Work that is disturbed goes through or says why; repaired and done again, it ends as it should."""
    before, _ = rows(Sea(sea))
    begun = context.Event()
    under_way = Attempt(work, given, begun, user=user)
    begun.set()
    disturb()
    kind, text = under_way.outcome()
    played.facts |= {"work": work, "outcome": kind}
    played.expect(kind in ("done", "refused"), OTHER, f"{work}: {kind}: {text}")
    played.expect("\n" not in text or kind != "refused", OTHER, f"{work}: more than one line: {text!r}")
    now, doubled = rows(Sea(sea))
    played.expect(not doubled, DOUBLED, f"{work}: {len(doubled)} clips")
    repair()
    WORK[work](**given)
    after, doubled = rows(Sea(sea))
    played.expect(not doubled, DOUBLED, f"{work}: {len(doubled)} clips at the end")
    gone = lost(before, now, after)
    played.expect(not gone, LOST, f"{work}: {len(gone)} clips")
    problems = Sea(sea).verify(files=work == "add")
    played.expect(not problems, LOST, f"{work}: {problems[:2]}")
    count = {"rebuild": 40, "remove": 20, "copy_to": 40, "add": 8}[work]
    played.expect(len(after) == count, LOST, f"{work}: {len(after)} clips of {count}")


def disk_full(bench: Bench, stack: ExitStack, seed: int, played: Round) -> None:
    """The disk is full after some pages more, or fills up in the middle."""
    rng, place = np.random.default_rng(seed), _disk(bench, stack)
    work, given, sea = _cases(bench, place, rng)
    pages = int(rng.integers(0, 120))
    played.facts = {"pages": pages}

    def fill() -> None:
        found = os.statvfs(place)
        with (place / "filler").open("wb") as filler:
            filler.write(bytes(max(0, found.f_bavail * found.f_frsize - pages * PAGE)))

    if rng.uniform() < 0.7:
        fill()
        _disturbed(played, work, given, sea, lambda: None, (place / "filler").unlink)
    else:

        def later() -> None:
            time.sleep(rng.uniform(0, 0.6))
            fill()

        _disturbed(played, work, given, sea, later, (place / "filler").unlink)


def read_only(bench: Bench, stack: ExitStack, seed: int, played: Round) -> None:
    """The file system becomes read-only in the middle."""
    rng, place = np.random.default_rng(seed), _disk(bench, stack)
    work, given, sea = _cases(bench, place, rng)

    def remount(how: str, *, tries: int = 200) -> None:
        for _ in range(tries):  # busy while a file is open for writing
            done = subprocess.run(["mount", "-o", f"remount,{how}", place], capture_output=True)
            if not done.returncode:
                return
            time.sleep(0.005)

    def disturb() -> None:
        time.sleep(rng.uniform(0, 0.5))
        remount("ro")

    try:
        _disturbed(played, work, given, sea, disturb, lambda: remount("rw"))
    finally:
        remount("rw")


def lost_permissions(bench: Bench, stack: ExitStack, seed: int, played: Round) -> None:
    """A user without rights loses the right to write, to the sea and to the cache, in the middle."""
    rng, place = np.random.default_rng(seed), _disk(bench, stack)
    work, given, sea = _cases(bench, place, rng)
    cache = place / "cache"
    cache.mkdir()
    kept, os.environ["SEASYNC_CACHE"] = os.environ["SEASYNC_CACHE"], str(cache)
    for folder in (bench.folder, *bench.folder.parents[:-1]):
        if folder.name.startswith("stress"):
            folder.chmod(0o755)
    _own(place, NOBODY)

    def disturb() -> None:
        time.sleep(rng.uniform(0, 0.5))
        _own(place, 0)

    try:
        _disturbed(played, work, given, sea, disturb, lambda: None, user=NOBODY)
    finally:
        os.environ["SEASYNC_CACHE"] = kept


def _own(place: Path, user: int) -> None:
    for each in (place, *place.rglob("*")):
        try:
            os.chown(each, user, user)
        except FileNotFoundError:  # it has just been renamed or deleted
            continue


def clock_jumps(bench: Bench, stack: ExitStack, seed: int, played: Round) -> None:
    """The clock jumps by hours and by years during an add."""
    begun = context.Event()
    begun.set()
    uri = bench.place(remote=bool(seed % 2))
    given = {"uri": uri, "encoder": bench.encoder, "paths": [str(bench.footage)], "seed": seed}
    kind, text = Attempt("add_with_clock", given, begun).outcome()
    played.facts = {"outcome": kind}
    played.expect(kind == "done", OTHER, f"{kind}: {text}")
    now, doubled = rows(Sea(uri))
    played.expect(len(now) == 8 and not doubled, LOST, f"{len(now)} clips of 8, {len(doubled)} doubled")
    played.expect(Sea(uri).verify() == [], LOST, "the sea does not verify")


def state_full(bench: Bench, stack: ExitStack, seed: int, played: Round) -> None:
    """A server whose state folder is full refuses with a reason, never with an internal error."""
    from fastapi.testclient import TestClient

    from seasync.serve import create_app, stores
    from seasync.serve.tasks import SeaLocation

    rng, place = np.random.default_rng(seed), _disk(bench, stack)
    stores.RESERVE_BYTES = 0  # the disk is smaller than what uploads leave free
    seas = {"small": SeaLocation(str(bench.folder / "served.sea"), bench.encoder)}
    if not (bench.folder / "served.sea").exists():
        Sea(bench.folder / "served.sea", bench.encoder).add(bench.footage)
    app = create_app(seas, state=place / "state")
    video = sorted(bench.footage.rglob("*.mp4"))[seed % 4].read_bytes()
    with TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False) as client:

        def ask() -> list[tuple[str, int, str]]:
            clips = client.get("/api/v1/seas/small/clips").json()["clips"][:2]
            refs = [clip["ref"] for clip in clips]
            pair = {"query": refs[0], "match": refs[1]}
            answers = [
                ("upload", client.post("/api/v1/uploads", params={"name": "a.mp4"}, content=video)),
                ("align", client.get("/api/v1/seas/small/alignment", params=pair)),
                ("timeline", client.get("/api/v1/seas/small/alignment/timeline.csv", params=pair)),
                ("picture", client.get("/api/v1/seas/small/alignment/picture.png", params=pair)),
                ("keep", client.post("/api/v1/comparisons", json={"sea": "small", "alignment": pair})),
                ("film", client.post("/api/v1/seas/small/alignment/film", json={"alignment": pair})),
                ("jobs", client.get("/api/v1/jobs")),
            ]  # fmt: skip
            return [(name, answer.status_code, answer.text[:200]) for name, answer in answers]

        pages = int(rng.integers(0, 24))
        found = os.statvfs(place)
        with (place / "filler").open("wb") as filler:
            filler.write(bytes(max(0, found.f_bavail * found.f_frsize - pages * PAGE)))
        for name, status, text in ask():
            played.expect(status != 500, OTHER, f"{name}, {pages} pages left: {status} {text}")
        (place / "filler").unlink()
        for name, status, text in ask():
            played.expect(status < 400, OTHER, f"{name} with room again: {status} {text}")
        end = time.monotonic() + 60
        while time.monotonic() < end:
            waiting = [
                job for job in client.get("/api/v1/jobs").json() if job["state"] in ("queued", "running")
            ]
            if not waiting:
                break
            time.sleep(0.2)
        played.expect(not waiting, OTHER, f"{len(waiting)} jobs are stuck")
