"""How notebooks show a group."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from seasync.clip import Clip
from seasync.group.carry import choose_nearest as nearest
from seasync.group.clock import LeftOut, group_of
from tests.group.takes import take


def test_a_notebook_shows_tempo_takes_and_who_was_left_out() -> None:
    takes = [take("a<b>", bend=0.2), take("c", bend=-0.2)]
    group = replace(group_of(take("model"), takes), left_out=(LeftOut(Clip("d&e.mp4"), "does not align"),))
    html = group._repr_html_()
    assert f"{len(group.takes)} takes on the clock of <b>model" in html
    assert len(re.findall("<polyline", html)) == len(group.takes) + 2  # the same tempo, and the mean
    assert "a&lt;b&gt;" in html
    assert "a<b>" not in html
    assert "Not in the group:</p><ul><li>d&amp;e.mp4: does not align</li></ul>" in html


def test_curves_stay_inside_the_picture() -> None:
    html = group_of(take("model"), [take("a", bend=0.9), take("b", bend=-0.9)])._repr_html_()
    points = [tuple(map(float, point.split(","))) for point in re.findall(r"[\d.]+,[\d.]+", html)]
    x, y = np.array(points).T
    assert 0 <= x.min() <= x.max() <= 420
    assert 0 <= y.min() <= y.max() <= 130


def test_the_nearest_take_the_most_similar_course() -> None:
    target, alike, other = (take(name, seed=seed).encoding for name, seed in (("a", 1), ("b", 1), ("c", 5)))
    assert nearest(target, [7, 8], [other, alike], 1) == [8]
    assert nearest(target, [7, 8], [other, alike], 2) == [7, 8]
