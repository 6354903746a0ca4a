"""Bodies: joints through a clip, and the angles between them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import seasync
from seasync.encoders.pose import ANGLE_NAMES, JOINT_NAMES, Body
from tests.serve.figure import DiscFigure
from tests.serve.films import film, pace


def standing() -> np.ndarray:
    """(13, 3): somebody upright and straight in a picture twice as wide as high, all in sight."""
    places = {"nose": (0.25, 0.1), "shoulder": (0.25, 0.2), "elbow": (0.25, 0.35), "wrist": (0.25, 0.5)}
    places |= {"hip": (0.25, 0.5), "knee": (0.25, 0.7), "ankle": (0.25, 0.9)}
    return np.array([(*places[name.split()[-1]], 1.0) for name in JOINT_NAMES], np.float32)


def still(joints: np.ndarray, count: int = 10) -> Body:
    return Body(np.arange(count) / 30, np.arange(count), np.stack([joints] * count), 2.0)


def test_angles_of_a_body_by_hand() -> None:
    joints = standing()
    joints[JOINT_NAMES.index("left ankle"), :2] = (0.35, 0.7)  # the lower leg is level: 0.2 heights of 0.2
    joints[[1, 2], 0] += 0.15  # shoulders 0.3 heights to the right, 0.3 above the hips
    angles = still(joints).angles()
    assert set(angles) == set(ANGLE_NAMES)
    assert angles["left knee"] == pytest.approx(90, abs=1e-3)
    assert angles["right knee"] == pytest.approx(180, abs=1e-3)
    assert angles["trunk"] == pytest.approx(45, abs=1e-3)
    assert angles["right hip"] == pytest.approx(135, abs=1e-3)


def test_a_joint_out_of_sight_is_bridged_for_a_moment_only() -> None:
    body = still(standing(), 60)
    knee = JOINT_NAMES.index("left knee")
    body.joints[10:14, knee, 2] = 0.1
    body.joints[30:50, knee, 2] = 0.1
    angle = body.angles()["left knee"]
    assert np.isfinite(angle[:30]).all()
    assert np.isnan(angle[30:50]).all()
    assert np.isfinite(body.angles()["right knee"]).all()


def test_joints_follow_the_figure_of_a_film(tmp_path: Path) -> None:
    file = film(tmp_path / "bend.mp4", pace(40), action="right")
    heard: list[float] = []
    body = seasync.find_body(
        file, model=DiscFigure(), progress=lambda done, total: heard.append(done / total)
    )
    assert body.found == 1
    assert heard[-1] == pytest.approx(1, abs=0.1)
    hips = body.joints[:, JOINT_NAMES.index("left hip"), 0]
    assert hips[0] == pytest.approx(20 / 160, abs=0.02)
    assert hips[-1] == pytest.approx(140 / 160, abs=0.02)
    angles = body.angles()
    assert angles["left knee"][[0, 20, -1]] == pytest.approx([180, 134, 90], abs=6)
    assert angles["right knee"] == pytest.approx(180, abs=1)
    again = seasync.find_body(file)  # from the cache: no weights are needed
    np.testing.assert_array_equal(again.joints, body.joints)


def test_nobody_is_found_where_nobody_is(tmp_path: Path) -> None:
    file = film(tmp_path / "empty.mp4", [1.33] * 12, action="right")  # the disc is outside the picture
    body = seasync.find_body(file, model=DiscFigure())
    assert body.found == 0
    assert np.isnan(body.angles()["left knee"]).all()
