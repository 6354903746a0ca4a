"""When things go wrong, or are not there; and on a phone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from seasync.serve import Client
from tests.serve.browser import Tab, expect_count
from tests.serve.live import live

if TYPE_CHECKING:
    from playwright.sync_api import Browser


def test_on_a_phone_nothing_hangs_over(browser: Browser, address: str, refs: dict[str, str]) -> None:
    page = browser.new_page(viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True)
    tab = Tab(page, address)
    views = {
        "": ".slot",
        "#/small/sea": ".clip",
        f"#/small/search?query={refs['right/a']}": ".found",
        f"#/small/sync?query={refs['right/a']}&match={refs['right/b']}": ".matrix",
        f"#/small/sync?query={refs['right/a']}&match={refs['arc/b']}&partial=always": "button.skip-gaps",
        f"#/small/mark?clip={refs['right/a']}": ".scrub",
        f"#/small/grid?leader={refs['right/a']}&follower={refs['right/b']}": ".many",
        f"#/small/report?query={refs['right/a']}&match={refs['right/b']}": ".sheet",
    }
    for place, sign in views.items():
        tab.open(place)
        page.wait_for_selector(sign)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, place
    tab.close()


def test_the_bar_fits_a_phone_whatever_the_seas_are_called(
    browser: Browser, encoder: str, tmp_path: Path
) -> None:
    others = [tmp_path / "another-sea-with-a-very-long-name-indeed.sea"]
    with live(tmp_path / "new.sea", tmp_path / "state", encoder, others=others) as address:
        tab = Tab(browser.new_page(viewport={"width": 390, "height": 740}), address)
        page = tab.open("#/small/sea")
        page.get_by_text("An empty sea").wait_for()
        assert (page.locator(".brand img").bounding_box() or {})["width"] == 26
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        tab.close()


def test_the_keys_are_read_from_the_top(browser: Browser, address: str) -> None:
    tab = Tab(browser.new_page(viewport={"width": 390, "height": 500}), address)
    page = tab.open("#/small/sea")
    page.wait_for_selector(".clip")
    page.keyboard.press("?")
    assert page.eval_on_selector("dialog", "one => one.scrollHeight - one.clientHeight") > 100
    assert page.eval_on_selector("dialog", "one => one.scrollTop") == 0
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # on its only button
    tab.until("!document.querySelector('dialog')")
    tab.close()


def test_a_lost_connection_is_told(browser: Browser, encoder: str, tmp_path: Path) -> None:
    tab = Tab(browser.new_page(), "")
    tab.expected = ["ERR_"]
    with live(tmp_path / "new.sea", tmp_path / "state", encoder) as tab.address:
        page = tab.open("#/small/sea")
        page.get_by_text("An empty sea").wait_for()
        assert not page.get_by_text("no connection").is_visible()
    page.get_by_text("no connection").wait_for()
    tab.close()


def test_trouble_is_told_in_words(browser: Browser, address: str, refs: dict[str, str]) -> None:
    tab = Tab(browser.new_page(), address)
    tab.expected = ["404", "Failed to load"]
    page = tab.open(f"#/small/sync?query=clip:{'0' * 32}&match={refs['right/a']}")
    page.get_by_text("Not found").wait_for()
    page.get_by_role("link", name="To the sea").click()
    page.wait_for_selector(".clip")
    page.route("**/search", lambda route: route.abort())
    tab.open(f"#/small/search?query={refs['right/a']}")
    page.get_by_text("The server does not answer").wait_for()
    page.unroute("**/search")
    page.get_by_role("button", name="Try again").click()
    page.wait_for_selector(".found")
    tab.refuse_marks()
    tab.open(f"#/small/mark?clip={refs['right/a']}")
    page.wait_for_selector(".scrub")
    tab.settle()
    page.keyboard.press("m")
    page.locator(".toast", has_text="The server does not answer").wait_for()  # and no error in the console
    tab.close()


def test_what_may_not_be_shown_is_not_asked_for(
    browser: Browser, sea: Path, films: Path, encoder: str, tmp_path: Path
) -> None:
    with (
        live(sea, tmp_path / "state", encoder, roots=[films / "right"]) as address,
        Client(address) as client,
    ):
        refs = {clip.label: clip.ref for clip in client.clips("small")}
        assert {clip.viewable: clip.label for clip in client.clips("small")} == {True: "right", False: "arc"}
        tab = Tab(browser.new_page(), address)
        page = tab.open("#/small/sea")
        tab.until(
            "[...document.querySelectorAll('.clip img[src]')].filter((one) => one.naturalWidth).length === 3"
        )
        page.locator(".clip", has_text="arc").first.hover()
        expect_count(page.locator(".clip .missing"), 3)
        tab.open(f"#/small/search?query={refs['right']}")
        page.locator(".found", has_text="arc").first.hover()
        page.locator(".found", has_text="right").first.hover()
        page.wait_for_selector(".found.playing")
        assert not tab.complaints
        tab.expected = ["403"]
        tab.open(f"#/small/search?query={refs['arc']}")  # which can be searched with
        page.get_by_text("The query cannot be shown").wait_for()
        asked = len(tab.complaints)
        page.locator(".found", has_text="right").first.hover()
        page.locator(".found", has_text="right").locator("a.button").first.click()
        page.get_by_text("Not allowed").wait_for()
        assert len(tab.complaints) == asked + 1
        tab.close()


def test_an_empty_sea_invites_and_a_locked_one_asks(browser: Browser, encoder: str, tmp_path: Path) -> None:
    with live(tmp_path / "new.sea", tmp_path / "state", encoder, token="open-sesame") as address:
        tab = Tab(browser.new_page(), address)
        tab.expected = ["401"]
        page = tab.open("#/small/sea")
        page.get_by_label("Token").fill("open-sesame")
        page.get_by_role("button", name="Open").click()
        page.get_by_role("heading", name="Compare two videos").wait_for()
        assert "token" not in page.url
        tab.open("#/small/sea")
        page.get_by_text("An empty sea").wait_for()
        tab.close()
