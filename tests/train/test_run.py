"""`seasync train` from videos and from a sea, and what comes of it used as an encoder."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from seasync.cli import app
from seasync.encoders import encode_clip, get_encoder
from seasync.errors import EncoderError
from seasync.sea.sea import Sea
from tests.encoders.models import colour_grid, token_grid
from tests.train.footage import sliding_squares

torch = pytest.importorskip("torch", reason="needs the extra 'train'")

QUICK = ["--steps", "4", "--batch", "4", "--width", "16", "--layers", "1", "--json"]


@pytest.fixture
def videos(tmp_path: Path) -> Path:
    return sliding_squares(tmp_path / "videos")


@pytest.fixture
def encoder(tmp_path: Path) -> str:
    return f"onnx:{token_grid(tmp_path / 'frames.onnx')}"


def train(*arguments: object) -> dict[str, object]:
    torch.set_num_threads(1)
    result = CliRunner().invoke(app, ["train", *map(str, arguments), *QUICK], catch_exceptions=False)
    assert result.exit_code == 0, result.stderr
    said: dict[str, object] = json.loads(result.stdout)
    return said


@pytest.mark.parametrize("kind", ["nms", "carl", "taught"])
def test_a_model_trained_on_videos_is_an_encoder_like_any_other(
    tmp_path: Path, videos: Path, encoder: str, kind: str
) -> None:
    said = train(kind, videos, "--encoder", encoder, "--out", tmp_path / "m.onnx")
    assert (said["training_clips"], said["held_out_clips"], said["steps"]) == (5, 1, 4)
    name = f"{encoder}+{kind}:{tmp_path / 'm.onnx'}"
    encoding = encode_clip(videos / "0.mp4", name)
    assert encoding.features.shape[1] == get_encoder(name).dimension
    assert get_encoder(f"{kind}:{tmp_path / 'm.onnx'}").fingerprint == get_encoder(name).fingerprint
    sea = Sea(tmp_path / "new.sea", name)
    sea.add(videos)
    assert len(sea.search(videos / "0.mp4")) == 5


def test_training_on_a_sea_reads_its_record(tmp_path: Path, videos: Path, encoder: str) -> None:
    sea = Sea(tmp_path / "old.sea", encoder)
    sea.add(videos)
    for video in videos.iterdir():  # what is learned is in the record, not in the files
        video.rename(video.with_suffix(".gone"))
    said = train("nms", "--sea", tmp_path / "old.sea", "--out", tmp_path / "m.onnx")
    assert said["training_clips"] == 5
    assert said["encoder"] == encoder


def test_a_sea_takes_no_other_encoder(tmp_path: Path, videos: Path, encoder: str) -> None:
    Sea(tmp_path / "old.sea", encoder).add(videos)
    other = f"onnx:{colour_grid(tmp_path / 'other.onnx')}"
    with pytest.raises(EncoderError, match="a sea has one encoder"):
        train("nms", "--sea", tmp_path / "old.sea", "--encoder", other, "--out", tmp_path / "m.onnx")


def test_training_uses_the_leading_stream(tmp_path: Path, videos: Path, encoder: str) -> None:
    """Whatever taught it, the model stands on the leading encoder alone, and takes others beside it."""
    beside = f"onnx:{colour_grid(tmp_path / 'beside.onnx')}"
    both, file = f"{encoder}+{beside}", tmp_path / "m.onnx"
    Sea(tmp_path / "two.sea", both).add(videos)
    of_sea = train("taught", "--sea", tmp_path / "two.sea", "--out", file)
    of_videos = train("taught", videos, "--encoder", both, "--out", tmp_path / "n.onnx")
    assert of_sea["encoder"] == of_videos["encoder"] == encoder
    alone = encode_clip(videos / "0.mp4", f"{encoder}+taught:{file}")
    joined = encode_clip(videos / "0.mp4", f"{encoder}+taught:{file}+{beside}")
    assert [stream.name for stream in joined.streams] == [f"{encoder}+taught:{file}", beside]
    np.testing.assert_array_equal(joined.features, alone.features)
    with pytest.raises(EncoderError, match="other clips or settings"):
        train("taught", videos, "--encoder", encoder, "--out", tmp_path / "n.onnx")


def test_views_are_encoded_and_drawn_from(tmp_path: Path, videos: Path, encoder: str) -> None:
    plain = train("nms", videos, "--encoder", encoder, "--out", tmp_path / "plain.onnx", "--views", 0)
    viewed = train("nms", videos, "--encoder", encoder, "--out", tmp_path / "viewed.onnx")
    assert plain["history"] != viewed["history"]


def test_views_of_a_clip_differ_from_it_and_from_each_other(videos: Path, encoder: str) -> None:
    from seasync.train.clips import View

    looks = [encode_clip(videos / "0.mp4", View(get_encoder(encoder), n)) for n in (0, 1)]
    plain = encode_clip(videos / "0.mp4", encoder)
    assert np.abs(looks[0].features - plain.features).max() > 0.1
    assert np.abs(looks[0].features - looks[1].features).max() > 0.1
    again = encode_clip(videos / "0.mp4", View(get_encoder(encoder), 1), cache=False)
    np.testing.assert_array_equal(again.features, looks[1].features)
    assert len({plain.encoder, looks[0].encoder, looks[1].encoder}) == 3


def test_a_finished_training_is_not_done_again(tmp_path: Path, videos: Path, encoder: str) -> None:
    first = train("nms", videos, "--encoder", encoder, "--out", tmp_path / "m.onnx")
    assert train("nms", videos, "--encoder", encoder, "--out", tmp_path / "m.onnx") == first
    anew = train("nms", videos, "--encoder", encoder, "--out", tmp_path / "m.onnx", "--restart")
    assert anew == first


@pytest.mark.parametrize("kind", ["nms", "carl", "taught"])
def test_weights_that_learned_nothing_are_called_untrained(
    tmp_path: Path, videos: Path, encoder: str, kind: str
) -> None:
    """At a rate of nothing no step can score higher than what there was before the first."""
    arguments = ["train", kind, str(videos), "--encoder", encoder, "--out", str(tmp_path / "m.onnx")]
    run = partial(CliRunner().invoke, app, catch_exceptions=False)
    said = run([*arguments, *QUICK[:-1], "--rate", "1e-30"]).stdout
    assert "at step 0" in said
    assert "nothing was learned" in said
    assert "use it" not in said
    asked = run([*arguments, *QUICK[2:-1], "--steps", "0", "--restart"]).stdout
    assert "nothing was learned" not in asked, "nothing was to be"
    assert "untrained, it is a control" in asked


def test_a_model_on_other_features_is_refused(tmp_path: Path, videos: Path, encoder: str) -> None:
    train("nms", videos, "--encoder", encoder, "--out", tmp_path / "m.onnx")
    other = f"onnx:{colour_grid(tmp_path / 'other.onnx')}"
    with pytest.raises(EncoderError, match="trained on features of"):
        get_encoder(f"{other}+nms:{tmp_path / 'm.onnx'}")
    with pytest.raises(EncoderError, match="holds a model of kind nms, not carl"):
        get_encoder(f"{encoder}+carl:{tmp_path / 'm.onnx'}")
    with pytest.raises(EncoderError, match="not a temporal model"):
        get_encoder(f"{encoder}+nms:{tmp_path / 'other.onnx'}")


def test_bad_usage_is_reported(tmp_path: Path) -> None:
    run = CliRunner().invoke
    assert run(app, ["train", "nms", "--out", "m.onnx"]).exit_code == 2
    assert run(app, ["train", "other", "a.mp4", "--out", "m.onnx"]).exit_code == 2
    with pytest.raises(EncoderError, match=r"name it something\.onnx"):
        run(app, ["train", "nms", "a.mp4", "--out", "m.pt"], catch_exceptions=False)
