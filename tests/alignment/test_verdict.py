"""One number decides whether clips align, and the words never contradict it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st

from seasync.alignment import MOTION, PAPER, align_encodings, align_many
from seasync.alignment.judge import Verdict, per_cent, shipped_calibrations, shown
from tests.alignment.clips import encoding as sampled
from tests.sea.footage import encoding

SHARES = st.floats(0, 1)


def test_parts_that_cover_too_little_are_said_to() -> None:
    verdict = Verdict(0.537, (0.34, 0.28), whole=False, recipe=MOTION)
    assert not verdict.alignable
    needed = "at least half of one is needed"
    assert verdict.reason == f"only 34% of the query and 28% of the match correspond; {needed}"


def test_the_limit_named_is_the_one_that_decides() -> None:
    parts = Verdict(0.56, (0.8, 0.7), whole=False, recipe=MOTION)
    assert not parts.alignable
    assert parts.reason == "DRAQ 0.560 for 80% of the query and 70% of the match, not below 0.55"
    whole = Verdict(0.56, (1.0, 1.0), whole=True, recipe=MOTION)
    assert whole.alignable
    assert whole.reason == "DRAQ 0.560, below 0.57"
    assert Verdict(0.7, (1.0, 1.0), whole=True, recipe=PAPER).reason == "DRAQ 0.700, not below 0.6"


@pytest.mark.parametrize(
    ("draq", "text"), [(0.5699, "0.5699"), (0.57, "0.570"), (0.5701, "0.570"), (0.1, "0.100")]
)
def test_rounding_never_crosses_the_limit(draq: float, text: str) -> None:
    assert shown(draq, 0.57) == text


@given(draq=st.floats(0, 1.5), query=SHARES, match=SHARES, whole=st.booleans())
def test_the_reason_never_contradicts_the_decision(
    draq: float, query: float, match: float, whole: bool
) -> None:
    coverage = (1.0, 1.0) if whole else (query, match)
    verdict = Verdict(draq, coverage, whole, MOTION)
    if verdict.reason.startswith("only"):
        assert not verdict.alignable
        return
    assert (" not below " in verdict.reason) is not verdict.alignable
    number = float(verdict.reason.split()[1].rstrip(","))
    assert (number < verdict.threshold) is verdict.alignable


@given(likelihood=SHARES, draq=st.floats(0, 1.5), query=SHARES, match=SHARES, whole=st.booleans())
def test_a_known_likelihood_decides_alone_and_its_reason_agrees(
    likelihood: float, draq: float, query: float, match: float, whole: bool
) -> None:
    coverage = (1.0, 1.0) if whole else (query, match)
    verdict = Verdict(draq, coverage, whole, MOTION, likelihood)
    assert verdict.alignable is (likelihood >= 0.5)
    assert (" less than 50%" in verdict.reason) is not verdict.alignable
    number = verdict.reason.split("%")[0].removeprefix("over ").removeprefix("under ")
    assert (float(number) >= 50) is verdict.alignable


@pytest.mark.parametrize(
    ("likelihood", "text"),
    [
        (1.0, "over 99%"),
        (0.0, "under 1%"),
        (0.714, "71%"),
        (0.496, "49.6%"),
        (0.5, "50%"),
        (0.4999, "49.99%"),
    ],
)
def test_per_cent_stay_on_their_side_of_the_limit(likelihood: float, text: str) -> None:
    assert per_cent(likelihood) == text


def test_the_same_movement_is_likelier_the_more_alike_and_the_better_aligned() -> None:
    encoder = next(key[1] for key in shipped_calibrations() if key[::2] == ("pair", MOTION.fingerprint))
    first, again, other = (replace(encoding(n, kind=k), encoder=encoder) for n, k in ((0, 0), (1, 0), (2, 1)))
    alike, unlike = (align_encodings(first, match).likelihood for match in (again, other))
    assert alike is not None
    assert unlike is not None
    assert alike > unlike
    bare = replace(again, mean=np.empty(0, np.float32), trajectory=np.empty(0, np.float32))
    assert align_encodings(first, bare).likelihood is None
    assert align_encodings(first, again, recipe=PAPER).likelihood is None
    assert align_many(first, [again])[0].likelihood == pytest.approx(alike)


@pytest.mark.parametrize("frames", [15, 60])
def test_clips_in_which_nothing_moves_do_not_align_although_context_is_a_clock(frames: int) -> None:
    random = np.random.default_rng(0)
    picture = random.normal(size=64)
    pair = [sampled(picture + 0.05 * random.normal(size=(frames, 64))) for _ in range(2)]
    still = align_encodings(*pair, recipe=PAPER, partial="never")
    assert still.draq < PAPER.threshold
    assert still.likelihood == 0
    assert not still.alignable
    course = np.cumsum(random.normal(size=(frames, 64)), axis=0)
    moving = align_encodings(sampled(course), sampled(course[::2]), recipe=PAPER, partial="never")
    assert moving.likelihood is None
    assert moving.alignable
