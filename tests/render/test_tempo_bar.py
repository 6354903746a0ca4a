"""Bars of tempo and frames around unusual takes, on pictures and in the film of a group."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import seasync
from seasync.render import group_film
from seasync.render.films import TempoBar as Tempo, draw_bar, draw_frame
from seasync.render.frames import Canvas
from seasync.video import probe
from tests.encoders.models import colour_grid
from tests.serve.films import film, pace

CLOCK = np.linspace(0, 2, 61)


def colors(canvas: Canvas) -> np.ndarray:
    return canvas.frame.to_ndarray(format="rgb24").astype(int)


def test_slower_is_blue_faster_is_orange_and_nothing_is_dark() -> None:
    factors = np.where(CLOCK < 0.7, 0.5, np.where(CLOCK < 1.4, 2.0, np.nan))
    bar = Tempo(CLOCK, factors).bar(120, 8, CLOCK)
    assert bar is not None
    canvas = Canvas(160, 40)
    draw_bar(canvas, bar, 20, 32, share=1.0)
    row = colors(canvas)[35]
    slow, fast, none = row[30], row[80], row[130]
    assert slow[2] > slow[0] + 60
    assert fast[0] > fast[2] + 60
    assert none.max() < 80
    assert row[138].min() > 200  # where the film is now
    assert colors(canvas)[:30].max() < 30  # nothing elsewhere


def test_a_frame_is_drawn_where_a_take_is_unusual_only() -> None:
    framed = Tempo(CLOCK, unusual=CLOCK > 1).framed(np.array([0.5, 1.5]))
    assert framed is not None
    assert framed.tolist() == [False, True]
    assert Tempo(CLOCK).framed(CLOCK) is None
    assert Tempo(CLOCK).bar(10, 2, CLOCK) is None
    canvas = Canvas(64, 48)
    draw_frame(canvas, 0, 0, 64, 48, 4)
    picture = colors(canvas)
    assert picture[1, 30, 0] > picture[1, 30, 2] + 60
    assert picture[24, 32].max() < 30


def test_the_film_of_a_group_has_bars_below_its_takes(tmp_path: Path) -> None:
    courses = {"model": pace(60), "late": pace(60, bend=0.8), "early": pace(60, bend=-0.8)}
    for name, course in courses.items():
        film(tmp_path / f"{name}.mp4", course, action="arc")
    encoder = f"onnx:{colour_grid(tmp_path / 'tiny.onnx')}"
    takes = [tmp_path / "late.mp4", tmp_path / "early.mp4"]
    group = seasync.align_group(tmp_path / "model.mp4", takes, encoder=encoder, consensus=False)
    assert group_film(group, tmp_path / "plain.mp4") == 2
    assert group_film(group, tmp_path / "bars.mp4", tempo=True, outliers=True) == 2
    plain, bars = (seasync.video.read(tmp_path / name) for name in ("plain.mp4", "bars.mp4"))
    one, other = (next(iter(frames)).data[0].astype(int) for frames in (plain, bars))
    assert probe(tmp_path / "bars.mp4").width == one.shape[1]
    changed = np.abs(one - other).max(-1) > 40
    assert changed[115:120, 170:].mean() > 0.5  # the bar of the take at the upper right
    assert changed[:110].mean() < 0.02
