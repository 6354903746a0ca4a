"""Two videos compared without a sea: dropped, in step, kept, named, reopened, saved to a file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from seasync.serve import Client
from seasync.video import probe
from tests.serve.browser import Tab, drop, expect_count, is_saved, scrub, warp_of
from tests.serve.films import film, pace
from tests.serve.live import live

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture
def takes(tmp_path: Path) -> list[Path]:
    """The same movement in two seconds and in three."""
    return [
        film(tmp_path / f"{name}.mp4", pace(count), action="right")
        for name, count in (("quick", 60), ("slow", 90))
    ]


@pytest.fixture
def empty(browser: Browser, encoder: str, tmp_path: Path) -> Iterator[Tab]:
    """The page of a server without any clip."""
    with live(tmp_path / "none.sea", tmp_path / "state", encoder) as address:
        tab = Tab(browser.new_page(viewport={"width": 1280, "height": 900}), address)
        yield tab
        tab.close()


def ready(tab: Tab) -> None:
    tab.page.wait_for_selector(".matrix")
    tab.until("window.seasync?.alignment?.detail === 'full'")
    tab.settle()


def test_two_dropped_videos_are_in_step_without_a_sea(empty: Tab, takes: list[Path]) -> None:
    page = empty.open("")
    page.get_by_role("heading", name="Compare videos in step").wait_for()
    drop(page, "body", takes)
    ready(empty)
    query, match = page.evaluate("[seasync.request.query, seasync.request.match]")
    with Client(empty.address) as client:
        warp = warp_of(client, query, match, sea="-")
    for share in (0.3, 0.7):
        scrub(empty, share)
        assert abs(empty.frame("match") - warp.at(empty.frame("query") / 30) * 30) <= 1
    assert (
        page.locator("h1").inner_text() == "quick.mp4andslow.mp4"
        or "quick.mp4" in page.locator("h1").inner_text()
    )
    page.reload()
    ready(empty)
    assert "comparison=" in page.url
    page.get_by_role("button", name="quick.mp4 and slow.mp4").click()
    page.get_by_label("Name", exact=True).last.fill("Before and after")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Before and after").wait_for()
    page.go_back()
    page.get_by_role("heading", name="Your comparisons").wait_for()
    page.get_by_role("link", name="Before and after").first.click()
    ready(empty)


def test_two_chosen_videos_need_one_click_for_the_film(empty: Tab, takes: list[Path], tmp_path: Path) -> None:
    page = empty.open("")
    with page.expect_file_chooser() as chooser:
        page.locator(".slot").first.click()
    chooser.value.set_files(takes)
    ready(empty)
    page.locator(".moments tbody button").first.wait_for()  # the largest difference is named
    with Client(empty.address) as client:
        while not client.jobs():  # a film is made before anybody asks for it
            page.wait_for_timeout(50)
        (made,) = client.jobs()
        assert (made.kind, client.wait(made).state) == ("ahead", "done")
    with page.expect_download() as download:
        page.get_by_role("button", name="Download film").click()
    assert download.value.suggested_filename == "slow in step with quick.mp4"
    download.value.save_as(tmp_path / "film.mp4")
    assert probe(tmp_path / "film.mp4").seconds == pytest.approx(2, abs=0.1)
    with Client(empty.address) as client:
        assert [job.id for job in client.jobs()] == [made.id]  # it was not made again
    assert page.locator("#tray .row").count() == 0


def test_the_film_follows_what_is_changed(empty: Tab, takes: list[Path]) -> None:
    page = empty.open("")
    page.wait_for_selector(".slot")
    drop(page, "body", takes)
    ready(empty)
    page.get_by_role("radio", name="Second video").click()  # it keeps its speed now
    with page.expect_download() as download:
        page.get_by_role("button", name="Download film").click()
    assert probe(download.value.path()).seconds == pytest.approx(3, abs=0.1)


def test_a_comparison_is_saved_and_opened_on_another_machine(
    empty: Tab, takes: list[Path], browser: Browser, encoder: str, tmp_path: Path
) -> None:
    page = empty.open("")
    page.wait_for_selector(".slot")
    drop(page, "body", takes)
    ready(empty)
    page.get_by_role("button", name="Save file").click()
    with page.expect_download() as download:
        page.get_by_role("link", name="With the videos").click()
    assert download.value.suggested_filename == "quick.mp4 and slow.mp4.seasync"
    download.value.save_as(tmp_path / "saved.seasync")
    with live(tmp_path / "far.sea", tmp_path / "far", encoder) as address:
        far = Tab(browser.new_page(), address)
        other = far.open("")
        other.wait_for_selector(".slot")
        drop(other, "body", [tmp_path / "saved.seasync"])
        ready(far)
        assert "slow.mp4" in other.locator("h1").inner_text()
        far.close()


def test_the_second_chosen_video_begins_and_a_refused_one_leaves_its_slot(
    empty: Tab, takes: list[Path], tmp_path: Path
) -> None:
    bad = tmp_path / "no video.mp4"
    bad.write_bytes(b"no video")
    empty.expected = ["422"]
    page = empty.open("")
    for file, left in ((takes[0], "quick.mp4"), (bad, "Second video")):
        with page.expect_file_chooser() as chooser:
            page.locator(".slot").nth(0 if file == takes[0] else 1).click()
        chooser.value.set_files(file)
        page.locator(".slot", has_text=left).wait_for()
    page.locator("#tray .row[data-state=failed]", has_text="no video.mp4").wait_for()
    assert page.get_by_role("button", name="Compare", exact=True).is_disabled()
    with page.expect_file_chooser() as chooser:
        page.locator(".slot").nth(1).click()
    chooser.value.set_files(takes[1])
    ready(empty)


def test_a_file_without_videos_asks_for_them(
    empty: Tab, takes: list[Path], browser: Browser, encoder: str, tmp_path: Path
) -> None:
    page = empty.open("")
    page.wait_for_selector(".slot")
    drop(page, "body", takes)
    ready(empty)
    page.get_by_role("button", name="Save file").click()
    with page.expect_download() as download:
        page.get_by_role("link", name="Without the videos").click()
    download.value.save_as(tmp_path / "small.seasync")
    assert (tmp_path / "small.seasync").stat().st_size < min(take.stat().st_size for take in takes)
    with live(tmp_path / "far.sea", tmp_path / "far", encoder) as address:
        far = Tab(browser.new_page(), address)
        far.expected = ["409"]
        other = far.open("")
        other.wait_for_selector(".slot")
        drop(other, "body", [tmp_path / "small.seasync"])
        dialog = other.get_by_role("dialog", name="small.seasync needs its videos")
        assert all(take.name in dialog.inner_text() for take in takes)
        with other.expect_file_chooser() as chooser:
            dialog.get_by_role("button", name="Choose the videos").click()
        chooser.value.set_files(takes)
        ready(far)
        assert dialog.count() == 0
        far.close()
    with live(tmp_path / "third.sea", tmp_path / "third", encoder) as address:
        third = Tab(browser.new_page(), address)
        another = third.open("")
        another.wait_for_selector(".slot")
        drop(another, "body", [tmp_path / "small.seasync", *takes])  # all at once
        ready(third)
        third.close()


def test_times_count_from_the_moment_on_show(empty: Tab, takes: list[Path]) -> None:
    page = empty.open("")
    page.wait_for_selector(".slot")
    drop(page, "body", takes)
    ready(empty)
    page.locator(".report .summary").wait_for()
    page.evaluate("seasync.player.seek(1)")
    empty.settle()
    page.get_by_role("button", name="Count from this moment").click()
    page.locator(".report").get_by_text("Times count from 0:01.00 of the first video").wait_for()
    assert "the chosen moment" in page.locator(".report .summary").inner_text()
    page.reload()
    page.locator(".report").get_by_text("Times count from 0:01.00 of the first video").wait_for()
    page.get_by_role("button", name="Count from the start").click()
    page.locator(".report").get_by_text("Times count from the start of what both show").wait_for()


def test_frames_of_portrait_videos_are_not_distorted(empty: Tab, tmp_path: Path) -> None:
    turned = {"action": "right", "rotation": (90, False, False)}
    tall = [film(tmp_path / f"tall {n}.mp4", pace(40, bend=0.4 * n), **turned) for n in range(2)]
    page = empty.open("")
    page.wait_for_selector(".slot")
    drop(page, "body", tall)
    ready(empty)
    page.locator(".moments .frame").first.wait_for()
    for place in (".strips .frame", ".moments .frame"):
        empty.until(f"document.querySelector('{place}')?.getBoundingClientRect().height > 0")
        sizes = page.eval_on_selector_all(
            place, "all => all.map((one) => one.getBoundingClientRect()).map((box) => box.width / box.height)"
        )
        assert sizes == [pytest.approx(120 / 160, rel=0.03)] * len(sizes)


def test_one_video_beside_a_model_of_the_sea(tab: Tab, takes: list[Path]) -> None:
    page = tab.open("")
    page.wait_for_selector(".way")
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Compare with a model").click()
    chooser.value.set_files(takes[0])
    page.get_by_role("heading", name="Choose the model").wait_for()
    page.locator(".clip .open").first.click()
    ready(tab)
    assert "comparison=" in page.url
    assert page.evaluate("seasync.request.match").startswith("upload:")


def test_two_parts_of_one_video(empty: Tab, tmp_path: Path) -> None:
    both = film(tmp_path / "both.mp4", [*pace(40), *pace(50, bend=0.4)], action="right")
    page = empty.open("")
    page.wait_for_selector(".slot")
    drop(page, "body", [both])
    page.get_by_role("button", name="Compare two parts of this video").click()
    ready(empty)
    page.locator("summary", has_text="Trim").click()
    scrub(empty, 0.2)
    before = page.evaluate("seasync.times.query")
    page.get_by_role("group", name="Trim the first video").get_by_role("button", name="Start here").click()
    empty.until(f"location.hash.includes('start={before:.3f}')")
    ready(empty)
    assert page.evaluate("seasync.lead.start") == pytest.approx(before, abs=0.01)
    with Client(empty.address) as client:  # the comparison has it too
        assert client.comparisons.all()[0].alignment.start == pytest.approx(before, abs=0.01)


def test_the_report_says_who_is_late_and_goes_there(empty: Tab, takes: list[Path], tmp_path: Path) -> None:
    page = empty.open("")
    page.wait_for_selector(".slot")
    drop(page, "body", takes)
    ready(empty)
    page.locator(".report .summary").get_by_text("slow.mp4 takes").wait_for()
    page.evaluate("seasync.player.seek(1)")
    empty.settle()
    page.locator("summary", has_text="Mark").click()
    page.keyboard.press("m")
    page.locator("summary", has_text="Compare").click()
    row = page.locator(".moments tr[data-name='moment 1']")
    row.wait_for()
    later = row.locator("td").last.inner_text()
    assert later.endswith("s later")
    assert float(later.split()[0]) == pytest.approx(0.5, abs=0.1)
    scrub(empty, 0.05)
    row.get_by_role("button", name="moment 1").click()
    empty.settle()
    assert empty.frame("query") == pytest.approx(30, abs=1)
    with page.expect_download() as download:
        page.locator(".report").get_by_role("link", name="CSV").click()
    assert "moment 1" in Path(download.value.path()).read_text()
    page.locator(".report").get_by_role("link", name="Print").click()
    page.wait_for_selector(".sheet .tempo polyline")
    page.emulate_media(media="print")
    assert not page.locator("#bar").is_visible()
    assert page.locator(".sheet .moments").is_visible()


def test_pictures_are_zoomed_mirrored_and_a_span_is_looped(tab: Tab, refs: dict[str, str]) -> None:
    page = tab.sync(refs["right/a"], refs["right/b"])
    page.keyboard.press("+")
    page.keyboard.press("+")
    assert page.eval_on_selector(
        ".panes", "one => Number(one.style.getPropertyValue('--zoom'))"
    ) == pytest.approx(1.5625)
    page.keyboard.press("0")
    assert page.locator(".panes.zoomed").count() == 0
    page.keyboard.press("i")
    expect_count(page.locator(".panes.mirrored"), 1)
    scrub(tab, 0.3)
    page.keyboard.press("b")
    scrub(tab, 0.6)
    page.keyboard.press("b")
    page.evaluate(
        "(window.times = [], seasync.addEventListener('time', () => times.push(seasync.player.time)))"
    )
    page.keyboard.press("Space")
    tab.until("times.length > 8 && times.some((t, n) => n && t < times[n - 1] - 0.2)")  # once round
    page.keyboard.press("Space")
    tab.settle()
    assert min(page.evaluate("times")) > 0.5
    assert max(page.evaluate("times")) < 1.35


def test_marks_and_anchors_are_undone_and_redone(tab: Tab, client: Client, refs: dict[str, str]) -> None:
    query, match = refs["arc/c"], refs["arc/b"]
    page = tab.sync(query, match)
    with page.expect_response(is_saved):
        page.keyboard.press("m")
    with page.expect_response(is_saved):
        page.keyboard.press("Control+z")
    assert client.marks("small", query) == []
    with page.expect_response(is_saved):
        page.keyboard.press("Control+Shift+z")
    assert len(client.marks("small", query)) == 1
    page.keyboard.press("a")
    page.keyboard.press("ArrowRight")
    with page.expect_response(is_saved):
        page.keyboard.press("Enter")
    page.wait_for_selector(".pin")
    with page.expect_response(is_saved):
        page.keyboard.press("Control+z")
    tab.until("!document.querySelector('.pin')")
    assert client.anchors("small", query, match) == []
    client.set_marks("small", query, [])
