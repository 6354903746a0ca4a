"""read(): the right frames, at their true times, with their own numbers, whatever the file."""

from __future__ import annotations

import gc
import tracemalloc
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from seasync.errors import VideoError
from seasync.video import Frames, frame_table, frames, probe, read
from tests.videos import Truth, folder, is_upright, number_of, numbered, picture, write

ROUNDING = 0.0006  # seconds; some containers keep milliseconds


def whole(file: Path, **how: Any) -> Frames:
    """All batches as one."""
    batches = list(read(file, **how))
    return Frames(
        np.concatenate([b.data for b in batches]),
        np.concatenate([b.seconds for b in batches]),
        np.concatenate([b.numbers for b in batches]),
    )


def shown_in(seconds: list[float], start: float, end: float) -> list[int]:
    """By definition: the frame on screen at start, and all that begin later, but before end."""
    at_start = max(i for i, t in enumerate(seconds) if t <= start + ROUNDING)
    return [i for i, t in enumerate(seconds) if i == at_start or start + ROUNDING < t < end - ROUNDING]


def sampled_at(seconds: list[float], fps: float, start: float, end: float) -> list[int]:
    """By definition: at each sample the frame on screen, each once."""
    moments = [start + k / fps for k in range(int((end - start) * fps) + 2)]
    on_screen = {
        max(i for i, t in enumerate(seconds) if t <= m + ROUNDING) for m in moments if m < end - ROUNDING
    }
    return sorted(on_screen)


def test_every_frame_comes_once_at_its_time_and_upright(truth: Truth) -> None:
    got = whole(truth.file)
    assert got.numbers.tolist() == list(range(len(truth.seconds)))
    assert [number_of(image) - truth.first for image in got.data] == got.numbers.tolist()
    np.testing.assert_allclose(got.seconds, truth.seconds, atol=ROUNDING)
    assert all(is_upright(image) for image in got.data)


def test_a_file_is_decoded_to_be_known_only_if_its_packets_mislead(truth: Truth) -> None:
    assert (frame_table(truth.file).pts is None) == truth.counted


@pytest.mark.parametrize("span", [(0.2, 0.35), (0.5, 0.8), (0.87, 0.88), (0.0, 0.001), (0.95, 99.0)])
def test_a_span_holds_exactly_the_frames_shown_in_it_as_read_from_the_beginning(
    truth: Truth, span: tuple[float, float]
) -> None:
    everything, got = whole(truth.file), whole(truth.file, start=span[0], end=span[1])
    assert got.numbers.tolist() == shown_in(truth.seconds, *span)
    np.testing.assert_array_equal(got.seconds, everything.seconds[got.numbers])
    np.testing.assert_array_equal(got.data, everything.data[got.numbers])


@pytest.mark.parametrize(("fps", "start"), [(7.5, 0.0), (2.0, 0.05), (25.0, 0.0), (1000.0, 0.2), (0.4, 0.0)])
def test_sampling_takes_the_frame_on_screen_and_changes_no_pixel(
    truth: Truth, fps: float, start: float
) -> None:
    end = truth.seconds[-1] + 0.01
    everything, got = whole(truth.file), whole(truth.file, fps=fps, start=start, end=end)
    assert got.numbers.tolist() == sampled_at(truth.seconds, fps, start, end)
    np.testing.assert_array_equal(got.data, everything.data[got.numbers])
    one_by_one = whole(truth.file, fps=fps, start=start, end=end, frame_threads=False)
    assert one_by_one.numbers.tolist() == got.numbers.tolist()
    np.testing.assert_array_equal(one_by_one.data, got.data)


def test_far_apart_samples_of_a_long_file_are_the_same_as_in_a_full_read(tmp_path: Path) -> None:
    file = numbered(tmp_path / "long.mp4", 400, width=80, height=60, gop=30)
    got = whole(file, fps=0.5)
    assert got.numbers.tolist() == [0, 60, 120, 180, 240, 300, 360]
    np.testing.assert_array_equal(got.data, whole(file).data[got.numbers])


def test_batches_are_full_but_the_last(tmp_path: Path) -> None:
    file = numbered(tmp_path / "a.mp4", 10)
    assert [len(batch) for batch in read(file, batch=4)] == [4, 4, 2]
    assert repr(next(read(file, batch=4))) == "Frames(4×120×160×3, 0.00–0.10 s)"


@pytest.mark.parametrize(
    ("degrees", "mirror", "flip"),
    [
        (90, False, False),
        (-90, False, False),
        (180, False, False),
        (0, True, False),
        (0, False, True),
        (90, True, False),
        (-90, True, False),
        (0, True, True),
    ],
)
def test_turned_and_mirrored_video_stands_upright(
    tmp_path: Path, degrees: int, mirror: bool, flip: bool
) -> None:
    def stored(number: int) -> np.ndarray:
        image = picture(number, 120, 160)
        image = image[:: -1 if flip else 1, :: -1 if mirror else 1]
        return np.ascontiguousarray(np.rot90(image, -degrees // 90))

    file = write(tmp_path / "a.mp4", map(stored, range(5)), rotation=(degrees, mirror, flip))
    got = whole(file)
    assert got.data.shape == (5, 160, 120, 3)
    assert all(is_upright(image) for image in got.data)
    assert [number_of(image) for image in got.data] == list(range(5))
    assert (probe(file).width, probe(file).height) == (120, 160)
    assert all(is_upright(image) for image in whole(file, size=(50, 70)).data)


def test_oblong_pixels_are_made_square(tmp_path: Path) -> None:
    file = numbered(tmp_path / "a.mp4", 3, width=120, height=120, sar=Fraction(4, 3))
    assert whole(file).data.shape == (3, 120, 160, 3)
    assert (probe(file).width, probe(file).height, probe(file).sar) == (160, 120, Fraction(4, 3))


def test_squash_keeps_all_crop_keeps_the_middle_and_within_keeps_the_shape(tmp_path: Path) -> None:
    ramp = np.broadcast_to(np.linspace(0, 255, 300).astype(np.uint8)[None, :, None], (100, 300, 3))
    file = write(tmp_path / "a.mp4", [np.ascontiguousarray(ramp)] * 3, options={"crf": "5"})
    squashed = whole(file, size=(50, 50)).data[0][25, :, 1].astype(float)
    cropped = whole(file, size=(50, 50), fit="crop").data[0][25, :, 1].astype(float)
    assert (squashed[0], squashed[-1]) == pytest.approx((2, 253), abs=5)
    assert (cropped[0], cropped[-1]) == pytest.approx((86, 169), abs=5)
    assert whole(file, size=(60, 60), fit="within").data.shape == (3, 20, 60, 3)
    assert whole(file, size=(600, 600), fit="within").data.shape == (3, 100, 300, 3)


@pytest.mark.parametrize("shrunk", [3, 4, 10])
def test_a_smaller_picture_shows_the_mean_of_what_it_leaves_out(tmp_path: Path, shrunk: int) -> None:
    rng = np.random.default_rng(0)
    fine = np.repeat(rng.integers(40, 215, (24 * shrunk, 24 * shrunk, 1), np.uint8), 3, axis=2)
    file = write(tmp_path / "a.mkv", [fine] * 2, options={"crf": "0"})
    small = whole(file, size=(24, 24)).data[0][..., 1].astype(float)
    means = fine[..., 1].reshape(24, shrunk, 24, shrunk).mean((1, 3))
    error = np.abs(small - means).mean()
    assert error < 2 if shrunk >= 4 else error < 20  # otherwise bicubic, which is sharper


@pytest.mark.parametrize("matrix", [1, 5, 9])
@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("pix_fmt", ["yuv420p", "yuv444p10le"])
def test_colors_are_those_meant_by_matrix_and_range(
    tmp_path: Path, matrix: int, full: bool, pix_fmt: str
) -> None:
    red_weight, blue_weight = {1: (0.2126, 0.0722), 5: (0.299, 0.114), 9: (0.2627, 0.0593)}[matrix]
    red, green, blue = color = np.array([200, 90, 40]) / 255
    luma = red_weight * red + (1 - red_weight - blue_weight) * green + blue_weight * blue
    chroma = (blue - luma) / (2 - 2 * blue_weight), (red - luma) / (2 - 2 * red_weight)
    bits = 10 if "10" in pix_fmt else 8
    unit = (2**bits - 1) / 255 if full else 2 ** (bits - 8)
    planes = [luma * 255 * unit if full else (16 + 219 * luma) * unit]
    planes += [2 ** (bits - 1) + c * (255 if full else 224) * unit for c in chroma]
    frame = av.VideoFrame(64, 48, pix_fmt)
    for plane, value in zip(frame.planes, planes, strict=True):
        dtype = np.uint8 if bits == 8 else np.uint16
        plane.update(np.full(plane.buffer_size // dtype().itemsize, round(value), dtype).tobytes())
    tags = {"colorspace": matrix, "color_range": 2 if full else 1}
    file = write(tmp_path / "a.mkv", [frame] * 2, codec="ffv1", pix_fmt=pix_fmt, tags=tags)
    for size in (None, (20, 30)):
        np.testing.assert_allclose(whole(file, size=size).data[0].mean((0, 1)), color * 255, atol=2.5)


def test_untagged_colors_are_guessed_by_size_as_players_do(tmp_path: Path) -> None:
    for height, width, matrix in ((120, 160, 5), (720, 1280, 1)):
        image = np.full((height, width, 3), (200, 40, 40), np.uint8)
        frame = av.VideoFrame.from_ndarray(image, "rgb24").reformat(format="yuv420p", dst_colorspace=matrix)
        file = write(tmp_path / "a.mkv", [frame] * 2, codec="ffv1", tags={"colorspace": 2})
        np.testing.assert_allclose(whole(file).data[0].mean((0, 1)), (200, 40, 40), atol=4)


def test_interlaced_video_is_made_whole(tmp_path: Path) -> None:
    def field(time: float) -> np.ndarray:
        image = np.zeros((120, 160, 3), np.uint8)
        image[:, int(20 + 4 * time) : int(60 + 4 * time)] = 255
        return image

    def woven(number: int) -> np.ndarray:
        image = field(2 * number)
        image[1::2] = field(2 * number + 1)[1::2]
        return image

    def combed(image: np.ndarray) -> float:
        rows = image[..., 1].astype(float)
        return float(np.abs(rows[1:-1] - (rows[:-2] + rows[2:]) / 2).mean())

    file = write(tmp_path / "a.mp4", map(woven, range(10)), options={"x264-params": "tff=1:crf=5"})
    got = whole(file)
    assert got.numbers.tolist() == list(range(10))
    assert combed(woven(5)) > 5
    assert max(map(combed, got.data)) < 1
    for number in (3, 6):  # bwdif looks at the neighbours, which a span must not change
        alone = whole(file, start=number / 30, end=(number + 1) / 30)
        np.testing.assert_array_equal(alone.data[0], got.data[number])
    np.testing.assert_array_equal(whole(file, fps=7.5).data, got.data[[0, 4, 8]])


def test_pictures_of_a_folder_follow_the_numbers_in_their_names(tmp_path: Path) -> None:
    path = folder(tmp_path / "pictures", 12)
    for file in sorted(path.glob("*.jpg")):
        file.rename(path / f"frame{int(file.stem)}.jpg")
    assert [number_of(image) for image in whole(path).data] == list(range(12))


def test_only_one_batch_is_held(tmp_path: Path) -> None:
    file = numbered(tmp_path / "a.mp4", 200, width=320, height=240)
    list(read(file, batch=8))
    tracemalloc.start()
    for batch in read(file, batch=8):
        size = batch.data.nbytes
        del batch
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert size / 8 < peak < 2.5 * 8 * 320 * 240 * 3


def test_decoded_frames_are_let_go_without_waiting_for_the_garbage_collector(tmp_path: Path) -> None:
    file = numbered(tmp_path / "a.mp4", 60, rotation=(90, False, False))
    gc.collect()
    gc.disable()
    try:
        for _ in read(file):
            pass
        for _ in frames(file):
            pass
        alive = sum(type(thing) is av.VideoFrame for thing in gc.get_objects())
    finally:
        gc.enable()
    assert alive < 5


@pytest.mark.parametrize(
    ("how", "text"),
    [
        ({"start": 1.0, "end": 1.0}, "span 1.0–1.0 s is empty"),
        ({"start": 2.0, "end": 1.0}, "empty"),
        ({"start": -1.0}, "start must be 0 or more"),
        ({"start": float("nan")}, "start must be 0 or more"),
        ({"start": 1.6}, "the video ends at 1.600 s"),
        ({"start": 99.0}, "the video ends at 1.600 s"),
        ({"fps": 0.0}, "fps must be more than 0"),
        ({"batch": 0}, "batch must be at least 1"),
        ({"size": (0, 10)}, "size must be"),
    ],
)
def test_what_cannot_be_asked_is_said_before_reading(tmp_path: Path, how: dict[str, Any], text: str) -> None:
    file = numbered(tmp_path / "a.mp4")
    with pytest.raises(VideoError, match=text):
        read(file, **how)


def test_a_single_frame_is_a_video(tmp_path: Path) -> None:
    file = numbered(tmp_path / "a.mp4", 1)
    got = whole(file, fps=7.5)
    assert (got.numbers.tolist(), got.seconds.tolist()) == ([0], [0.0])
