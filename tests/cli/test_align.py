"""`seasync align`, from the shell: output, JSON, pictures, and what it says when something is wrong."""

from __future__ import annotations

import json
from copy import copy
from pathlib import Path

import numpy as np
import pytest

from seasync.clip import Clip
from seasync.encoders import get_encoder
from seasync.pair import align
from seasync.sample import Sample, alignment_error, make
from seasync.video.source import frame_table
from tests.cli.run import seasync
from tests.encoders.models import colour_grid
from tests.videos import picture, write


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Sample:
    """Two squats and a few others, small."""
    return make(tmp_path_factory.mktemp("sample"), clips=9, seconds=(2, 3), size=(160, 120))


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return f"onnx:{colour_grid(tmp_path_factory.mktemp('model') / 'grid.onnx', size=64, cells=8)}"


def pair(sample: Sample) -> tuple[Path, Path]:
    first = sample.clips[0]
    return first.file, next(c.file for c in sample.clips[1:] if c.action == first.action)


def test_words_and_a_table_of_moments(sample: Sample, encoder: str) -> None:
    done = seasync("align", *pair(sample), "--encoder", encoder)
    assert done.returncode == 0, done.stderr
    assert "DRAQ" in done.stdout
    assert "align" in done.stdout
    moments = done.stdout.splitlines()[-9:]  # at the last one nothing plays any more
    assert [line.split()[-1] for line in moments] == ["speed"] * 8 + ["–"]


@pytest.mark.parametrize(
    ("seconds", "fps", "sampled"), [(2, None, 15), (2, 5, 5), (16, None, 7.5)], ids=["short", "asked", "long"]
)
def test_a_short_pair_is_sampled_at_the_rate_for_pairs_and_twice_as_finely_aligned(
    tmp_path: Path, encoder: str, seconds: int, fps: float | None, sampled: float
) -> None:
    files = [
        write(tmp_path / f"{n}.mp4", [picture(k // 2 % 30, 64, 48) for k in range(15 * seconds)], fps=15)
        for n in range(2)
    ]
    model = copy(get_encoder(encoder))
    vars(model)["pair_fps"] = 15.0
    alignment = align(*files, encoder=model, fps=fps, cache=False)
    grid = 1 / np.diff(alignment.query_seconds).mean()
    assert grid == pytest.approx(max(2 * sampled, 15), rel=0.02)


def test_json_gives_frames_of_the_files_and_seconds(sample: Sample, encoder: str) -> None:
    query, match = pair(sample)
    done = seasync("align", query, match, "--encoder", encoder, "--json")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert {"draq", "dtw_cost", "random_cost", "alignable", "path"} <= set(said)
    assert said["draq"] == pytest.approx(said["dtw_cost"] / said["random_cost"])
    path = np.array(said["path"])
    clips = {clip.file: clip for clip in sample.clips}
    for column, file in ((0, query), (2, match)):
        assert (np.diff(path[:, column]) >= 0).all()
        assert path[0, column] == 0
        assert abs(path[:, column] - path[:, column + 1] * float(clips[file].fps)).max() <= 0.51
    assert len(clips[query].action_time) - path[-1, 0] <= 5


def test_nothing_reaches_beyond_the_end_of_a_file(sample: Sample, encoder: str, tmp_path: Path) -> None:
    """Neither the frames after the last sample nor a step of the sampling are guessed."""
    query, match = pair(sample)
    still = write(tmp_path / "one.mp4", [picture(0)], fps=25)
    for files in ((query, match), (query, still), (still, still)):
        alignment = align(*files, encoder=encoder)
        ends = [frame_table(file).end for file in files]
        assert [span[1] for span in (alignment.pieces[-1].query, alignment.pieces[-1].match)] == ends
        assert [alignment.warp(keep=side).spans[-1][1] for side in ("query", "match")] == ends  # type: ignore[arg-type]
        assert alignment.warp().at(ends[0] + 9) == ends[1]
    assert ends == [pytest.approx(1 / 25)] * 2
    part = align(Clip(str(query), 0.0, 0.7), match, encoder=encoder)
    assert part.pieces[-1].query[1] == pytest.approx(0.7)


def test_anchor_is_passed_through(sample: Sample, encoder: str) -> None:
    done = seasync("align", *pair(sample), "--encoder", encoder, "--anchor", "1.0=0.6", "--json")
    path = np.array(json.loads(done.stdout)["path"])
    assert (np.hypot(path[:, 1] - 1.0, path[:, 3] - 0.6) <= 0.08).any()


def test_picture_is_drawn(sample: Sample, encoder: str, tmp_path: Path) -> None:
    from PIL import Image

    picture = tmp_path / "both.png"
    assert seasync("align", *pair(sample), "--encoder", encoder, "--picture", picture).returncode == 0
    with Image.open(picture) as drawn:
        assert min(drawn.size) > 300


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("missing.mp4", "missing.mp4"), "missing.mp4: no such file"),
        (("{query}", "{text}"), "text.mp4"),
        (("{query}", "{empty}"), "empty.mp4"),
        (("{query}", "{query}", "--start", "1", "--end", "1"), "span"),
        (("{query}", "{query}", "--start", "100"), "100"),
        (("{query}", "{query}", "--encoder", "nothing"), "no such encoder"),
        (("{query}", "missing.mp4", "--encoder", "nothing"), "missing.mp4: no such file"),
        (("{query}", "{query}", "--anchor", "1=0.5", "--anchor", "0.5=1"), "anchors 0.5=1 and 1=0.5 cross"),
        (("{query}", "{query}", "--picture", "none/x.svg"), "there is no folder none"),
    ],
)
def test_what_is_wrong_is_one_line_and_exit_code_1(
    sample: Sample, encoder: str, tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    (tmp_path / "text.mp4").write_text("not a video")
    (tmp_path / "empty.mp4").touch()
    names = {"query": sample.clips[0].file, "text": tmp_path / "text.mp4", "empty": tmp_path / "empty.mp4"}
    filled = [argument.format(**names) for argument in arguments]
    if "--encoder" not in filled:
        filled += ["--encoder", encoder]
    done = seasync("align", *filled)
    assert done.returncode == 1
    assert said in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not done.stdout


def test_bad_usage_is_exit_code_2(sample: Sample, encoder: str) -> None:
    assert seasync("align").returncode == 2
    assert seasync("align", *pair(sample), "--encoder", encoder, "--anchor", "1-2").returncode == 2


@pytest.mark.weights
def test_real_encoder_is_right_to_a_frame_and_a_half(real_weights: None, sample: Sample) -> None:
    from seasync import align

    query = sample.clips[0]
    match = next(clip for clip in sample.clips[1:] if clip.action == query.action)
    warp = align(query.file, match.file).warp(keep="query")
    assert np.nanmedian(alignment_error(query, match, warp.at, fps=7.5)) <= 1.5
