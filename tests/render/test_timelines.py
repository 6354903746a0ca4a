"""Timelines, read back by parsers that are not ours: the map found in them is the warp, to one frame."""

from __future__ import annotations

import csv
import json
import subprocess
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote, urlparse
from xml.etree import ElementTree

import numpy as np
import pytest

from seasync.alignment import Alignment
from seasync.errors import RenderError
from seasync.options import TimelineFormat, suffixes
from seasync.render import export
from seasync.render.timelines import WRITERS
from seasync.render.timelines.edit import frame_of, is_drop_frame, standard_rate, timecode, timeline_rate
from tests.render.aligned import alignment, bent, click_times, heard, shown, whole
from tests.render.conftest import KEYS, KNOTS
from tests.videos import numbered, picture, write

otio = pytest.importorskip("opentimelineio", reason="OpenTimelineIO has no wheel for this Python")
NTSC = Fraction(30000, 1001)
Point = tuple[Fraction, Fraction]  # second of the timeline, second of the source


def otio_points(file: Path, rate: Fraction) -> Iterator[Point]:
    track = otio.adapters.read_from_file(str(file)).video_tracks()[1]
    for clip in track.find_clips():
        yield from _otio_clip(clip, clip.range_in_parent().start_time.to_seconds(), rate)


def edl_points(file: Path, rate: Fraction) -> Iterator[Point]:
    timeline = otio.adapters.read_from_file(str(file), rate=float(rate))
    track = timeline.video_tracks()[0]
    for clip in track.find_clips():
        yield from _otio_clip(clip, clip.range_in_parent().start_time.to_seconds(), rate)


def _otio_clip(clip: otio.schema.Clip, at: float, rate: Fraction) -> Iterator[Point]:
    speed = 1.0
    for effect in clip.effects:
        speed = 0.0 if isinstance(effect, otio.schema.FreezeFrame) else effect.time_scalar
    start, first = clip.source_range.start_time.to_seconds(), round(at * rate)
    for frame in range(round(clip.source_range.duration.to_seconds() * rate)):
        yield (first + frame) / rate, Fraction(start + speed * float(frame / rate))


def rational(text: str) -> Fraction:
    assert text.endswith("s")
    return Fraction(text[:-1])


def fcpxml_points(file: Path, rate: Fraction) -> Iterator[Point]:
    root = ElementTree.parse(file).getroot()
    outer = root.find(".//spine/asset-clip")
    assert outer is not None
    for clip in outer.findall("asset-clip"):
        offset = rational(clip.attrib["offset"]) - rational(outer.attrib["start"])
        start, duration = rational(clip.attrib["start"]), rational(clip.attrib["duration"])
        points = [
            (rational(p.attrib["time"]), rational(p.attrib["value"])) for p in clip.findall("timeMap/timept")
        ]
        assert all(p.attrib["interp"] == "linear" for p in clip.findall("timeMap/timept"))
        assert [time for time, _ in points] == sorted({time for time, _ in points})
        asset = root.find(f"resources/asset[@id='{clip.attrib['ref']}']")
        assert (points[0][1], points[-1][1]) == (0, rational(asset.attrib["duration"]))  # all of the media
        for frame in range(int(duration * rate)):
            yield offset + frame / rate, _between(points, start + frame / rate)


def _between(points: list[Point], at: Fraction) -> Fraction:
    for (time, value), (later, last) in pairwise(points):
        if time <= at <= later:
            return value + (at - time) / (later - time) * (last - value)
    raise AssertionError(f"the map does not reach {float(at)} s")


def xmeml_points(file: Path, rate: Fraction) -> Iterator[Point]:
    upper = ElementTree.parse(file).getroot().findall(".//video/track")[1]
    for item in upper.findall("clipitem"):
        start, end, first, last = (int(item.findtext(tag, "")) for tag in ("start", "end", "in", "out"))
        assert end - start == last - first
        values = {p.findtext("parameterid"): p for p in item.findall("filter/effect/parameter")}
        speed = Fraction(values["speed"].findtext("value", "")) / 100 if values else Fraction(1)
        held = Fraction(values["graphdict"].findtext("keyframe/value", "0")) if values else Fraction(0)
        for frame in range(end - start):
            yield (start + frame) / rate, ((first + frame) * speed if speed else held) / rate


READERS = {".otio": otio_points, ".edl": edl_points, ".fcpxml": fcpxml_points, ".xml": xmeml_points}


def test_otio_is_what_the_library_itself_would_write(
    aligned: Alignment, pair: tuple[Path, Path], tmp_path: Path
) -> None:
    """Nothing is missing, and nothing is unknown to it: it reads and writes the file without a change."""
    held = bent((0, 1, 2, 3), (0, 1, 1, 3))
    partial = alignment(*pair, (0.8, 2.2, lambda seconds: seconds))
    for number, each in enumerate((aligned, whole(*pair, held), partial)):
        file = export(each, tmp_path / f"{number}.otio")[0]
        theirs = otio.adapters.write_to_string(otio.adapters.read_from_file(str(file)), "otio_json")
        assert _without_color(json.loads(theirs)) == json.loads(Path(file).read_text())


def _without_color(node: object) -> object:
    """Version 0.18 added an optional color, which older ones do not know."""
    if isinstance(node, list):
        return [_without_color(each) for each in node]
    if isinstance(node, dict):
        return {name: _without_color(each) for name, each in node.items() if (name, each) != ("color", None)}
    return node


def off(alignment: Alignment, points: Iterator[Point], frame: Fraction) -> float:
    """The largest distance from the smoothed warp, in frames."""
    warp = alignment.warp().smooth()
    times, values = (np.array([float(value) for value in column]) for column in zip(*points, strict=True))
    return float(np.abs(values - warp.at(times)).max() / frame)


@pytest.fixture(scope="module")
def rates(tmp_path_factory: pytest.TempPathFactory) -> dict[Fraction, Path]:
    folder = tmp_path_factory.mktemp("rates")
    wanted = (Fraction(24000, 1001), Fraction(25), NTSC, Fraction(60000, 1001))
    return {
        rate: numbered(folder / f"{float(rate):.0f} a&b.mp4", round(4 * rate), fps=rate, width=80, height=60)
        for rate in wanted
    }


@pytest.mark.parametrize("suffix", READERS)
@pytest.mark.parametrize("rate", [Fraction(24000, 1001), Fraction(25), NTSC, Fraction(60000, 1001)])
@pytest.mark.parametrize("match_rate", [Fraction(25), NTSC])
def test_map_read_back_is_the_warp_to_one_frame(
    rates: dict[Fraction, Path], tmp_path: Path, suffix: str, rate: Fraction, match_rate: Fraction
) -> None:
    aligned = whole(rates[rate], rates[match_rate], bent(*KNOTS))
    (file,) = export(aligned, tmp_path / f"edit{suffix}")
    points = list(READERS[suffix](file, rate))
    assert len(points) == round(4 * rate)
    assert off(aligned, iter(points), 1 / min(rate, match_rate)) <= 1.0


def test_edl_counts_drop_frame_at_ntsc_rates(rates: dict[Fraction, Path], tmp_path: Path) -> None:
    aligned = whole(rates[NTSC], rates[Fraction(25)], bent(*KNOTS))
    text = export(aligned, tmp_path / "edit.edl")[0].read_text()
    assert "FCM: DROP FRAME" in text
    assert "01:00:00;00" in text
    aligned = whole(rates[Fraction(25)], rates[NTSC], bent(*KNOTS))
    text = export(aligned, tmp_path / "edit.edl")[0].read_text()
    assert "FCM: NON-DROP FRAME" in text
    assert "01:00:00:00" in text


@pytest.mark.parametrize("rate", [Fraction(24000, 1001), Fraction(25), NTSC, Fraction(60000, 1001)])
def test_time_codes_agree_with_opentimelineio(rate: Fraction) -> None:
    for frame in (
        0,
        1,
        29,
        30,
        1799,
        1800,
        1801,
        17981,
        17982,
        17983,
        107891,
        107892,
        215783,
        215784,
        999999,
    ):
        theirs = otio.opentime.RationalTime(frame, float(rate)).to_timecode(
            float(rate), is_drop_frame(rate) or None if is_drop_frame(rate) else False
        )
        assert timecode(frame, rate) == theirs
        assert frame_of(theirs, rate) == frame


def test_rates_that_are_nearly_standard_are_taken_as_such() -> None:
    assert standard_rate(Fraction(14989, 500)) == NTSC
    assert standard_rate(Fraction(2997, 100)) == NTSC
    assert standard_rate(Fraction(30)) == 30
    assert standard_rate(Fraction(33, 2)) == Fraction(33, 2)


@pytest.mark.parametrize(
    ("fps", "standard"),
    [
        (Fraction(14989, 500), NTSC),  # a phone's 29.978
        (Fraction(2997, 100), NTSC),
        (Fraction(25, 2), Fraction(25)),
        (Fraction(10), Fraction(30)),
        (Fraction(33, 2), Fraction(24000, 1001)),
        (Fraction(240), Fraction(120)),
        (Fraction(60000, 1001), Fraction(60000, 1001)),
    ],
)
def test_timelines_have_rates_that_editing_programs_know(
    tmp_path: Path, fps: Fraction, standard: Fraction
) -> None:
    file = numbered(tmp_path / "a.mp4", 20, fps=fps, width=80, height=60)
    assert timeline_rate(fps) == standard
    timeline = otio.adapters.read_from_file(
        str(export(whole(file, file, lambda seconds: seconds), tmp_path / "edit.otio")[0])
    )
    rates = {timeline.global_start_time.rate}
    for clip in timeline.find_clips():
        rates |= {clip.source_range.start_time.rate, clip.source_range.duration.rate}
        rates |= {clip.media_reference.available_range.duration.rate}
    assert rates == {float(standard)}
    assert standard > 60 or otio.opentime.RationalTime.is_smpte_timecode_rate(rates.pop())


def test_each_file_says_how_exact_it_is(aligned: Alignment, tmp_path: Path) -> None:
    for suffix in (*READERS, ".mlt"):
        text = export(aligned, tmp_path / f"edit{suffix}")[0].read_text()
        assert "linear pieces" in text
        assert "frames of the smoothed alignment" in text


@pytest.mark.parametrize("suffix", READERS)
def test_partial_alignment_leaves_a_gap(pair: tuple[Path, Path], tmp_path: Path, suffix: str) -> None:
    aligned = alignment(
        *pair, (0.5, 1.5, bent((0.5, 1.5), (1.0, 2.0))), (2.0, 2.5, bent((2.0, 2.5), (3.0, 3.5)))
    )
    points = list(READERS[suffix](export(aligned, tmp_path / f"edit{suffix}")[0], Fraction(30)))
    frames = np.array([round(time * 30) for time, _ in points])
    frames += 15 - frames[0]  # an EDL begins at its first event
    assert frames.tolist() == [*range(15, 46), *range(60, 76)]
    assert float(points[0][1]) == pytest.approx(1.0, abs=1 / 30)
    assert float(points[-1][1]) == pytest.approx(3.5, abs=1 / 30)


@pytest.mark.parametrize("suffix", READERS)
def test_held_frame_is_a_freeze(pair: tuple[Path, Path], tmp_path: Path, suffix: str) -> None:
    aligned = whole(*pair, bent((0.0, 1.0, 2.0, 3.0), (0.0, 1.0, 1.0, 2.0)))
    points = list(READERS[suffix](export(aligned, tmp_path / f"edit{suffix}")[0], Fraction(30)))
    assert off(aligned, iter(points), Fraction(1, 30)) <= 1.0
    middle = [float(value) for time, value in points if 1.2 < time < 1.8]
    assert max(middle) - min(middle) < 2 / 30


def test_timelines_name_their_media(aligned: Alignment, pair: tuple[Path, Path], tmp_path: Path) -> None:
    """Two absolute URLs, with what is not allowed in one escaped."""
    spaced = tmp_path / "a & b ü.mp4"
    spaced.write_bytes(pair[1].read_bytes())
    aligned = whole(pair[0], spaced, bent(*KNOTS))
    timeline = otio.adapters.read_from_file(str(export(aligned, tmp_path / "edit.otio")[0]))
    urls = {clip.media_reference.target_url for clip in timeline.find_clips()}
    fcpxml = ElementTree.parse(export(aligned, tmp_path / "edit.fcpxml")[0])
    assert {each.attrib["src"] for each in fcpxml.iter("media-rep")} == urls
    xmeml = ElementTree.parse(export(aligned, tmp_path / "edit.xml")[0])
    assert {each.text for each in xmeml.iter("pathurl")} == urls
    assert {Path(unquote(urlparse(url).path)) for url in urls} == {pair[0].resolve(), spaced.resolve()}


def render_with(melt: str, edit: Path, film: Path, *options: str) -> None:
    """Render an .mlt file. On a busy machine melt 7.12 at times ends before its first frame: again then."""
    command = [melt, edit, "-silent", "-consumer", f"avformat:{film}", "crf=12", *options]
    for _ in range(10):
        subprocess.run(command, check=True, capture_output=True, timeout=120)
        if film.stat().st_size:
            return
    raise AssertionError(f"melt wrote nothing into {film}")


@pytest.mark.parametrize("rate", [Fraction(30), NTSC])
def test_melt_renders_the_mlt_in_step(
    pair: tuple[Path, Path], rates: dict[Fraction, Path], tmp_path: Path, tool: Callable, rate: Fraction
) -> None:
    query, match = pair if rate == 30 else (rates[NTSC], rates[Fraction(25)])
    aligned = whole(query, match, bent(*KNOTS))
    files = export(aligned, tmp_path / "edit.mlt")
    render_with(tool("melt"), files[0], tmp_path / "film.mp4", "bf=0")
    numbers = np.array(shown(tmp_path / "film.mp4"))
    times = np.arange(len(numbers)) / float(rate)
    fps = 30 if rate == 30 else 25
    expected = aligned.warp().smooth().at(times) * fps
    wrong = np.abs(numbers - expected) > 1
    assert len(numbers) == len(aligned.query_seconds)
    assert wrong.sum() <= 1  # melt's very last frame
    if rate == 30:
        assert files[1].suffix == ".wav"
        found = np.array(click_times(*heard(tmp_path / "film.mp4"), level=0.25))
        assert max(np.abs(found - key).min() for key in KEYS) < 1 / 30


def test_melt_renders_a_partial_mlt(pair: tuple[Path, Path], tmp_path: Path, tool: Callable) -> None:
    aligned = alignment(
        *pair, (0.5, 1.5, bent((0.5, 1.5), (1.0, 2.0))), (2.0, 2.5, bent((2.0, 2.5), (3.0, 3.5)))
    )
    files = export(aligned, tmp_path / "edit.mlt")
    render_with(tool("melt"), files[0], tmp_path / "film.mp4", "bf=0")
    numbers = np.array(shown(tmp_path / "film.mp4"))
    expected = np.r_[0:15, 30:61, 46:60, 90:106, 76:90]  # the query where the match has a gap
    assert (np.abs(numbers - expected) > 1).sum() <= 1


def test_mlt_is_a_project_with_tracks_for_shotcut(
    pair: tuple[Path, Path], aligned: Alignment, tmp_path: Path
) -> None:
    """What Shotcut looks for: a tractor marked `shotcut`, a background, playlists that say what they are."""
    root = ElementTree.parse(export(aligned, tmp_path / "edit.mlt")[0]).getroot()
    tractor = root.find("tractor")
    assert root.get("producer") == tractor.get("id")
    assert tractor.findtext("property[@name='shotcut']") == "1"
    playlists = {playlist.get("id"): playlist for playlist in root.findall("playlist")}
    tracks = [track.get("producer") for track in tractor.findall("track")]
    assert tracks[0] == "background"
    kinds = [playlists[track].find("property[@name='shotcut:video']") is not None for track in tracks[1:]]
    assert kinds == [True, True, False]
    names = [playlists[track].findtext("property[@name='shotcut:name']") for track in tracks[1:]]
    assert names == ["V1", "V2", "A1"]
    services = root.findall("producer") + root.findall("chain")
    known = {service.get("id") for service in services}
    assert {entry.get("producer") for entry in root.iter("entry")} <= known
    assert {chain.findtext("property[@name='shotcut:caption']") for chain in root.findall("chain")} == {
        "query.mp4",
        "match.mp4",
        "edit.wav",
    }


def test_melt_renders_odd_sizes(tmp_path: Path, tool: Callable) -> None:
    """Portrait phones that were scaled down have widths such as 607."""
    odd = [
        write(tmp_path / f"{name}.mkv", pictures, codec="ffv1", pix_fmt="yuv444p")
        for name in "ab"
        for pictures in [[picture(number, 121, 91) for number in range(30)]]
    ]
    edit = export(whole(odd[0], odd[1], lambda seconds: seconds), tmp_path / "edit.mlt")[0]
    film = tmp_path / "film.mp4"
    render_with(tool("melt"), edit, film, "vcodec=libx264")
    numbers = shown(film)
    assert len(numbers) == 30
    assert numbers[:29] == list(range(29))


def test_frame_maps_have_a_row_for_each_frame(
    pair: tuple[Path, Path], aligned: Alignment, tmp_path: Path
) -> None:
    with export(aligned, tmp_path / "map.csv")[0].open() as lines:
        rows = list(csv.DictReader(lines))
    assert list(rows[0]) == ["query_frame", "query_seconds", "match_frame", "match_seconds"]
    assert [int(row["match_frame"]) for row in rows] == aligned.path[:, 1].tolist()
    assert [float(row["query_seconds"]) for row in rows] == pytest.approx(
        (np.arange(90) / 30).tolist(), abs=1e-5
    )
    half = alignment(*pair, (0.0, 1.0, lambda seconds: seconds))
    with export(half, tmp_path / "map.csv")[0].open() as lines:
        rows = list(csv.DictReader(lines))
    assert [row["match_frame"] for row in rows] == [*map(str, range(31)), *[""] * 59]
    text = json.loads(export(aligned, tmp_path / "map.json", keep="match")[0].read_text())
    assert text["draq"] == 0.25
    assert len(text["frames"]) == 120
    assert text["frames"][0].keys() == {"frame", "seconds", "partner_frame", "partner_seconds"}


@pytest.mark.parametrize("suffix", [".otio", ".fcpxml", ".edl", ".mlt", ".xml", ".csv", ".json"])
def test_unwritable_timeline_is_one_line(aligned: Alignment, tmp_path: Path, suffix: str) -> None:
    with pytest.raises(RenderError, match="there is no folder"):
        export(aligned, tmp_path / "none" / f"edit{suffix}")
    (tmp_path / f"edit{suffix}").mkdir()
    with pytest.raises(RenderError, match="is not a file"):
        export(aligned, tmp_path / f"edit{suffix}")


def test_a_format_is_one_writer_and_one_word_in_the_vocabulary() -> None:
    assert tuple(WRITERS) == suffixes(TimelineFormat)


def test_unknown_format_lists_those_there_are(aligned: Alignment, tmp_path: Path) -> None:
    with pytest.raises(RenderError, match=r"\.aaf.*expected one of \.csv"):
        export(aligned, tmp_path / "edit.aaf")
