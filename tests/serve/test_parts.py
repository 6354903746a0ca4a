"""A sea of the parts of a film: what is found may reach over several of them."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest

from seasync.sea.sea import Sea
from tests.sea.footage import pictures, video
from tests.serve.conftest import Server
from tests.videos import write

API = "/api/v1/seas/small"


def test_a_match_around_a_part_of_a_film_is_aligned_where_it_was_found(
    start: Callable[..., Server], tmp_path: Path, encoder: str
) -> None:
    shown = [pictures(*what) for what in (("circle", 70, 40), ("dive", 70, 40), ("bounce", 70, 46))]
    (tmp_path / "footage").mkdir()
    film = write(tmp_path / "footage" / "film.mp4", itertools.chain.from_iterable(shown), fps=15)
    Sea(tmp_path / "parts.sea", encoder).add(film, split=2.0)
    server = start(tmp_path / "parts.sea", roots=[film.parent])
    query = server.upload(video(tmp_path / "query.mp4", "dive", look=50, frames=36)).json()["ref"]
    asked = {"query": {"ref": query}}
    best = server.client.post(f"{API}/search", json=asked).json()["matches"][0]
    assert (best["match_start"], best["match_end"]) == pytest.approx((40 / 15, 80 / 15), abs=0.4)
    span = {"match_start": best["match_start"], "match_end": best["match_end"]}
    asked = {"query": query, "match": best["clip"]["ref"], **span}
    aligned = server.client.get(f"{API}/alignment", params=asked).json()
    assert aligned["alignable"]
    assert aligned["axes"]["match"]["start"] == pytest.approx(best["match_start"], abs=0.1)
