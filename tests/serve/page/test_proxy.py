"""Behind a reverse proxy, at a place of its own on a host that has other things too."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from seasync.serve import Client
from tests.serve.browser import Tab, drop
from tests.serve.films import film, pace
from tests.serve.live import live, process

if TYPE_CHECKING:
    from playwright.sync_api import Browser

PROXIES = {"takes the prefix off": {"prefix": "/sync"}, "leaves it": {"root_path": "/sync"}}


@pytest.mark.parametrize("how", PROXIES.values(), ids=PROXIES)
def test_all_of_the_page_works_at_a_prefix(
    browser: Browser, served: Callable[..., AbstractContextManager[str]], tmp_path: Path, how: dict[str, Any]
) -> None:
    with served(live, token="open-sesame", **how) as address:
        tab = Tab(browser.new_page(), f"{address}/sync")
        tab.expected = ["401"]
        asked: list[str] = []
        tab.page.on("request", lambda request: asked.append(urlsplit(request.url).path))
        page = tab.open("")
        page.get_by_label("Token").fill("open-sesame")
        page.get_by_role("button", name="Open").click()
        page.wait_for_selector(".slot")
        tab.open("#/small/sea")
        page.wait_for_selector(".clip")
        assert "token" not in page.url
        tab.until("[...document.querySelectorAll('.clip img')].every((one) => one.naturalWidth > 0)")
        tab.open("#/small/search")
        page.get_by_text("What moves in step").wait_for()
        drop(page, "body", [film(tmp_path / "new.mp4", pace(30), action="right")])
        page.wait_for_selector(".found")
        page.locator(".found a.button").first.click()
        page.wait_for_selector(".matrix")
        tab.settle()
        tab.until("document.querySelector('.heat').naturalWidth > 0")
        page.locator("summary", has_text="Download").click()
        with page.expect_download() as download:
            page.locator(".links a", has_text=".csv").click()
        assert "query_frame" in Path(download.value.path()).read_text()
        tab.close()
        assert all(path.startswith("/sync/") for path in asked if path), asked
        with Client(f"{address}/sync", token="open-sesame") as client:
            assert client.server().seas == ["small"]


def test_the_printed_address_opens_the_page_once(browser: Browser, sea: Path, tmp_path: Path) -> None:
    with process("--sea", sea, "--state", tmp_path / "state") as (_, told):
        place, code = told.split("/?")
        tab = Tab(browser.new_page(), place)
        for where in (f"?{code}", "", f"?{code}"):  # it stays logged in
            tab.open(where)
            tab.page.wait_for_selector(".slot")
        tab.open("#/small/sea")
        tab.page.wait_for_selector(".clip")
        tab.close()
        other = Tab(browser.new_context().new_page(), place)
        other.expected = ["401"]
        other.open(f"?{code}")
        other.page.get_by_text("A token is needed").wait_for()
        other.close()
