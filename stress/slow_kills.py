"""Kills that take longer: a server and its workers, an adaptation, the driver and the workers of Ray."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from seasync.errors import ServeError
from seasync.sea.sea import Sea
from seasync.serve import Client
from seasync.video import probe
from stress.bench import Bench, Rows, lost, rows
from stress.journal import Round
from stress.victims import started
from tests.scale.cluster import ThreeNodes, three_nodes
from tests.serve.films import footage
from tests.serve.live import process
from tests.train.footage import sliding_squares

LOST, DOUBLED, UNREADABLE = "lost", "doubled", "unreadable"
SERVER_SECONDS, ADAPT_SECONDS, RAY_SECONDS = 4.0, 12.0, 6.0  # in which the kill comes


class SlowKills:
    """Plays the slow rounds. The cluster stays for the Ray rounds that follow each other."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._cluster: ThreeNodes | None = None
        self._stack = ExitStack()

    def server(self, seed: int) -> Round:
        """Kill a server, or one of its workers, while it adds and makes a film; start it again."""
        rng, played = np.random.default_rng(seed), Round("server")
        films = self._bench.folder / "films"
        films = films if films.exists() else footage(films)
        place = Path(self._bench.place(remote=False)).with_name(f"served {seed}.sea")
        Sea(place, self._bench.encoder).add(films / "right", labels="folder")
        before, _ = rows(Sea(place))
        options = ["--sea", place, "--state", place.with_suffix(".state"), "--root", films]
        worker = bool(rng.uniform() < 0.4)
        with process(*options) as (running, address), Client(address) as client:
            name = client.seas()[0].name
            refs = [next(client.clips(name, text=f"right/{each}")).ref for each in "ab"]
            film = client.film(name, client.align(name, *refs).request, layout="stack")
            adding = client.add(name, paths=[str(films / "arc")], label="arc")
            time.sleep(rng.uniform(0, SERVER_SECONDS))
            _kill(running, rng if worker else None)
            if worker:
                over = [_over(client, job) for job in (film, adding)]
                played.expect(all(over), UNREADABLE, "a job is stuck after its worker was killed")
                film = client.film(name, client.align(name, *refs).request, layout="stack")
                adding = client.add(name, paths=[str(films / "arc")], label="arc")
                played.expect(_over(client, adding) == "done", LOST, "the add did not go through again")
                played.expect(_over(client, film) == "done", LOST, "the film was not made again")
        now, doubled = rows(Sea(place))
        played.expect(not doubled, DOUBLED, f"{len(doubled)} clips after the kill")
        with process(*options) as (_, address), Client(address) as client:
            states = [_over(client, job) for job in (film, adding)]
            played.expect(states == ["done"] * 2, LOST, f"after the restart the jobs are {states}")
            client.fetch(film, place.with_suffix(".mp4"))
            played.expect(bool(probe(place.with_suffix(".mp4")).seconds), UNREADABLE, "the film")
        played.facts = {"worker": worker}
        self._compare(played, place, before, now, 6)
        for left in (place, place.with_suffix(".state")):
            shutil.rmtree(left, ignore_errors=True)
        return played

    def adapt(self, seed: int) -> Round:
        """Kill an adaptation; the old sea stays, and the same command goes on and ends."""
        rng, played = np.random.default_rng(seed), Round("adapt")
        source = self._bench.folder / "squares.sea"
        if not source.exists():
            squares = sliding_squares(self._bench.folder / "squares", 8)
            Sea(source, self._bench.encoder).add(squares)
        before, _ = rows(Sea(source))
        target = self._bench.place(remote=False)
        given = {"uri": str(source), "target": target}
        log = self._bench.folder / "log"
        victim = started(log, "adapt", given)
        victim.join(rng.uniform(2.0, ADAPT_SECONDS))
        played.facts = {"killed": victim.is_alive()}
        victim.kill()
        victim.join()
        played.expect(rows(Sea(source)) == (before, []), LOST, "the sea that is adapted has changed")
        now, doubled = rows(Sea(target))
        again = started(log, "adapt", given)
        again.join(300)
        played.expect(again.exitcode == 0, UNREADABLE, f"{again.exitcode}: {log.read_text()[-400:]}")
        after, twice = rows(Sea(target))
        played.expect(not doubled and not twice, DOUBLED, "clips of the adapted sea")
        played.expect(not lost(now, now, after), LOST, "clips of the adapted sea")
        if Sea(target).exists():
            played.expect(Sea(target).verify() == [], UNREADABLE, "the adapted sea")
            played.expect(after.keys() == before.keys(), LOST, f"{len(after)} clips of {len(before)}")
        return played

    def ray(self, seed: int) -> Round:
        """Kill the driver, or a worker, of an add on a cluster, onto object storage."""
        rng, played = np.random.default_rng(seed), Round("ray")
        assert self._bench.store
        if self._cluster is None:
            self._cluster = self._stack.enter_context(three_nodes())
        uri, log = self._bench.place(remote=True), self._bench.folder / "log"
        given = {"uri": uri, "encoder": self._bench.encoder, "paths": [str(self._bench.footage)]}
        given |= {"cluster": self._cluster.address}
        driver = bool(rng.uniform() < 0.5)
        victim = started(log, "add_on_ray", given)
        if driver:
            victim.join(rng.uniform(0.5, RAY_SECONDS))
            played.facts = {"driver": True, "killed": victim.is_alive()}
            victim.kill()
            victim.join()
        else:
            losing = self._cluster.lose_worker("encoded")
            victim.join(120)
            losing.join()
            played.facts = {"driver": False, "killed": len(self._cluster.lost) > 0}
            played.expect(victim.exitcode == 0, LOST, f"{victim.exitcode}: {log.read_text()[-400:]}")
        now, doubled = rows(Sea(uri))
        played.expect(not doubled, DOUBLED, f"{len(doubled)} clips after the kill")
        again = started(log, "add_on_ray", given)
        again.join(120)
        played.expect(again.exitcode == 0, UNREADABLE, f"{again.exitcode}: {log.read_text()[-400:]}")
        self._compare(played, uri, {}, now, 8)
        log.unlink(missing_ok=True)
        return played

    def close_cluster(self) -> None:
        """End Ray, if it runs."""
        self._stack.close()
        self._cluster = None

    def _compare(self, played: Round, place: Path | str, before: Rows, now: Rows, count: int) -> None:
        """The sea verifies, holds `count` clips, and what was there before or in between still is."""
        sea = Sea(place)
        after, doubled = rows(sea)
        played.expect(not doubled, DOUBLED, f"{len(doubled)} clips at the end")
        played.expect(sea.verify() == [], UNREADABLE, "the sea does not verify")
        played.expect(len(after) == count, LOST, f"{len(after)} clips of {count}")
        gone = lost(before, now, after)
        played.expect(not gone, LOST, f"{len(gone)} clips")


def _kill(running: subprocess.Popen[str], worker: np.random.Generator | None) -> None:
    """Kill the server with all its processes, or one of its workers."""
    children = psutil.Process(running.pid).children(recursive=True)
    if worker is None:
        running.kill()
        running.wait()
        psutil.wait_procs(children, timeout=30)  # they end with it
        left = [child for child in children if child.is_running()]
        assert not left, f"{len(left)} workers outlive their server"
        return
    workers = [child for child in children if "multiprocessing.spawn" in " ".join(_words(child))]
    if workers:
        with suppress(ProcessLookupError):
            os.kill(int(worker.choice([child.pid for child in workers])), signal.SIGKILL)


def _words(process: psutil.Process) -> list[str]:
    with suppress(psutil.Error):
        return process.cmdline()
    return []


def _over(client: Client, job: Any) -> str:
    """How a job has ended, whichever way; empty if it does not end."""
    try:
        return str(client.wait(job).state)
    except ServeError:
        return next((each.state for each in client.jobs() if each.id == job.id and each.is_over), "")
