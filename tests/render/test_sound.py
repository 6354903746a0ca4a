"""Sound along a warp: where clicks land, what pitch tones keep, whether joints are heard."""

from __future__ import annotations

import errno
import importlib.util
import wave
from dataclasses import replace
from functools import partial
from pathlib import Path

import av
import numpy as np
import pytest
from typer.testing import CliRunner, Result

from seasync import Sea
from seasync.alignment import Alignment, Segment
from seasync.cli import app
from seasync.errors import RenderError
from seasync.render import compare, dub, retime, sound as sound_module, write_sound
from seasync.render.sound import by_atempo, by_signalsmith, carry, stretch
from tests.encoders.models import colour_grid
from tests.render.aligned import bent, click_times, clicks, heard, pitch, whole
from tests.render.conftest import KEYS, MATCH_KEYS
from tests.videos import numbered

RATE = 48000
exact = pytest.mark.skipif(
    importlib.util.find_spec("python_stretch") is None, reason="python-stretch has no wheel for this Python"
)
FRAME = 1 / 30
SPEEDS = ((1.0, 0.8), (0.7, 1.25), (1.2, 0.9), (0.5, 1.4), (0.9, 0.75), (1.1, 1.1))


def pieces() -> list[Segment]:
    """Six adjoining pieces at the speeds above."""
    out, now, source = [], 0.0, 0.0
    for seconds, speed in SPEEDS:
        out.append(Segment(now, now + seconds, source, source + seconds * speed))
        now, source = now + seconds, source + seconds * speed
    return out


def reader(sound: np.ndarray, start: float, end: float) -> np.ndarray:
    first, count = round(start * RATE), round((end - start) * RATE)
    out = np.zeros((len(sound), count), np.float32)
    low, high = max(first, 0), min(first + count, sound.shape[1])
    if high > low:
        out[:, low - first : high - first] = sound[:, low:high]
    return out


def carried(sound: np.ndarray, along: list[Segment], seconds: float) -> np.ndarray:
    blocks = carry(partial(reader, sound), along, seconds=seconds, rate=RATE, channels=len(sound))
    return np.concatenate(list(blocks), axis=1)


@exact
def test_clicks_land_within_a_frame_and_none_is_doubled_or_lost() -> None:
    along = pieces()
    planted = np.arange(0.15, along[-1].value_end - 0.1, 0.21)
    expected = [
        piece.start + (click - piece.value_start) / piece.speed
        for piece in along
        for click in planted
        if piece.value_start <= click < piece.value_end
    ]
    found = click_times(carried(clicks(planted.tolist(), 8.0), along, along[-1].end), RATE, level=0.15)
    assert len(found) == len(expected)
    assert np.abs(np.array(found) - expected).max() < FRAME / 4


@exact
def test_chord_keeps_its_pitch_and_joints_are_not_heard() -> None:
    along, chord = pieces(), (440.0, 554.0, 659.0)
    tones = [0.15 * np.sin(2 * np.pi * tone * np.arange(8 * RATE) / RATE) for tone in chord]
    out = carried(np.sum(tones, axis=0)[None].astype(np.float32), along, along[-1].end)[0]
    out = out[RATE // 10 : -RATE // 10]
    spectrum = np.abs(np.fft.rfft(out * np.hanning(len(out)))) ** 2
    hertz = np.fft.rfftfreq(len(out), 1 / RATE)
    near = [np.abs(hertz - tone) < 15 for tone in chord]
    assert [hertz[(spectrum * band).argmax()] for band in near] == pytest.approx(chord, rel=0.001)
    pure = np.any(near, axis=0)
    assert (
        10 * np.log10(spectrum[pure].sum() / spectrum[~pure].sum()) > 31
    )  # decibels; waves that do not meet: 27
    assert np.abs(np.diff(out, 2)).max() < 0.01  # a joint without a crossfade: .25


def test_own_speed_is_a_copy_over_any_length() -> None:
    noise = np.random.default_rng(0).normal(0, 0.2, (2, 45 * RATE)).astype(np.float32)
    out = carried(noise, [Segment(0.0, 44.0, 0.5, 44.5)], 44.0)
    assert np.allclose(out, noise[:, RATE // 2 : RATE // 2 + 44 * RATE], atol=1e-6)


def test_gaps_holds_and_jumps_are_silent() -> None:
    noise = np.random.default_rng(0).normal(0, 0.2, (1, 8 * RATE)).astype(np.float32)
    along = [
        Segment(0.5, 1.0, 0.0, 0.5),
        Segment(1.5, 2.0, 3.0, 3.5),
        Segment(2.0, 2.5, 3.5, 3.5),
        Segment(2.5, 3.0, 0.0, 7.5),
    ]
    out = carried(noise, along, 3.5)
    assert out.shape == (1, round(3.5 * RATE))
    loud = [
        float(np.abs(out[0, round(at * RATE) :][: RATE // 20]).mean())
        for at in (0.2, 0.7, 1.2, 1.7, 2.2, 2.7, 3.2)
    ]
    assert [level > 0.05 for level in loud] == [False, True, False, True, False, False, False]


@pytest.mark.parametrize("by", [pytest.param(by_signalsmith, marks=exact), by_atempo])
@pytest.mark.parametrize("speed", [0.3, 0.8, 1.3, 3.0])
def test_both_ways_of_stretching_keep_pitch_and_channels(by, speed: float) -> None:  # type: ignore[no-untyped-def]
    times = np.arange(2 * RATE) / RATE
    tones = np.stack([np.sin(2 * np.pi * 440 * times), np.sin(2 * np.pi * 660 * times)]).astype(np.float32)
    out = by(tones, speed, rate=RATE)
    assert out.shape[1] == pytest.approx(tones.shape[1] / speed, rel=0.05)
    middle = out[:, out.shape[1] // 4 : -out.shape[1] // 4]
    assert [pitch(channel, RATE) for channel in middle] == pytest.approx([440, 660], rel=0.01)


def test_without_the_wheel_atempo_follows_the_warp(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert stretch(np.zeros((1, 1000), np.float32), 1.25, rate=RATE).shape == (1, 800)
    along = pieces()
    planted = np.arange(0.3, along[-1].value_end - 0.2, 0.4)
    expected = [
        piece.start + (click - piece.value_start) / piece.speed
        for piece in along
        for click in planted
        if piece.value_start <= click < piece.value_end
    ]
    out = carried(clicks(planted.tolist(), 8.0), along, along[-1].end)
    found = np.array(click_times(out, RATE, level=0.15))
    assert max(np.abs(found - second).min() for second in expected) < FRAME


@exact
def test_film_carries_the_matchs_clicks_to_the_querys_key_moments(aligned: Alignment, tmp_path: Path) -> None:
    retime(aligned, tmp_path / "film.mp4")
    sound, rate = heard(tmp_path / "film.mp4")
    assert (len(sound), rate) == (2, 44100)
    found = click_times(sound, rate)
    assert len(found) == len(KEYS)
    assert np.abs(np.array(found) - KEYS).max() < FRAME
    assert pitch(sound[0], rate) == pytest.approx(440, rel=0.01)
    assert sound.shape[1] / rate == pytest.approx(3.0, abs=FRAME)


@exact
def test_film_carries_the_querys_clicks_to_a_kept_match(aligned: Alignment, tmp_path: Path) -> None:
    retime(aligned, tmp_path / "film.mp4", keep="match", audio="query")
    sound, rate = heard(tmp_path / "film.mp4")
    found = click_times(sound, rate)
    assert len(found) == len(MATCH_KEYS)
    assert np.abs(np.array(found) - MATCH_KEYS).max() < FRAME
    assert pitch(sound[0], rate) == pytest.approx(330, rel=0.01)


def test_mix_has_both_tones_and_one_click_each(aligned: Alignment, tmp_path: Path) -> None:
    compare(aligned, tmp_path / "film.mp4", audio="mix")
    sound, rate = heard(tmp_path / "film.mp4")
    spectrum = np.abs(np.fft.rfft(sound[0] * np.hanning(sound.shape[1])))
    hertz = np.fft.rfftfreq(sound.shape[1], 1 / rate)
    peaks = [spectrum[np.abs(hertz - tone) < 4].max() for tone in (330, 440, 550)]
    assert min(peaks[:2]) > 20 * peaks[2]
    found = click_times(sound, rate, level=0.25)
    assert max(np.abs(np.array(found) - key).min() for key in KEYS) < FRAME


def test_kept_sound_is_the_files_own(aligned: Alignment, tmp_path: Path) -> None:
    compare(aligned, tmp_path / "film.mp4")
    sound, rate = heard(tmp_path / "film.mp4")
    assert rate == 48000
    assert np.array(click_times(sound, rate)) == pytest.approx(np.array(KEYS) + 0.001, abs=0.002)


def test_sources_without_sound_make_silent_films(pair: tuple[Path, Path], tmp_path: Path) -> None:
    import av

    mute = numbered(tmp_path / "mute.mp4", 60)
    for audio, streams in (("match", 0), ("none", 0), ("query", 1), ("mix", 1)):
        compare(whole(pair[0], mute, lambda seconds: seconds), tmp_path / "film.mp4", audio=audio)
        with av.open(str(tmp_path / "film.mp4")) as film:
            assert len(film.streams.audio) == streams


def test_sound_follows_the_same_course_as_the_picture(pair: tuple[Path, Path], tmp_path: Path) -> None:
    """Nearest frames follow the path as it is, jerks included; so must the sound."""
    jerky = whole(*pair, bent((0.0, 0.9, 1.0, 1.1, 2.0, 3.0), (0.2, 0.9, 1.5, 1.52, 1.9, 3.5)))
    retime(jerky, tmp_path / "film.mp4")
    found = click_times(*heard(tmp_path / "film.mp4"), level=0.2)
    # Where python-stretch has no wheel, atempo swallows the click between six times and a fifth of the speed.
    keys = [key for key in MATCH_KEYS if key != 1.5 or importlib.util.find_spec("python_stretch")]
    expected = np.interp(keys, (0.2, 0.9, 1.5, 1.52, 1.9, 3.5), (0.0, 0.9, 1.0, 1.1, 2.0, 3.0))
    assert max(np.abs(np.array(found) - second).min() for second in expected) < FRAME


def test_sound_alone_is_written_as_wav(aligned: Alignment, tmp_path: Path) -> None:
    assert write_sound(aligned, tmp_path / "match.wav")
    with wave.open(str(tmp_path / "match.wav")) as file:
        assert (file.getnchannels(), file.getframerate(), file.getnframes()) == (2, 44100, 3 * 44100)
        samples = np.frombuffer(file.readframes(file.getnframes()), "<i2").reshape(-1, 2).T / 32768
    assert np.abs(np.array(click_times(samples, 44100)) - KEYS).max() < FRAME
    mute = numbered(tmp_path / "mute.mp4", 30)
    silent = replace(aligned, match=replace(aligned.match, file=str(mute)))
    assert not write_sound(silent, tmp_path / "none.wav")
    assert not (tmp_path / "none.wav").exists()


def test_failure_leaves_no_half_sound_and_keeps_the_old_one(
    aligned: Alignment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "match.wav").write_bytes(b"the old sound")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(wave.Wave_write, "writeframes", full)
    with pytest.raises(RenderError, match=r"match\.wav: cannot be written \(No space left"):
        write_sound(aligned, tmp_path / "match.wav")
    assert [path.name for path in tmp_path.iterdir()] == ["match.wav"]
    assert (tmp_path / "match.wav").read_bytes() == b"the old sound"


def test_longest_block_bounds_memory() -> None:
    asked: list[float] = []

    def read(start: float, end: float) -> np.ndarray:
        asked.append(end - start)
        return np.zeros((1, round((end - start) * RATE)), np.float32)

    total = sum(
        block.shape[1]
        for block in carry(read, [Segment(0.0, 100.0, 0.0, 120.0)], seconds=100.0, rate=RATE, channels=1)
    )
    assert total == 100 * RATE
    assert max(asked) <= 1.2 * (sound_module.LONGEST + 2 * sound_module.OVERHANG) + 0.01


def test_a_dubbed_film_has_the_querys_picture_the_matchs_sound_and_its_credit(
    aligned: Alignment, pair: tuple[Path, Path], tmp_path: Path
) -> None:
    film = tmp_path / "film.mp4"
    assert dub(aligned, film)
    assert click_times(*heard(film)) == pytest.approx(KEYS, abs=FRAME)
    with av.open(str(film)) as opened:
        assert "match.mp4" in opened.metadata["comment"]
        assert (opened.streams.video[0].width, opened.streams.video[0].frames) == (160, 90)


def test_silence_is_no_sound_to_dub_with(pair: tuple[Path, Path], tmp_path: Path) -> None:
    quiet = numbered(tmp_path / "quiet.mp4", 30, sound=np.zeros((1, RATE), np.float32))
    for silent in (quiet, numbered(tmp_path / "mute.mp4", 30)):
        assert not dub(whole(pair[0], silent, lambda seconds: seconds / 3), tmp_path / "film.mp4")
    assert not (tmp_path / "film.mp4").exists()


def test_the_command_takes_the_sound_of_a_match_or_of_the_best_one_in_a_sea(
    pair: tuple[Path, Path], tmp_path: Path
) -> None:
    encoder = f"onnx:{colour_grid(tmp_path / 'm.onnx')}"
    said = run(*pair, "--to", tmp_path / "a.mp4", "--encoder", encoder)
    assert "with the sound of" in said.stdout
    assert heard(tmp_path / "a.mp4")[0].any()
    sea = Sea(str(tmp_path / "x.sea"), encoder)
    sea.add(*pair, numbered(tmp_path / "mute.mp4", 60), split="none")
    run(pair[0], "--sea", sea.uri, "--to", tmp_path / "b.mp4")
    with av.open(str(tmp_path / "b.mp4")) as opened:
        assert "Sound: " in opened.metadata["comment"]
        assert "mute.mp4" not in opened.metadata["comment"]
    assert run(pair[0], "--to", "b.mp4").exit_code == 2


def run(*words: object) -> Result:
    return CliRunner().invoke(app, ["sound", *map(str, words)], catch_exceptions=False)
