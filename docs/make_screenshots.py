"""Photograph the web page and a timing report: `python docs/make_screenshots.py [FOLDER]`. Needs Chromium.

FOLDER is that of `make_pictures.py`, with the sample sea.
"""

from __future__ import annotations

import io
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from make_pictures import MARKS, OUT, sample_sea
from PIL import Image

import seasync
from seasync.marks import Mark
from seasync.serve import Client

if TYPE_CHECKING:
    from playwright.sync_api import Page

SIZE = {"width": 1200, "height": 800}
PATIENCE = 120_000  # milliseconds


def main(folder: Path) -> None:
    sample_sea(folder)
    _write_timing(folder)
    with tempfile.TemporaryDirectory() as state:
        options = ["--sea", str(folder / "footage.sea"), "--state", state, "--port", "0", "--no-token"]
        command = [sys.executable, "-m", "seasync", "serve", *options]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            try:
                _photograph(server.stdout.readline().strip(), folder / "timing.html")
            finally:
                server.send_signal(signal.SIGINT)
    for file in sorted(OUT.glob("page-*")):
        print(f"{file.name} {file.stat().st_size / 1e3:.0f} kB")


def _write_timing(folder: Path) -> None:
    """The report of `seasync group --timing` about the throws of the sample."""
    first, *others = sorted((folder / "clips" / "throw").glob("*.mp4"))
    group = seasync.align_group(first, others)
    marks = {first.name: [Mark(name, seconds) for name, seconds in MARKS.items()]}
    seasync.render.write_timing(group, group.timing(marks), folder / "timing.html")


def _photograph(address: str, report: Path) -> None:
    from playwright.sync_api import sync_playwright

    with Client(address) as client:
        throws = [clip for clip in client.clips("footage") if clip.label == "throw"]
        match = client.search("footage", throws[0].ref, k=1).matches[0].clip.ref
    browser_file = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=browser_file, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport=SIZE, color_scheme="light")
        page.set_default_timeout(PATIENCE)
        query = throws[0].ref
        for name, place, ready in (
            ("search", f"#/footage/search?query={query}", ".found"),
            ("sync", f"#/footage/sync?query={query}&match={match}", ".matrix"),
        ):
            page.goto("about:blank")
            page.goto(f"{address}{place}")
            page.wait_for_selector(ready)
            page.wait_for_timeout(6000)  # thumbnails and the first frames
            _save(page, name)
        page.set_viewport_size({"width": 900, "height": 700})
        page.goto(report.as_uri())
        _save(page, "timing")
        browser.close()


def _save(page: Page, name: str) -> None:
    with Image.open(io.BytesIO(page.screenshot())) as picture:
        picture.convert("RGB").save(OUT / f"page-{name}.webp", quality=80, method=6)


if __name__ == "__main__":
    main(Path(sys.argv[1] if sys.argv[1:] else Path(__file__).parent / "_build" / "sample").resolve())
