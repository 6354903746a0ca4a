"""The page in real Chromium. Frames are told by their pixels: every film shows its own frame numbers."""

from __future__ import annotations

import csv
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from seasync.align import Warp
from seasync.align.warp import Stretch
from seasync.search import Sea
from seasync.serve import Client
from tests.serve.browser import Tab, chromium, decoded, drag, drop
from tests.serve.films import film, frame, number_of, pace
from tests.serve.live import live
from tests.videos import write

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Response

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as opened:
        yield opened


@pytest.fixture(scope="module")
def address(
    tmp_path_factory: pytest.TempPathFactory, made_sea: Path, films: Path, encoder: str
) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("live")
    sea = shutil.copytree(made_sea, folder / "small.sea")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SEASYNC_CACHE", str(folder / "cache"))
        with live(sea, folder / "state", encoder, roots=[films]) as address:
            yield address


@pytest.fixture
def tab(browser: Browser, address: str) -> Iterator[Tab]:
    opened = Tab(browser.new_page(viewport={"width": 1280, "height": 900}), address)
    yield opened
    opened.close()


@pytest.fixture
def client(address: str) -> Iterator[Client]:
    with Client(address) as client:
        yield client


@pytest.fixture
def refs(client: Client) -> dict[str, str]:
    """right/a and so on, as references."""
    return {f"{clip.label}/{clip.name[0]}": clip.ref for clip in client.clips("small") if clip.label}


def warp_of(client: Client, query: str, match: str, keep: str = "query", **asked: object) -> Warp:
    stretches = client.align("small", query=query, match=match, **asked).warps[keep]  # type: ignore[index]
    return Warp(tuple(Stretch(np.array(one.times), np.array(one.values), one.end) for one in stretches))


def is_saved(answer: Response) -> bool:
    return answer.request.method == "PUT" and answer.ok


def scrub(tab: Tab, share: float) -> None:
    """Click on the bar."""
    box = tab.page.locator(".scrub").bounding_box()
    assert box
    tab.page.mouse.click(box["x"] + share * box["width"], box["y"] + box["height"] / 2)
    tab.settle()


def test_the_sea_is_shown_and_filtered(tab: Tab) -> None:
    page = tab.open("")
    page.wait_for_selector(".clip")
    assert page.locator(".clip").count() == 6
    page.fill(".filter", "arc/")
    tab.until("document.querySelectorAll('.clip').length === 3")
    page.fill(".filter", "nothing like it")
    page.get_by_text("No clip fits").wait_for()
    page.get_by_role("button", name="Show all").click()
    tab.until("document.querySelectorAll('.clip').length === 6")
    tab.until("[...document.querySelectorAll('.clip img')].every((one) => one.naturalWidth > 0)")


def test_a_clip_plays_under_the_pointer(tab: Tab) -> None:
    page = tab.open("")
    page.locator(".clip").first.hover()
    tab.until("document.querySelector('.clip video')?.currentTime > 0.1")
    page.mouse.move(0, 0)
    tab.until("!document.querySelector('.clip video')")


def test_the_grid_is_walked_with_keys(tab: Tab) -> None:
    page = tab.open("")
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


def test_videos_are_added_by_drag_and_drop_and_taken_out(
    browser: Browser, sea: Path, films: Path, encoder: str, tmp_path: Path
) -> None:
    new = film(tmp_path / "brand new.mp4", pace(30), action="left")
    bad = tmp_path / "bad.mp4"
    bad.write_bytes(b"no video")
    with live(sea, tmp_path / "state", encoder, roots=[films]) as address:
        tab = Tab(browser.new_page(), address)
        tab.expected = ["422"]
        page = tab.open("")
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
        added.get_by_role("button", name="Take brand new.mp4 out").click()
        page.get_by_role("button", name="Take out").click()
        tab.until("document.querySelectorAll('.clip').length === 6")
        tab.close()
    assert len(Sea(sea)) == 6


def test_a_match_plays_in_step_on_its_card(tab: Tab, refs: dict[str, str]) -> None:
    page = tab.open(f"#/small/search?query={refs['right/a']}")
    page.wait_for_selector(".found")
    assert page.locator(".found").count() == 5
    assert "move in step" in page.locator(".results h1").inner_text()
    assert page.locator(".found .label").first.inner_text() == "right"
    page.locator(".found").first.hover()
    page.wait_for_selector(".found.playing")
    tab.until("document.querySelector('.found.playing').pair.errors.length > 20")
    page.mouse.move(0, 0)
    tab.until("!document.querySelector('.found.playing')")
    assert page.locator("video.reel").count() == 1  # the query's own


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
    """The follower's frames come out of the ring: its picture and its number must belong together, and stand
    upright even if a phone was held upright (its pictures are stored lying on their side)."""
    pictures = (np.rot90(frame(i, p, action="right"), -1) for i, p in enumerate(pace(60, bend=0.5)))
    turned = client.upload(write(tmp_path / "phone.mp4", pictures, rotation=(90, False, False)))
    page = tab.sync(refs["right/a"], turned.ref)
    assert page.evaluate("seasync.player.engine") == "ring"
    page.keyboard.press("l")
    page.keyboard.press("Space")
    for count in (10, 25, 40):
        tab.until(f"seasync.player.errors.length > {count}")
        shown = page.evaluate(
            """() => ["query", "match"].map((side) => {
              const canvas = document.querySelector(`canvas.picture.${side}`);
              return [canvas.toDataURL("image/png"), Number(canvas.dataset.frame)];
            })"""
        )
        for picture, number in shown:
            assert number_of(decoded(picture)) == number
    page.keyboard.press("Space")


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


def test_the_path_is_dragged_to_an_anchor_and_all_follows(
    tab: Tab, client: Client, refs: dict[str, str]
) -> None:
    query, match = refs["right/a"], refs["right/c"]
    page = tab.sync(query, match)
    before = page.locator(".gauge .value").inner_text()
    box = page.locator(".matrix .plot").bounding_box()
    assert box
    warp = warp_of(client, query, match)
    axes = client.align("small", query=query, match=match).axes

    def point(at: float, partner: float) -> tuple[float, float]:
        across = (at - axes["query"].start) / (axes["query"].end - axes["query"].start)
        up = (partner - axes["match"].start) / (axes["match"].end - axes["match"].start)
        return box["x"] + across * box["width"], box["y"] + (1 - up) * box["height"]

    with page.expect_response(is_saved):
        drag(page, point(1.0, warp.at(1.0)), point(1.0, warp.at(1.0) - 0.5))
    page.wait_for_selector(".pin")
    tab.settle()
    (anchor,) = client.anchors("small", query, match)
    assert anchor.match == pytest.approx(warp.at(1.0) - 0.5, abs=0.05)
    assert page.locator(".gauge .value").inner_text() != before
    page.evaluate("t => seasync.player.seek(t)", anchor.query)
    tab.settle()
    anchored = warp_of(client, query, match, anchor=[f"{anchor.query:.6f}={anchor.match:.6f}"])
    assert abs(tab.frame("match") - anchored.at(tab.frame("query") / 30) * 25) <= 1
    page.reload()
    page.wait_for_selector(".pin")
    assert "--anchor" in page.locator(".command").text_content()
    with page.expect_response(is_saved):
        page.locator(".anchors button[aria-label^='Take anchor']").click()
    tab.until("!document.querySelector('.pin')")
    assert page.locator(".gauge .value").inner_text() == before
    assert client.anchors("small", query, match) == []


def test_a_frame_is_dragged_onto_its_partner(tab: Tab, client: Client, refs: dict[str, str]) -> None:
    query, match = refs["arc/a"], refs["arc/b"]
    page = tab.sync(query, match)
    tab.until("document.querySelectorAll('.strips .row.match .tile').length > 4")
    tiles = page.locator(".strips .row.match .tile")
    source, target = tiles.nth(2), page.locator(".strips .row.query .tile").nth(3)
    times = [float(tile.get_attribute("data-seconds") or "nan") for tile in (source, target)]
    places = [tile.bounding_box() for tile in (source, target)]
    centres = [(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2) for box in places if box]
    with page.expect_response(is_saved):
        drag(page, *centres)
    (anchor,) = client.anchors("small", query, match)
    assert (anchor.match, anchor.query) == (pytest.approx(times[0]), pytest.approx(times[1]))
    page.locator(".pin").focus()
    page.keyboard.press("Delete")
    tab.until("!document.querySelector('.pin')")


def test_an_anchor_is_set_frame_by_frame_with_keys(tab: Tab, client: Client, refs: dict[str, str]) -> None:
    query, match = refs["arc/b"], refs["arc/c"]
    page = tab.sync(query, match)
    scrub(tab, 0.5)
    start, before = tab.frame("query"), tab.frame("match")
    page.keyboard.press("a")
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    tab.until(f"Number(document.querySelector('canvas.match').dataset.frame) === {before + 3}")
    assert tab.frame("match") == before + 3
    assert tab.frame("query") == start
    with page.expect_response(is_saved):
        page.keyboard.press("Enter")
    page.wait_for_selector(".pin")
    (anchor,) = client.anchors("small", query, match)
    assert anchor.query == pytest.approx(start / 30, abs=1e-3)
    assert anchor.match == pytest.approx((before + 3) / 25, abs=1e-3)
    client.set_anchors("small", query, match, [])


def test_marks_are_set_with_keys_carried_over_and_exported(
    tab: Tab, client: Client, refs: dict[str, str], tmp_path: Path
) -> None:
    query, match = refs["right/b"], refs["right/a"]
    page = tab.open(f"#/small/mark?clip={query}")
    page.wait_for_selector(".scrub")
    tab.settle()
    page.keyboard.press("p")
    for share, key in ((0.25, "m"), (0.75, "m")):
        scrub(tab, share)
        page.keyboard.press(key)
    tab.until("document.querySelectorAll('.marks li').length === 3")
    name = page.locator(".marks li.moment input").first
    name.fill("impact")
    name.press("Enter")
    tab.until("document.querySelectorAll('.scrub .tick').length === 3")
    tab.sync(query, match)
    page.locator("summary", has_text="Mark").click()
    carried = page.locator(".marks li.moment .carried").first
    marks = {mark.name: mark for mark in client.marks("small", query)}
    assert set(marks) == {"impact", "moment 2", "phase 1"}
    assert marks["impact"].frame == pytest.approx(18, abs=1)
    minutes, seconds = carried.inner_text().split(":")
    assert 60 * int(minutes) + float(seconds) == pytest.approx(
        warp_of(client, query, match).at(marks["impact"].seconds), abs=0.01
    )
    with page.expect_download() as download:
        page.locator(".exports a", has_text="events.csv").click()
    download.value.save_as(tmp_path / "events.csv")
    rows = list(csv.DictReader((tmp_path / "events.csv").read_text().splitlines()))
    assert rows == [
        {
            "clip": "right/b.mp4",
            "impact": str(marks["impact"].frame),
            "moment 2": str(marks["moment 2"].frame),
        }
    ]
    page.evaluate("seasync.player.seek(0)")
    tab.settle()
    page.locator(".scrub").focus()
    page.keyboard.press("Backspace")
    tab.until("document.querySelectorAll('.marks li').length === 2")
    client.set_marks("small", query, [])


def test_films_and_timelines_are_downloaded(tab: Tab, refs: dict[str, str], tmp_path: Path) -> None:
    from seasync.video import probe

    page = tab.sync(refs["right/a"], refs["right/b"])
    page.locator("summary", has_text="Download").click()
    with page.expect_download() as download:
        page.locator(".links a", has_text=".otio").click()
    assert download.value.suggested_filename == "b in step with a.otio"
    page.get_by_label("Pictures").select_option("stack")
    page.get_by_role("button", name="Make the film").click()
    with page.expect_download() as download:
        page.locator("#tray .row", has_text="Film b in step with a").get_by_text("Download").click()
    download.value.save_as(tmp_path / "film.mp4")
    assert probe(tmp_path / "film.mp4").height == 240


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


def test_a_partial_alignment_says_so_and_dims_the_rest(tab: Tab, refs: dict[str, str]) -> None:
    page = tab.sync(refs["right/a"], refs["arc/b"], partial="always")
    covered = page.evaluate("seasync.warp.spans")
    page.evaluate("seasync.player.seek(seasync.lead.seconds.find((t) => !seasync.warp.covers(t)) ?? -1)")
    tab.settle()
    outside = page.evaluate("seasync.lead.seconds.some((t) => !seasync.warp.covers(t))")
    assert outside, covered
    assert page.locator(".pane.match.left-out").count() == 1
    assert page.locator(".pane.match .time").inner_text() == "no counterpart"
    assert page.locator(".veils rect").count() > 0
    assert page.locator(".tile:disabled").count() > 0
    page.get_by_label("Whole or in part").select_option("never")
    tab.until("document.querySelectorAll('.veils rect').length === 0")


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
    colours = []
    for _ in range(2):
        colours.append(page.evaluate("getComputedStyle(document.documentElement).backgroundColor"))
        page.locator("#theme").click()
    assert colours[0] != colours[1]


def test_on_a_phone_nothing_hangs_over(browser: Browser, address: str, refs: dict[str, str]) -> None:
    page = browser.new_page(viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True)
    tab = Tab(page, address)
    views = {
        "#/small/sea": ".clip",
        f"#/small/search?query={refs['right/a']}": ".found",
        f"#/small/sync?query={refs['right/a']}&match={refs['right/b']}": ".matrix",
        f"#/small/mark?clip={refs['right/a']}": ".scrub",
    }
    for place, sign in views.items():
        tab.open(place)
        page.wait_for_selector(sign)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, place
    tab.close()


def test_trouble_is_told_in_words(browser: Browser, address: str, refs: dict[str, str]) -> None:
    tab = Tab(browser.new_page(), address)
    tab.expected = ["404", "Failed to load"]
    page = tab.open(f"#/small/sync?query=clip:{'0' * 32}&match={refs['right/a']}")
    page.get_by_text("Not here").wait_for()
    page.get_by_role("link", name="To the sea").click()
    page.wait_for_selector(".clip")
    page.route("**/search", lambda route: route.abort())
    tab.open(f"#/small/search?query={refs['right/a']}")
    page.get_by_text("The server does not answer").wait_for()
    page.unroute("**/search")
    page.get_by_role("button", name="Try again").click()
    page.wait_for_selector(".found")
    tab.close()


def test_when_nothing_aligns_it_says_what_may_help(tab: Tab, tmp_path: Path) -> None:
    noise = np.random.default_rng(0).integers(0, 255, (40, 15, 20, 3), np.uint8).repeat(8, 1).repeat(8, 2)
    page = tab.open("#/small/search")
    page.get_by_text("What moves in step").wait_for()
    drop(page, "body", [write(tmp_path / "noise.mp4", noise)])
    page.get_by_text("Nothing here moves in step").wait_for()
    assert "Trim the query" in page.locator(".hints").inner_text()


def test_an_empty_sea_invites_and_a_locked_one_asks(browser: Browser, encoder: str, tmp_path: Path) -> None:
    with live(tmp_path / "new.sea", tmp_path / "state", encoder, token="open-sesame") as address:
        tab = Tab(browser.new_page(), address)
        tab.expected = ["401"]
        page = tab.open("")
        page.get_by_label("Token").fill("open-sesame")
        page.get_by_role("button", name="Open").click()
        page.get_by_text("An empty sea").wait_for()
        assert "token" not in page.url
        tab.close()
