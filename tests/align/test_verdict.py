"""One number decides whether clips align, and the words never contradict it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasync.align import MOTION, PAPER
from seasync.align.verdict import Verdict, shown

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
