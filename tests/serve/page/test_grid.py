"""Many in step: one leader, several followers, one playhead."""

from __future__ import annotations

import json
from pathlib import Path

from seasync.serve import Client
from tests.serve.browser import Tab, decoded, drag, drop, expect_count, scrub, warp_of
from tests.serve.films import film, number_of, pace

SHOWN = """() => [...document.querySelectorAll('.tile-many canvas')].map((canvas) =>
  [canvas.toDataURL("image/png"), Number(canvas.dataset.frame)])"""


def test_matches_of_a_search_are_played_in_a_grid(tab: Tab, client: Client, refs: dict[str, str]) -> None:
    page = tab.open(f"#/small/search?query={refs['right/a']}")
    page.wait_for_selector(".found")
    for name in ("right/b", "right/c", "arc/a"):
        page.locator(f".found[data-ref='{refs[name]}'] input").check()
    page.get_by_role("link", name="Play 4 in a grid").click()
    page.wait_for_selector(".many")
    tab.until("window.seasync?.player && !seasync.player.seeking")
    expect_count(page.locator(".tile-many"), 4)
    scrub(tab, 0.5)
    order = page.eval_on_selector_all(".tile-many", "all => all.map((one) => one.dataset.ref)")
    frames = [number for _, number in page.evaluate(SHOWN)]
    rates = {refs["right/c"]: 25}
    for ref, frame in zip(order[1:], frames[1:], strict=True):
        warp = warp_of(client, refs["right/a"], ref, consensus=True)  # as the search has aligned them
        assert abs(frame - warp.at(frames[0] / 30) * rates.get(ref, 30)) <= 1, ref
    page.keyboard.press("Space")
    tab.until("seasync.player.followers.every((one) => one.errors.length > 8)")
    for picture, number in page.evaluate(SHOWN):
        assert number_of(decoded(picture)) == number
    page.keyboard.press("Space")


def test_tiles_are_hidden_soloed_and_reordered(tab: Tab, refs: dict[str, str]) -> None:
    followers = "".join(f"&follower={refs[name]}" for name in ("right/b", "right/c"))
    page = tab.open(f"#/small/grid?leader={refs['right/a']}{followers}")
    page.wait_for_selector(".many")
    page.get_by_role("button", name="Move c.mp4 to the left").click()
    order = page.eval_on_selector_all(".tile-many", "all => all.map((one) => one.dataset.ref)")
    assert order == [refs["right/a"], refs["right/c"], refs["right/b"]]
    page.reload()
    page.wait_for_selector(".many")
    assert page.eval_on_selector_all(".tile-many", "all => all.map((one) => one.dataset.ref)") == order
    page.locator(".tile-many.follower").last.scroll_into_view_if_needed()
    boxes = [one.bounding_box() for one in page.locator(".tile-many.follower canvas").all()]
    places = [(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2) for box in boxes if box]
    drag(page, places[1], places[0])
    assert page.eval_on_selector_all(".tile-many", "all => all.map((one) => one.dataset.ref)") == [
        refs["right/a"],
        refs["right/b"],
        refs["right/c"],
    ]
    page.get_by_role("button", name="Solo").first.click()
    expect_count(page.locator(".tile-many.hidden"), 1)
    page.get_by_role("button", name="Solo").first.click()
    assert page.locator(".tile-many.hidden").count() == 0
    page.get_by_label("Show").first.uncheck()
    expect_count(page.locator(".tile-many.hidden"), 1)
    expect_count(page.locator(".tile-many canvas:visible"), 2)
    page.reload()
    page.wait_for_selector(".many")
    tab.until("document.querySelectorAll('.tile-many.hidden').length === 1")
    page.get_by_label("Show").first.check()
    page.get_by_role("button", name="Move c.mp4 to the left").click()
    for hidden in (0, 1):
        page.keyboard.press("Control+z")
        expect_count(page.locator(".tile-many.hidden"), hidden)


def test_the_grid_is_made_a_film(tab: Tab, refs: dict[str, str], tmp_path: Path) -> None:
    from seasync.video import probe

    followers = "".join(f"&follower={refs[name]}" for name in ("right/b", "right/c"))
    page = tab.open(f"#/small/grid?leader={refs['right/a']}{followers}")
    page.wait_for_selector(".many")
    with page.expect_download() as download:
        page.get_by_role("button", name="Download film").click()
    download.value.save_as(tmp_path / "grid.mp4")
    made = probe(tmp_path / "grid.mp4")
    assert (made.width, made.height) == (320, 240)


def test_a_grid_is_heard_zoomed_and_shown_alone(tab: Tab, refs: dict[str, str]) -> None:
    page = tab.open(f"#/small/grid?leader={refs['right/a']}&follower={refs['right/b']}")
    page.wait_for_selector(".many")
    muted = "[seasync.lead, seasync.player.followers[0].reel].map((reel) => reel.video.muted)"
    assert page.evaluate(muted) == [True, True]
    page.get_by_label("Sound").select_option("a.mp4's sound")
    assert page.evaluate(muted) == [False, True]
    page.reload()
    page.wait_for_selector(".many")
    tab.until(f"window.seasync?.player && !seasync.player.seeking && !{muted}[0]")
    page.keyboard.press("+")
    expect_count(page.locator(".many.zoomed"), 1)
    scale = "all => all.map((one) => getComputedStyle(one).scale)"
    assert page.eval_on_selector_all(".tile-many canvas", scale) == ["1.25", "1.25"]
    before = page.evaluate("location.hash")
    box = page.locator(".tile-many.follower .screen").bounding_box()
    assert box
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    drag(page, (x, y), (x - 20, y))  # moves the pictures, not the tile
    assert page.evaluate("document.querySelector('.many').style.getPropertyValue('--pan-x')") == "-20px"
    assert page.evaluate("location.hash") == before
    page.keyboard.press("f")
    tab.until("document.fullscreenElement?.querySelector('.many')")
    page.keyboard.press("f")
    tab.until("!document.fullscreenElement")


def test_dropped_takes_play_in_a_grid_and_another_one_leads(tab: Tab, tmp_path: Path) -> None:
    # Of lengths that no other test uploads to this server: it would know the files by their first names.
    takes = [film(tmp_path / f"{count}.mp4", pace(count), action="right") for count in (41, 52, 63)]
    page = tab.open("")
    page.wait_for_selector(".slot")
    drop(page, "body", takes)
    page.get_by_role("heading", name="3 videos in step").wait_for()
    assert page.locator(".tile-many.leader .name").inner_text() == "41.mp4"
    expect_count(page.locator(".tempo-bar"), 2)
    page.get_by_role("button", name="Lead").last.click()
    page.locator(".tile-many.leader", has_text="63.mp4").wait_for()
    expect_count(page.locator(".tile-many"), 3)
    page.get_by_role("button", name="41.mp4 and 2 takes").click()  # it is kept, and can be named
    page.get_by_label("Name", exact=True).last.fill("Three takes")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Three takes").wait_for()
    page.get_by_role("button", name="Move 52.mp4 to the left").click()
    page.locator("#bar").get_by_role("link", name="Compare").click()
    page.locator(".comparison").get_by_role("link", name="Three takes").click()
    page.wait_for_selector(".many")
    names = page.locator(".tile-many .name").all_inner_texts()
    assert names == ["63.mp4", "52.mp4", "41.mp4"]


def test_dropped_takes_correct_each_other_until_that_is_switched_off(
    tab: Tab, client: Client, tmp_path: Path
) -> None:
    paces = [pace(60), *(pace(50 + 7 * n, bend=0.8 * (-1) ** n, wait=2 * n) for n in range(4))]
    files = [film(tmp_path / f"take {n}.mp4", one, action="arc", tint=9 * n) for n, one in enumerate(paces)]
    page = tab.open("")
    page.wait_for_selector(".slot")
    drop(page, "body", files)
    page.wait_for_selector(".many")
    switch = page.get_by_label("Takes correct each other")
    assert switch.is_checked()
    first, *takes = page.eval_on_selector_all(".tile-many", "all => all.map((one) => one.dataset.ref)")
    warps = "JSON.stringify(seasync.player.followers.map((one) => one.warp.stretches))"
    helped = page.evaluate(warps)
    expected = [
        client.align("-", first, ref, consensus=True, takes=[one for one in takes if one != ref]).warps
        for ref in takes
    ]
    assert [one["values"] for (one,) in json.loads(helped)] == [warp["query"][0].values for warp in expected]
    switch.uncheck()
    tab.until(f"window.seasync?.player && {warps} !== {json.dumps(helped)}")
    page.wait_for_selector(".many")
    assert not page.get_by_label("Takes correct each other").is_checked()
    assert "consensus" not in page.url
    page.go_back()
    page.wait_for_selector(".slot")
