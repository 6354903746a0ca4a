"""Many in step: one leader, several followers, one playhead."""

from __future__ import annotations

from pathlib import Path

from seasync.serve import Client
from tests.serve.browser import Tab, decoded, scrub, warp_of
from tests.serve.films import number_of

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
    assert page.locator(".tile-many").count() == 4
    scrub(tab, 0.5)
    order = page.eval_on_selector_all(".tile-many", "all => all.map((one) => one.dataset.ref)")
    frames = [number for _, number in page.evaluate(SHOWN)]
    rates = {refs["right/c"]: 25}
    for ref, frame in zip(order[1:], frames[1:], strict=True):
        warp = warp_of(client, refs["right/a"], ref)
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
    page.get_by_role("button", name="Solo").first.click()
    assert page.locator(".tile-many.hidden").count() == 1
    page.get_by_role("button", name="Solo").first.click()
    assert page.locator(".tile-many.hidden").count() == 0
    page.get_by_label("Show").first.uncheck()
    assert page.locator(".tile-many.hidden").count() == 1


def test_the_grid_is_made_a_film(tab: Tab, refs: dict[str, str], tmp_path: Path) -> None:
    from seasync.video import probe

    followers = "".join(f"&follower={refs[name]}" for name in ("right/b", "right/c"))
    page = tab.open(f"#/small/grid?leader={refs['right/a']}{followers}")
    page.wait_for_selector(".many")
    page.get_by_role("button", name="Make a film of the grid").click()
    with page.expect_download() as download:
        page.locator("#tray .row", has_text="in a grid").get_by_text("Download").click()
    download.value.save_as(tmp_path / "grid.mp4")
    made = probe(tmp_path / "grid.mp4")
    assert (made.width, made.height) == (320, 240)
