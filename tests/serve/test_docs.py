"""The examples of docs/api.md do what they say."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from seasync.sea.sea import Sea
from tests.serve.films import film, pace
from tests.serve.live import process

SERVED = ["--sea", "footage.sea", "--root", "clips", "--state", "state"]
PAGE = Path(__file__).parents[2] / "docs" / "api.md"


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S)


@pytest.fixture
def place(tmp_path: Path, films: Path, encoder: str) -> Path:
    """A folder as a reader may have it: a sea of windows of films, which have names of their own."""
    for folder, name in (("right", "swings"), ("arc", "throws")):
        shutil.copytree(films / folder, tmp_path / "clips" / name)
    Sea(tmp_path / "footage.sea", encoder).add(tmp_path / "clips", split=1.0)
    film(tmp_path / "query.mp4", pace(40, bend=0.4), action="arc", tint=5)
    for number in range(2):
        film(tmp_path / "clips" / "more" / f"{number}.mp4", pace(30 + number), action="left")
    return tmp_path


def test_the_examples_of_the_api_run(place: Path) -> None:
    if not (shutil.which("curl") and shutil.which("jq")):
        pytest.skip("no curl or no jq here")
    script = "set -euo pipefail\n" + "\n".join(blocks("sh"))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        with process(*SERVED) as (_, address):
            asked = script.replace("http://127.0.0.1:8080/", address.partition("?")[0])
            assert asked != script
            told = subprocess.run(["bash", "-c", asked], capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stderr
    assert "null" not in told.stdout.splitlines()
    assert '["done",2,[]]' in told.stdout
    for name, beginning in {
        "cost.npy": b"\x93NUMPY",
        "cost.png": b"\x89PNG",
        "frame.jpg": b"\xff\xd8",
    }.items():
        assert (place / name).read_bytes().startswith(beginning)
    assert (place / "first-kilobyte").stat().st_size == 1024
    assert b"OTIO_SCHEMA" in (place / "sync.otio").read_bytes()
    assert (place / "film.mp4").stat().st_size > 5000


def test_the_example_in_python_runs(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = blocks("python")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        with process(*SERVED) as (_, address):
            exec(code.replace("http://127.0.0.1:8080", address), {})
    assert "aligns" in capsys.readouterr().out
    assert (place / "overlay.mp4").stat().st_size > 5000
