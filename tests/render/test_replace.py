"""A clip replaced in an edit: the new one in its place, in step with the old one, nothing else changed."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from seasync.alignment import Alignment
from seasync.clip import Clip
from seasync.errors import RenderError
from seasync.render import replace_clip
from seasync.render.timelines.edit import frame_of, timecode
from tests.render.aligned import bent, whole
from tests.render.conftest import KNOTS
from tests.render.test_timelines import _otio_clip, rational
from tests.videos import numbered

otio = pytest.importorskip("opentimelineio", reason="OpenTimelineIO has no wheel for this Python")
RATE = Fraction(30)


@pytest.fixture
def find(pair: tuple[Path, Path]) -> Callable[[Clip], Alignment]:
    """What a search in a sea would give: the match, aligned with whatever part of the query is asked for."""

    def align(query: Clip) -> Alignment:
        assert Path(query.file) == pair[0]
        return whole(*pair, bent(*KNOTS))

    return align


def otio_timeline(file: Path, query: Path, speed: float = 1.0) -> Path:
    timeline = otio.schema.Timeline("cut")
    track = otio.schema.Track("V1", kind=otio.schema.TrackKind.Video)
    for name, start, frames in (("opening", 0, 20), ("swing", 15, 45), ("end", 10, 30)):
        span = otio.opentime.TimeRange(
            otio.opentime.RationalTime(start, 30), otio.opentime.RationalTime(frames, 30)
        )
        clip = otio.schema.Clip(name, otio.schema.ExternalReference(query.as_uri()), span)
        if name == "swing" and speed != 1:
            clip.effects.append(otio.schema.LinearTimeWarp(time_scalar=speed))
        clip.metadata["color"] = "red"
        track.append(clip)
    timeline.tracks.append(track)
    otio.adapters.write_to_file(timeline, str(file), "otio_json")
    return file


@pytest.mark.parametrize("speed", [1.0, 1.5])
def test_otio_clip_gives_way_to_one_in_step_with_it(
    pair: tuple[Path, Path], find: Callable, tmp_path: Path, speed: float
) -> None:
    timeline = otio_timeline(tmp_path / "cut.otio", pair[0], speed)
    replaced = replace_clip(timeline, "swing", find, tmp_path / "new.otio")
    assert (replaced.old.start, replaced.old.end) == (0.5, pytest.approx(0.5 + 1.5 * speed))
    assert Path(replaced.new.file) == pair[1]
    track = otio.adapters.read_from_file(str(tmp_path / "new.otio")).video_tracks()[0]
    assert track.duration().to_seconds() == pytest.approx(95 / 30)
    clips = list(track.find_clips())
    assert [clips[0].name, clips[-1].name] == ["opening", "end"]
    new = clips[1:-1]
    assert {clip.name for clip in new} == {"swing"}
    assert {clip.media_reference.target_url for clip in new} == {pair[1].as_uri()}
    assert all(clip.metadata["color"] == "red" for clip in new)
    points = [
        point
        for clip in new
        for point in _otio_clip(clip, clip.range_in_parent().start_time.to_seconds(), RATE)
    ]
    times = np.array([float(time) for time, _ in points]) - 20 / 30
    assert len(points) == 45
    expected = find(replaced.old).warp().smooth().at(0.5 + times * speed)
    assert np.abs(np.array([float(value) for _, value in points]) - expected).max() <= 1 / 30


def test_otio_clips_in_stacks_and_of_older_versions_are_found(
    pair: tuple[Path, Path], find: Callable, tmp_path: Path
) -> None:
    """A stack within a track, a transition, and a clip with one reference and no range of its own."""
    nested = json.loads(otio_timeline(tmp_path / "cut.otio", pair[0]).read_text())
    (track,) = nested["tracks"]["children"]
    old = track["children"].pop(1)
    reference = old.pop("media_references")["DEFAULT_MEDIA"]
    reference["available_range"] = old.pop("source_range")
    del old["active_media_reference_key"]
    old |= {"OTIO_SCHEMA": "Clip.1", "media_reference": reference}
    stack = {
        "OTIO_SCHEMA": "Stack.1",
        "name": "inset",
        "metadata": {},
        "children": [old],
        "source_range": None,
    }
    track["children"].insert(
        1, {"OTIO_SCHEMA": "Transition.1", "name": "", "transition_type": "SMPTE_Dissolve"}
    )
    track["children"].insert(2, stack)
    (tmp_path / "cut.otio").write_text(json.dumps(nested))
    replaced = replace_clip(tmp_path / "cut.otio", "2", find, tmp_path / "new.otio")
    assert (replaced.old.start, replaced.old.end) == (0, 1.5)  # its media begins with its available range
    new = json.loads((tmp_path / "new.otio").read_text())["tracks"]["children"][0]["children"]
    assert [each["OTIO_SCHEMA"] for each in new] == ["Clip.2", "Transition.1", "Stack.1", "Clip.2"]
    assert {each["name"] for each in new[2]["children"]} == {"swing"}
    urls = {each["media_references"]["DEFAULT_MEDIA"]["target_url"] for each in new[2]["children"]}
    assert urls == {pair[1].as_uri()}


def test_edl_event_gives_way(pair: tuple[Path, Path], find: Callable, tmp_path: Path) -> None:
    edl = tmp_path / "cut.edl"
    edl.write_text(
        "TITLE: cut\nFCM: NON-DROP FRAME\n\n"
        "001  AX       V     C        00:00:00:00 00:00:00:20 01:00:00:00 01:00:00:20\n"
        "* FROM CLIP NAME: query.mp4\n"
        "002  AX       V     C        00:00:00:15 00:00:02:00 01:00:00:20 01:00:02:05\n"
        "* FROM CLIP NAME: query.mp4\n"
        "003  OTHER    V     C        00:00:05:00 00:00:06:00 01:00:02:05 01:00:03:05\n"
        "* FROM CLIP NAME: interview.mov\n"
    )
    with pytest.raises(RenderError, match=r"2 clips are named query\.mp4: give its number"):
        replace_clip(edl, "query.mp4", find, tmp_path / "new.edl", media=pair[0].parent)
    replaced = replace_clip(edl, "2", find, tmp_path / "new.edl", media=pair[0].parent)
    track = otio.adapters.read_from_file(str(tmp_path / "new.edl"), rate=30).video_tracks()[0]
    clips = list(track.find_clips())
    assert len(clips) == 2 + replaced.pieces
    assert [clips[0].name, clips[-1].name] == ["query.mp4", "interview.mov"]
    assert track.duration().to_seconds() == pytest.approx(95 / 30)
    points = [
        point
        for clip in clips[1:-1]
        for point in _otio_clip(clip, clip.range_in_parent().start_time.to_seconds(), RATE)
    ]
    assert [clip.name for clip in clips[1:-1]] == ["match.mp4"] * replaced.pieces
    times = np.array([float(time) for time, _ in points]) - 20 / 30
    expected = find(replaced.old).warp().smooth().at(0.5 + times)
    assert np.abs(np.array([float(value) for _, value in points]) - expected).max() <= 1 / 30


def fcpxml(file: Path, query: Path) -> Path:
    file.write_text(
        f"""<?xml version="1.0" encoding="UTF-8"?><!DOCTYPE fcpxml><fcpxml version="1.10"><resources>
        <format id="r1" frameDuration="1/30s" width="160" height="120"/>
        <asset id="r2" name="query" start="0s" duration="3s" hasVideo="1" format="r1">
        <media-rep kind="original-media" src="{query.as_uri()}"/></asset></resources>
        <library><event><project name="cut"><sequence format="r1" duration="95/30s"><spine>
        <asset-clip ref="r2" name="opening" offset="0s" start="0s" duration="20/30s"/>
        <asset-clip ref="r2" name="swing" offset="20/30s" start="1/2s" duration="3/2s">
          <asset-clip ref="r2" name="inset" lane="1" offset="1s" start="0s" duration="1/2s"/>
          <marker start="1s" value="here"/>
        </asset-clip>
        <asset-clip ref="r2" name="end" offset="65/30s" start="1/3s" duration="1s"/>
        </spine></sequence></project></event></library></fcpxml>"""
    )
    return file


def test_fcpxml_clip_gives_way_and_what_hangs_on_it_stays(
    pair: tuple[Path, Path], find: Callable, tmp_path: Path
) -> None:
    replaced = replace_clip(fcpxml(tmp_path / "cut.fcpxml", pair[0]), "swing", find, tmp_path / "new.fcpxml")
    root = ElementTree.parse(tmp_path / "new.fcpxml").getroot()
    first, new, last = root.findall(".//spine/asset-clip")
    assert [first.attrib["name"], new.attrib["name"], last.attrib["name"]] == ["opening", "swing", "end"]
    assert (rational(new.attrib["offset"]), rational(new.attrib["duration"])) == (
        Fraction(2, 3),
        Fraction(3, 2),
    )
    asset = root.find(f"resources/asset[@id='{new.attrib['ref']}']")
    assert asset is not None
    assert asset.find("media-rep").attrib["src"] == pair[1].as_uri()
    start = rational(new.attrib["start"])
    inset = new.find("asset-clip")
    assert rational(inset.attrib["offset"]) - start == Fraction(1, 2)  # as it was
    points = [
        (rational(p.attrib["time"]), rational(p.attrib["value"])) for p in new.findall("timeMap/timept")
    ]
    times = np.arange(45) / 30
    values = np.interp(times + float(start), *np.array(points, float).T)
    expected = find(replaced.old).warp().smooth().at(0.5 + times)
    assert np.abs(values - expected).max() <= 1 / 30
    again = replace_clip(tmp_path / "new.fcpxml", "end", find, tmp_path / "newer.fcpxml")
    assert again.old.start == pytest.approx(1 / 3)


RATES = [
    (Fraction(24000, 1001), False),
    (Fraction(24), False),
    (Fraction(25), False),
    (Fraction(30000, 1001), False),
    (Fraction(30000, 1001), True),
    (Fraction(30), False),
    (Fraction(50), False),
    (Fraction(60000, 1001), False),
    (Fraction(60000, 1001), True),
    (Fraction(60), False),
]


@pytest.fixture(scope="module")
def at_rates(tmp_path_factory: pytest.TempPathFactory) -> dict[Fraction, Path]:
    """Two seconds at each rate."""
    folder = tmp_path_factory.mktemp("rates")
    return {
        rate: numbered(folder / f"{float(rate):.3f}.mp4", round(2 * rate), fps=rate, width=80, height=60)
        for rate in {rate for rate, _ in RATES}
    }


@pytest.mark.parametrize(("rate", "drop"), RATES)
@pytest.mark.parametrize("says", ["separator", "FCM"])
@pytest.mark.parametrize("start", [0, 3590, 3600, 35990])
def test_edl_events_stay_where_they_are_at_every_rate(
    at_rates: dict[Fraction, Path],
    pair: tuple[Path, Path],
    tmp_path: Path,
    rate: Fraction,
    drop: bool,
    says: str,
    start: int,
) -> None:
    """The second of three events is replaced; OpenTimelineIO finds all of them in their old places."""
    query, base = at_rates[rate], round(rate)
    lengths = [base // 2, base, base // 3]
    first = frame_of(timecode(start * base, rate, drop=False), rate, drop=drop)
    lines = ["TITLE: cut", f"FCM: {'DROP FRAME' if drop else 'NON-DROP FRAME'}", ""]
    for number, length in enumerate(lengths, 1):
        frames = 3, 3 + length, first, first + length
        codes = " ".join(timecode(frame, rate, drop=drop) for frame in frames)
        codes = codes.replace(";", ":") if says == "FCM" else codes
        lines += [
            f"{number:03}  AX       V     C        {codes}",
            f"* FROM CLIP NAME: {query.name}",
            "* LOC: here",
        ]
        first += length
    (tmp_path / "cut.edl").write_text("\n".join(lines) + "\n")

    def find(clip: Clip) -> Alignment:
        assert (clip.start, clip.end) == (
            pytest.approx(float(3 / rate)),
            pytest.approx(float((3 + base) / rate)),
        )
        return whole(query, pair[1], bent((0.0, 1.0, 2.0), (0.5, 2.0, 3.0)))

    done = replace_clip(tmp_path / "cut.edl", "2", find, tmp_path / "new.edl", media=query.parent)
    text = (tmp_path / "new.edl").read_text()
    assert (";" in text) == (drop and says == "separator")
    assert text.count("* LOC: here") == 3
    assert f"IN PLACE OF {query.name}" in text
    before, after = (_records(tmp_path / name, rate, drop) for name in ("cut.edl", "new.edl"))
    assert after[0] == before[0]
    assert after[-1] == before[2]
    assert (after[1][0], after[-2][1]) == before[1]
    assert all(one[1] == other[0] for one, other in pairwise(after))
    assert len(after) == 2 + done.pieces


def _records(file: Path, rate: Fraction, drop: bool) -> list[tuple[int, int]]:
    """First and last (exclusive) record frames of the events, as OpenTimelineIO reads time codes."""
    events = [line.split()[-2:] for line in file.read_text().splitlines() if line[:3].isdigit()]
    codes = [[code[:8] + ";:"[not drop] + code[9:] for code in pair] for pair in events]
    otio_rate = float(rate)
    frames = [[otio.opentime.from_timecode(code, otio_rate).to_frames() for code in pair] for pair in codes]
    return [(first, last) for first, last in frames]


def test_timeline_is_not_written_over_itself(pair: tuple[Path, Path], find: Callable, tmp_path: Path) -> None:
    timeline = otio_timeline(tmp_path / "cut.otio", pair[0])
    before = timeline.read_bytes()
    with pytest.raises(RenderError, match="would overwrite one of the inputs"):
        replace_clip(timeline, "swing", find, tmp_path / ".." / tmp_path.name / "cut.otio")
    assert timeline.read_bytes() == before


def test_otio_markers_and_effects_stay_on_the_clip(
    pair: tuple[Path, Path], find: Callable, tmp_path: Path
) -> None:
    timeline = otio.adapters.read_from_file(str(otio_timeline(tmp_path / "cut.otio", pair[0])))
    swing = next(clip for clip in timeline.find_clips() if clip.name == "swing")
    moment = otio.opentime.TimeRange(otio.opentime.RationalTime(45, 30), otio.opentime.RationalTime(0, 30))
    swing.markers.append(otio.schema.Marker("impact", moment))
    swing.effects.append(otio.schema.Effect(effect_name="Blur"))
    otio.adapters.write_to_file(timeline, str(tmp_path / "cut.otio"), "otio_json")
    replace_clip(tmp_path / "cut.otio", "swing", find, tmp_path / "new.otio")
    track = otio.adapters.read_from_file(str(tmp_path / "new.otio")).video_tracks()[0]
    new = [clip for clip in track.find_clips() if clip.name == "swing"]
    assert all("Blur" in [effect.effect_name for effect in clip.effects] for clip in new)
    ((clip, marker),) = [(clip, marker) for clip in new for marker in clip.markers]
    at = clip.range_in_parent().start_time + marker.marked_range.start_time - clip.trimmed_range().start_time
    assert at.to_seconds() == pytest.approx(50 / 30)  # 30 frames into the clip, which starts at frame 20


def test_unknown_clip_lists_those_there_are(pair: tuple[Path, Path], find: Callable, tmp_path: Path) -> None:
    timeline = otio_timeline(tmp_path / "cut.otio", pair[0])
    with pytest.raises(RenderError, match="no clip is named putt; there are 1 opening, 2 swing, 3 end"):
        replace_clip(timeline, "putt", find, tmp_path / "new.otio")


def test_timeline_keeps_its_format(pair: tuple[Path, Path], find: Callable, tmp_path: Path) -> None:
    timeline = otio_timeline(tmp_path / "cut.otio", pair[0])
    with pytest.raises(RenderError, match=r"new\.edl: expected a name that ends in \.otio"):
        replace_clip(timeline, "swing", find, tmp_path / "new.edl")


def test_missing_media_says_where_it_was_sought(tmp_path: Path, find: Callable) -> None:
    timeline = otio_timeline(tmp_path / "cut.otio", tmp_path / "gone.mp4")
    with pytest.raises(RenderError, match=r"gone\.mp4; name its folder with --media"):
        replace_clip(timeline, "swing", find, tmp_path / "new.otio")


@pytest.mark.parametrize("name", ["cut.aaf", "nothing.otio"])
def test_what_is_no_timeline_is_said_so(tmp_path: Path, find: Callable, name: str) -> None:
    (tmp_path / "cut.aaf").write_text("")
    with pytest.raises(RenderError, match=name):
        replace_clip(tmp_path / name, "swing", find, tmp_path / "new.otio")


@pytest.mark.parametrize("name", ["cut.otio", "cut.fcpxml"])
def test_broken_timeline_is_one_line(tmp_path: Path, find: Callable, name: str) -> None:
    (tmp_path / name).write_text("<broken")
    with pytest.raises(RenderError, match="cannot be read") as error:
        replace_clip(tmp_path / name, "swing", find, tmp_path / "new.otio")
    assert "\n" not in str(error.value)
