"""Marks files: what is written is read back; what others write is read; bad files are one clear line."""

from __future__ import annotations

import pytest

from seasync.clip import Clip
from seasync.errors import DataError
from seasync.files import Location
from seasync.marks import Mark, read_marks, read_marks_of, write_marks

MARKS = {
    "a.mp4": [Mark("grasp", 1.25), Mark("carry", 2.0, 3.5)],
    "b.mp4": [Mark("grasp", 0.75, confidence=0.8)],
}


def test_csv_is_read_back(tmp_path):
    write_marks(tmp_path / "all.csv", MARKS)
    assert read_marks(tmp_path / "all.csv") == MARKS


def test_a_csv_without_clips_is_of_the_clip_of_its_name(tmp_path):
    (tmp_path / "throw.csv").write_text("name,frame\nrelease,36\n")
    assert read_marks(tmp_path / "throw.csv", lambda clip, frame: frame / 30) == {
        "throw": [Mark("release", 1.2)]
    }


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        ("phase,start,end\nup,0,1.5\n", [Mark("up", 0.0, 1.5)]),
        ("event,frame,by\nrelease,36,x\n", [Mark("release", 1.2)]),
        ("frame,seconds,kind,name\n36,1.2,moment,release\n", [Mark("release", 1.2)]),
        ("phase,start_frame,end_frame\nup,0,45\n", [Mark("up", 0.0, 1.5)]),
        ("clip,name,start,end\nthrow,up,0,1.5\n", [Mark("up", 0.0, 1.5)]),
        ("clip,events\nthrow,36 45\n", [Mark("1", 1.2), Mark("2", 1.5)]),
    ],
)
def test_a_table_is_read_by_the_columns_that_it_has(text, marks, tmp_path):
    (tmp_path / "throw.csv").write_text(text)
    assert read_marks(tmp_path / "throw.csv", lambda clip, frame: frame / 30) == {"throw": marks}


def test_the_marks_of_one_clip_are_found_by_any_of_its_names(tmp_path):
    write_marks(tmp_path / "all.csv", MARKS)
    for name in ("a.mp4", "clips/a.mp4", "/videos/a.mp4"):
        found = read_marks_of(Clip(name), tmp_path / "all.csv", lambda clip, frame: frame / 30)
        assert found == MARKS["a.mp4"]
    with pytest.raises(DataError, match=r"the marks are of a\.mp4, b\.mp4; expected marks of c\.mp4"):
        read_marks_of(Clip("c.mp4"), tmp_path / "all.csv", lambda clip, frame: frame / 30)
    write_marks(tmp_path / "one.eaf", {"a.mp4": MARKS["a.mp4"]})
    assert (
        read_marks_of(Clip("c.mp4"), tmp_path / "one.eaf", lambda clip, frame: frame / 30) == MARKS["a.mp4"]
    )


def test_a_mark_needs_a_name_before_its_time():
    with pytest.raises(DataError, match="expected its name, then its seconds"):
        Mark(1.2, "impact")


@pytest.mark.parametrize("ending", [".srt", ".vtt", ".ass", ".eaf"])
def test_a_file_per_clip_is_read_back(ending, tmp_path):
    write_marks(tmp_path / f"all{ending}", MARKS)
    found = read_marks(tmp_path / "all")
    assert len(found) == 2
    for clip, marks in found.items():
        wanted = MARKS[clip if clip in MARKS else f"{clip}.mp4"]
        assert [(mark.name, mark.seconds, mark.end) for mark in marks] == [
            (mark.name, mark.seconds, mark.end) for mark in wanted
        ]


def test_episodes_are_read_back(tmp_path):
    write_marks(
        tmp_path / "episodes.parquet", {"episode_000007.mp4": [Mark("reach", 0.0), Mark("grasp", 1.5, 2.0)]}
    )
    assert read_marks(tmp_path / "episodes.parquet") == {
        "episode_000007": [Mark("reach", 0.0, 1.5), Mark("grasp", 1.5, 2.0)]
    }


def test_an_events_table_counts_in_frames(tmp_path):
    (tmp_path / "events.csv").write_text("clip,view,frames,address,top\ngolf.mp4,front,90,30,60\n")
    found = read_marks(tmp_path / "events.csv", lambda clip, frame: frame / 30)
    assert found == {"golf.mp4": [Mark("address", 1.0), Mark("top", 2.0)]}


def test_frames_without_frame_times_are_one_clear_line(tmp_path):
    (tmp_path / "events.csv").write_text("clip,top\ngolf.mp4,60\n")
    with pytest.raises(DataError, match="counts in frames"):
        read_marks(tmp_path / "events.csv")


def test_kinovea_key_images_are_read(tmp_path):
    (tmp_path / "throw.kva").write_text(
        "<KinoveaVideoAnalysis><FormatVersion>2.0</FormatVersion><OriginalFilename>throw.mp4</OriginalFilename>"
        "<AverageTimeStampsPerSecond>1000</AverageTimeStampsPerSecond><FirstTimeStamp>500</FirstTimeStamp>"
        "<Keyframes><Keyframe><Timestamp>1700</Timestamp><Title>release</Title></Keyframe></Keyframes>"
        "</KinoveaVideoAnalysis>"
    )
    assert read_marks(tmp_path / "throw.kva") == {"throw.mp4": [Mark("release", 1.2)]}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.csv", "label,second\na,1\n"),
        ("x.csv", "clip,name,seconds\na.mp4,top,soon\n"),
        ("x.csv", "clip,name,seconds\na.mp4,top,-1\n"),
        ("x.csv", "clip,name,seconds,end\na.mp4,top,5,1\n"),
        ("x.eaf", "<no"),
        ("x.eaf", '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'),
        ("x.kva", "<a/>"),
        ("x.parquet", "PAR1"),
        ("x.txt", ""),
    ],
)
def test_bad_files_are_one_clear_line(name, text, tmp_path):
    (tmp_path / name).write_text(text)
    with pytest.raises(DataError) as caught:
        read_marks(tmp_path / name)
    assert "\n" not in str(caught.value)


def test_semicolons_between_columns_are_named(tmp_path):
    (tmp_path / "marks.csv").write_text("clip;name;seconds\na.mp4;top;1,5\n")
    with pytest.raises(DataError, match=r"marks\.csv: columns clip;name;seconds; expected commas"):
        read_marks(tmp_path / "marks.csv")


def test_a_missing_file_names_the_formats(tmp_path):
    with pytest.raises(DataError, match=r"no such file; expected marks as \.csv"):
        read_marks(tmp_path / "none.csv")


def test_clips_that_are_not_here_have_no_marks_and_stop_nothing(tmp_path):
    (tmp_path / "events.csv").write_text("clip,top\nhere.mp4,60\nelsewhere.mp4,60\n")
    found = read_marks(
        tmp_path / "events.csv", lambda clip, frame: frame / 30 if clip == "here.mp4" else None
    )
    assert found == {"here.mp4": [Mark("top", 2.0)], "elsewhere.mp4": []}


def test_the_place_of_the_marks_is_told(tmp_path):
    one = {"a.mp4": [Mark("top", 1.0)]}
    two = one | {"b.mp4": [Mark("top", 2.0)]}
    assert write_marks(tmp_path / "all.csv", two) == Location(tmp_path / "all.csv")
    assert write_marks(tmp_path / "one.srt", one) == Location(tmp_path / "one.srt")
    assert write_marks(tmp_path / "all.eaf", two) == Location(tmp_path / "all")
    assert sorted(file.name for file in (tmp_path / "all").iterdir()) == ["a.eaf", "b.eaf"]
