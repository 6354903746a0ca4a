"""Writer: films that hold what was written, and no half-written files."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from seasync.errors import VideoError
from seasync.video import Writer, frames, probe, read, sound
from tests.videos import is_upright, number_of, numbered, picture

RATES = [Fraction(30), Fraction(30000, 1001), Fraction(24000, 1001), Fraction(50)]


def film(
    file: Path, count: int = 12, *, size: tuple[int, int] = (160, 120), fps: Fraction = RATES[0]
) -> Path:
    with Writer(file, fps=fps, size=size) as out:
        for i in range(count):
            out.write(picture(i, *size))
    return file


@pytest.mark.parametrize("fps", RATES)
def test_pictures_come_back_in_order_at_exact_times(tmp_path: Path, fps: Fraction) -> None:
    file = film(tmp_path / "a.mp4", 40, fps=fps)
    got = [
        (n, s, number_of(i)) for b in read(file) for n, s, i in zip(b.numbers, b.seconds, b.data, strict=True)
    ]
    assert [(n, shown) for n, _, shown in got] == [(i, i) for i in range(40)]
    np.testing.assert_allclose([s for _, s, _ in got], [float(i / fps) for i in range(40)], atol=1e-4)
    assert probe(file).fps == fps


@pytest.mark.parametrize("suffix", ["mp4", "mov", "mkv"])
def test_the_film_is_what_browsers_and_editors_play(tmp_path: Path, suffix: str) -> None:
    file = film(tmp_path / f"a.{suffix}")
    with av.open(str(file)) as container:
        stream = container.streams.video[0]
        tags = (stream.color_primaries, stream.color_trc, stream.colorspace, stream.color_range)
        assert (stream.codec_context.name, stream.pix_fmt, tags) == ("h264", "yuv420p", (1, 1, 1, 1))
    data = file.read_bytes()
    if suffix != "mkv":
        assert data.index(b"moov") < data.index(b"mdat")
    assert sorted(p.name for p in tmp_path.iterdir()) == [file.name]


def test_colors_survive(tmp_path: Path) -> None:
    colors = [(200, 30, 30), (30, 180, 60), (20, 40, 220), (128, 128, 128), (255, 255, 255), (0, 0, 0)]
    with Writer(tmp_path / "a.mp4", fps=30, size=(64, 64), crf=5) as out:
        for color in colors:
            out.write(np.full((64, 64, 3), color, np.uint8))
    for image, color in zip(next(read(tmp_path / "a.mp4")).data, colors, strict=True):
        np.testing.assert_allclose(image.mean((0, 1)), color, atol=4)


@pytest.mark.parametrize("size", [(161, 120), (160, 121), (161, 121)])
def test_odd_sizes_gain_a_copied_column_or_row(tmp_path: Path, size: tuple[int, int]) -> None:
    source = numbered(tmp_path / "a.mkv", 8, width=size[0], height=size[1], codec="ffv1", pix_fmt="bgr0")
    with (
        Writer(tmp_path / "rgb.mp4", fps=30, size=size) as rgb,
        Writer(tmp_path / "yuv.mp4", fps=30, size=size) as yuv,
    ):
        for i, shown in enumerate(frames(source)):
            rgb.write(picture(i, *size))
            yuv.write(shown.frame)
    for file in (rgb.file, yuv.file):
        assert (
            (probe(file).width, probe(file).height)
            == rgb.size
            == (size[0] + size[0] % 2, size[1] + size[1] % 2)
        )
        images = next(read(file)).data
        assert [number_of(image) for image in images] == list(range(8))
        assert all(is_upright(image) for image in images)


def test_yuv_frames_are_not_touched_on_the_way(tmp_path: Path) -> None:
    source = film(tmp_path / "a.mp4")
    originals = [shown.frame for shown in frames(source)]
    with Writer(tmp_path / "b.mkv", fps=30, size=(160, 120), codec="ffv1") as out:
        for frame in originals:
            out.write(frame)
    with av.open(str(tmp_path / "b.mkv")) as container:
        for copy, original in zip(container.decode(video=0), originals, strict=True):
            np.testing.assert_array_equal(copy.to_ndarray(), original.to_ndarray())


def test_the_same_frame_may_be_written_again(tmp_path: Path) -> None:
    shown = next(frames(film(tmp_path / "a.mp4")))
    with Writer(tmp_path / "b.mp4", fps=30, size=(160, 120)) as out:
        for _ in range(5):
            out.write(shown.frame)
    assert sum(map(len, read(tmp_path / "b.mp4"))) == 5


def test_sound_and_picture_stay_together(tmp_path: Path) -> None:
    rate, clicks = 44100, [10, 25, 40]
    with Writer(tmp_path / "a.mp4", fps=25, size=(64, 48), audio=(rate, 2)) as out:
        for i in range(50):
            out.write(np.full((48, 64, 3), 255 * (i in clicks), np.uint8))
            samples = np.zeros((2, rate // 25), np.float32)
            samples[:, :40] = 0.9 * np.hanning(40) * (i in clicks)
            out.write_audio(samples)
    flashes = [s for b in read(out.file) for s, i in zip(b.seconds, b.data, strict=True) if i.mean() > 128]
    heard = np.abs(sound(out.file, rate=rate)[0]).reshape(-1, rate // 25).max(1)
    assert np.flatnonzero(heard > 0.4).tolist() == clicks == [round(s * 25) for s in flashes]


def test_webm_and_other_codecs(tmp_path: Path) -> None:
    with Writer(tmp_path / "a.webm", fps=30, size=(64, 48), codec="libvpx-vp9", audio=(48000, 1)) as out:
        for i in range(5):
            out.write(picture(i, 64, 48))
            out.write_audio(np.zeros((1, 1600), np.float32))
    info = probe(out.file)
    assert (info.codec, info.audio.codec if info.audio else None) == ("vp9", "opus")


@pytest.mark.parametrize("suffix", ["mp4", "mov", "mkv"])
def test_hevc_is_tagged_as_quicktime_wants_it_and_the_encoder_is_quiet(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], suffix: str
) -> None:
    file = tmp_path / f"a.{suffix}"
    for options in (None, {"x265-params": "keyint=5"}):
        with Writer(file, fps=30, size=(160, 120), codec="libx265", options=options) as out:
            for i in range(10):
                out.write(picture(i))
        with av.open(str(file)) as made:
            tag = made.streams.video[0].codec_context.codec_tag
            assert tag == "hvc1" or suffix == "mkv"
            keys = [packet.is_keyframe for packet in made.demux(video=0) if packet.size]
        assert sum(keys) == (1 if options is None else 2)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_an_interrupted_film_leaves_nothing_and_the_old_one_alone(
    tmp_path: Path, error: type[BaseException]
) -> None:
    old = film(tmp_path / "a.mp4").read_bytes()

    def interrupted() -> None:
        with Writer(tmp_path / "a.mp4", fps=30, size=(160, 120), audio=(48000, 1)) as out:
            out.write(picture(1))
            raise error

    with pytest.raises(error):
        interrupted()
    assert [p.name for p in tmp_path.iterdir()] == ["a.mp4"]
    assert (tmp_path / "a.mp4").read_bytes() == old


def test_unknown_codec_is_named(tmp_path: Path) -> None:
    with pytest.raises(VideoError, match="no encoder named 'libx999'"):
        Writer(tmp_path / "a.mp4", fps=30, size=(64, 48), codec="libx999")
    assert not list(tmp_path.iterdir())


def test_a_film_without_pictures_is_an_error(tmp_path: Path) -> None:
    with (
        pytest.raises(VideoError, match="no picture was written"),
        Writer(tmp_path / "a.mp4", fps=30, size=(64, 48)),
    ):
        pass
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("file", "how", "text"),
    [
        ("none/a.mp4", {}, "a.mp4: the film cannot be written .No such file"),
        ("a.mp4", {"codec": "nonesuch"}, "nonesuch"),
        ("a.nonesuch", {}, "a.nonesuch: the film cannot be written"),
        ("a.mp4", {"size": (0, 10)}, "size must be more than 0"),
        ("a.mp4", {"fps": 0}, "fps and size must be more than 0"),
        ("a.mp4", {"audio": (48000, 6)}, "1 or 2 channels"),
    ],
)
def test_what_cannot_be_written_is_said(tmp_path: Path, file: str, how: dict[str, object], text: str) -> None:
    settings: dict[str, object] = {"fps": 30, "size": (64, 48), **how}
    with pytest.raises(VideoError, match=text):
        Writer(tmp_path / file, **settings)  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


def test_wrong_sizes_and_samples_are_said(tmp_path: Path) -> None:
    with Writer(tmp_path / "a.mp4", fps=30, size=(64, 48)) as out:
        with pytest.raises(VideoError, match="64×48 was given 160×120"):
            out.write(picture(0))
        with pytest.raises(VideoError, match="no sound"):
            out.write_audio(np.zeros((1, 10), np.float32))
        out.write(picture(0, 64, 48))
