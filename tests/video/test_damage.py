"""Files that are not what they should be: what decodes is read, the rest is said in one line."""

from __future__ import annotations

import random
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

from seasync.errors import PartlyDecoded, VideoError
from seasync.video import frames, probe, read, sound
from seasync.video.source import frame_table
from tests.videos import number_of, numbered, write

NOISE = (np.random.default_rng(0).standard_normal((1, 96000)) * 0.1).astype(np.float32)
FASTSTART = {"movflags": "+faststart"}


def one_line(file: Path) -> str:
    messages = set()
    for use in (probe, frame_table, lambda f: list(read(f)), lambda f: list(frames(f))):
        with pytest.raises(VideoError) as error:
            use(file)
        messages.add(str(error.value))
    assert all(str(file) in text and "\n" not in text and len(text) < 250 for text in messages)
    return messages.pop()


def test_missing(tmp_path: Path) -> None:
    assert "no such file" in one_line(tmp_path / "none.mp4")


def test_empty(tmp_path: Path) -> None:
    (tmp_path / "a.mp4").touch()
    assert "empty" in one_line(tmp_path / "a.mp4")


def test_text_renamed(tmp_path: Path) -> None:
    (tmp_path / "a.mp4").write_text("This is not a video.\n" * 100)
    assert "cannot be read as a video" in one_line(tmp_path / "a.mp4")


def test_sound_only(tmp_path: Path) -> None:
    file = write(tmp_path / "a.m4a", [], sound=NOISE)
    assert "sound but no picture" in one_line(file)


def test_folder_without_pictures(tmp_path: Path) -> None:
    assert "without pictures" in one_line(tmp_path)


@pytest.mark.parametrize("name", ["a.mp4", "a.mkv", "a.avi"])
def test_tags_that_are_not_text(tmp_path: Path, name: str) -> None:
    """Written in Latin-1 by old cameras: the picture is read all the same."""
    file = numbered(tmp_path / name, 6, tags_of_file={"title": "Sonne am Meer"})
    file.write_bytes(file.read_bytes().replace(b"Sonne am Meer", b"S\xf6nne \xe4m M\xfcr"))
    assert b"\xf6" in file.read_bytes()
    assert probe(file).width == 160
    assert [number_of(image) for batch in read(file) for image in batch.data] == list(range(6))


def test_index_cut_off(tmp_path: Path) -> None:
    file = numbered(tmp_path / "a.mp4")
    file.write_bytes(file.read_bytes()[:-200])
    assert "is it one, and complete?" in one_line(file)


@pytest.mark.parametrize("suffix", ["mp4", "mkv"])
def test_a_truncated_file_gives_what_it_has_and_says_how_much(tmp_path: Path, suffix: str) -> None:
    file = numbered(tmp_path / f"a.{suffix}", 120, container=FASTSTART if suffix == "mp4" else None)
    data = file.read_bytes()
    file.write_bytes(data[: len(data) // 2])
    with pytest.warns(PartlyDecoded, match=r"a\.m.* frames could be read whole; it breaks off at \d") as told:
        got = [
            (n, number_of(i)) for batch in read(file) for n, i in zip(batch.numbers, batch.data, strict=True)
        ]
    assert 30 < len(got) < 90
    assert [number for number, _ in got] == list(range(len(got)))
    assert all(number == shown for number, shown in got[:-1])  # the last may be half there
    whole, wanted, early = map(int, re.findall(r"(\d+) of (\d+) .* about (\d+)", str(told[0].message))[0])
    assert whole == len(got)
    assert wanted + early == pytest.approx(120, abs=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert sum(map(len, read(file, end=0.5))) == 15  # what is whole is read without a word


def test_frames_behind_the_damage_keep_their_numbers_and_times(tmp_path: Path) -> None:
    file = numbered(tmp_path / "a.mp4", 60, container=FASTSTART)
    data = bytearray(file.read_bytes())
    middle = data.index(b"mdat") + (len(data) - data.index(b"mdat")) // 2
    data[middle : middle + 300] = random.Random(1).randbytes(300)
    file.write_bytes(data)
    with pytest.warns(PartlyDecoded, match=r"\d+ of 60 frames"):
        got = [
            (int(n), number_of(i), s)
            for batch in read(file)
            for n, i, s in zip(batch.numbers, batch.data, batch.seconds, strict=True)
        ]
    assert got[-1][:2] == (59, 59)
    assert sum(number == shown for number, shown, _ in got) >= 44
    assert all(abs(seconds - number / 30) < 1e-3 for number, _, seconds in got)


def mutated(data: bytes, chance: random.Random) -> bytes:
    """`data` damaged in one of the ways files are: bits, bursts, holes, doubled stretches, ends."""
    bad, at = bytearray(data), chance.randrange(len(data))
    stretch = chance.randrange(1, 3000)
    match chance.choice(["bits", "head", "burst", "hole", "doubled", "end"]):
        case "bits":
            for _ in range(chance.choice([1, 5, 50, 500])):
                bad[chance.randrange(len(bad))] ^= 1 << chance.randrange(8)
        case "head":
            for _ in range(chance.choice([1, 4, 16])):
                bad[chance.randrange(min(1500, len(bad)))] = chance.randrange(256)
        case "burst":
            bad[at : at + stretch] = chance.randbytes(stretch)
        case "hole":
            bad[at : at + stretch] = bytes(stretch)
        case "doubled":
            bad[at:at] = bad[at : at + stretch]
        case "end":
            del bad[at:]
    return bytes(bad)


def test_200_mutated_files_are_read_or_refused_but_never_crash(tmp_path: Path) -> None:
    small = {"width": 96, "height": 64}
    whole = [
        numbered(tmp_path / "a.mp4", 40, container=FASTSTART, sound=NOISE, **small),
        numbered(tmp_path / "a.mkv", 40, sound=NOISE, **small),
        numbered(tmp_path / "a.ts", 40, sound=NOISE, **small),
        numbered(tmp_path / "a.webm", 20, codec="libvpx-vp9", **small),
        numbered(tmp_path / "a.gif", 20, codec="gif", pix_fmt="rgb8", **small),
        numbered(tmp_path / "a.avi", 40, codec="mpeg4", **small),
    ]
    chance, good = random.Random(7), 0
    refused: list[str] = []
    for i in range(200):
        source = whole[i % len(whole)]
        file = tmp_path / f"bad{source.suffix}"
        file.write_bytes(mutated(source.read_bytes(), chance))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PartlyDecoded)
            try:
                assert sum(map(len, read(file, fps=7.5, size=(48, 64)))) > 0
                assert sum(1 for _ in frames(file)) > 0
                if probe(file).audio:
                    sound(file, rate=8000)
                good += 1
            except VideoError as error:
                refused.append(str(error))
    assert good > 100
    assert len(refused) > 10
    assert not any("\n" in text for text in refused)


def test_sound_in_channels_that_nobody_can_place_is_left_out(tmp_path: Path) -> None:
    file = numbered(tmp_path / "a.mkv", 40, sound=NOISE, sound_codec="pcm_s16le", width=96, height=64)
    channels = b"\x9f\x81"  # the element of Matroska, and that it has one byte
    assert file.read_bytes().count(channels + b"\x01") == 1
    file.write_bytes(file.read_bytes().replace(channels + b"\x01", channels + b"\x17"))
    assert not sound(file, rate=8000).any()
