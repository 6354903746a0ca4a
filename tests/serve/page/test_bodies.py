"""Bodies on the page: skeletons, angles over synced time, aligned bodies, drawings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import seasync
from seasync.serve import Client
from tests.serve.browser import Tab, drag, expect_count, is_saved, scrub
from tests.serve.figure import DiscFigure
from tests.serve.films import film, pace
from tests.serve.live import live

if TYPE_CHECKING:
    from playwright.sync_api import Browser

SKELETON = (86, 212, 245)  # of the query


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache folder for these tests and the worker processes, which find there what the stand-in found."""
    return tmp_path_factory.mktemp("kept")


@pytest.fixture(autouse=True)
def own_cache(kept: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SEASYNC_CACHE", str(kept))
    return kept


@pytest.fixture(scope="module")
def place(encoder: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("none")
    with live(folder / "none.sea", folder / "state", encoder) as address:
        yield address


@pytest.fixture
def tab(browser: Browser, place: str, tmp_path: Path) -> Iterator[Tab]:
    """Two takes in the sync view: quick in 40 frames, slow in 60; nobody in the third video."""
    files = [film(tmp_path / f"{count}.mp4", pace(count), action="right") for count in (40, 60)]
    files.append(film(tmp_path / "empty.mp4", [1.33] * 30, action="right"))
    tab = Tab(browser.new_page(viewport={"width": 1280, "height": 900}), place)
    with Client(place) as client:
        tab.refs = []  # type: ignore[attr-defined]
        for file in files:
            seasync.find_body(file, model=DiscFigure())
            tab.refs.append(client.upload(file).ref)  # type: ignore[attr-defined]
    yield tab
    tab.close()


def opened(tab: Tab, match: int = 1) -> None:
    tab.open(f"#/-/sync?query={tab.refs[0]}&match={tab.refs[match]}")  # type: ignore[attr-defined]
    tab.page.wait_for_selector(".matrix")
    tab.until("window.seasync?.alignment?.detail === 'full'")
    tab.settle()
    tab.page.locator("summary", has_text="Bodies").click()


def colored(tab: Tab, color: tuple[int, int, int], side: str = "query") -> np.ndarray:
    """(N, 2): pixels of a picture that have about this color, as x and y."""
    pixels = tab.pixels(f"canvas.picture.{side}").astype(int)
    rows, columns = np.nonzero(np.abs(pixels - color).max(-1) < 40)
    return np.stack([columns, rows], 1)


def test_skeletons_and_angles_of_both_bodies(tab: Tab) -> None:
    opened(tab)
    page = tab.page
    assert not len(colored(tab, SKELETON))
    page.get_by_role("button", name="Find the bodies").click()
    page.locator(".angles path.line.query[d^=M]").wait_for()
    for share in (0.2, 0.8):
        scrub(tab, share)
        middle = 20 + 120 * tab.frame("query") / 39  # of the disc
        assert np.median(colored(tab, SKELETON)[:, 0]) == pytest.approx(middle, abs=6)
        words = page.locator(".angles .values").inner_text()
        query, match = (int(words.split(name)[1].split("°")[0]) for name in ("First video", "Second video"))
        assert query == pytest.approx(180 - 90 * tab.frame("query") / 39, abs=8)
        assert match == pytest.approx(180 - 90 * tab.frame("match") / 59, abs=8)
        assert "Difference" in words
    page.get_by_label("Skeletons").uncheck()
    tab.settle()
    assert not len(colored(tab, SKELETON))
    page.get_by_label("Angle", exact=True).select_option("right knee")
    assert "First video 180°" in page.locator(".angles .values").inner_text()
    with page.expect_download() as download:
        page.locator(".angles").get_by_role("link", name="CSV").click()
    assert Path(download.value.path()).read_text().startswith("query seconds,match seconds,left knee query")
    page.reload()  # what was found is there again
    page.locator("summary", has_text="Bodies").click()
    page.locator(".angles path.line.query[d^=M]").wait_for()


def test_bodies_are_aligned_in_the_overlay(tab: Tab) -> None:
    opened(tab)
    page = tab.page
    page.get_by_role("button", name="Find the bodies").click()
    page.get_by_label("Align the bodies").check()
    page.get_by_role("radio", name="Overlay").click()
    tab.settle()
    assert tab.pixels("canvas.picture.match").shape == tab.pixels("canvas.picture.query").shape
    assert len(colored(tab, (255, 177, 77), "match"))


def test_nobody_found_is_said_plainly(tab: Tab) -> None:
    opened(tab, match=2)
    tab.page.get_by_role("button", name="Find the bodies").click()
    tab.page.get_by_text("No body found in empty.mp4.").wait_for()
    assert tab.page.get_by_label("Align the bodies").is_disabled()


def test_drawings_stay_on_their_synced_frame(tab: Tab) -> None:
    opened(tab)
    page = tab.page
    scrub(tab, 0.5)
    page.get_by_role("radio", name="Line").click()
    page.locator("canvas.picture.query").scroll_into_view_if_needed()
    box = page.locator("canvas.picture.query").bounding_box()
    assert box
    start, end = ((box["x"] + x * box["width"], box["y"] + 0.3 * box["height"]) for x in (0.2, 0.8))
    with page.expect_response(is_saved):
        drag(page, start, end)
    page.keyboard.press("Escape")
    tab.settle()
    yellow = (255, 225, 77)
    for side in ("query", "match"):
        drawn = colored(tab, yellow, side)
        assert np.ptp(drawn[:, 0]) == pytest.approx(0.6 * 160, abs=8), side
    scrub(tab, 0.8)
    assert not len(colored(tab, yellow))
    page.locator(".drawings button.link").click()
    tab.settle()
    assert len(colored(tab, yellow))
    page.get_by_role("radio", name="Angle").click()
    with page.expect_response(is_saved):
        page.get_by_role("button", name="Add in the center").click()
    expect_count(page.locator(".drawings li"), 2)
    page.locator(".drawings").get_by_text("106°").wait_for()  # a right angle in shares of 4:3
    with page.expect_response(is_saved):
        page.keyboard.press("Control+z")
    page.reload()
    page.locator("summary", has_text="Bodies").click()
    expect_count(page.locator(".drawings li"), 1)
