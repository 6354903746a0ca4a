"""A coach's task in clicks and seconds, the page's weight, its memory. Part of `benchmarks.serve`."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.goals import Goals
from benchmarks.in_step import browser, film, make_unknown, server
from seasync.sea.sea import Sea
from seasync.serve import Client

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

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
        files = phone_clips(folder / "phone")
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


def phone_clips(folder: Path) -> list[Path]:
    """Two upright clips of five seconds that no cache knows."""
    files, steady = [folder / f"{name}.mp4" for name in ("me", "model")], np.linspace(0, 1, 150)
    for bend, file in enumerate(files):
        film(file, steady + 0.08 * bend * np.sin(2 * np.pi * steady) / 2, size=(360, 640))
        make_unknown(file)
    return files


def weigh(page: Page, goals: Goals) -> None:
    """What the page itself costs to load, without videos."""
    sizes = page.evaluate(f"{WEIGHT}.map((one) => one.encodedBodySize)")
    count, size = len(sizes), sum(sizes)
    print(f"page weight: {size / 1e3:.0f} kB in {count} files")
    goals.at_most("serve page weight", size / 1e3, 300, " kB")


def loop(folder: Path, encoder: str, goals: Goals, seconds: float) -> None:
    """Loop a pair in the sync view. Its memory after a tenth of the time is compared with that at the end."""
    films, steady = folder / "looped", np.linspace(0, 1, 150)
    for bend, name in enumerate(("me", "model")):
        film(films / f"{name}.mp4", steady + 0.04 * bend * np.sin(2 * np.pi * steady), size=(640, 360))
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
