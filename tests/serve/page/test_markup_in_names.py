"""Names and labels are shown as text: markup in them does nothing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from seasync.sea.sea import Sea
from seasync.serve import Client
from seasync.serve.models import MarkForm as Mark
from tests.serve.browser import Tab
from tests.serve.films import film, pace
from tests.serve.live import live

if TYPE_CHECKING:
    from playwright.sync_api import Browser

MARKUP = "<img src=x onerror=document.title='owned'>"
VIEWS = {
    "#/small/sea": ".clip",
    "#/small/search?query={a}": ".found",
    "#/small/sync?query={a}&match={b}": ".report table",
    "#/small/grid?leader={a}&follower={b}": ".many",
    "#/small/report?query={a}&match={b}": ".sheet",
    "#/small/mark?clip={a}": ".scrub",
}


def test_markup_in_names_labels_and_marks_is_shown_as_text(
    browser: Browser, encoder: str, tmp_path: Path
) -> None:
    folder = tmp_path / "films" / MARKUP
    for name, frames in (("a", 30), ("b", 36)):
        film(folder / f"{name} {MARKUP}.mp4", pace(frames), action="right")
    Sea(tmp_path / "small.sea", encoder).add(tmp_path / "films", labels="folder")
    with live(tmp_path / "small.sea", tmp_path / "state", encoder) as address, Client(address) as client:
        refs = {clip.name[0]: clip.ref for clip in client.clips("small")}
        client.set_marks("small", refs["a"], [Mark(kind="moment", name=MARKUP, frame=3, seconds=0.1)])
        tab = Tab(browser.new_page(viewport={"width": 1280, "height": 900}), address)
        for place, ready in VIEWS.items():
            page = tab.open(place.format(**refs))
            page.wait_for_selector(ready)
            assert MARKUP in page.inner_text("body"), place
            assert page.locator('img[src="x"]').count() == 0, place
            assert page.title() != "owned"
            page.goto("about:blank")
        tab.open("")
        tab.page.wait_for_selector(".way")
        tab.close()
