"""Files that are made to do harm: one line of error each. `python -m stress hostile` has many more."""

from __future__ import annotations

import io
import json
import re
import sys
import zipfile
from pathlib import Path

import numpy as np
import onnx
import pytest

pytest.importorskip("fastapi")
pytest.importorskip("scipy")

from seasync.alignment import Alignment
from seasync.encoders.registry import get_encoder
from seasync.encoders.torch_models import read_checkpoint
from seasync.errors import DataError, EncoderError, RenderError, SeasyncError
from seasync.evaluate.dataset import read_events
from seasync.evaluate.untrusted import read_pickle
from seasync.files import Location
from seasync.marks import Mark, MarkTable, read_marks
from seasync.render import replace_clip
from seasync.render.timelines.edl import EdlFile
from seasync.render.timelines.otio import OtioFile
from seasync.render.timelines.xml_formats import FcpxmlFile
from seasync.sea.sea import Sea
from stress.good_files import VIDEOS, write_good_files
from tests.encoders.models import colour_grid

OF_EACH = 20


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("good")
    write_good_files(folder)
    return folder


@pytest.mark.skipif(sys.platform != "linux", reason="the sandbox's limits need Linux")
def test_mutated_files_of_every_format_are_read_or_refused_in_one_line(tmp_path: Path) -> None:
    from stress.hostile import Hostile

    hostile = Hostile(tmp_path)
    try:
        names = len(hostile.names)
        found = [finding for seed in range(OF_EACH * names) for finding in hostile.play(seed).findings]
    finally:
        hostile.close()
    assert names > len(VIDEOS) + 10
    assert [finding.what for finding in found] == []


def test_an_error_is_one_line_whatever_it_quotes() -> None:
    assert str(SeasyncError("a\nb\x1b[31m\r: \udcff")) == "a b [31m : \udcff"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{'OTIO_SCHEMA'", "cannot be read"),
        ('{"a":' * 400 + "1" + "}" * 400, "nested more than 256 deep"),
        ('{"a":' * 20000 + "1" + "}" * 20000, "cannot be read"),
        (
            '{"OTIO_SCHEMA": "SerializableCollection.1", "name": "a", "metadata": {}, "children": []}',
            "expected a timeline, not a",
        ),
        ('{"OTIO_SCHEMA": "Timeline.1"}', "cannot be read"),
        (
            '{"OTIO_SCHEMA": "Timeline.1", "tracks": {"OTIO_SCHEMA": "Stack.1", "children": 3}}',
            "cannot be read",
        ),
        ('{"OTIO_SCHEMA": "Timeline.1", "tracks": {"children": [3]}}', "cannot be read"),
        ("[]", "cannot be read"),
        ("\0" * 100, "cannot be read"),
    ],
)
def test_broken_otio_is_refused(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "a.otio").write_text(text)
    with pytest.raises(RenderError, match=reason):
        OtioFile(Location(tmp_path / "a.otio"), None)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("source_range", 3),
        ("source_range", {"start_time": {"value": 0, "rate": 0}, "duration": {"value": 5, "rate": 30}}),
        ("source_range", {"start_time": {"value": 0, "rate": 30}, "duration": {"value": 5, "rate": 1e-320}}),
        ("source_range", {"start_time": {"value": 0, "rate": 30}, "duration": {"value": -5, "rate": 30}}),
        (
            "source_range",
            {"start_time": {"value": float("nan"), "rate": 30}, "duration": {"value": 5, "rate": 30}},
        ),
        ("effects", [3]),
        ("effects", [{"OTIO_SCHEMA": "LinearTimeWarp.1", "time_scalar": "fast"}]),
        ("media_references", {}),
        ("active_media_reference_key", None),
    ],
)
def test_a_clip_of_an_otio_that_makes_no_sense(tmp_path: Path, good: Path, field: str, value: object) -> None:
    edit = json.loads((good / "edit.otio").read_text())
    edit["tracks"]["children"][0]["children"][0][field] = value
    (tmp_path / "edit.otio").write_text(json.dumps(edit))
    slots = OtioFile(Location(tmp_path / "edit.otio"), good).slots()
    with pytest.raises(RenderError, match=r"cannot be read|has no length"):
        slots[0][1]()


@pytest.mark.parametrize("time", ["1/0s", "nans", "\u202e", "1e300s", "1/00:00"])
def test_fcpxml_times_that_are_none(tmp_path: Path, good: Path, time: str) -> None:
    text = (good / "edit.fcpxml").read_text()
    for field in ("frameDuration", "duration", "start"):
        (tmp_path / "a.fcpxml").write_text(re.sub(f'(?<=\\b{field}=")[^"]*', time, text))
        with pytest.raises(RenderError, match=r"is not a time|longer than any video"):
            FcpxmlFile(Location(tmp_path / "a.fcpxml"), None).slots()[0][1]()


def test_fcpxml_ids_with_quotes(tmp_path: Path, good: Path) -> None:
    text = (good / "edit.fcpxml").read_text()
    file = Location(tmp_path / "a.fcpxml")
    (tmp_path / "a.fcpxml").write_text(re.sub('(?<=\\bformat=")[^"]*', "'r1", text))
    with pytest.raises(RenderError, match="has no frameDuration"):
        FcpxmlFile(file, None)
    (tmp_path / "a.fcpxml").write_text(re.sub('(?<=\\bref=")[^"]*', "'] | //*['", text))
    with pytest.raises(RenderError, match="refers to no asset"):
        FcpxmlFile(file, None).slots()[0][1]()


def test_an_edit_that_names_a_file_by_a_name_too_long_for_any(tmp_path: Path, good: Path) -> None:
    text = (good / "edit.edl").read_text()
    (tmp_path / "a.edl").write_text(re.sub(r"(?<=NAME: )\S+", "x" * 300 + ".mp4", text))
    with pytest.raises(RenderError, match=r"the file of the clip x+\.mp4 is not at"):
        EdlFile(Location(tmp_path / "a.edl"), None).slots()[0][1]()


@pytest.mark.parametrize("encoding", ["UTF-1", "nothing"])
def test_xml_in_an_unknown_encoding(tmp_path: Path, encoding: str) -> None:
    for name, error in (("a.fcpxml", RenderError), ("a.eaf", DataError)):
        (tmp_path / name).write_text(f"<?xml version='1.0' encoding='{encoding}'?><a/>")
        with pytest.raises(error, match="cannot be read as an"):
            FcpxmlFile(Location(tmp_path / name), None) if error is RenderError else read_marks(
                tmp_path / name
            )


@pytest.mark.parametrize("value", ["-inf", "1,5", "", "9" * 5000])
def test_elan_times_that_are_none(tmp_path: Path, good: Path, value: str) -> None:
    text = (good / "marks.eaf").read_text().replace('"400"', f'"{value}"')
    (tmp_path / "a.eaf").write_text(text)
    with pytest.raises(DataError, match="expected times in whole milliseconds"):
        read_marks(tmp_path / "a.eaf")


def test_subtitles_whose_times_have_holes(tmp_path: Path) -> None:
    (tmp_path / "a.vtt").write_text("WEBVTT\n\n1\n-inf:00:00.100 --> 00:00:00.300\nup\n\n2\n00:")
    with pytest.raises(DataError, match="cannot be read as subtitles"):
        read_marks(tmp_path / "a.vtt")


def test_a_checkpoint_whose_packing_is_broken(tmp_path: Path, good: Path) -> None:
    pytest.importorskip("torch", reason="needs the extra 'models'")
    packed = io.BytesIO()
    with (
        zipfile.ZipFile(good / "weights.pth") as archive,
        zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as to,
    ):
        for name in archive.namelist():
            to.writestr(name, archive.read(name) * 20)
    spoilt = bytearray(packed.getvalue())
    spoilt[60:90] = b"\xff" * 30
    (tmp_path / "a.pth").write_bytes(spoilt)
    with pytest.raises(EncoderError, match="not a torch checkpoint"):
        read_checkpoint(tmp_path / "a.pth")


@pytest.mark.parametrize("wants", [b"r\xff\xff\xff\x7f", b"p2147483647\n", b"\x95\xff\xff\xff\x7f\0\0\0\0"])
def test_a_pickle_that_wants_gigabytes_of_memory(tmp_path: Path, wants: bytes) -> None:
    (tmp_path / "a.pkl").write_bytes(b"\x80\x04]" + wants + b".")
    with pytest.raises(DataError, match=r"(names object number|announces) 2147483647"):
        read_pickle(tmp_path / "a.pkl")
    (tmp_path / "a.pth").write_bytes(b"\x80\x04]" + wants + b".")
    pytest.importorskip("torch", reason="needs the extra 'models'")
    with pytest.raises(EncoderError, match="not a torch checkpoint"):
        read_checkpoint(tmp_path / "a.pth")


def test_a_clip_of_an_edit_that_is_longer_than_any_video(tmp_path: Path, good: Path) -> None:
    edit = json.loads((good / "edit.otio").read_text())
    for track in edit["tracks"]["children"]:
        for clip in track["children"]:
            if clip.get("source_range"):
                clip["source_range"]["duration"]["value"] = 1e15
    (tmp_path / "edit.otio").write_text(json.dumps(edit))

    def find(query: object) -> Alignment:
        raise AssertionError

    with pytest.raises(RenderError, match="more than any video"):
        replace_clip(tmp_path / "edit.otio", "1", find, tmp_path / "new.otio", media=good)


def test_a_model_that_takes_only_batches_of_a_million(tmp_path: Path) -> None:
    model = onnx.load(colour_grid(tmp_path / "a.onnx"))
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 1 << 20
    onnx.save(model, tmp_path / "a.onnx")
    with pytest.raises(EncoderError, match="fails on pictures of shape") as refused:
        get_encoder(f"onnx:{tmp_path / 'a.onnx'}").encode_frames(np.zeros((1, 32, 32, 3), np.uint8))
    assert "\n" not in str(refused.value)


def test_a_list_that_names_what_cannot_be_a_file(tmp_path: Path, good: Path) -> None:
    listed = tmp_path / "list.csv"
    listed.write_text(f"file\n{'x' * 5000}\n{good / 'query.mp4'}\n")
    added = Sea(tmp_path / "s.sea", f"onnx:{good / 'grid.onnx'}").add(listed)
    assert (added.added, len(added.failed)) == (1, 1)


def test_a_table_of_marks_with_cells_beyond_its_columns(tmp_path: Path) -> None:
    (tmp_path / "marks.csv").write_text("clip,up,\na.mp4,3,,4,5\n")
    marked = read_marks(tmp_path / "marks.csv", lambda clip, frame: frame / 10)
    assert marked == {"a.mp4": [Mark("up", 0.3)]}


def test_an_empty_table_of_marks(tmp_path: Path) -> None:
    (tmp_path / "marks.csv").write_text("")
    with pytest.raises(DataError, match="columns none; expected a column 'clip'"):
        read_marks(tmp_path / "marks.csv")


def test_an_elan_document_of_a_file_with_a_bracket_in_its_name(tmp_path: Path, good: Path) -> None:
    text = (good / "marks.eaf").read_text().replace("file:///query.mp4", "file://]take[1.mp4")
    (tmp_path / "a.eaf").write_text(text)
    assert list(read_marks(tmp_path / "a.eaf")) == ["]take[1.mp4"]


def test_frame_numbers_beyond_any_number_of_frames(tmp_path: Path) -> None:
    (tmp_path / "events.csv").write_text(f"clip,up\na.mp4,{'9' * 80}\n")
    with pytest.raises(DataError, match="expected whole numbers"):
        read_events(tmp_path / "events.csv")
    (tmp_path / "labels.csv").write_text(f"frame,name\n{'9' * 400},up\n")
    with pytest.raises(DataError, match="row 1"):
        MarkTable.read(tmp_path / "labels.csv").moment(0, "seconds", lambda _, frame: frame / 30)
    (tmp_path / "labels.csv").write_text("seconds,\n0.1,up,more\n")
    with pytest.raises(DataError, match="row 1 does not have 2 values"):
        MarkTable.read(tmp_path / "labels.csv").expect_full_rows()


def test_a_checkpoint_that_announces_more_bytes_than_there_is_memory(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="needs the extra 'models'")
    (tmp_path / "x.pth").write_bytes(b"\x80\x04\x8e" + (1 << 62).to_bytes(8, "little") + b"x.")
    with pytest.raises(EncoderError, match="not a torch checkpoint"):
        read_checkpoint(tmp_path / "x.pth")
