"""Who reads a sea at a URI: servers, any number of them; evaluation; training."""

from __future__ import annotations

import json
import shutil
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from seasync.cli import app
from seasync.encoders import get_encoder
from seasync.encoders.registry import loaded
from seasync.errors import SeaError, SeasyncError
from seasync.files.store import objects, write
from seasync.sea.sea import Sea
from tests.encoders.models import token_grid
from tests.scale.test_uri import upload
from tests.train.footage import sliding_squares

pytestmark = pytest.mark.cluster


@pytest.fixture
def sea(bucket: str, clips: Path, encoder: str) -> Sea:
    sea = Sea(f"{bucket}/small.sea", encoder)
    sea.add(clips, labels="folder")
    return sea


def test_servers_of_one_uri_answer_alike_and_see_what_is_added(sea: Sea, tmp_path: Path) -> None:
    pytest.importorskip("fastapi")
    from fastapi.testclient import TestClient

    from seasync.serve import create_app
    from seasync.serve.tasks import SeaLocation

    sea.remove(labels=["circle"])
    sea.rebuild("ivf_rq")
    asked = {"ref": f"clip:{sea.clips()[0].id}", "k": 5}
    with ExitStack() as stack:
        nodes = []
        for n in range(2):
            served = create_app({"small": SeaLocation(sea.uri)}, state=tmp_path / f"state{n}")
            client = TestClient(served, base_url="http://127.0.0.1:8080")
            nodes.append(stack.enter_context(client))
        answers = [search(node, asked) for node in nodes]
        assert answers[0] == answers[1]
        assert len(answers[0]) == 5
        sea.add(sea.clips()[0].file.replace("bounce/002", "circle/000"))
        assert [node.get("/api/v1/seas/small").json()["clips"] for node in nodes] == [7, 7]
        answers = [search(node, asked | {"k": 10}) for node in nodes]
        assert answers[0] == answers[1]
        assert len(answers[0]) == 6
    assert objects(f"{sea.uri}/_writers") == []


def search(node, asked: dict[str, object]) -> list[str]:  # type: ignore[no-untyped-def, type-arg]
    answer = node.post("/api/v1/seas/small/search", json={"query": {"ref": asked["ref"]}, "k": asked["k"]})
    assert answer.status_code == 200, answer.text
    return [match["clip"]["id"] for match in answer.json()["matches"]]


def test_evaluation_reads_a_sea(sea: Sea) -> None:
    result = CliRunner().invoke(app, ["evaluate", "rerank", sea.uri, "--json"], catch_exceptions=False)
    assert result.exit_code == 0, result.stderr
    content = json.loads(result.stdout)
    assert content["rows"][0]["R@1"] is not None


def test_training_reads_a_sea(sea: Sea, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="needs the extra 'train'")
    torch.set_num_threads(1)
    quick = ["--steps", "4", "--batch", "4", "--width", "16", "--layers", "1", "--json"]
    words = ["train", "nms", "--sea", sea.uri, "--out", str(tmp_path / "trained.onnx"), *quick]
    result = CliRunner().invoke(app, words, catch_exceptions=False)
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)


ADAPT = ["--steps", "4", "--width", "16", "--layers", "1", "--held-out", "0.5", "--json"]


@pytest.mark.parametrize("recipe", ["motion", "paper"])  # by which the answer is no, and yes
@pytest.mark.parametrize("place", ["uri", "disk"])
def test_a_sea_is_adapted_whose_videos_lie_on_the_store(
    bucket: str, tmp_path: Path, place: str, recipe: str
) -> None:
    """Planted truth needs the videos; what was learned lies beside the new sea, for all who search it."""
    torch = pytest.importorskip("torch", reason="needs the extra 'train'")
    torch.set_num_threads(1)
    upload(sliding_squares(tmp_path / "videos", 8), f"{bucket}/videos")
    home = bucket if place == "uri" else str(tmp_path)
    sea = Sea(f"{home}/old.sea", f"onnx:{token_grid(tmp_path / 'frames.onnx')}")
    sea.add(f"{bucket}/videos")
    words = ["sea", "adapt", "--sea", sea.uri, "--to", f"{home}/new.sea", "--recipe", recipe, *ADAPT]
    result = CliRunner().invoke(app, words, catch_exceptions=False)
    assert (result.exit_code, result.stderr) == (0, "")
    said = json.loads(result.stdout)
    assert said["judged"] == 4
    assert said["planted"] is not None
    assert said["better"] == Sea(f"{home}/new.sea").exists()
    learned = f"{sea.encoder().name}+taught:{home}/new.onnx"
    if said["better"]:
        assert get_encoder(learned).name == learned
    else:
        with pytest.raises(SeasyncError, match=r"new\.onnx"):
            get_encoder(learned)
    assert json.loads(CliRunner().invoke(app, words, catch_exceptions=False).stdout) == said


def test_an_adapted_sea_at_a_uri_is_searched_by_nodes_that_did_not_train_it(
    bucket: str, tmp_path: Path, own_cache: Path
) -> None:
    torch = pytest.importorskip("torch", reason="needs the extra 'train'")
    torch.set_num_threads(1)
    from seasync.train import TrainingPlan, train_on
    from seasync.train.adapt import reencode

    sea = Sea(f"{bucket}/old.sea", f"onnx:{token_grid(tmp_path / 'frames.onnx')}")
    sea.add(sliding_squares(tmp_path / "videos", 8))
    train_on(
        sea,
        kind="taught",
        file=tmp_path / "new.onnx",
        plan=TrainingPlan(steps=4),
        size={"width": 16, "layers": 1},
    )
    write(f"{bucket}/new.onnx", (tmp_path / "new.onnx").read_bytes())
    learned: Any = get_encoder(f"{sea.encoder().name}+taught:{bucket}/new.onnx")
    reencode(sea, Sea(f"{bucket}/learned.sea", learned), learned.over, None)
    shutil.rmtree(own_cache)
    loaded.cache_clear()
    node = Sea(f"{bucket}/learned.sea")
    assert node.encoder().name.endswith(f"+taught:{bucket}/new.onnx")
    assert len(node.search(tmp_path / "videos/0.mp4")) == 7
    assert node.verify() == []


def test_a_store_that_refuses_the_new_sea_says_so_before_training(
    bucket: str, tmp_path: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch", reason="needs the extra 'train'")
    sea = Sea(tmp_path / "old.sea", f"onnx:{token_grid(tmp_path / 'frames.onnx')}")
    sea.add(sliding_squares(tmp_path / "videos", 5))
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    words = ["sea", "adapt", "--sea", sea.uri, "--to", f"{bucket}/new.sea", *ADAPT]
    result = CliRunner().invoke(app, words)
    assert isinstance(result.exception, SeaError)
    assert "refuses these credentials" in str(result.exception)
    assert not (own_cache / "adapt").exists()
