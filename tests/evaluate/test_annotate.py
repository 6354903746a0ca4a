"""Marking key moments: the page knows every clip and frame, and what it saves is a data set."""

from __future__ import annotations

import json
import re

import pytest

from seasync.errors import DataError
from seasync.evaluate.data import open_dataset
from seasync.evaluate.dataset import write_page
from tests import videos


@pytest.fixture
def folder(tmp_path):
    for name in ("wave/a b.mp4", "bow/c.mp4"):
        (tmp_path / name).parent.mkdir()
        videos.numbered(tmp_path / name, 20)
    return tmp_path


def clips_of(page):
    return json.loads(re.search(r"const clips = (\[.*?\]);\n", page.read_text())[1])


def test_the_page_knows_every_frames_time(folder):
    assert write_page(folder, folder / "annotate.html") == 2
    clips = {clip["clip"]: clip for clip in clips_of(folder / "annotate.html")}
    assert len(clips["bow/c.mp4"]["times"]) == 20
    assert clips["bow/c.mp4"]["times"][3] == pytest.approx(0.1)
    assert clips["wave/a b.mp4"]["src"] == "wave/a%20b.mp4"


def test_a_page_elsewhere_names_the_files_in_full(folder, tmp_path_factory):
    page = tmp_path_factory.mktemp("elsewhere") / "page.html"
    write_page(folder, page)
    assert clips_of(page)[0]["src"].startswith("file:///")


def test_earlier_marks_are_loaded_into_the_page(folder):
    (folder / "events.csv").write_text("clip,frames,events\nbow/c.mp4,20,3 9\n")
    write_page(folder, folder / "annotate.html", marks=folder / "events.csv")
    assert {c["clip"]: c["events"] for c in clips_of(folder / "annotate.html")} == {
        "bow/c.mp4": [3, 9],
        "wave/a b.mp4": [],
    }


def test_saved_marks_make_a_data_set_with_phases(folder):
    (folder / "events.csv").write_text("clip,frames,events\nwave/a b.mp4,20,4\nbow/c.mp4,20,3 9\n")
    dataset = open_dataset(folder)
    assert {(i.label, tuple(i.events)) for i in dataset.items} == {("wave", (4,)), ("bow", (3, 9))}


def test_bad_input_says_what_is_wrong(folder, tmp_path_factory):
    with pytest.raises(DataError, match="no videos to mark"):
        write_page(tmp_path_factory.mktemp("empty"), folder / "x.html")
    (folder / "events.csv").write_text("clip,frames,events\ngone.mp4,20,3 9\n")
    with pytest.raises(DataError, match=r"names gone\.mp4"):
        write_page(folder, folder / "x.html", marks=folder / "events.csv")
    with pytest.raises(DataError, match="cannot be written"):
        write_page(folder, folder / "nowhere" / "x.html")


@pytest.mark.browser
def test_marks_made_in_a_browser_are_saved_with_the_files_frame_numbers(folder):
    sync_api = pytest.importorskip("playwright.sync_api")
    write_page(folder, folder / "annotate.html")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        page = browser.new_page()
        page.goto((folder / "annotate.html").as_uri())
        page.wait_for_function("document.querySelector('video').readyState >= 2")
        for steps in (5, 7):
            for _ in range(steps):
                before = page.inner_text("#frame")
                page.keyboard.press("ArrowRight")
                page.wait_for_function(f"document.querySelector('#frame').textContent !== '{before}'")
            page.keyboard.press("m")
        with page.expect_download() as saved:
            page.keyboard.press("s")
        saved.value.save_as(folder / "events.csv")
        browser.close()
    (item,) = open_dataset(folder).items
    assert item.events.tolist() == [5, 12]
