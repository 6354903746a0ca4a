"""Labels carried from one clip to the other and back."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pysubs2
import pytest

from seasync.alignment import Alignment
from seasync.errors import DataError
from seasync.marks import write_marks
from seasync.render import Mark, read_marks, transfer
from tests.render.aligned import alignment, bent
from tests.render.conftest import KEYS, MATCH_KEYS


def rows(file: Path) -> list[dict[str, str]]:
    with file.open(newline="") as lines:
        return list(csv.DictReader(lines))


def partial(pair: tuple[Path, Path]) -> Alignment:
    """0.5–1.5 s and 2–2.5 s of the query have partners, 1–2 s and 3–3.5 s of the match."""
    return alignment(
        *pair, (0.5, 1.5, bent((0.5, 1.5), (1.0, 2.0))), (2.0, 2.5, bent((2.0, 2.5), (3.0, 3.5)))
    )


def test_key_moments_go_to_their_partners_with_all_their_columns(aligned: Alignment, tmp_path: Path) -> None:
    lines = [f"{round(key * 30)},{key},{name},x" for key, name in zip(KEYS, "abcd", strict=True)]
    (tmp_path / "keys.csv").write_text("\n".join(["frame,seconds,event,by", *lines]))
    done = transfer(aligned, tmp_path / "keys.csv", tmp_path / "new.csv")
    assert (done.carried, done.left_out) == (4, 0)
    new = rows(tmp_path / "new.csv")
    assert [row["event"] for row in new] == list("abcd")
    assert {row["by"] for row in new} == {"x"}
    assert [float(row["seconds"]) for row in new] == pytest.approx(list(MATCH_KEYS), abs=0.02)
    assert [int(row["frame"]) for row in new] == [round(key * 30) for key in MATCH_KEYS]


def test_there_and_back_is_where_it_was(aligned: Alignment, tmp_path: Path) -> None:
    (tmp_path / "keys.csv").write_text("seconds\n" + "\n".join(map(str, KEYS)))
    transfer(aligned, tmp_path / "keys.csv", tmp_path / "there.csv", to="match")
    transfer(aligned, tmp_path / "there.csv", tmp_path / "back.csv", to="query")
    assert [float(row["seconds"]) for row in rows(tmp_path / "back.csv")] == pytest.approx(
        list(KEYS), abs=1 / 30
    )


def test_phases_are_carried_whole_and_cut_where_nothing_corresponds(
    aligned: Alignment, pair: tuple[Path, Path], tmp_path: Path
) -> None:
    (tmp_path / "phases.csv").write_text("start,end,phase\n0,1.0,up\n1.0,2.5,down\n")
    transfer(aligned, tmp_path / "phases.csv", tmp_path / "new.csv")
    new = [(float(row["start"]), float(row["end"]), row["phase"]) for row in rows(tmp_path / "new.csv")]
    assert new == [
        (pytest.approx(0.2, abs=0.02), pytest.approx(1.5, abs=0.02), "up"),
        (pytest.approx(1.5, abs=0.02), pytest.approx(3.0, abs=0.02), "down"),
    ]
    (tmp_path / "phases.csv").write_text(
        "start_frame,end_frame,phase\n0,9,before\n12,66,across\n80,85,after\n"
    )
    done = transfer(partial(pair), tmp_path / "phases.csv", tmp_path / "new.csv")
    assert (done.carried, done.left_out) == (1, 2)
    new = [(int(row["start_frame"]), int(row["end_frame"])) for row in rows(tmp_path / "new.csv")]
    assert [row["phase"] for row in rows(tmp_path / "new.csv")] == ["across", "across"]
    assert new[0] == (30, 61)
    assert new[1] == (90, 96)


def test_labels_of_frames_are_propagated_to_every_frame_of_the_target(
    aligned: Alignment, pair: tuple[Path, Path], tmp_path: Path
) -> None:
    phase = np.searchsorted(KEYS, np.arange(90) / 30, side="right")
    lines = [f"{frame},{phase[frame]}" for frame in range(90)]
    (tmp_path / "frames.csv").write_text("\n".join(["frame,phase", *lines]))
    transfer(aligned, tmp_path / "frames.csv", tmp_path / "new.csv")
    new = rows(tmp_path / "new.csv")
    frames = [int(row["frame"]) for row in new]
    assert frames == list(range(frames[0], frames[-1] + 1))
    truth = np.searchsorted(MATCH_KEYS, np.array(frames) / 30, side="right")
    assert (np.array([int(row["phase"]) for row in new]) == truth).mean() > 0.95
    transfer(partial(pair), tmp_path / "frames.csv", tmp_path / "new.csv")
    assert [int(row["frame"]) for row in rows(tmp_path / "new.csv")] == [*range(30, 61), *range(90, 106)]


@pytest.mark.parametrize("suffix", [".srt", ".vtt", ".ass"])
def test_subtitles_follow_and_those_without_a_place_are_left_out(
    pair: tuple[Path, Path], tmp_path: Path, suffix: str
) -> None:
    subtitles = pysubs2.SSAFile()
    for start, end, text in ((0, 400, "gone"), (600, 1200, "swing"), (2100, 2400, "finish")):
        subtitles.append(pysubs2.SSAEvent(start, end, text))
    subtitles.save(str(tmp_path / f"old{suffix}"))
    done = transfer(partial(pair), tmp_path / f"old{suffix}", tmp_path / f"new{suffix}")
    assert (done.carried, done.left_out) == (2, 1)
    new = [(event.start, event.end, event.text) for event in pysubs2.load(str(tmp_path / f"new{suffix}"))]
    assert new == [
        (pytest.approx(1100, abs=20), pytest.approx(1700, abs=20), "swing"),
        (pytest.approx(3100, abs=20), pytest.approx(3400, abs=20), "finish"),
    ]


def test_bad_labels_are_named(aligned: Alignment, tmp_path: Path) -> None:
    (tmp_path / "odd.csv").write_text("clip,address\nx,3\n")
    with pytest.raises(DataError, match=r"odd\.csv: columns clip, address; expected start and end"):
        transfer(aligned, tmp_path / "odd.csv", tmp_path / "new.csv")
    (tmp_path / "odd.csv").write_text("seconds;event\n0,5;a\n")
    with pytest.raises(DataError, match=r"odd\.csv: columns seconds;event; expected commas"):
        transfer(aligned, tmp_path / "odd.csv", tmp_path / "new.csv")
    (tmp_path / "bad.csv").write_text("seconds,event\n0.5,a\nsoon,b\n")
    with pytest.raises(DataError, match=r"bad\.csv: row 2 has 'soon'"):
        transfer(aligned, tmp_path / "bad.csv", tmp_path / "new.csv")
    with pytest.raises(DataError, match="no such file"):
        transfer(aligned, tmp_path / "none.csv", tmp_path / "new.csv")
    (tmp_path / "ragged.csv").write_text("seconds,event\n0.5,a,b\n")
    with pytest.raises(DataError, match=r"ragged\.csv: row 1 does not have 2 values"):
        transfer(aligned, tmp_path / "ragged.csv", tmp_path / "new.csv")
    (tmp_path / "turned.csv").write_text("start,end,phase\n0.5,0.2,up\n")
    with pytest.raises(DataError, match=r"turned\.csv: row 1 ends at 0\.2 s, before its start"):
        transfer(aligned, tmp_path / "turned.csv", tmp_path / "new.csv")
    (tmp_path / "binary.csv").write_bytes(b"\xff\xfe")
    with pytest.raises(DataError, match=r"binary\.csv: cannot be read .* in UTF-8"):
        transfer(aligned, tmp_path / "binary.csv", tmp_path / "new.csv")
    with pytest.raises(DataError, match=r"none\.csv: no such file"):
        read_marks(tmp_path / "none.csv", tmp_path / "any.mp4")
    assert not (tmp_path / "new.csv").exists()


def test_bad_subtitles_are_named(aligned: Alignment, tmp_path: Path) -> None:
    (tmp_path / "bad.srt").write_text("no subtitles")
    with pytest.raises(DataError, match=r"bad\.srt: cannot be read as subtitles"):
        transfer(aligned, tmp_path / "bad.srt", tmp_path / "new.srt")
    with pytest.raises(DataError, match=r"new\.csv: subtitles become subtitles"):
        transfer(aligned, tmp_path / "bad.srt", tmp_path / "new.csv")


def test_labels_of_some_frames_go_no_further_than_these(aligned: Alignment, tmp_path: Path) -> None:
    lines = [f"{frame},lift" for frame in range(15, 30)]
    (tmp_path / "frames.csv").write_text("\n".join(["frame,phase", *lines]))
    transfer(aligned, tmp_path / "frames.csv", tmp_path / "new.csv")
    frames = [int(row["frame"]) for row in rows(tmp_path / "new.csv")]
    assert frames == list(range(frames[0], frames[-1] + 1))
    assert [frames[0], frames[-1]] == pytest.approx([0.9 * 30, 1.5 * 30 - 1], abs=2)


def test_marks_for_films_come_from_the_same_tables(pair: tuple[Path, Path], tmp_path: Path) -> None:
    (tmp_path / "keys.csv").write_text("frame,event\n15,top\n48,impact\n")
    assert read_marks(tmp_path / "keys.csv", pair[0]) == [Mark("top", 0.5), Mark("impact", 1.6)]
    (tmp_path / "phases.csv").write_text("phase,start,end\nup,0,1.5\n")
    assert read_marks(tmp_path / "phases.csv", pair[0]) == [Mark("up", 0.0, 1.5)]
    (tmp_path / "times.csv").write_text("seconds\n1\n")
    with pytest.raises(DataError, match="expected one with names"):
        read_marks(tmp_path / "times.csv", pair[0])


def test_marks_of_other_programs_are_carried_into_any_file_of_marks(
    pair: tuple[Path, Path], tmp_path: Path
) -> None:
    marks = [Mark("gone", 0.1), Mark("top", 1.0), Mark("across", 0.6, 2.2)]
    write_marks(tmp_path / "old.eaf", {pair[0].name: marks})
    for name in ("new.eaf", "new.csv", "new.srt"):
        done = transfer(partial(pair), tmp_path / "old.eaf", tmp_path / name)
        assert (done.carried, done.left_out) == (2, 1)
        new = read_marks(tmp_path / name, pair[1])
        assert [(mark.name, mark.end is None) for mark in new] == [
            ("across", False),
            ("top", True),
            ("across", False),
        ]
        assert [mark.seconds for mark in new] == pytest.approx([1.1, 1.5, 3.0], abs=0.02)
    with pytest.raises(DataError, match="only read"):
        transfer(partial(pair), tmp_path / "old.eaf", tmp_path / "new.kva")


def test_the_end_of_a_mark_moves_with_its_start(pair: tuple[Path, Path], tmp_path: Path) -> None:
    write_marks(tmp_path / "old.csv", {pair[0].name: [Mark("up", 0.6, 1.2), Mark("top", 1.4)]})
    transfer(partial(pair), tmp_path / "old.csv", tmp_path / "new.csv")
    new = [(mark.name, mark.seconds, mark.end) for mark in read_marks(tmp_path / "new.csv", pair[1])]
    assert new == [
        ("up", pytest.approx(1.1, abs=0.02), pytest.approx(1.7, abs=0.02)),
        ("top", pytest.approx(1.9, abs=0.02), None),
    ]
