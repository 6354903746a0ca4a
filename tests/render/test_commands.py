"""`seasync render`, `export`, `transfer` and `replace`, from the shell, on sample clips with known truth."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from seasync.sample import Sample, SampleClip, make
from tests.cli.run import seasync
from tests.encoders.models import colour_grid
from tests.render.aligned import pictures
from tests.videos import picture, write


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Sample:
    return make(tmp_path_factory.mktemp("sample"), clips=9, seconds=(2, 3), size=(160, 120))


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return f"onnx:{colour_grid(tmp_path_factory.mktemp('model') / 'grid.onnx', size=64, cells=8)}"


@pytest.fixture(scope="module")
def clips(sample: Sample) -> tuple[SampleClip, ...]:
    """Three of one action."""
    return tuple(clip for clip in sample.clips if clip.action == sample.clips[0].action)[:3]


def run(*arguments: object) -> str:
    done = seasync(*arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_films_and_pictures_by_their_names(
    clips: tuple[SampleClip, ...], encoder: str, tmp_path: Path
) -> None:
    query, match, other = (clip.file for clip in clips)
    run("render", query, match, "--to", tmp_path / "side.mp4", "--encoder", encoder, "--size", "320x120")
    assert pictures(tmp_path / "side.mp4")[0].shape == (120, 320, 3)
    run("render", query, match, "--to", tmp_path / "retimed.mp4", "--layout", "retime", "--encoder", encoder)
    assert len(pictures(tmp_path / "retimed.mp4")) == len(clips[0].action_time)
    run(
        "render", query, match, other, "--layout", "grid", "--to", tmp_path / "grid.png", "--encoder", encoder
    )
    run("render", query, match, "--layout", "curve", "--to", tmp_path / "curve.svg", "--encoder", encoder)
    run(
        "render", query, match, other, "--layout", "grid", "--to", tmp_path / "grid.mp4", "--encoder", encoder
    )
    assert (tmp_path / "grid.png").exists()
    assert pictures(tmp_path / "grid.mp4")[0].shape == (240, 320, 3)
    assert (tmp_path / "curve.svg").read_text().startswith("<svg")


def test_bad_usage_is_two_and_failure_is_one(
    clips: tuple[SampleClip, ...], encoder: str, tmp_path: Path
) -> None:
    query, match, other = (clip.file for clip in clips)
    for arguments, code, said in (
        (("render", query, match, "--to", tmp_path / "x.mp4", "--size", "big"), 2, "expected WIDTHxHEIGHT"),
        (("render", query, match, other, "--to", tmp_path / "x.mp4"), 2, "--layout grid"),
        (
            ("render", query, match, "--to", tmp_path / "x.xyz"),
            2,
            "with --layout side expected a name that ends in one of .mp4",
        ),
        (
            ("render", query, match, "--layout", "curve", "--to", tmp_path / "x.mp4"),
            2,
            "expected a name that ends in one of .png",
        ),
        (("render", query, match, "--to", query), 1, "would overwrite one of the inputs"),
        (("render", query, match, "--to", tmp_path / "none/x.mp4"), 1, "there is no folder"),
        (("export", query, match, "--to", tmp_path / "x.aaf"), 1, ".otio .fcpxml"),
        (("replace", tmp_path / "no.otio", "1", "--to", tmp_path / "x.otio"), 1, "no such file"),
    ):
        done = seasync(*arguments, *(() if arguments[0] == "replace" else ("--encoder", encoder)))
        assert done.returncode == code, done.stderr
        assert said in done.stderr.replace("\n", " ").replace("│", "")


def test_wrong_options_are_told_before_anything_is_aligned(tmp_path: Path) -> None:
    text = tmp_path / "text.mp4"
    text.write_text("no video")
    (tmp_path / "keys.csv").write_text("seconds,label\n1,impact\n")
    render = ("render", text, text, "--to", tmp_path / "film.mp4")
    for arguments, said in (
        ((*render, "--size", "1920"), "expected WIDTHxHEIGHT"),
        ((*render, "--codec", "foo"), "no encoder named 'foo'"),
        ((*render, "--layout", "retime", "--marks", tmp_path / "keys.csv"), "a retimed film shows no marks"),
        (("transfer", tmp_path / "keys.csv", text, text, "--to", tmp_path / "o.srt"), "a table a table"),
    ):
        done = seasync(*arguments)
        assert done.returncode
        assert said in " ".join(done.stderr.split())


def test_timeline_is_exported(clips: tuple[SampleClip, ...], encoder: str, tmp_path: Path) -> None:
    said = run(
        "export", *(clip.file for clip in clips[:2]), "--to", tmp_path / "edit.otio", "--encoder", encoder
    )
    assert said.strip() == str(tmp_path / "edit.otio")
    timeline = json.loads((tmp_path / "edit.otio").read_text())
    assert [track["name"] for track in timeline["tracks"]["children"]] == ["kept", "retimed"]


def test_labels_are_carried(clips: tuple[SampleClip, ...], encoder: str, tmp_path: Path) -> None:
    query, match = clips[:2]
    lines = [f"{second},{number}" for number, second in enumerate(query.key_seconds)]
    (tmp_path / "keys.csv").write_text("\n".join(["seconds,key", *lines]))
    said = run(
        "transfer", tmp_path / "keys.csv", query.file, match.file, "--to", tmp_path / "new.csv", "--json",
        "--encoder", encoder,
    )  # fmt: skip
    done = json.loads(said)
    assert 0 <= done.pop("uncertainty_seconds") < 0.5
    assert done == {"file": str(tmp_path / "new.csv"), "carried": len(lines), "left_out": 0}
    with (tmp_path / "new.csv").open() as file:
        seconds = [float(row["seconds"]) for row in csv.DictReader(file)]
    assert (np.diff(seconds) >= 0).all()


def test_clip_of_an_edit_is_replaced_from_a_sea(
    sample: Sample, clips: tuple[SampleClip, ...], encoder: str, tmp_path: Path
) -> None:
    sea = tmp_path / "footage.sea"
    run("add", *(clip.file for clip in clips), "--sea", sea, "--encoder", encoder)
    run("export", clips[1].file, clips[2].file, "--to", tmp_path / "edit.otio", "--encoder", encoder)
    said = run(
        "replace",
        tmp_path / "edit.otio",
        clips[1].file.name,
        "--to",
        tmp_path / "new.otio",
        "--sea",
        sea,
        "--json",
    )
    new = json.loads(said)["new"]["file"]
    assert Path(new).name in {clips[0].file.name, clips[2].file.name}
    otio = pytest.importorskip("opentimelineio", reason="OpenTimelineIO has no wheel for this Python")
    tracks = otio.adapters.read_from_file(str(tmp_path / "new.otio")).video_tracks()
    assert tracks[0].duration().to_seconds() == pytest.approx(tracks[1].duration().to_seconds(), abs=0.05)
    assert {Path(clip.media_reference.target_url).name for clip in tracks[0].find_clips()} == {Path(new).name}


def test_a_match_that_does_not_align_is_put_in_only_if_so_asked(
    clips: tuple[SampleClip, ...], encoder: str, tmp_path: Path
) -> None:
    """A clip in which nothing moves is in step with nothing."""
    still, sea, new = tmp_path / "still.mp4", tmp_path / "still.sea", tmp_path / "new.otio"
    run("add", write(still, [picture(5)] * 60), "--sea", sea, "--encoder", encoder)
    run("export", clips[0].file, clips[1].file, "--to", tmp_path / "edit.otio", "--encoder", encoder)
    words = ("replace", tmp_path / "edit.otio", clips[0].file.name, "--to", new, "--sea", sea)
    for more, said in (((), "nothing in it aligns"), (("--anyway", "--rank", "2"), "--rank 2 is too high")):
        done = seasync(*words, *more)
        assert (done.returncode, done.stderr.count("\n"), new.exists()) == (1, 1, False)
        assert said in done.stderr
    assert "replaced with still.mp4" in run(*words, "--anyway")
    assert new.exists()
