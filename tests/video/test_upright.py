"""frames(): what `read` gives, as YUV ready for a film."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from seasync.video import frames, probe, read
from tests.videos import Truth, number_of, numbered, picture, write


def test_the_same_frames_as_read_gives(truth: Truth) -> None:
    shown = list(frames(truth.file, 0.1, 0.6))
    got = next(read(truth.file, start=0.1, end=0.6, batch=1000))
    assert [s.number for s in shown] == got.numbers.tolist()
    assert [s.seconds for s in shown] == got.seconds.tolist()
    for one, image in zip(shown, got.data, strict=True):
        assert one.frame.format.name == "yuv420p"
        assert (one.frame.colorspace, one.frame.color_range) == (1, 1)
        film = one.frame.to_ndarray(format="rgb24").astype(int)
        blocks = (film - image)[:120, :160].reshape(15, 8, 20, 8, 3).mean((1, 3))  # a GIF is dithered
        assert np.abs(blocks).mean() < 4
        assert number_of(film) == number_of(image)


@pytest.mark.parametrize(
    "rotation", [(90, False, False), (-90, False, False), (180, False, False), (90, True, False)]
)
def test_turned_frames_are_upright(tmp_path: Path, rotation: tuple[float, bool, bool]) -> None:
    file = numbered(tmp_path / "a.mp4", 3, rotation=rotation, sar=Fraction(4, 3))
    info = probe(file)
    for shown, image in zip(frames(file), next(read(file)).data, strict=True):
        assert (shown.frame.width, shown.frame.height) == (info.width, info.height)
        difference = np.abs(shown.frame.to_ndarray(format="rgb24").astype(int) - image)
        assert difference.mean() < 5


def test_frames_that_are_right_already_are_not_touched(tmp_path: Path) -> None:
    file = numbered(tmp_path / "a.mp4", 5, width=1280, height=720)
    with av.open(str(file)) as container:
        for shown, original in zip(frames(file), container.decode(video=0), strict=True):
            np.testing.assert_array_equal(shown.frame.to_ndarray(), original.to_ndarray())


@pytest.mark.parametrize("transfer", [16, 18])
def test_hdr_is_shown_as_sdr_brighter_light_brighter_and_grey_grey(tmp_path: Path, transfer: int) -> None:
    gray = []
    for light in (0.01, 0.1, 1.0, 10.0, 100.0, 203.0, 500.0, 1000.0):
        frame = av.VideoFrame(64, 48, "yuv420p10le")
        for plane, value in zip(frame.planes, (64 + 876 * coded(light, transfer), 512, 512), strict=True):
            plane.update(np.full(plane.buffer_size // 2, round(value), np.uint16).tobytes())
        tags = {"color_trc": transfer, "color_primaries": 9, "colorspace": 9, "color_range": 1}
        file = write(tmp_path / "a.mkv", [frame] * 2, codec="ffv1", pix_fmt="yuv420p10le", tags=tags)
        pixel, film = next(read(file)).data[0, 24, 32], next(frames(file)).frame
        assert np.ptp(pixel.astype(int)) <= 1
        np.testing.assert_allclose(film.to_ndarray(format="rgb24")[24, 32].astype(int), pixel, atol=3)
        gray.append(int(pixel[0]))
    assert gray == sorted(gray)
    assert (gray[0], gray[-1]) == pytest.approx((0, 255), abs=2)
    assert gray[5] == pytest.approx(214, abs=4)  # diffuse white is bright but leaves room for highlights
    # Darker than the knee, light is what it was: 10 of 203 cd/m² in sRGB.
    assert gray[3] == pytest.approx(255 * (1.055 * (10 / 203) ** (1 / 2.4) - 0.055), abs=2)


def coded(light: float, transfer: int) -> float:
    """cd/m² of gray on a 1000 cd/m² display to a code value from 0 to 1 (SMPTE ST 2084; ARIB STD-B67)."""
    if transfer == 16:
        y = (light / 10000) ** (2610 / 16384)
        return ((3424 / 4096 + 2413 / 128 * y) / (1 + 2392 / 128 * y)) ** (2523 / 32)
    scene = (light / 1000) ** (1 / 1.2)
    if scene <= 1 / 12:
        return float(np.sqrt(3 * scene))
    return float(0.17883277 * np.log(12 * scene - 0.28466892) + 0.55991073)


def test_10_bit_sdr_is_as_bright_as_8_bit(tmp_path: Path) -> None:
    images = [
        next(read(write(tmp_path / f"{fmt}.mkv", [picture(5)] * 2, codec="ffv1", pix_fmt=fmt))).data[0]
        for fmt in ("yuv420p", "yuv420p10le")
    ]
    assert np.abs(images[0].astype(int) - images[1]).max() <= 4
