"""For everyone: axe-core finds nothing serious, headings and landmarks are there, notices cover nothing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.serve.browser import Tab, drop, expect_count
from tests.serve.films import film, pace
from tests.serve.live import live

if TYPE_CHECKING:
    from playwright.sync_api import Browser


VIEWS = {
    "": ".way",
    "#/small/sea": ".clip",
    "#/small/search": ".drop-here",
    "#/small/search?query={a}": ".found",
    "#/small/sync?query={a}&match={b}": ".report table",
    "#/small/sync?query={a}&match={c}&partial=always": ".matrix",
    "#/small/grid?leader={a}&follower={b}&follower={c}": ".many",
    "#/small/report?query={a}&match={b}": ".sheet",
    "#/small/mark?clip={a}": ".scrub",
    "#/small/mark": ".drop-here",
    "#/small/label": ".label-step",
}


@pytest.mark.parametrize("place", VIEWS)
def test_axe_finds_nothing_serious(
    browser: Browser, address: str, refs: dict[str, str], axe: str, place: str
) -> None:
    where = place.format(a=refs["right/a"], b=refs["right/b"], c=refs["arc/c"])
    named = {"label-content-name-mismatch", "page-has-heading-one", "region", "landmark-one-main"}
    tab = Tab(browser.new_page(viewport={"width": 1280, "height": 900}), address)
    found: dict[str, Any] = {}
    for theme in ("light", "dark"):
        tab.page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
        page = tab.open(where)
        page.wait_for_selector(VIEWS[place])
        page.wait_for_timeout(300)  # transitions of colors
        page.evaluate(axe)
        for one in page.evaluate("axe.run(document)")["violations"]:
            if one["impact"] in ("serious", "critical") or one["id"] in named:
                found[f"{theme} {one['id']}"] = [node["html"][:160] for node in one["nodes"][:4]]
        assert page.locator("h1").count() >= 1
        tab.page.goto("about:blank")
    tab.open("")
    tab.page.wait_for_selector(".way")
    tab.close()
    assert not found, found


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_serious_in_panels_and_dialogs(
    browser: Browser, address: str, refs: dict[str, str], axe: str, theme: Any
) -> None:
    tab = Tab(browser.new_page(viewport={"width": 1280, "height": 900}, color_scheme=theme), address)
    tab.expected = ["409"]  # a phone cannot reach this server
    page = tab.sync(refs["right/a"], refs["right/b"])
    page.wait_for_selector(".report table")
    page.evaluate(axe)
    found: dict[str, Any] = {}

    def look(where: str) -> None:
        page.wait_for_timeout(300)  # transitions of colors
        for one in page.evaluate("axe.run(document)")["violations"]:
            if one["impact"] in ("serious", "critical") or one["id"] == "heading-order":
                found[f"{where} {one['id']}"] = [node["html"][:160] for node in one["nodes"][:4]]

    for title in ("Bodies", "Correct", "Trim", "Mark", "Download"):
        page.locator("summary", has_text=title).click()
        if title == "Correct":
            page.get_by_role("button", name="Set an anchor").click()
        look(title)
    page.keyboard.press("Escape")
    page.get_by_role("radio", name="Overlay").click()
    page.get_by_role("radio", name="Angle").click()
    look("drawing")
    page.get_by_role("button", name="Keep", exact=True).click()
    for button in ("Save file", "On a phone", "Keys"):
        page.get_by_role("button", name=button).first.click()
        page.locator("dialog[open]").wait_for()
        look(button)
        page.keyboard.press("Escape")
    page.evaluate(
        "fetch('api/v1/comparisons').then((answer) => answer.json()).then((all) => all.map((one) => "
        "fetch(`api/v1/comparisons/${one.id}`, {method: 'DELETE'})))"
    )
    page.locator("#bar nav").get_by_role("link", name="Sea", exact=True).click()
    page.wait_for_selector(".clip")
    for button in ("Add by path", "Edit", "Remove"):
        page.get_by_role("button", name=button).first.click()
        page.locator("dialog[open]").wait_for()
        look(button)
        page.keyboard.press("Escape")
    tab.close()
    assert not found, found


def test_notices_cover_nothing_and_a_batch_has_one_panel(
    browser: Browser, sea: Path, films: Path, encoder: str, tmp_path: Path
) -> None:
    bad = []
    for name in ("one.mp4", "two.mp4"):
        bad.append(tmp_path / name)
        bad[-1].write_bytes(b"no video")
    good = film(tmp_path / "good.mp4", pace(30), action="left")
    with live(sea, tmp_path / "state", encoder, roots=[films]) as address:
        tab = Tab(browser.new_page(viewport={"width": 1280, "height": 900}), address)
        tab.expected = ["422"]
        page = tab.open("#/small/sea")
        page.wait_for_selector(".clip")
        drop(page, "body", [*bad, good])
        page.get_by_role("button", name="Add", exact=True).click()
        panel = page.locator("#tray .row", has_text="2 of 3 files not added")
        panel.wait_for()
        expect_count(panel.locator(".problems li"), 2)
        assert "one.mp4" in panel.inner_text()
        assert "add them again" in panel.inner_text()
        tray, main = (page.locator(place).bounding_box() for place in ("#tray", "#main"))
        assert tray
        assert main
        assert tray["y"] + tray["height"] <= main["y"] + 1
        tab.until("document.querySelectorAll('.clip').length === 7")
        page.locator(".clip .open").first.click()
        page.wait_for_selector(".found")
        assert not panel.is_visible()  # folded away with the view it belongs to
        page.get_by_role("button", name="1 with problems").click()
        assert panel.is_visible()
        panel.get_by_role("button", name="Stop or dismiss").click()
        assert page.locator("#tray .row", has_text="not added").count() == 0
        tab.close()


def test_a_message_lies_over_the_bar_only(tab: Tab, refs: dict[str, str]) -> None:
    tab.refuse_marks()
    page = tab.open(f"#/small/mark?clip={refs['arc/b']}")
    page.wait_for_selector(".scrub")
    tab.settle()
    tab.expected = ["ERR_", "Failed to load"]
    page.keyboard.press("m")
    toast = page.locator(".toast")
    toast.wait_for()
    box, bar = toast.bounding_box(), page.locator("#bar").bounding_box()
    assert box
    assert bar
    assert box["y"] + box["height"] <= bar["y"] + bar["height"] + 4


def test_words_come_before_numbers(tab: Tab, refs: dict[str, str]) -> None:
    page = tab.open(f"#/small/search?query={refs['right/a']}")
    page.wait_for_selector(".found")
    assert "DRAQ" not in page.inner_text("main")
    assert page.locator(".found").first.locator(".words").inner_text().startswith("In step")
    page.locator(".found summary").first.click()
    assert "DRAQ" in page.locator(".found").first.inner_text()
