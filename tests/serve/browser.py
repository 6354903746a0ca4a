"""A real browser to look at the page with."""

from __future__ import annotations

import base64
import io
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from PIL import Image

from seasync.alignment import Warp
from seasync.alignment.warp import Stretch
from seasync.serve import Client
from tests.serve.films import number_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page, Response

PATIENCE = 180  # seconds for anything to happen, on a machine with other things to do
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]


@contextmanager
def chromium() -> Iterator[Browser]:
    """Where there is none: a visible skip, and a failure in CI."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        message = "no Chromium here (apt-get install chromium)"
        pytest.fail(message) if os.environ.get("CI") else pytest.skip(message)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=found, args=FLAGS)
        yield browser
        browser.close()


class Tab:
    """A page of ours; whatever it complains of in its console is a failure when it is closed."""

    def __init__(self, page: Page, address: str) -> None:
        self.page, self.address = page, address
        self.expected: list[str] = []  # complaints that belong to the test
        self.complaints: list[str] = []
        page.set_default_timeout(1000 * PATIENCE)
        page.on("console", lambda line: self.complaints.append(line.text) if line.type == "error" else None)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def open(self, place: str) -> Page:
        self.page.goto(f"{self.address}/{place}")
        return self.page

    def sync(self, query: str, match: str, **params: str) -> Page:
        """The sync view of two clips, ready."""
        more = "".join(f"&{name}={value}" for name, value in params.items())
        self.open(f"#/small/sync?query={query}&match={match}{more}")
        self.page.wait_for_selector(".matrix")
        self.settle()
        return self.page

    def settle(self) -> None:
        """Until what was sought is shown."""
        self.until("window.seasync?.player && !seasync.player.seeking && !seasync.player.playing")

    def until(self, condition: str) -> None:
        """Wait for a condition in the page. (Playwright's own way needs what our security policy forbids.)"""
        for _ in range(PATIENCE * 20):
            if self.page.evaluate(f"Boolean({condition})"):
                return
            self.page.wait_for_timeout(50)
        raise AssertionError(f"not within {PATIENCE} s: {condition}")

    def refuse_marks(self) -> None:
        """Let no mark be saved. Call it before a page is opened: what it sends sooner may slip through."""
        self.page.route(
            "**/marks/**", lambda route: route.abort() if route.request.method == "PUT" else route.continue_()
        )

    def frame(self, side: str) -> int:
        """The number that the picture of this side shows, read off its pixels."""
        return number_of(self.pixels(f"canvas.picture.{side}"))

    def pixels(self, canvas: str) -> np.ndarray:
        return decoded(self.page.eval_on_selector(canvas, "canvas => canvas.toDataURL('image/png')"))

    def close(self) -> None:
        text = self.page.inner_text("body")
        assert "`" not in text  # what is code looks so
        words = set(text.replace(":", " ").split())
        assert not words & {"false", "undefined", "null", "NaN", "[object"}
        self.page.close()
        unexpected = [text for text in self.complaints if not any(known in text for known in self.expected)]
        assert not unexpected, unexpected


def decoded(data: str) -> np.ndarray:
    """(H, W, 3) from a picture's data URL."""
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(data.split(",")[1]))).convert("RGB"))


def drop(page: Page, target: str, files: list[Path]) -> None:
    """Drop files on an element, as from the desktop."""
    packed = [[file.name, base64.b64encode(file.read_bytes()).decode()] for file in files]
    transfer = page.evaluate_handle(
        """files => {
          const transfer = new DataTransfer();
          for (const [name, data] of files) {
            const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
            transfer.items.add(new File([bytes], name, {type: "video/mp4"}));
          }
          return transfer;
        }""",
        packed,
    )
    for event in ("dragenter", "dragover", "drop"):
        page.dispatch_event(target, event, {"dataTransfer": transfer})


def drag(page: Page, start: tuple[float, float], end: tuple[float, float]) -> None:
    """Press, move in steps, let go."""
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move((start[0] + end[0]) / 2, (start[1] + end[1]) / 2, steps=4)
    page.mouse.move(*end, steps=4)
    page.mouse.up()


def warp_of(
    client: Client, query: str, match: str, keep: str = "query", *, sea: str = "small", **asked: Any
) -> Warp:
    stretches = client.align(sea, query=query, match=match, **asked).warps[keep]  # type: ignore[index]
    return Warp(tuple(Stretch(np.array(one.times), np.array(one.values), one.end) for one in stretches))


def expect_count(found: Locator, count: int) -> None:
    """Wait until there are so many of these."""
    from playwright.sync_api import expect

    expect(found).to_have_count(count, timeout=1000 * PATIENCE)


def is_saved(answer: Response) -> bool:
    return answer.request.method == "PUT" and answer.ok


def scrub(tab: Tab, share: float) -> None:
    """Click on the bar."""
    box = tab.page.locator(".scrub").bounding_box()
    assert box
    tab.page.mouse.click(box["x"] + share * box["width"], box["y"] + box["height"] / 2)
    tab.settle()
