"""Re-encoding: a new sea of the same clips with another encoder, resumable; the old one stays."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from seasync.cli import app
from seasync.errors import SeaError
from seasync.sea.copies import reencode_from_videos
from seasync.sea.sea import Sea
from tests.encoders.models import colour_grid, token_grid
from tests.train.footage import sliding_squares


@pytest.fixture
def sea(tmp_path: Path) -> Sea:
    made = Sea(tmp_path / "old.sea", f"onnx:{colour_grid(tmp_path / 'old.onnx')}")
    made.add(sliding_squares(tmp_path / "videos", 5), tags=["kept"])
    return made


def test_all_clips_come_with_what_is_known_of_them(tmp_path: Path, sea: Sea) -> None:
    model = token_grid(tmp_path / "new.onnx")
    words = [
        "sea",
        "reencode",
        "--sea",
        sea.uri,
        "--to",
        str(tmp_path / "new.sea"),
        "--encoder",
        f"onnx:{model}",
    ]
    result = CliRunner().invoke(app, words, catch_exceptions=False)
    assert result.exit_code == 0
    assert "5 clips" in result.stdout
    new = Sea(tmp_path / "new.sea")
    assert [(c.id, c.file, c.label) for c in new.clips()] == [(c.id, c.file, c.label) for c in sea.clips()]
    assert len(new.search(tmp_path / "videos/0.mp4")) == 4
    assert new.verify() == []
    assert sea.encoder().fingerprint != new.encoder().fingerprint


def test_an_interruption_is_resumed(tmp_path: Path, sea: Sea, monkeypatch: pytest.MonkeyPatch) -> None:
    new = Sea(tmp_path / "new.sea", f"onnx:{token_grid(tmp_path / 'new.onnx')}")
    monkeypatch.setattr("seasync.sea.copies.OFTEN", 2)
    seen: list[tuple[int, int]] = []

    def stop(done: int, total: int) -> None:
        seen.append((done, total))
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        reencode_from_videos(sea, new, progress=stop)
    assert len(new) == 2
    reencode_from_videos(sea, new, progress=lambda *said: seen.append(said))
    assert len(new) == 5
    assert seen[-1] == (2, 3)


def test_a_video_that_is_gone_is_left_out_and_named(tmp_path: Path, sea: Sea) -> None:
    (tmp_path / "videos/2.mp4").unlink()
    new = Sea(tmp_path / "new.sea", f"onnx:{token_grid(tmp_path / 'new.onnx')}")
    (failure,) = reencode_from_videos(sea, new)
    assert "2.mp4" in failure
    assert len(new) == 4


def test_the_same_encoder_has_nothing_to_do(tmp_path: Path, sea: Sea) -> None:
    with pytest.raises(SeaError, match=r"is already encoded by"):
        reencode_from_videos(sea, Sea(tmp_path / "new.sea", sea.encoder()))
