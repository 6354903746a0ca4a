"""Two videos in step. Frames are told by their pixels: every film shows its own frame numbers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from seasync.serve import Client
from tests.serve.browser import Tab, decoded, drop, expect_count, scrub, warp_of
from tests.serve.films import frame, number_of, pace
from tests.videos import write

if TYPE_CHECKING:
    from playwright.sync_api import Browser

SHOWN = """() => ["query", "match"].map((side) => {
  const canvas = document.querySelector(`canvas.picture.${side}`);
  return [canvas.toDataURL("image/png"), Number(canvas.dataset.frame)];
})"""


@pytest.mark.parametrize("keep", ["query", "match"])
def test_the_match_shown_is_the_warps_frame(
    tab: Tab, client: Client, refs: dict[str, str], keep: str
) -> None:
    query, match = refs["right/a"], refs["right/c"]
    page = tab.sync(query, match)
    if keep == "match":
        page.get_by_role("radiogroup", name="Whose clock").get_by_text("Match").click()
        tab.settle()
    warp = warp_of(client, query, match, keep)
    rates = {"query": 30, "match": 25}
    other = "match" if keep == "query" else "query"
    seen = set()
    for share in (0.13, 0.31, 0.52, 0.74, 0.93):
        scrub(tab, share)
        time = tab.frame(keep) / rates[keep]
        assert page.evaluate("seasync.player.time") == pytest.approx(time, abs=0.01)
        assert abs(tab.frame(other) - warp.at(time) * rates[other]) <= 1, share
        seen.add(tab.frame(other))
    assert len(seen) == 5


def test_frames_are_stepped_one_by_one(tab: Tab, refs: dict[str, str]) -> None:
    page = tab.sync(refs["right/a"], refs["right/b"])
    for key, number in (
        ("ArrowRight", 1),
        ("ArrowRight", 2),
        ("Shift+ArrowRight", 12),
        ("ArrowLeft", 11),
        ("End", 59),
        ("Home", 0),
    ):
        page.keyboard.press(key)
        tab.settle()
        assert tab.frame("query") == number


def test_after_a_click_keys_are_meant_for_the_player(tab: Tab, refs: dict[str, str]) -> None:
    page = tab.sync(refs["right/a"], refs["right/b"])
    page.locator(".strips .row.query .tile").nth(2).click()
    tab.settle()
    at = tab.frame("query")
    assert at > 0
    page.keyboard.press("Space")
    tab.until(f"Number(document.querySelector('canvas.query').dataset.frame) > {at + 3}")
    page.keyboard.press("Space")
    tab.settle()
    page.get_by_role("radio", name="Stack").click()
    page.get_by_label("Corrected by other matches").click()
    tab.settle()
    at = tab.frame("query")
    page.keyboard.press("ArrowLeft")
    tab.settle()
    assert tab.frame("query") == at - 1
    expect_count(page.locator(".panes.stack"), 1)
    page.locator(".tabs summary", has_text="Mark").focus()  # with the keyboard, buttons are pressed as ever
    page.keyboard.press("Tab")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Space")
    page.get_by_role("button", name="Key moment").wait_for()
    assert not page.evaluate("seasync.player.playing")


def test_playing_keeps_both_in_step_and_stops_on_a_pair(
    tab: Tab, client: Client, refs: dict[str, str]
) -> None:
    """How exactly is the benchmark's matter; that what stops on screen belongs together is this one's."""
    page = tab.sync(refs["right/a"], refs["right/b"])
    page.keyboard.press("Space")
    tab.until("seasync.player.errors.length > 25")
    page.keyboard.press("Space")
    tab.settle()
    assert tab.frame("query") > 10
    warp = warp_of(client, refs["right/a"], refs["right/b"])
    assert abs(tab.frame("match") - warp.at(tab.frame("query") / 30) * 30) <= 1
    page.keyboard.press("l")
    page.keyboard.press("End")
    tab.settle()
    page.keyboard.press("Space")
    tab.until("seasync.player.time < 1 && seasync.player.playing")  # it has begun anew
    page.keyboard.press("Space")


def test_what_is_drawn_while_playing_is_what_it_says(
    tab: Tab, client: Client, refs: dict[str, str], tmp_path: Path
) -> None:
    """Frames of both say themselves which they are, so that pictures and numbers belong together. They stand
    upright even if a phone was held upright (its pictures are stored lying on their side)."""
    pictures = (np.rot90(frame(i, p, action="right"), -1) for i, p in enumerate(pace(60, bend=0.5)))
    turned = client.upload(write(tmp_path / "phone.mp4", pictures, rotation=(90, False, False)))
    page = tab.sync(refs["right/a"], turned.ref)
    assert page.evaluate("seasync.player.engine") == "ring"
    page.keyboard.press("l")
    page.keyboard.press("Space")
    for count in (10, 25, 40):
        tab.until(f"seasync.player.errors.length > {count}")
        for picture, number in page.evaluate(SHOWN):
            assert number_of(decoded(picture)) == number
    page.keyboard.press("Space")


def test_a_page_that_is_held_up_still_says_what_it_draws(
    browser: Browser, address: str, refs: dict[str, str]
) -> None:
    """Between the news of a frame and its drawing the video has gone on to another one."""
    page = browser.new_page()
    page.add_init_script(
        """const ask = HTMLVideoElement.prototype.requestVideoFrameCallback;
        let told = 0;
        HTMLVideoElement.prototype.requestVideoFrameCallback = function (tell) {
          return ask.call(this, (now, frame) => {
            told += 1; // every fourth only: were it all of them, the page would have time for nothing else
            for (const until = performance.now() + 70; told % 4 === 0 && performance.now() < until; );
            tell(now, frame);
          });
        };"""
    )
    tab = Tab(page, address)
    tab.sync(refs["right/a"], refs["right/b"])
    page.keyboard.press("l")
    page.keyboard.press("Space")
    for count in range(2, 12):
        tab.until(f"seasync.player.errors.length > {count}")
        for picture, number in page.evaluate(SHOWN):
            assert number_of(decoded(picture)) == number
    page.keyboard.press("Space")
    tab.settle()
    tab.close()


def test_without_frame_callbacks_speed_alone_keeps_them_together(
    browser: Browser, address: str, refs: dict[str, str]
) -> None:
    page = browser.new_page()
    page.add_init_script(
        "delete HTMLVideoElement.prototype.requestVideoFrameCallback; delete window.VideoFrame"
    )
    tab = Tab(page, address)
    tab.sync(refs["right/a"], refs["right/b"])
    assert page.evaluate("seasync.player.engine") == "speed"
    page.keyboard.press("Space")
    tab.until("seasync.player.errors.length > 20")
    page.keyboard.press("Space")
    tab.settle()
    assert tab.frame("query") > 3
    tab.close()


def test_the_matrix_is_clicked_to_jump(tab: Tab, client: Client, refs: dict[str, str]) -> None:
    page = tab.sync(refs["right/a"], refs["right/b"])
    tab.until("document.querySelector('.heat').naturalWidth > 0")
    box = page.locator(".matrix .plot").bounding_box()
    assert box
    page.mouse.click(box["x"] + 0.7 * box["width"], box["y"] + 0.95 * box["height"])  # far off the path
    tab.settle()
    axis = client.align("small", query=refs["right/a"], match=refs["right/b"]).axes["query"]
    assert tab.frame("query") / 30 == pytest.approx(axis.start + 0.7 * (axis.end - axis.start), abs=0.05)


def test_a_band_around_the_path_and_hatches_show_how_sure_it_is(tab: Tab, refs: dict[str, str]) -> None:
    tab.sync(refs["right/a"], refs["right/b"])
    tab.until("document.querySelectorAll('.bands polygon').length > 0")
    inside = """() => {
        const points = [...document.querySelector('.bands polygon').points];
        const [path] = document.querySelectorAll('.path');
        const [left, right] = [Math.min(...points.map((p) => p.x)), Math.max(...points.map((p) => p.x))];
        return [...path.points].filter((p) => p.x > left && p.x < right).every((p) => {
            const near = points.filter((q) => Math.abs(q.x - p.x) < 60).map((q) => q.y);
            return Math.min(...near) - 1 <= p.y && p.y <= Math.max(...near) + 1;
        });
    }"""
    assert tab.page.evaluate(inside)
    spans = """async () => {
        const { unsureSpans } = await import('./js/curve.js');
        const width = (t) => (t > 0.15 && t < 0.45 ? 1 : 0.1);
        const rows = [0, 0.1, 0.2, 0.3, 0.4, 0.5, 2.0, 2.1].map((t) => [t, t, t + width(t)]);
        const session = { alignment: { uncertainty: rows }, warpFrom: () => ({ at: (t) => t + 10 }) };
        return [unsureSpans(session, 'query'), unsureSpans(session, 'match')];
    }"""
    query, match = tab.page.evaluate(spans)
    assert query == [[0.2, 0.5]]
    assert match == [[pytest.approx(10.2), pytest.approx(10.5)]]


def test_what_the_browser_does_not_play_is_shown_by_proxy(tab: Tab, tmp_path: Path) -> None:
    """Uneven frame times, MPEG-4 in AVI's successor: the proxy has every frame at its own time."""
    from fractions import Fraction

    pts = [0, 30, 65, 90, 160, 180, 210, 300, 330, 345, 380, 400, 460, 480, 520, 560, 590, 620, 700, 740]
    pictures = (frame(i, i / 19, action="arc") for i in range(20))
    old = write(tmp_path / "old.mkv", pictures, codec="mpeg4", pts=pts, time_base=Fraction(1, 1000), gop=5)
    page = tab.open("#/small/search")
    page.get_by_text("What moves in step").wait_for()
    drop(page, "body", [old])
    page.wait_for_selector(".found")
    page.locator(".found a.button").first.click()
    page.wait_for_selector(".matrix")
    tab.settle()
    for number in (3, 4, 11, 18):
        page.evaluate("t => seasync.player.seek(t)", pts[number] / 1000 + 0.001)
        tab.settle()
        assert tab.frame("query") == number


def test_layouts_and_themes(tab: Tab, refs: dict[str, str]) -> None:
    page = tab.sync(refs["right/a"], refs["right/b"])

    def tops() -> list[float]:
        return page.eval_on_selector_all(
            ".pane", "panes => panes.map((one) => one.getBoundingClientRect().top)"
        )  # type: ignore[no-any-return]

    assert tops()[0] == tops()[1]
    page.keyboard.press("o")
    assert tops()[0] < tops()[1]
    page.keyboard.press("o")
    assert tops()[0] == tops()[1]
    assert page.locator(".through").is_visible()
    shining = [
        page.locator(f".pane.match {part}").evaluate("one => getComputedStyle(one).opacity")
        for part in ("canvas", "figcaption")
    ]
    assert shining == ["0.5", "1"]  # the names stay legible
    assert page.locator(".pane.match").evaluate("one => getComputedStyle(one).opacity") == "1"
    colours = []
    for _ in range(2):
        colours.append(page.evaluate("getComputedStyle(document.documentElement).backgroundColor"))
        page.locator("#theme").click()
    assert colours[0] != colours[1]
