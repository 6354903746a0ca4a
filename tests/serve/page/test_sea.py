"""The sea on the page: looked through, filtered, added to."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from seasync.sea.sea import Sea
from tests.serve.browser import Tab, drop, expect_count
from tests.serve.films import film, pace
from tests.serve.live import live

if TYPE_CHECKING:
    from playwright.sync_api import Browser


def test_the_sea_is_shown_and_filtered(tab: Tab) -> None:
    page = tab.open("#/small/sea")
    page.wait_for_selector(".clip")
    expect_count(page.locator(".clip"), 6)
    page.fill(".filter", "arc/")
    tab.until("document.querySelectorAll('.clip').length === 3")
    link = page.get_by_role("link", name="Play 3 in a grid").get_attribute("href") or ""
    assert link.count("follower=") == 2
    page.fill(".filter", "nothing like it")
    page.get_by_text("No clip matches").wait_for()
    page.get_by_role("button", name="Show all").click()
    tab.until("document.querySelectorAll('.clip').length === 6")
    tab.until("[...document.querySelectorAll('.clip img')].every((one) => one.naturalWidth > 0)")


def test_a_clip_plays_under_the_pointer(tab: Tab) -> None:
    page = tab.open("#/small/sea")
    page.locator(".clip").first.hover()
    tab.until("document.querySelector('.clip video')?.currentTime > 0.1")
    page.mouse.move(0, 0)
    tab.until("!document.querySelector('.clip video')")


def test_the_grid_is_walked_with_keys(tab: Tab) -> None:
    page = tab.open("#/small/sea")
    page.wait_for_selector(".clip")
    for key, place in (("ArrowRight", 0), ("ArrowRight", 1), ("ArrowLeft", 0)):
        page.keyboard.press(key)
        assert (
            page.evaluate(
                "[...document.querySelectorAll('.clip')].indexOf(document.activeElement.closest('.clip'))"
            )
            == place
        )
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.type") == "search"
    page.locator(".clip .open").first.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector(".found")


def test_what_was_typed_stays_when_the_server_says_no(
    browser: Browser, sea: Path, films: Path, encoder: str, tmp_path: Path
) -> None:
    film(tmp_path / "here" / "more" / "new.mp4", pace(30), action="left")
    with live(sea, tmp_path / "state", encoder, roots=[films, tmp_path / "here"]) as address:
        tab = Tab(browser.new_page(), address)
        tab.expected = ["Failed to load resource"]
        page = tab.open("#/small/sea")
        page.get_by_role("button", name="Add by path").click()
        page.keyboard.type("mroe")  # the field is ready for it
        page.get_by_label("Label", exact=True).last.fill("left")
        page.keyboard.press("Enter")
        page.get_by_role("dialog").get_by_text("'mroe': not a file or folder under").wait_for()
        path = page.get_by_label("File or folder")
        assert path.input_value() == "mroe"
        assert page.get_by_label("Label", exact=True).last.input_value() == "left"
        path.fill("more")
        path.press("Enter")
        tab.until("!document.querySelector('dialog')")
        added = page.locator(".clip", has_text="new.mp4")
        added.locator(".label", has_text="left").wait_for()
        added.locator(".open").focus()
        page.keyboard.press("Delete")
        with Sea(sea).record.writing():
            page.get_by_role("button", name="Remove", exact=True).click()
            page.get_by_role("dialog").get_by_text("is being written to").wait_for()
        page.get_by_role("button", name="Remove", exact=True).click()
        tab.until("document.querySelectorAll('.clip').length === 6 && !document.querySelector('dialog')")
        tab.close()


def test_videos_are_added_by_drag_and_drop_and_taken_out(
    browser: Browser, sea: Path, films: Path, encoder: str, tmp_path: Path
) -> None:
    new = film(tmp_path / "brand new.mp4", pace(30), action="left")
    bad = tmp_path / "bad.mp4"
    bad.write_bytes(b"no video")
    with live(sea, tmp_path / "state", encoder, roots=[films]) as address:
        tab = Tab(browser.new_page(), address)
        tab.expected = ["422"]
        page = tab.open("#/small/sea")
        page.wait_for_selector(".clip")
        drop(page, "body", [new, bad])
        page.get_by_role("dialog").get_by_text("brand new.mp4").wait_for()
        page.get_by_label("Label", exact=True).last.fill("left")
        page.get_by_role("button", name="Add", exact=True).click()
        page.locator("#tray").get_by_text("cannot be read as a video").wait_for()
        page.locator("#tray").get_by_text("1 added").wait_for()
        tab.until("document.querySelectorAll('.clip').length === 7")
        added = page.locator(".clip", has_text="brand new.mp4")
        assert added.locator(".label").inner_text() == "left"
        added.hover()
        added.get_by_role("button", name="Remove brand new.mp4").click()
        page.get_by_role("button", name="Remove", exact=True).click()
        tab.until("document.querySelectorAll('.clip').length === 6")
        tab.close()
    assert len(Sea(sea)) == 6


def test_a_clip_is_edited_and_the_sea_sorted(tab: Tab) -> None:
    page = tab.open("#/small/sea")
    page.locator(".clip").first.hover()
    page.locator(".clip").first.get_by_role("button", name="Edit").click()
    page.get_by_label("Name").fill("Model throw")
    page.get_by_label("Tags").fill("slow, 2026")
    page.get_by_role("button", name="Save").click()
    page.locator(".clip", has_text="Model throw").get_by_text("2026").wait_for()
    page.locator(".tools").get_by_role("button", name="Undo").click()
    tab.until("!document.querySelector('.clip .tag')")
    page.keyboard.press("Control+Shift+z")
    page.locator(".clip", has_text="Model throw").get_by_text("2026").wait_for()
    page.fill(".filter", "model thr")
    tab.until("document.querySelectorAll('.clip').length === 1")
    page.fill(".filter", "")
    page.get_by_label("Sort").select_option("name")
    tab.until("location.hash.includes('order=name')")
    page.reload()  # nothing is lost
    page.locator(".clip", has_text="Model throw").wait_for()
    tab.until("document.querySelectorAll('.clip').length === 6")
    names = page.locator(".clip .name").all_inner_texts()
    assert names == sorted(names, key=str.lower)
    page.locator(".clip", has_text="Model throw").locator(".open").focus()
    page.keyboard.press("e")
    page.get_by_label("Name").fill("")
    page.get_by_label("Tags").fill("")
    page.get_by_role("button", name="Save").click()
    tab.until("!document.querySelector('dialog') && !document.querySelector('.clip .tag')")


def test_a_sea_is_made_and_deleted_from_the_page(tab: Tab) -> None:
    page = tab.open("#/small/sea")
    page.get_by_label("Sea", exact=True).select_option("New sea…")
    page.locator("dialog input").fill("my-takes")
    page.get_by_role("button", name="Make").click()
    page.get_by_role("heading", name="Clips of my-takes").wait_for()
    page.get_by_role("button", name="Delete the sea").click()
    page.locator("dialog input").fill("my")
    page.locator("dialog").get_by_role("button", name="Delete the sea").click()
    page.get_by_text("Type my-takes to delete it.").wait_for()
    page.locator("dialog input").fill("my-takes")
    page.locator("dialog").get_by_role("button", name="Delete the sea").click()
    page.get_by_role("heading", name="Compare videos in step").wait_for()
    assert "my-takes" not in page.get_by_label("Sea", exact=True).inner_text()


def test_the_phone_is_explained(tab: Tab) -> None:
    tab.expected.append("409")
    page = tab.open("#/small/sea")
    page.get_by_role("button", name="On a phone").click()
    page.get_by_text("seasync serve --host 0.0.0.0").wait_for()
