"""A browser and a server for the tests of the page."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from seasync.serve import Client
from tests.serve.browser import Tab, chromium
from tests.serve.live import live

if TYPE_CHECKING:
    from playwright.sync_api import Browser


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    with chromium() as opened:
        yield opened


@pytest.fixture(scope="package")
def address(served: Callable[..., AbstractContextManager[str]]) -> Iterator[str]:
    with served(live) as address:
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


@pytest.fixture(scope="package")
def axe() -> str:
    """The script of axe-core. Where it is missing: a visible skip, and a failure in CI."""
    if os.environ.get("CI"):
        package = import_module("axe_playwright_python")
    else:
        package = pytest.importorskip("axe_playwright_python")
    return next(Path(str(package.__file__)).parent.rglob("axe.min.js")).read_text(encoding="utf-8")
