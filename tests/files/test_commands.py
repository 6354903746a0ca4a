"""Every command takes URIs where it takes files, for what it reads and for what it writes."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from xml.etree import ElementTree

import av
import pytest

import seasync
from seasync.errors import RenderError, StoreError
from seasync.files import Location
from seasync.files.store import objects, read, write
from tests.scale.test_uri import run, upload

__all__ = ["run"]
pytestmark = pytest.mark.cluster

VERDICT = "aligns in full (DRAQ 0.123, below 0.57)\n"  # all that the commands say beside their output


@pytest.fixture
def stored(bucket: str, clips: Path) -> tuple[str, str]:
    """Two videos of one action on the store, one with a blank in its name."""
    first, second, _ = sorted((clips / "circle").iterdir())
    write(f"{bucket}/clips/query.mp4", first.read_bytes())
    write(f"{bucket}/clips/a match.mp4", second.read_bytes())
    return f"{bucket}/clips/query.mp4", f"{bucket}/clips/a match.mp4"


def fetched(uri: str) -> bytes:
    content = read(uri)
    assert content is not None, (
        f"{uri} is not there: {[each.uri for each in objects(Location(uri).parent.text)]}"
    )
    return content


def test_align_and_its_picture(run, stored: tuple[str, str], bucket: str, encoder: str) -> None:  # type: ignore[no-untyped-def]
    code, out, error = run(
        "align", *stored, "--encoder", encoder, "--json", "--picture", f"{bucket}/out/pair.svg"
    )
    assert code == 0, error
    assert json.loads(out)["draq"] < 1
    assert fetched(f"{bucket}/out/pair.svg").startswith(b"<svg")


def test_find(run, stored: tuple[str, str], encoder: str) -> None:  # type: ignore[no-untyped-def]
    code, out, error = run("find", stored[0], stored[1], "--encoder", encoder, "--json")
    assert code == 0, error
    found = json.loads(out)
    assert found["query"]["file"] == stored[0]
    assert found["found"][0]["clip"]["file"] == stored[1]


@pytest.mark.parametrize("name", ["film.mp4", "film.webm", "film.gif", "film.png"])
def test_render(run, stored: tuple[str, str], bucket: str, encoder: str, name: str) -> None:  # type: ignore[no-untyped-def]
    write(f"{bucket}/out/{name}", b"old")
    code, out, error = run("render", *stored, "--to", f"{bucket}/out/{name}", "--encoder", encoder)
    assert (code, error) == (0, VERDICT)
    assert f"{bucket}/out/{name}" in out
    with av.open(io.BytesIO(fetched(f"{bucket}/out/{name}"))) as film:
        assert next(film.decode(video=0)).width > 64
    assert [each.uri for each in objects(f"{bucket}/out")] == [f"{bucket}/out/{name}"]


def test_timelines_name_the_uri(run, stored: tuple[str, str], bucket: str, encoder: str) -> None:  # type: ignore[no-untyped-def]
    def exported(name: str) -> str:
        code, out, error = run("export", *stored, "--to", f"{bucket}/out/{name}", "--encoder", encoder)
        assert (code, error) == (0, VERDICT)
        assert out.split("\n")[0] == f"{bucket}/out/{name}"
        return fetched(f"{bucket}/out/{name}").decode()

    assert set(re.findall(r'"target_url": "([^"]+)"', exported("edit.otio"))) == set(stored)
    fcpxml = ElementTree.fromstring(exported("edit.fcpxml"))
    assert [each.get("src") for each in fcpxml.iter("media-rep")] == list(stored)
    xmeml = ElementTree.fromstring(exported("edit.xml"))
    assert [each.text for each in xmeml.iter("pathurl")] == list(stored)
    mlt = ElementTree.fromstring(exported("edit.mlt"))
    resources = {each.text for each in mlt.iter("property") if each.get("name") == "resource"}
    assert resources - {"0"} == set(stored)  # 0 is the black ground
    assert set(re.findall(r"FROM CLIP NAME: (.+)", exported("edit.edl"))) == {"a match.mp4"}
    assert "query_frame" in next(csv.reader(exported("map.csv").splitlines()))
    assert json.loads(exported("map.json"))["frames"]


def test_transfer(run, stored: tuple[str, str], bucket: str, encoder: str) -> None:  # type: ignore[no-untyped-def]
    write(f"{bucket}/labels.csv", b"seconds,name\n0.5,top\n1.0,turn\n")
    write(f"{bucket}/labels.srt", b"1\n00:00:00,500 --> 00:00:01,000\nup\n\n")
    for suffix, says in ((".csv", "top"), (".srt", "up")):
        labels, to = f"{bucket}/labels{suffix}", f"{bucket}/carried{suffix}"
        code, out, error = run("transfer", labels, *stored, "--to", to, "--encoder", encoder)
        assert (code, error) == (0, VERDICT)
        assert out.startswith(to)
        assert says in fetched(to).decode()


@pytest.mark.parametrize("suffix", [".otio", ".fcpxml", ".edl"])
def test_replace(  # type: ignore[no-untyped-def]
    run, stored: tuple[str, str], bucket: str, clips: Path, encoder: str, suffix: str
) -> None:
    upload(clips, f"{bucket}/clips")
    sea = f"{bucket}/footage.sea"
    assert run("add", f"{bucket}/clips/circle", "--sea", sea, "--encoder", encoder)[0] == 0
    edit = f"{bucket}/edit{suffix}"
    assert run("export", *stored, "--to", edit, "--encoder", encoder)[0] == 0
    media = ["--media", f"{bucket}/clips"] if suffix == ".edl" else []
    to = f"{bucket}/new{suffix}"
    code, out, error = run("replace", edit, "1", "--to", to, "--sea", sea, "--anyway", "--json", *media)
    assert code == 0, error
    new = json.loads(out)["new"]["file"]
    assert new.startswith(f"{bucket}/clips/circle/")
    assert (Location(new).name if suffix == ".edl" else new) in fetched(to).decode()


def test_search_and_its_table(run, stored: tuple[str, str], bucket: str, encoder: str) -> None:  # type: ignore[no-untyped-def]
    sea = f"{bucket}/footage.sea"
    assert run("add", stored[1], "--sea", sea, "--encoder", encoder)[0] == 0
    found = json.loads(run("search", stored[0], "--sea", sea, "--json")[1])
    assert found["matches"][0]["clip"]["file"] == stored[1]
    assert "a match.mp4" in run("search", stored[0], "--sea", sea)[1].replace("\n", "")


def test_what_is_not_there_is_one_line(run, stored: tuple[str, str], bucket: str, encoder: str) -> None:  # type: ignore[no-untyped-def]
    code, _, error = run("align", f"{bucket}/none.mp4", stored[1], "--encoder", encoder)
    assert (code, error) == (1, f"seasync: {bucket}/none.mp4: no such file\n")
    code, _, error = run("render", *stored, "--to", "s3://nowhere/a.mp4", "--encoder", encoder)
    assert code == 1
    assert error.startswith("seasync: s3://nowhere/a.mp4: ")
    assert "make the bucket (or container) first" in error
    code, _, error = run("render", *stored, "--to", stored[0], "--encoder", encoder)
    assert (code, error.count("\n")) == (1, 1)
    assert "would overwrite one of the inputs" in error


def test_calls_take_text_paths_and_locations(stored: tuple[str, str], bucket: str, encoder: str) -> None:
    query, match = map(Location, stored)
    alignment = seasync.align(query, match, encoder=encoder)
    assert (alignment.query.file, alignment.match.file) == stored
    assert alignment.match.name == "a match.mp4"
    assert seasync.find(query, match, encoder=encoder)[0].clip.file == stored[1]
    files = seasync.render.export(alignment, Location(bucket).join("edit.otio"))
    assert files == [Location(f"{bucket}/edit.otio")]
    with pytest.raises(StoreError, match="lost a slash"):
        seasync.align(Path(stored[0]), match, encoder=encoder)
    with pytest.raises(RenderError, match="would overwrite one of the inputs"):
        seasync.render.compare(alignment, query)


def test_models_lie_at_uris(run, stored: tuple[str, str], bucket: str, clips: Path, encoder: str) -> None:  # type: ignore[no-untyped-def]
    """A model is named by its URI, and trained to one."""
    write(f"{bucket}/models/grid.onnx", Path(encoder.removeprefix("onnx:")).read_bytes())
    model, out = f"onnx:{bucket}/models/grid.onnx", f"{bucket}/models/learned.onnx"
    assert seasync.align(*stored, encoder=model).draq == seasync.align(*stored, encoder=encoder).draq
    pytest.importorskip("torch")
    upload(clips, f"{bucket}/clips")
    words = ["train", "nms", f"{bucket}/clips", "--out", out, "--encoder", model, "--steps", 0, "--width", 16]
    code, said, error = run(*words)
    assert code == 0, error
    assert said.startswith(f"{out}: ")
    assert seasync.align(*stored, encoder=f"{model}+nms:{out}").draq >= 0


def test_a_report_is_written_to_a_uri(stored: tuple[str, str], bucket: str) -> None:
    from seasync.evaluate.results import write_report

    write_report([], Location(f"{bucket}/report.html"), title="Nothing")
    assert b"<h1>Nothing</h1>" in fetched(f"{bucket}/report.html")


def test_seas_and_lists_by_location(
    stored: tuple[str, str], bucket: str, encoder: str, tmp_path: Path
) -> None:
    sea = seasync.Sea(Location(f"{bucket}/s.sea"), encoder)
    write(f"{bucket}/list.csv", b"file\nclips/query.mp4\n")
    assert sea.add(Location(f"{bucket}/list.csv"), Location(stored[1])).added == 2
    assert sea.search(Location(stored[0]), k=1)[0].clip.file == stored[1]
    assert sea.remove(files=[Location(stored[1])]) == 1
    with pytest.raises(StoreError, match="lost a slash"):
        seasync.Sea(Path(f"{bucket}/s.sea"))
    here = seasync.Sea((tmp_path / "a b.sea").as_uri(), encoder)
    assert here.add(stored[0]).added == 1
    assert len(seasync.Sea(tmp_path / "a b.sea")) == 1


def test_group_and_marks_at_uris(run, bucket: str, clips: Path, encoder: str) -> None:  # type: ignore[no-untyped-def]
    upload(clips, f"{bucket}/clips")
    reference, takes = f"{bucket}/clips/dive/001.mp4", f"{bucket}/clips/dive"
    write(f"{bucket}/marks.csv", f"clip,name,seconds\n{reference},top,0.6\n001.mp4,turn,1.2\n".encode())
    write(f"{bucket}/marks/001.srt", b"1\n00:00:00,500 --> 00:00:01,000\nup\n\n")
    out = {name: f"{bucket}/out/{name}" for name in ("timing.html", "timing.csv", "film.mp4")}
    words = ["group", reference, takes, "--encoder", encoder, "--marks", f"{bucket}/marks.csv"]
    code, said, error = run(*words, "--timing", out["timing.html"], "--film", out["film.mp4"])
    assert code == 0, error
    assert f"written: {out['film.mp4']}" in said
    assert b"<html" in fetched(out["timing.html"])
    with av.open(io.BytesIO(fetched(out["film.mp4"]))) as film:
        assert next(film.decode(video=0)).width > 64
    words[-1] = f"{bucket}/marks"
    assert run(*words, "--timing", out["timing.csv"])[0] == 0
    assert b"up" in fetched(out["timing.csv"])
    sea = f"{bucket}/s.sea"
    assert run("add", takes, "--sea", sea, "--encoder", encoder)[0] == 0
    for name in ("all.csv", "all.srt", "all.eaf"):
        code, said, error = run(
            "transfer", f"{bucket}/marks.csv", "--sea", sea, "--to", f"{bucket}/out/{name}"
        )
        assert code == 0, error
    assert fetched(f"{bucket}/out/all.csv").count(b"top") == 3
    assert b"top" in fetched(f"{bucket}/out/all/001.srt")
    assert b"top" in fetched(f"{bucket}/out/all/004.eaf")
