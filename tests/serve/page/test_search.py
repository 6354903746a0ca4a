"""Searching on the page."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.serve.browser import Tab, drag, drop, expect_count
from tests.serve.films import film, pace
from tests.videos import write


def test_a_match_plays_in_step_on_its_card(tab: Tab, refs: dict[str, str]) -> None:
    page = tab.open(f"#/small/search?query={refs['right/a']}")
    page.wait_for_selector(".found")
    expect_count(page.locator(".found"), 5)
    assert "move in step" in page.locator(".results h1").inner_text()
    assert page.locator(".found .label").first.inner_text() == "right"
    page.locator(".found").first.hover()
    page.wait_for_selector(".found.playing")
    tab.until("document.querySelector('.found.playing').pair.errors.length > 20")
    page.mouse.move(0, 0)
    tab.until("!document.querySelector('.found.playing')")
    expect_count(page.locator("video.reel"), 1)  # the query's own


def test_a_query_is_trimmed(tab: Tab, refs: dict[str, str]) -> None:
    page = tab.open(f"#/small/search?query={refs['right/a']}")
    page.wait_for_selector(".trimmer .handle.start")
    page.wait_for_selector(".found")
    box = page.locator(".trimmer .strip").bounding_box()
    assert box
    handle = box["x"] + 2, box["y"] + 20
    drag(page, handle, (box["x"] + box["width"] / 2, handle[1]))
    tab.until("location.hash.includes('start=')")
    page.wait_for_selector(".found")
    start = float(page.evaluate("new URLSearchParams(location.hash.split('?')[1]).get('start')"))
    assert start == pytest.approx(1.0, abs=0.05)
    page.locator(".found a.button").first.click()
    page.wait_for_selector(".matrix")
    tab.settle()
    assert tab.frame("query") == round(start * 30)


def test_a_dropped_video_is_searched_for(tab: Tab, tmp_path: Path) -> None:
    new = film(tmp_path / "query.mp4", pace(40, bend=0.4), action="arc", tint=5)
    page = tab.open("#/small/search")
    page.get_by_text("What moves in step").wait_for()
    drop(page, "body", [new])
    page.wait_for_selector(".found")
    assert page.locator(".query h2").inner_text() == "query.mp4"
    assert page.locator(".found .label").first.inner_text() == "arc"


def test_when_nothing_aligns_it_says_what_may_help(tab: Tab, tmp_path: Path) -> None:
    noise = np.random.default_rng(0).integers(0, 255, (40, 15, 20, 3), np.uint8).repeat(8, 1).repeat(8, 2)
    page = tab.open("#/small/search")
    page.get_by_text("What moves in step").wait_for()
    drop(page, "body", [write(tmp_path / "noise.mp4", noise)])
    page.get_by_text("Nothing here moves in step").wait_for()
    hints = page.locator(".hints").inner_text()
    assert "Trim the query" in hints
    assert "The first of 6 candidates" in hints
    assert "DRAQ" not in page.inner_text("main")
