"""Photograph the web page with the sample sea: `python docs/make_screenshots.py`. Needs Chromium."""

from __future__ import annotations

import io
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from make_pictures import OUT, sample_sea
from PIL import Image

from seasync.serve import Client

if TYPE_CHECKING:
    from playwright.sync_api import Page

SIZE = {"width": 1200, "height": 800}
PATIENCE = 120_000  # milliseconds


def main(folder: Path) -> None:
    sample_sea(folder)
    with tempfile.TemporaryDirectory() as state:
        options = ["--sea", str(folder / "footage.sea"), "--state", state, "--port", "0"]
        command = [sys.executable, "-m", "seasync", "serve", *options]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            try:
                _photograph(server.stdout.readline().strip())
            finally:
                server.send_signal(signal.SIGINT)
    for file in sorted(OUT.glob("page-*")):
        print(f"{file.name} {file.stat().st_size / 1e3:.0f} kB")


def _photograph(address: str) -> None:
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
        browser.close()


def _save(page: Page, name: str) -> None:
    with Image.open(io.BytesIO(page.screenshot())) as picture:
        picture.convert("RGB").save(OUT / f"page-{name}.webp", quality=80, method=6)


if __name__ == "__main__":
    main(Path(sys.argv[1] if sys.argv[1:] else Path(__file__).parent / "_build" / "sample").resolve())
