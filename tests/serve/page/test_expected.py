"""What people expect of any player: sound, full screen, touch, swap, phones; nothing is lost on reload."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import pytest

from seasync.serve import Client
from seasync.serve.models import Anchor, DrawingForm
from tests.serve.browser import Tab, drop, expect_count
from tests.serve.films import film, frame, pace
from tests.serve.live import live
from tests.videos import write

if TYPE_CHECKING:
    from playwright.sync_api import Browser


def test_a_reload_shows_the_same_moment_speed_and_layout(tab: Tab, refs: dict[str, str]) -> None:
    page = tab.sync(refs["right/a"], refs["right/b"])
    for key in ("k", "[", "o", "i", "l"):
        page.keyboard.press(key)
    tab.settle()
    page.evaluate("seasync.player.seek(1)")
    tab.settle()
    looks = "document.querySelector('.panes').className"
    shown = f"[seasync.keep, seasync.player.speed, seasync.player.loop, {looks}]"
    before, frames = page.evaluate(shown), [tab.frame(side) for side in ("query", "match")]
    assert before[:3] == ["match", 0.5, True]
    assert {"stack", "mirrored"} <= set(before[3].split())
    tab.until("location.hash.endsWith(`&t=${seasync.player.time.toFixed(4)}`)")
    page.reload()
    page.wait_for_selector(".matrix")
    tab.until("window.seasync?.player && seasync.player.time > 0.2")
    tab.settle()
    assert page.evaluate(shown) == before
    assert [tab.frame(side) for side in ("query", "match")] == frames


def test_swapping_takes_anchors_and_drawings_along(tab: Tab, client: Client, refs: dict[str, str]) -> None:
    query, match = refs["right/b"], refs["right/a"]
    client.set_anchors("small", query, match, [Anchor(query=1.0, match=0.8)])
    line = DrawingForm(kind="line", points=[(0.1, 0.1), (0.5, 0.5)], seconds=1.0)
    client.bodies.set_drawings("small", query, match, [line])
    page = tab.sync(query, match)
    page.get_by_role("button", name="Swap").click()
    tab.until(f"window.seasync?.request.query === '{match}' && seasync.alignment")
    tab.settle()
    assert client.anchors("small", query, match) == []
    assert client.anchors("small", match, query) == [Anchor(query=0.8, match=1.0)]
    (moved,) = client.bodies.drawings("small", match, query)
    assert moved.seconds == pytest.approx(0.8, abs=0.05)
    page.keyboard.press("x")
    tab.until(f"window.seasync?.request.query === '{query}'")
    tab.settle()
    assert client.anchors("small", query, match) == [Anchor(query=1.0, match=0.8)]
    client.set_anchors("small", query, match, [])
    client.bodies.set_drawings("small", query, match, [])


def test_the_sound_of_either_is_heard(tab: Tab, refs: dict[str, str]) -> None:
    page = tab.sync(refs["right/a"], refs["right/b"])
    muted = "['query', 'match'].map((side) => seasync.reels[side].video.muted)"
    heard = [[True, True]]
    assert page.evaluate(muted) == heard[0]
    for _ in range(3):
        page.keyboard.press("q")
        heard.append(page.evaluate(muted))
    assert heard[1:] == [[False, True], [True, False], [True, True]]


def test_full_screen(tab: Tab, refs: dict[str, str]) -> None:
    page = tab.sync(refs["right/a"], refs["right/b"])
    page.keyboard.press("f")
    tab.until("document.fullscreenElement?.classList.contains('watch')")
    page.keyboard.press("f")
    tab.until("!document.fullscreenElement")


def test_fingers_step_play_and_zoom(browser: Browser, address: str, refs: dict[str, str]) -> None:
    phone = {"width": 390, "height": 844}
    tab = Tab(browser.new_page(viewport=phone, has_touch=True, is_mobile=True), address)  # type: ignore[arg-type]
    page = tab.sync(refs["right/a"], refs["right/b"])
    page.locator(".pane.query").scroll_into_view_if_needed()
    box = page.locator(".pane.query").bounding_box()
    assert box
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    tools = page.context.new_cdp_session(page)

    def touch(kind: str, *points: tuple[float, float]) -> None:
        found = [{"x": left, "y": top, "id": n} for n, (left, top) in enumerate(points)]
        tools.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": found})

    touch("touchStart", (x, y))
    for moved in range(10, 130, 10):
        touch("touchMove", (x + moved, y))
    touch("touchEnd")
    tab.settle()
    assert tab.frame("query") >= 5
    page.touchscreen.tap(x, y)
    tab.until("seasync.player.playing")
    page.touchscreen.tap(x, y)
    tab.settle()
    touch("touchStart", (x - 20, y), (x + 20, y))
    touch("touchMove", (x - 50, y), (x + 50, y))
    touch("touchEnd")
    zoom = page.eval_on_selector(".panes", "one => Number(one.style.getPropertyValue('--zoom'))")
    assert zoom == pytest.approx(2.5, abs=0.1)
    tab.close()


def test_nothing_plays_by_itself_for_people_who_want_little_motion(browser: Browser, address: str) -> None:
    tab = Tab(browser.new_page(reduced_motion="reduce"), address)
    page = tab.open("#/small/sea")
    page.locator(".clip").first.hover()
    assert page.locator(".clip video").count() == 0
    assert page.locator(".clip").first.evaluate("one => getComputedStyle(one).transitionDuration") == "0s"
    tab.close()


def test_a_link_is_copied_where_browsers_have_no_clipboard(
    browser: Browser, address: str, refs: dict[str, str]
) -> None:
    """As on a phone in the local network, whose address has no TLS."""
    page = browser.new_page()
    page.add_init_script(
        """Object.defineProperty(navigator, "clipboard", { value: undefined });
        addEventListener("copy", () => (window.copied = document.activeElement.value));"""
    )
    tab = Tab(page, address)
    tab.sync(refs["right/a"], refs["right/c"])
    page.get_by_role("button", name="Keep").click()
    page.get_by_role("button", name="Copy link").click()
    page.locator(".toast", has_text="link was copied").wait_for()
    copied, shown = (parse_qs(link.partition("?")[2]) for link in (page.evaluate("copied"), page.url))
    assert copied | {"t": None} == shown | {"t": None}  # the address learns the moment a little later
    assert "comparison" in copied
    tab.close()


def test_a_phone_opens_the_page_by_its_code(browser: Browser, encoder: str, tmp_path: Path) -> None:
    with live(tmp_path / "new.sea", tmp_path / "state", encoder, host="0.0.0.0", token="open+sesame") as at:
        tab = Tab(browser.new_page(), at)
        page = tab.open("?token=open%2Bsesame")
        page.get_by_role("button", name="On a phone").click()
        tab.until("document.querySelector('.qr')?.naturalWidth > 100")
        told = urlsplit(page.locator("dialog code").inner_text())
        tab.close()
        assert told.port == urlsplit(at).port
        phone = Tab(browser.new_page(viewport={"width": 390, "height": 844}, is_mobile=True), at)
        phone.open(f"?{told.query}").get_by_role("heading", name="Compare two videos").wait_for()
        app = phone.page.evaluate(
            "fetch('app.webmanifest', { credentials: 'include' }).then((one) => one.json())"
        )
        assert app["display"] == "standalone"
        assert {icon["sizes"] for icon in app["icons"]} >= {"192x192", "512x512"}
        phone.close()


def test_hevc_from_a_phone_held_upright_is_shown_frame_by_frame(
    browser: Browser, encoder: str, tmp_path: Path
) -> None:
    import numpy as np

    videos = []
    for name, count in (("first", 30), ("second", 40)):
        pictures = (np.rot90(frame(i, p, action="right"), -1) for i, p in enumerate(pace(count)))
        pts = [33 * i + 9 * (i % 2) for i in range(count)]  # uneven, as phones film
        file = tmp_path / f"{name}.mov"
        options = {"x265-params": "log-level=none"}
        write(
            file, pictures, codec="libx265", pts=pts, fps=1000, rotation=(90, False, False), options=options
        )
        videos.append(file)
    with live(tmp_path / "new.sea", tmp_path / "state", encoder) as at:
        tab = Tab(browser.new_page(viewport={"width": 1280, "height": 900}), at)
        page = tab.open("")
        page.wait_for_selector(".slot")
        drop(page, "body", videos)
        page.wait_for_selector(".matrix")
        tab.until("window.seasync?.alignment?.detail === 'full'")
        tab.settle()
        for number in (7, 20):
            page.evaluate("n => seasync.player.seek(seasync.lead.seconds[n])", number)
            tab.settle()
            assert tab.frame("query") == number
        tab.close()


def test_takes_that_cannot_be_read_are_listed_in_one_panel(tab: Tab, tmp_path: Path) -> None:
    tab.expected = ["422"]
    files = [film(tmp_path / f"{count}.mp4", pace(count), action="right") for count in (35, 45)]
    for name in ("one.mp4", "two.mp4"):
        files.append(tmp_path / name)
        files[-1].write_bytes(b"no video")
    page = tab.open("")
    page.wait_for_selector(".slot")
    drop(page, "body", files)
    page.get_by_role("heading", name="2 videos in step").wait_for()
    page.get_by_role("button", name="1 with problems").click()
    panel = page.locator("#tray .row", has_text="2 of 4 files not added")
    expect_count(panel.locator(".problems li"), 2)


def test_both_videos_are_chosen_at_once_and_compared_with_the_keyboard_alone(
    tab: Tab, tmp_path: Path
) -> None:
    files = [film(tmp_path / f"{count}.mp4", pace(count), action="right") for count in (36, 46)]
    page = tab.open("")
    page.wait_for_selector(".slot")
    with page.expect_file_chooser() as chooser:
        page.locator(".slot").first.press("Enter")
    chooser.value.set_files(files)
    page.wait_for_selector(".matrix")
    tab.settle()
    assert [page.locator(f"h1 .{side}").inner_text() for side in ("query", "match")] == ["36.mp4", "46.mp4"]
    page.locator(".tabs summary", has_text="Download").focus()
    page.keyboard.press("Enter")
    assert page.get_by_role("button", name="Make the film").is_visible()
