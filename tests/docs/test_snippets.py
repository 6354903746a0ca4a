"""Every block of Python in the docs runs, page by page; a block knows the names of earlier ones."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from tests.docs.pages import PAGES, name_of, snippets

ELSEWHERE = {
    "docs/api.md": "needs a server: tests/serve/test_docs.py",
    "docs/fiftyone.md": "needs FiftyOne and its database: tests/integrations has a stand-in",
}
SHOWN = [page for page in PAGES if snippets(page) and name_of(page) not in ELSEWHERE]


@pytest.mark.parametrize("page", SHOWN, ids=name_of)
def test_the_python_of_a_page_runs(page: Path, place: Path) -> None:
    known: dict[str, object] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        for code in snippets(page):
            exec(compile(code, name_of(page), "exec"), known)
