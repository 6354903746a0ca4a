"""Pose: geometry and normalization by hand, the models on a photograph that is moved about."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from PIL import Image

from seasync.alignment import align_encodings, align_many, score_many
from seasync.encoders.pose import JOINTS, Box, Follower, PoseEncoder, _refined, actor, cut_out, normalized
from seasync.encoding import MIRRORS, Encoding, Stream
from seasync.video import Frames

if TYPE_CHECKING:
    from seasync.encoders.pose import BlazePose


def test_a_turned_box_is_cut_out_upright() -> None:
    """A white dot right of the centre is at the top of a box whose top points to the right."""
    picture = np.zeros((80, 120, 3), np.uint8)
    picture[38:42, 78:82] = 255
    box = Box.around(np.array([60.0, 40.0]), np.array([68.0, 40.0]))
    assert (box.side, box.angle) == pytest.approx((20.0, np.pi / 2))
    seen = cut_out(picture, Box(60.0, 40.0, 80.0, box.angle), 40)[..., 0]
    assert np.argwhere(seen > 0.5).mean(0) == pytest.approx([9.5, 19.5])


def test_outside_the_picture_is_black() -> None:
    seen = cut_out(np.full((10, 10, 3), 255, np.uint8), Box(0.0, 0.0, 20.0, 0.0), 20)
    assert seen[11:, 11:].min() == 1
    assert seen[:9].max() == seen[:, :9].max() == 0


def body(*, scale: float = 1.0, shift: tuple[float, float] = (0.0, 0.0)) -> np.ndarray:
    """(20, 13, 3): joints of somebody about 100 pixels long that sway, all in sight."""
    rng = np.random.default_rng(0)
    points = rng.uniform(0, 100, (13, 2)) + np.cumsum(rng.normal(0, 2, (20, 13, 2)), axis=0)
    return np.concatenate([points * scale + shift, np.ones((20, 13, 1))], axis=2).astype(np.float32)


def test_place_and_size_of_the_body_do_not_matter() -> None:
    seconds = np.arange(20) / 15
    plain = normalized(list(body()), seconds)
    moved = normalized(list(body(scale=3.5, shift=(200, -40))), seconds)
    np.testing.assert_allclose(plain, moved, atol=1e-4)


def test_movement_of_heights_and_legs_counts_for_more() -> None:
    seconds, still = np.arange(20) / 15, np.stack([body()[0]] * 20)
    torso = np.linalg.norm(still[0, [1, 2], :2].mean(0) - still[0, [7, 8], :2].mean(0))
    moved = []
    for joint, axis in ((5, 0), (5, 1), (12, 0), (12, 1)):
        reaching = still.copy()
        reaching[10:, joint, axis] += torso
        features = normalized(list(reaching), seconds)
        moved.append(features[-1, 2 * joint + axis] - features[0, 2 * joint + axis])
    assert moved == pytest.approx([1, 4 / 3, 3 / 2, 2], rel=1e-4)


def test_unseen_frames_lie_on_the_way_between_their_neighbours() -> None:
    seconds = np.arange(20) / 15
    still = [body()[0]] * 9 + [None, None] + [body()[1]] * 9
    features = normalized(still, seconds)
    # From the last frame seen before to the first after it are three steps.
    np.testing.assert_allclose(features[10] - features[9], (features[13] - features[6]) / 3, rtol=0.01)


def test_hidden_joints_lie_on_the_way_between_where_they_were_seen() -> None:
    seconds = np.arange(20) / 15
    guessed = body()
    guessed[8:12, 5, :2] = 1000
    assert np.abs(normalized(list(guessed), seconds)[:, 10:12]).max() > 5
    guessed[8:12, 5, 2] = 0.1
    features = normalized(list(guessed), seconds)
    np.testing.assert_allclose(np.diff(features[8:12, 10:12], n=2, axis=0), 0, atol=1e-2)
    guessed[:, 5, 2] = 0.1
    assert np.abs(normalized(list(guessed), seconds)[:, 10:12]).max() > 5


def test_a_point_moves_to_the_centre_of_its_heat() -> None:
    heat = np.full((64, 64, 3), -9.0, np.float32)
    heat[20:22, 30:33, 0] = 9
    heat[40, 40, 2] = -1  # too faint
    points = np.array([[29.5, 21.5], [70.0, 5.0], [40.0, 41.0]], np.float32) / 64
    moved = _refined(points, heat) * 64
    np.testing.assert_allclose(moved, [[31.0, 20.5], [70.0, 5.0], [40.0, 41.0]], atol=0.02)


def test_nobody_ever_seen_is_all_zeros() -> None:
    assert not normalized([None] * 4, np.arange(4) / 15).any()


def test_a_mirror_twice_is_no_mirror() -> None:
    columns, signs = MIRRORS["pose"]
    features = np.random.default_rng(0).normal(size=(5, 2 * len(JOINTS)))
    once = features[:, columns] * signs
    assert np.abs(once - features).max() > 0.1
    np.testing.assert_array_equal(once[:, columns] * signs, features)


def encoding(features: np.ndarray, name: str = "pose") -> Encoding:
    seconds = np.arange(len(features)) / 15
    stream = Stream(name, seconds, np.arange(len(features)), features.astype(np.float32))
    return Encoding("e", (stream,), features[0].astype(np.float32), features[0].astype(np.float32))


def test_left_handed_aligns_with_right_handed() -> None:
    rng = np.random.default_rng(2)
    course = np.cumsum(rng.normal(size=(40, 26)), axis=0)
    columns, signs = MIRRORS["pose"]
    other = np.repeat(course, 2, axis=0)[:, columns] * signs + rng.normal(0, 0.1, (80, 26))
    query, match = encoding(course), encoding(other)
    alignment = align_encodings(query, match)
    assert alignment.draq < 0.15
    partners = alignment.warp().at(query.seconds[5:-5])
    np.testing.assert_allclose(partners, 2 * query.seconds[5:-5], atol=0.15)
    # Alone, in a batch and as a mere score it is the same; a stream that knows no sides is not turned around.
    batch = align_many(query, [query, match, match])
    assert [a.draq for a in batch[1:]] == pytest.approx([alignment.draq] * 2)
    assert score_many(query, [query, match]).draq[1] == pytest.approx(alignment.draq)
    assert align_encodings(encoding(course, "sides"), encoding(other, "sides")).draq > 0.4


def test_a_mirror_that_only_makes_chance_dearer_is_not_taken() -> None:
    columns, signs = MIRRORS["pose"]
    taken = {True: 0, False: 0}
    for seed in range(40):
        rng = np.random.default_rng(seed)
        one, other = (np.cumsum(rng.normal(size=(30, 26)), axis=0) for _ in range(2))
        straight, turned = (
            align_encodings(encoding(one, "sides"), encoding(match, "sides"), partial="never")
            for match in (other, other[:, columns] * signs)
        )
        chosen = align_encodings(encoding(one), encoding(other), partial="never")
        mirrored = turned.draq < straight.draq and turned.dtw_cost < 0.97 * straight.dtw_cost
        assert chosen.dtw_cost == pytest.approx((turned if mirrored else straight).dtw_cost)
        assert score_many(encoding(one), [encoding(other)]).dtw_cost[0] == pytest.approx(chosen.dtw_cost)
        if turned.draq < straight.draq:
            taken[mirrored] += 1
    assert min(taken.values()) > 3  # both happen


@pytest.fixture
def model(user_cache: Path, monkeypatch: pytest.MonkeyPatch) -> BlazePose:
    """BlazePose with its real weights: a visible skip where they cannot be had, a failure in CI."""
    from seasync.encoders.pose import BlazePose
    from seasync.errors import MissingExtra, WeightsError

    monkeypatch.setenv("SEASYNC_CACHE", str(user_cache))
    monkeypatch.setenv("SEASYNC_THREADS", "1")
    try:
        return BlazePose()
    except (MissingExtra, WeightsError) as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"pose cannot run here: {error}")


def portrait(height: int) -> Image.Image:
    """A photograph of Grace Hopper, as matplotlib carries it."""
    cbook = pytest.importorskip("matplotlib.cbook")
    photograph = Image.open(cbook.get_sample_data("grace_hopper.jpg", asfileobj=False)).convert("RGB")
    return photograph.resize((round(height * photograph.width / photograph.height), height))


def scene(*people: tuple[int, int] | None, size: tuple[int, int] = (320, 180)) -> np.ndarray:
    """A green picture with the portrait standing at each of these places (left, top)."""
    picture = Image.new("RGB", size, (90, 120, 90))
    for place in people:
        if place:
            picture.paste(portrait(120), place)
    return np.asarray(picture)


@pytest.mark.weights
def test_joints_follow_the_person(model: BlazePose) -> None:
    places = [(40 + 12 * n, 60) for n in range(8)]
    joints = Follower(model).follow(np.stack([scene(place) for place in places]))
    noses = np.stack([points[0, :2] for points in joints if points is not None])
    assert len(noses) == 8
    assert (noses[:, 0] - noses[0, 0]) == pytest.approx(12 * np.arange(8), abs=6)
    assert np.ptp(noses[:, 1]) < 6
    # The nose is where it is in the photograph: half way across, two fifths down.
    assert noses[0] - places[0] == pytest.approx([51, 46], abs=8)


@pytest.mark.weights
def test_the_actor_is_who_moves(model: BlazePose) -> None:
    left_moves = np.stack([scene((10 + 8 * n, 60), (200, 60)) for n in range(7)])
    right_moves = np.stack([scene((10, 60), (200 - 8 * n, 60)) for n in range(7)])
    _, box = actor(model, left_moves)
    assert box is not None
    assert box.x < 160
    _, box = actor(model, right_moves)
    assert box is not None
    assert box.x > 140


@pytest.mark.weights
def test_a_spectator_in_a_livelier_place_is_not_the_actor(model: BlazePose) -> None:
    rng = np.random.default_rng(0)
    large, small = portrait(140), portrait(60)
    pictures = []
    for n in range(7):
        picture = Image.new("RGB", (512, 288), (90, 120, 90))
        crowd = rng.integers(70, 140, (110, 110, 3)).astype(np.uint8)
        picture.paste(Image.fromarray(crowd), (380, 90))
        picture.paste(small, (400, 120))
        picture.paste(large, (40 + 6 * n, 90))
        pictures.append(np.asarray(picture))
    _, box = actor(model, np.stack(pictures))
    assert box is not None
    assert box.x < 256


@pytest.mark.weights
def test_nobody_else_takes_the_place_of_who_is_lost_for_a_moment(model: BlazePose) -> None:
    places = [(10 + 8 * n, 60) for n in range(6)]
    hidden = [scene(place if n not in (3, 4) else None, (200, 60)) for n, place in enumerate(places)]
    joints = Follower(model).follow(np.stack(hidden))
    assert [points is None for points in joints] == [False, False, False, True, True, False]
    assert joints[5] is not None
    assert joints[5][0, 0] < 160


@pytest.mark.weights
def test_after_a_cut_somebody_is_found_again(model: BlazePose) -> None:
    shots = [(10 + 4 * n, 60) for n in range(5)] + [(220 - 4 * n, 40) for n in range(12)]
    joints = Follower(model).follow(np.stack([scene(place) for place in shots]))
    assert all(points is not None for points in joints)
    assert joints[-1] is not None
    assert joints[-1][0, 0] > 160


@pytest.mark.weights
def test_the_share_of_frames_with_somebody_is_told(model: BlazePose) -> None:
    data = np.stack([scene(None if n < 3 else (100 + 4 * n, 60)) for n in range(12)])
    frames = Frames(data, np.arange(12) / 15, np.arange(12) * 2)
    stream = PoseEncoder().encode([frames]).streams[0]
    assert stream.found == pytest.approx(9 / 12)
    assert stream.features.shape == (12, 26)
    nobody = Frames(np.stack([scene()] * 3), np.arange(3) / 15, np.arange(3))
    assert PoseEncoder().encode([nobody]).streams[0].found == 0
