"""Encoding the still part once: which patches, right order, cuts, and clips of every kind."""

from __future__ import annotations

import numpy as np
import pytest

from seasync.encoders.dinov2 import (
    SPAN,
    Dinov2,
    MovingPatchEncoder,
    Reference,
    Window,
    moving_patches,
    patches_of,
)
from seasync.encoding import FLOW_CHANNELS, Floats, Indices
from seasync.video import Frames


class Brightness(Dinov2):
    """A network that is not one: a token is its patch's mean colour; the class token that of all it sees."""

    def __init__(self, size: int = 56) -> None:
        self.input_size = size, size
        self.patches = (size // 14) ** 2
        self.passed = 0  # patches

    def reference(self, pixels: np.ndarray) -> Reference:  # type: ignore[type-arg]
        self.passed += len(pixels)
        colours = _colours(pixels[None])[0]
        first = colours.mean(0, keepdims=True)
        return Reference(np.concatenate([first, colours]), [np.zeros((1, 17, 1), np.float32)] * 24)

    def encode(self, pixels: np.ndarray, places: Indices, seen: dict[str, Floats]) -> Floats:  # type: ignore[type-arg]
        self.passed += pixels.shape[0] * len(places)
        colours = _colours(pixels)
        return np.concatenate([colours.mean(1, keepdims=True), colours], axis=1)


def _colours(pixels: np.ndarray) -> Floats:  # type: ignore[type-arg]
    means = pixels.reshape(*pixels.shape[:2], -1, 3).mean(2, dtype=np.float32)
    return np.tile(means, 128) - np.tile([40, 90, 160], 128).astype(np.float32)


def scene(count: int, *, moving: tuple[int, ...] = (5, 6), dark: bool = False) -> np.ndarray:  # type: ignore[type-arg]
    """(count, 56, 56, 3): still but for the patches `moving`, which change all the time."""
    rng = np.random.default_rng(int(dark))
    low = 0 if dark else 150
    picture = np.kron(rng.integers(low, low + 80, (4, 4, 3), np.uint8), np.ones((14, 14, 1), np.uint8))
    frames = np.repeat(picture[None], count, axis=0)
    for place in moving:
        row, column = divmod(place, 4)
        block = rng.integers(low + 30, low + 50, (count, 1, 1, 3), np.uint8)
        frames[:, 14 * row : 14 * row + 14, 14 * column : 14 * column + 14] = block
    return frames


def batches(frames: np.ndarray, size: int = 8) -> list[Frames]:  # type: ignore[type-arg]
    starts = range(0, len(frames), size)
    times = np.arange(len(frames))
    return [Frames(frames[a : a + size], times[a : a + size] / 7.5, times[a : a + size]) for a in starts]


def encode(frames: np.ndarray):  # type: ignore[no-untyped-def, type-arg]
    return MovingPatchEncoder("moving", Brightness(), fingerprint="test").encode(batches(frames))


@pytest.mark.parametrize("count", [1, 2, 3, SPAN, SPAN + 1, SPAN + 2, 3 * SPAN + 5])
def test_every_frame_has_its_feature_in_order(count: int) -> None:
    """With this network nothing is lost by leaving still patches out: features are those of whole frames."""
    frames = scene(count)
    encoding = encode(frames)
    assert encoding.frames.tolist() == list(range(count))
    whole = [_colours(pixels[None])[0] for pixels in patches_of(frames)]
    from seasync.encoders.encoder import PatchPool

    pool = PatchPool()
    expected = [feature for tokens in whole for feature in pool.push(tokens)] + list(pool.end_shot())
    np.testing.assert_allclose(encoding.features[:, :-FLOW_CHANNELS], expected, atol=0.2)


def test_motionless_clip_has_features_that_do_not_change() -> None:
    features = encode(np.repeat(scene(1), 70, axis=0)).features
    assert np.isfinite(features).all()
    np.testing.assert_array_equal(features, np.repeat(features[:1], 70, axis=0))


def test_only_what_moves_passes_through_the_network() -> None:
    model = Brightness()
    window = Window(model)
    for pixels in patches_of(scene(65)):
        list(window.push(pixels))
    list(window.end())
    assert window.frames == 65
    assert window.encoded == model.passed == 3 * 16 + 62 * 4  # at least a quarter of the patches


def test_moving_camera_encodes_everything() -> None:
    frames = np.random.default_rng(0).integers(0, 256, (20, 16, 588), np.uint8)
    assert len(moving_patches(frames, np.random.default_rng(1).normal(size=(2, 16, 8)))) == 16


def test_cut_begins_a_shot_and_nothing_is_seen_across_it() -> None:
    first, second = scene(10), scene(9, dark=True)
    joined = encode(np.concatenate([first, second]))
    assert joined.shots.tolist() == [0, 10]
    alone = [encode(part).features for part in (first, second)]
    np.testing.assert_array_equal(joined.features, np.concatenate(alone))


def test_batches_do_not_matter() -> None:
    frames = scene(40)
    encoder = MovingPatchEncoder("moving", Brightness(), fingerprint="test")
    a, b = (encoder.encode(batches(frames, size)).features for size in (8, 7))
    np.testing.assert_array_equal(a, b)


def test_memory_holds_one_window() -> None:
    window = Window(Brightness())
    for pixels in patches_of(scene(500)):
        list(window.push(pixels))
        assert len(window._pixels) <= SPAN + 1
