"""Anchors, marks, and what is taken away."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from seasync.serve import Client
from seasync.serve.models import MarkForm as Mark
from tests.serve.browser import Tab, drag, expect_count, is_saved, scrub, warp_of

if TYPE_CHECKING:
    from playwright.sync_api import Route


def test_the_path_is_dragged_to_an_anchor_and_all_follows(
    tab: Tab, client: Client, refs: dict[str, str]
) -> None:
    query, match = refs["right/a"], refs["right/c"]
    page = tab.sync(query, match)
    before = page.locator(".verdict .value").text_content()
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
    assert page.locator(".verdict .value").text_content() != before
    page.evaluate("t => seasync.player.seek(t)", anchor.query)
    tab.settle()
    anchored = warp_of(client, query, match, anchor=[f"{anchor.query:.6f}={anchor.match:.6f}"])
    assert abs(tab.frame("match") - anchored.at(tab.frame("query") / 30) * 25) <= 1
    page.reload()
    page.wait_for_selector(".pin")
    assert "--anchor" in page.locator(".command").first.text_content()
    page.locator("summary", has_text="Correct").click()
    with page.expect_response(is_saved):
        page.locator(".anchors button[aria-label^='Remove the anchor']").click()
    tab.until("!document.querySelector('.pin')")
    assert page.locator(".verdict .value").text_content() == before
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
    assert (tab.frame("query"), tab.frame("match")) == (start, before + 3)
    with page.expect_response(is_saved):
        page.keyboard.press("Enter")
    page.wait_for_selector(".pin")
    (anchor,) = client.anchors("small", query, match)
    assert anchor.query == pytest.approx(start / 30, abs=1e-3)
    assert anchor.match == pytest.approx((before + 3) / 25, abs=1e-3)
    tab.settle()
    assert (tab.frame("query"), tab.frame("match")) == (start, before + 3)  # and so they stay
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


def test_a_mark_set_before_the_others_are_loaded_joins_them(
    tab: Tab, client: Client, refs: dict[str, str]
) -> None:
    clip = refs["arc/c"]
    client.set_marks("small", clip, [Mark(name="end", kind="moment", frame=9, seconds=9 / 30)])
    held: list[Route] = []
    tab.page.route("**/marks/**", lambda route: route.continue_() if held else held.append(route))
    page = tab.open(f"#/small/mark?clip={clip}")
    page.wait_for_selector(".scrub")
    tab.settle()
    page.keyboard.press("m")
    with page.expect_response(is_saved):
        held[0].continue_()
    tab.until("document.querySelectorAll('.marks li.moment').length === 2")
    with page.expect_response(is_saved):
        page.keyboard.press("p")
    assert [mark.name for mark in client.marks("small", clip)] == ["moment 2", "phase 1", "end"]
    client.set_marks("small", clip, [])


def test_a_frame_has_one_key_moment_which_keeps_its_name(
    tab: Tab, client: Client, refs: dict[str, str]
) -> None:
    clip = refs["arc/a"]
    page = tab.open(f"#/small/mark?clip={clip}")
    page.wait_for_selector(".scrub")
    tab.settle()

    def names() -> list[str]:
        return [mark.name for mark in client.marks("small", clip)]

    with page.expect_response(is_saved):
        page.keyboard.press("m")
    page.keyboard.press("m")
    page.keyboard.press("m")
    page.get_by_text("moment 1 is here already").wait_for()
    expect_count(page.locator(".toast"), 1)
    with page.expect_response(is_saved):
        page.keyboard.press("p")  # a phase may begin there too
    assert sorted(names()) == ["moment 1", "phase 1"]
    with page.expect_response(is_saved):
        page.keyboard.press("3")  # which says what it is
    assert sorted(names()) == ["moment 3", "phase 1"]
    client.set_marks("small", clip, [])


def test_films_and_timelines_are_downloaded(tab: Tab, refs: dict[str, str], tmp_path: Path) -> None:
    from seasync.video import probe

    page = tab.sync(refs["right/a"], refs["right/b"])
    page.locator("summary", has_text="Download").click()
    with page.expect_download() as download:
        page.locator(".links a", has_text=".otio").click()
    assert download.value.suggested_filename == "b in step with a.otio"
    page.get_by_label("Pictures").select_option("stack")
    with page.expect_download() as download:
        page.get_by_role("button", name="Make the film").click()
    assert download.value.suggested_filename == "b in step with a.mp4"
    with page.expect_download() as download:  # it stays at the top of the page
        page.locator("#tray .row", has_text="Film b in step with a").get_by_text("Download").dispatch_event(
            "click"
        )
    download.value.save_as(tmp_path / "film.mp4")
    assert probe(tmp_path / "film.mp4").height == 240
