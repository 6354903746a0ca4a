"""The commands around a sea."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from seasync.cli import main
from tests.sea.footage import video


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):  # type: ignore[no-untyped-def]
    """Run a command on the sea `tmp_path/s.sea`: (exit code, stdout, stderr)."""
    monkeypatch.setenv("SEASYNC_SEA", str(tmp_path / "s.sea"))

    def run(*words: object) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["seasync", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
        return int(ended.value.code or 0), *capsys.readouterr()

    return run


@pytest.mark.parametrize("where", ["durration < 10", "duration <", "duration", "label = 3", ""])
def test_a_condition_that_is_none_is_told_with_the_columns(
    run,  # type: ignore[no-untyped-def]
    clips: Path,
    encoder: str,
    where: str,
) -> None:
    run("add", clips / "dive", "--encoder", encoder)
    for command in (["search", clips / "dive/001.mp4"], ["sea", "list"]):
        code, _, err = run(*command, "--where", where)
        assert (code, err.count("\n")) == (1, 1)
        assert repr(where) in err
        assert "duration, fps, frames, label" in err
        assert "such as" in err


def test_without_labels_their_column_makes_room_for_names(run, clips: Path, encoder: str) -> None:  # type: ignore[no-untyped-def]
    run("add", clips, "--encoder", encoder)
    assert "label" not in run("search", clips / "dive/001.mp4")[1]


def test_a_sea_does_not_begin_among_other_things(run, clips: Path, encoder: str, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    other = tmp_path / "photos"
    (other / "data").mkdir(parents=True)
    before = sorted(other.rglob("*"))
    for place, what in ((other, "other things"), (clips / "dive/001.mp4", "a file")):
        code, _, err = run("add", clips / "dive", "--encoder", encoder, "--sea", place)
        assert (code, err.count("\n")) == (1, 1)
        assert f"{place}: a" in err
        assert what in err
        assert "name a new place" in err
    assert sorted(other.rglob("*")) == before
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty/.DS_Store").touch()
    assert run("add", clips / "dive", "--encoder", encoder, "--sea", tmp_path / "empty")[0] == 0


def test_from_a_folder_to_matches(run, clips: Path, encoder: str, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    code, out, _ = run("add", clips, "--encoder", encoder, "--labels", "folder")
    assert (code, "9 clips added" in out) == (0, True)
    assert "9 already there" in run("add", clips)[1]
    code, out, _ = run("search", clips / "dive/001.mp4", "-k", "2")
    assert code == 0
    assert "align" in out.splitlines()[0]
    assert out.count("dive") >= 2
    assert "label" in out
    assert all(f"{clips}/dive/{name}.mp4" in out.split() for name in ("004", "007"))  # however long, in one
    found = json.loads(run("search", clips / "dive/001.mp4", "--recipe", "paper", "--json")[1])
    assert (found["recipe"], found["candidates"], len(found["matches"])) == ("paper", 8, 8)
    both = json.loads(run("search", clips / "dive/001.mp4", clips / "dive/004.mp4", "--json")[1])
    assert len(both) == 2
    assert (
        "Every candidate was left out"
        in run("search", clips / "dive/001.mp4", "--max-draq", "0", "--where", "label = 'circle'")[1]
    )
    assert json.loads(run("sea", "info", "--json")[1])["clips"] == 9
    assert "9 clips of 9 files" in run("sea", "info")[1]
    clip = run("sea", "list", "--label", "dive", "--limit", "1")[1].split()
    assert clip[1] == "dive"
    assert "no problems" in run("sea", "verify")[1]
    assert "1 clip removed" in run("sea", "remove", "--clip", clip[0])[1]
    assert "index exact" in run("sea", "rebuild")[1]


def test_what_goes_wrong_is_one_line_and_an_exit_code(run, tmp_path: Path, encoder: str) -> None:  # type: ignore[no-untyped-def]
    assert run("search", "x.mp4")[0] == 1
    code, _, said = run("sea", "info")
    assert (code, said.count("\n")) == (1, 1)
    assert "no sea here" in said
    video(tmp_path / "f/good.mp4")
    (tmp_path / "f/bad.mp4").write_text("no video")
    code, out, said = run("add", tmp_path / "f", "--encoder", encoder)
    assert (code, "1 clip added" in out, "bad.mp4" in said) == (1, True, True)
    report = json.loads(run("add", tmp_path / "f", "--json")[1])
    assert (report["present"], len(report["failed"])) == (1, 1)
    assert run("add", tmp_path / "f", "--split", "sometimes")[0] == 1
    assert run("sea", "remove")[0] == 2
    assert run("search", "x.mp4", "--rerank", "best")[0] == 2
    assert run("calibrate")[0] == 1
    (tmp_path / "f/good.mp4").unlink()
    code, out, _ = run("sea", "verify")
    assert (code, "1 problem\n" in out) == (1, True)
    assert run("sea", "relocate", "--root", tmp_path)[0] == 1
