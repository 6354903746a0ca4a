"""Label a collection: mark a clip, carry to all, check the doubtful ones with keys, export."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tests.serve.browser import Tab, is_saved, scrub
from tests.serve.live import live


@pytest.fixture(scope="module")
def address(served: Callable[..., AbstractContextManager[str]]) -> Iterator[str]:
    """A server of its own: its marks are nobody else's."""
    with served(live) as address:
        yield address


def test_a_collection_is_labeled_with_a_few_keys(
    tab: Tab, refs: dict[str, str], axe: str, tmp_path: Path
) -> None:
    page = tab.open("#/")
    page.locator("a.way", has_text="Label a collection").click()
    page.locator("a", has_text="Choose a clip to mark").click()
    page.locator(f"li[data-ref='{refs['arc/a']}'] a.open").click()
    page.wait_for_selector(".scrub")
    tab.settle()
    for share in (0.3, 0.7):
        scrub(tab, share)
        with page.expect_response(is_saved):
            page.keyboard.press("m")
    page.locator("a", has_text="Back to labeling").click()

    page.get_by_label("Clips", exact=True).last.select_option("arc")
    page.get_by_role("button", name="Carry to all clips").click()
    page.wait_for_selector(".state:has-text('2 to check')")
    page.keyboard.press("n")
    page.wait_for_selector(".check-marks li[aria-current]")
    tab.settle()
    before = int(page.locator(".check-marks li[aria-current]").get_attribute("data-frame") or 0)
    assert tab.frame("query") == before  # the picture is at the mark in question
    page.keyboard.press("ArrowRight")
    tab.settle()
    assert page.locator(".check-marks li[aria-current]").get_attribute("data-frame") == str(before + 1)
    assert tab.frame("query") == before + 1
    page.get_by_role("button", name="Undo").click()
    page.wait_for_selector(f".check-marks li[data-frame='{before}']")
    page.evaluate(axe)
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
        page.wait_for_timeout(300)  # transitions of colors
        found = page.evaluate("axe.run(document)")["violations"]
        assert not [one["id"] for one in found if one["impact"] in ("serious", "critical")]
    page.keyboard.press("ArrowRight")

    first = page.inner_text("h1 .query")
    with page.expect_response(is_saved) as saved:
        page.keyboard.press("Enter")
    frames = [mark["frame"] for mark in saved.value.json()["marks"]]
    assert before + 1 in frames
    tab.until(f"!document.querySelector('h1 .query')?.textContent.includes('{first}')")
    page.wait_for_selector(".check-marks li[aria-current]")
    page.keyboard.press("n")  # the last one: back to the overview
    page.wait_for_selector(".state:has-text('Marks of 2 clips')")
    with page.expect_download() as download:
        page.locator("a", has_text="All marks").click()
    download.value.save_as(tmp_path / "marks.csv")
    rows = list(csv.DictReader((tmp_path / "marks.csv").read_text(encoding="utf-8").splitlines()))
    assert len(rows) == 6
    assert sum(row["confidence"] == "" for row in rows) == 4


def test_a_labeled_clip_opens_where_it_can_be_marked(tab: Tab, refs: dict[str, str]) -> None:
    page = tab.open(f"#/small/label?clip={refs['arc/a']}")
    page.wait_for_selector("a:has-text('Back to labeling')")
    assert "/mark?" in page.url
