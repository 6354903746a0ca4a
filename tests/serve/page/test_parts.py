"""Partial alignments on the page: which parts are in step, what is left out, parts in another order."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from seasync.serve import Client
from tests.serve.browser import Tab, decoded, expect_count, warp_of
from tests.serve.films import SIZE, frame, number_of, pace
from tests.videos import write

FIRST, SECOND = 40, 44  # frames of the two actions in the query; in the match they come the other way round


def composed(file: Path, *parts: tuple[str, list[float]]) -> Path:
    """One action after the other, with one count of frames; "noise" is no action at all."""
    noise = np.random.default_rng(0)
    pictures = []
    for action, progress in parts:
        for share in progress:
            number = len(pictures)
            picture = frame(number, share, action="right" if action == "noise" else action)
            if action == "noise":
                blocks = noise.integers(0, 255, (13, 20, 3), np.uint8).repeat(8, 0).repeat(8, 1)
                picture[: SIZE[1] - 16] = blocks[: SIZE[1] - 16]
            pictures.append(picture)
    return write(file, pictures)


@pytest.fixture
def swapped(client: Client, tmp_path: Path) -> tuple[str, str]:
    """Two actions, and the same in the other order."""
    query = composed(tmp_path / "one.mp4", ("right", pace(FIRST)), ("arc", pace(SECOND)))
    match = composed(tmp_path / "other.mp4", ("arc", pace(50, bend=0.4)), ("right", pace(45, bend=-0.4)))
    return client.upload(query).ref, client.upload(match).ref


@pytest.fixture
def inside(client: Client, tmp_path: Path) -> tuple[str, str]:
    """An action with noise before and after it, and the action alone."""
    query = composed(tmp_path / "in.mp4", ("noise", pace(30)), ("right", pace(60)), ("noise", pace(20)))
    match = composed(tmp_path / "alone.mp4", ("right", pace(50, bend=0.4)))
    return client.upload(query).ref, client.upload(match).ref


def test_what_is_in_step_is_told_and_the_rest_is_dimmed(tab: Tab, inside: tuple[str, str]) -> None:
    page = tab.sync(*inside)
    assert page.locator(".verdict .words").inner_text() == "In step in part"
    expect_count(page.locator(".pieces li"), 1)
    told = page.locator(".verdict .coverage").inner_text()
    assert "of the movement in the query" in told
    assert "Left out: 0.0–" in told
    expect_count(page.locator(".veils rect"), 2)
    expect_count(page.locator(".path"), 1)
    assert tab.frame("query") == pytest.approx(30, abs=5)  # it opens where they are in step
    tab.until("!document.querySelector('.pane.left-out')")  # once that frame is drawn
    expect_count(page.locator(".pieces li.now"), 1)
    page.keyboard.press("Home")
    tab.settle()
    expect_count(page.locator(".pane.match.left-out"), 1)
    assert page.locator(".pane.match .time").inner_text() == "no counterpart"
    assert page.locator(".tile.alone").count() == page.locator(".tile:disabled").count() > 0
    assert page.locator(".pieces li.now").count() == 0
    page.get_by_label("Whole or in part").select_option("never")
    tab.until("document.querySelectorAll('.veils rect').length === 0")
    assert page.locator(".pieces").count() == 0


def test_what_is_left_out_can_be_passed_over(tab: Tab, inside: tuple[str, str]) -> None:
    page = tab.sync(*inside)
    ((start, end),) = page.evaluate("seasync.warp.spans")
    page.keyboard.press("Home")
    tab.settle()
    page.evaluate(
        "(window.times = [], seasync.addEventListener('time', () => times.push(seasync.player.time)))"
    )
    page.get_by_role("button", name="Skip left out").click()
    page.keyboard.press("l")
    page.locator(".scrub").focus()
    page.keyboard.press("Space")
    tab.until(f"times.some((t, n) => n && times[n - 1] > {end - 0.3} && t < {start + 0.3})")  # once round
    page.keyboard.press("Space")
    tab.settle()
    times = page.evaluate("times")
    assert min(times[1:]) >= start - 0.04
    # After the last part it passes by the last frame on its way back at most.
    assert sum(time > end + 0.04 for time in times) == 0


def test_parts_in_another_order_play_in_the_querys(
    tab: Tab, client: Client, swapped: tuple[str, str]
) -> None:
    asked = {"partial": "always", "order": "any"}
    page = tab.sync(*swapped, **asked)
    spans = [text.split(" with ") for text in page.locator(".pieces li").all_inner_texts()]
    assert len(spans) == 2, spans
    warp = warp_of(client, *swapped, **asked)
    for time in (0.3, 0.9, 1.8, 2.4):
        page.evaluate("t => seasync.player.seek(t)", time)
        tab.settle()
        shown = tab.frame("query")
        assert abs(tab.frame("match") - warp.at(shown / 30) * 30) <= 1
        assert (tab.frame("match") >= 50) == (shown < FIRST)
    page.locator(".pieces button").nth(0).click()
    tab.settle()
    page.locator(".scrub").focus()
    page.keyboard.press("Space")
    for goal in (0.4, 2.0):  # in the first part, and in the one after the jump
        tab.until(f"seasync.player.time > {goal}")
        query, match = page.evaluate(
            """() => ["query", "match"].map((side) => {
              const canvas = document.querySelector(`canvas.picture.${side}`);
              return [canvas.toDataURL("image/png"), Number(canvas.dataset.frame)];
            })"""
        )
        assert number_of(decoded(match[0])) == match[1]
        assert (match[1] >= 50) == (query[1] < FIRST), (query[1], match[1])
    page.keyboard.press("Space")


def test_an_anchor_corrects_a_part_and_leaves_it_one(
    tab: Tab, client: Client, inside: tuple[str, str]
) -> None:
    page = tab.sync(*inside)
    before = page.locator(".pieces li").all_inner_texts()
    page.evaluate("seasync.player.seek(2)")
    tab.settle()
    page.keyboard.press("a")
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    wanted = page.evaluate("seasync.follow.nearest(seasync.warp.at(seasync.player.time)) + 5")
    tab.until(f"Number(document.querySelector('canvas.match').dataset.frame) === {wanted}")
    with page.expect_response(lambda answer: answer.request.method == "PUT"):
        page.keyboard.press("Enter")
    tab.settle()
    assert page.locator(".verdict .words").inner_text() == "In step in part"
    expect_count(page.locator(".pieces li"), len(before))
    assert len(client.anchors("small", *inside)) == 1
    client.set_anchors("small", *inside, [])


def test_the_film_may_skip_what_is_left_out(tab: Tab, inside: tuple[str, str], tmp_path: Path) -> None:
    from seasync.video import probe

    page = tab.sync(*inside)
    ((start, end),) = page.evaluate("seasync.warp.spans")
    page.locator("summary", has_text="Download").click()
    page.get_by_label("Frames without a counterpart").select_option("skip")
    page.get_by_label("Size").select_option("640x360")
    assert "--gaps skip --size 640x360" in page.locator(".command").nth(1).inner_text()
    with page.expect_download() as download:
        page.get_by_role("button", name="Make the film").click()
    download.value.save_as(tmp_path / "film.mp4")
    made = probe(tmp_path / "film.mp4")
    assert made.seconds == pytest.approx(end - start, abs=0.1)
    assert made.width <= 640
