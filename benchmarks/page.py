"""The page in a real browser: videos in step, a coach's task, memory. Part of `benchmarks.serve`."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.goals import Goals
from seasync.sea.sea import Sea
from seasync.serve import Client
from seasync.video import Writer

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]


@contextmanager
def server(sea: Path, state: Path, root: Path) -> Iterator[tuple[str, int]]:
    """A server's address and its process."""
    command = [sys.executable, "-c", "from seasync.cli import main; main()", "serve", "--sea", str(sea)]
    command += ["--state", str(state), "--root", str(root), "--port", "0", "--no-token"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        try:
            yield running.stdout.readline().strip(), running.pid
        finally:
            running.terminate()


@contextmanager
def browser() -> Iterator[Browser | None]:
    """Chromium, or None where there is none."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        print("no Chromium here, so nothing is played")
        yield None
        return
    from playwright.sync_api import sync_playwright

    with sync_playwright() as browsers:
        opened = browsers.chromium.launch(executable_path=program, args=FLAGS)
        yield opened
        opened.close()


def play(folder: Path, encoder: str, goals: Goals, *, seconds: float, tiles: Sequence[int]) -> None:
    """Films of one movement at varying speeds (.7 to 1.45), in step: two in the sync view, more in a grid."""
    films, steady = folder / "pair", np.linspace(0, 1, 180)
    for number in range(max(tiles)):
        bend = 0.06 * np.sin(2 * np.pi * steady + number) * (number > 0)
        film(films / f"{number}.mp4", np.clip(steady + bend, 0, 1), size=(640, 360))
    Sea(folder / "pair.sea", encoder).add(films)
    with server(folder / "pair.sea", folder / "state2", films) as (address, _), browser() as opened:
        if opened is None:
            return
        with Client(address) as client:
            refs = [clip.ref for clip in sorted(client.clips("pair"), key=lambda clip: clip.name)]
        for count in tiles:
            followers = "".join(f"&follower={ref}" for ref in refs[1:count])
            view = (
                f"sync?query={refs[0]}&match={refs[1]}" if count == 2 else f"grid?leader={refs[0]}{followers}"
            )
            page = opened.new_page(viewport={"width": 1280, "height": 800})
            page.goto(f"{address}#/pair/{view}")
            page.wait_for_selector(".matrix" if count == 2 else ".many", timeout=120_000)
            page.evaluate("(seasync.player.loop = true, seasync.player.play())")
            page.wait_for_timeout(1000 * (seconds + 1))
            found = page.evaluate("seasync.player.followers.map((one) => one.errors)")
            errors = np.round(np.concatenate(found), 2)  # browsers' clocks are exact to that
            page.close()
            p50, p95 = np.percentile(errors, (50, 95))
            shown = len(found[0]) / (seconds + 1)  # as long as it played
            print(
                f"{count} tiles in step: p50 {p50:.2f}, p95 {p95:.2f} frames off, {shown:.0f} frames a second"
            )
            if count <= 4:
                goals.at_most(f"serve {count} tiles in step while playing, p95", p95, 1.0, " frames")


def dropped(folder: Path, goals: Goals) -> None:
    """Two clips of five seconds dropped on the start page, with the default encoder and no sea."""
    files = [folder / "dropped" / f"{name}.mp4" for name in ("first", "second")]
    film_two(files, 0.05)
    place = folder / "none.sea"
    with server(place, folder / "state3", folder) as (address, _), browser() as opened:
        if opened is None:
            return
        page = opened.new_page(viewport={"width": 1280, "height": 800})
        page.goto(address)
        page.wait_for_selector(".slot")
        began = time.monotonic()
        for number, file in enumerate(files):
            with page.expect_file_chooser() as chooser:
                page.locator(".slot").nth(number).click()
            chooser.value.set_files(file)
        page.wait_for_selector(".matrix", timeout=300_000)
        first = time.monotonic() - began
        while page.evaluate("seasync.alignment.detail") != "full":
            page.wait_for_timeout(50)
        full = time.monotonic() - began
    print(f"two clips of 5 s dropped: first frame in step after {first:.1f} s, refined after {full:.1f} s")
    goals.at_most("serve first result of two dropped clips", first, 10.0, " s")


def make_unknown(file: Path) -> None:
    """Add an unused box with random bytes to an MP4 file, so that no cache has its features."""
    with file.open("ab") as out:
        out.write(struct.pack(">I4s16s", 24, b"free", os.urandom(16)))


def film(file: Path, progress: np.ndarray, *, size: tuple[int, int]) -> None:
    """A disc that crosses the picture: how far it is in each frame."""
    file.parent.mkdir(parents=True, exist_ok=True)
    width, height = size
    y, x = np.mgrid[:height, :width]
    with Writer(file, fps=Fraction(30), size=size) as out:
        for share in progress.tolist():
            picture = np.full((height, width, 3), (40, 70, 90), np.uint8)
            away = (x - width * (0.1 + 0.8 * share)) ** 2 + (
                y - height * (0.5 + 0.3 * np.sin(6 * share))
            ) ** 2
            picture[away < (height / 6) ** 2] = (240, int(200 * (1 - share)), 60)
            out.write(picture)


WEIGHT = "performance.getEntriesByType('resource').filter((one) => /\\.(js|css|svg)$/.test(one.name))"
PAGE_BYTES = 4096


class Clicks:
    """Counts the clicks of a task."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, what: Locator) -> None:
        what.click(timeout=300_000)
        self.count += 1


def coach(folder: Path, goals: Goals) -> None:
    """Two phone clips: where is the largest difference of timing? Then the film of both is downloaded.

    The default encoder aligns them.
    """
    with server(folder / "no.sea", folder / "state4", folder) as (address, _), browser() as opened:
        if opened is None:
            return
        page = opened.new_page(viewport={"width": 1280, "height": 800})
        page.goto(address)
        page.wait_for_selector(".slot")
        files = [folder / "phone" / f"{name}.mp4" for name in ("me", "model")]
        film_two(files, 0.04, size=(360, 640))
        began, click = time.monotonic(), Clicks()
        with page.expect_file_chooser() as chooser:
            click(page.locator(".slot").first)
        chooser.value.set_files(files)
        click(page.locator(".moments tbody button").first)
        found = time.monotonic() - began
        with page.expect_download(timeout=300_000) as download:
            click(page.get_by_role("button", name="Download film"))
        size = Path(download.value.path()).stat().st_size
        total = time.monotonic() - began
        print(
            f"two phone clips: largest difference after {found:.1f} s; film ({size / 1e6:.1f} MB) downloaded "
            f"after {click.count} clicks and {total:.1f} s"
        )
        goals.at_most("serve clicks from two clips to the film", click.count, 3)
        weigh(page, goals)


def film_two(files: Sequence[Path], bend: float, *, size: tuple[int, int] = (640, 360)) -> None:
    """Films of five seconds that no cache knows; each changes its pace more than the one before."""
    steady = np.linspace(0, 1, 150)
    for number, file in enumerate(files):
        film(file, steady + bend * number * np.sin(2 * np.pi * steady), size=size)
        make_unknown(file)


def weigh(page: Page, goals: Goals) -> None:
    """What the page itself costs to load, without videos."""
    sizes = page.evaluate(f"{WEIGHT}.map((one) => one.encodedBodySize)")
    count, size = len(sizes), sum(sizes)
    print(f"page weight: {size / 1e3:.0f} kB in {count} files")
    goals.at_most("serve page weight", size / 1e3, 300, " kB")


def loop(folder: Path, encoder: str, goals: Goals, seconds: float) -> None:
    """Loop a pair in the sync view. Its memory after a tenth of the time is compared with that at the end."""
    films = folder / "looped"
    film_two([films / "me.mp4", films / "model.mp4"], 0.04)
    Sea(folder / "looped.sea", encoder).add(films)
    with server(folder / "looped.sea", folder / "state5", films) as (address, _), browser() as opened:
        if opened is None:
            return
        with Client(address) as client:
            query, match = (clip.ref for clip in client.clips("looped"))
        page = opened.new_page(viewport={"width": 1280, "height": 800})
        page.goto(f"{address}#/looped/sync?query={query}&match={match}")
        page.wait_for_selector(".matrix", timeout=300_000)
        measure_loop(page, goals, seconds)


def measure_loop(page: Page, goals: Goals, seconds: float) -> None:
    tools = page.context.new_cdp_session(page)
    page.evaluate("(seasync.player.loop = true, seasync.player.play())")
    tools.send("Performance.enable")
    measured = []
    for wait in (0.1 * seconds, 0.9 * seconds):
        page.wait_for_timeout(1000 * wait)
        tools.send("HeapProfiler.collectGarbage")
        metrics = tools.send("Performance.getMetrics")
        heap = {one["name"]: one["value"] for one in metrics["metrics"]}["JSHeapUsedSize"]
        measured.append((heap / 1e6, resident_megabytes()))
    (heap, resident), (later_heap, later) = measured
    print(
        f"memory after {0.1 * seconds:.0f} and {seconds:.0f} s of looping: script {heap:.1f} and "
        f"{later_heap:.1f} MB, all processes of the browser {resident:.0f} and {later:.0f} MB"
    )
    goals.at_most("serve memory growth while looping", later / max(resident, 1) - 1, 0.1)


def resident_megabytes() -> float:
    """Memory of the Chromium processes that this one started, where the system reports it."""
    parents, sizes = {}, {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = stat.read_text().partition("(")[2].rpartition(")")
            resident, shared = map(int, (stat.parent / "statm").read_text().split()[1:3])
        except OSError:  # ended meanwhile
            continue
        parents[int(stat.parent.name)] = int(rest.split()[1])
        if "chrom" in name:
            sizes[int(stat.parent.name)] = resident - shared

    def is_ours(process: int) -> bool:
        while process > 1 and process != os.getpid():
            process = parents.get(process, 0)
        return process == os.getpid()

    return sum(size for process, size in sizes.items() if is_ours(process)) * PAGE_BYTES / 1e6
