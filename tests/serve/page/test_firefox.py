"""The page in Firefox: two dropped videos are in step, paused and playing, and a reload loses nothing."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from seasync.serve import Client
from tests.serve.browser import decoded, warp_of
from tests.serve.films import film, number_of, pace
from tests.serve.firefox import Firefox, firefox
from tests.serve.live import live

DROP = """(() => {
  const transfer = new DataTransfer();
  for (const [name, data] of %s) {
    const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
    transfer.items.add(new File([bytes], name, {type: "video/mp4"}));
  }
  for (const name of ["dragenter", "dragover", "drop"]) {
    const event = {bubbles: true, cancelable: true, dataTransfer: transfer};
    document.body.dispatchEvent(new DragEvent(name, event));
  }
})()"""
SETTLED = "window.seasync?.alignment?.detail === 'full' && !seasync.player.seeking && !seasync.player.playing"


@pytest.fixture
def window(tmp_path: Path) -> Iterator[Firefox]:
    profile = tmp_path / "profile"
    profile.mkdir()
    with firefox(profile) as opened:
        yield opened


def shown(window: Firefox, side: str) -> int:
    """The number of the frame on show, read off its pixels."""
    picture = window.evaluate(f"document.querySelector('canvas.picture.{side}').toDataURL('image/png')")
    return number_of(decoded(picture))


def test_two_dropped_videos_are_in_step_in_firefox(window: Firefox, encoder: str, tmp_path: Path) -> None:
    takes = [
        film(tmp_path / f"{name}.mp4", pace(count, bend=bend), action="right")
        for name, count, bend in (("quick", 60, 0.0), ("slow", 90, 0.3))
    ]
    packed = [[take.name, base64.b64encode(take.read_bytes()).decode()] for take in takes]
    with live(tmp_path / "none.sea", tmp_path / "state", encoder) as address:
        window.open(address)
        window.until("document.querySelector('.slot')")
        window.evaluate(DROP % json.dumps(packed))
        window.until(SETTLED)
        query, match = window.evaluate("[seasync.request.query, seasync.request.match]")
        with Client(address) as client:
            warp = warp_of(client, query, match, sea="-")
        for moment in (0.4, 1.0, 1.7):
            window.evaluate(f"seasync.player.seek({moment})")
            window.until(SETTLED)
            assert shown(window, "query") == pytest.approx(30 * moment, abs=1)
            assert shown(window, "match") == pytest.approx(30 * warp.at(shown(window, "query") / 30), abs=1)
        window.evaluate("seasync.player.seek(0)")
        window.until(SETTLED)
        window.evaluate("(seasync.player.play(), null)")
        window.until("seasync.player.time > 1")
        window.evaluate("(seasync.player.pause(), null)")
        window.until(SETTLED)
        assert window.evaluate("seasync.player.errors.length") > 0  # frames were drawn while it played
        assert shown(window, "match") == pytest.approx(30 * warp.at(shown(window, "query") / 30), abs=1)
        before = shown(window, "query")
        window.until(f"Math.abs(Number(location.hash.match(/[&?]t=([0-9.]+)/)?.[1]) - {before / 30}) < 0.02")
        window.reload()
        window.until(SETTLED)
        window.until(f"document.querySelector('canvas.picture.query').dataset.frame === '{before}'")
        assert shown(window, "query") == before
        window.open("about:blank")
