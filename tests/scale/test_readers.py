"""Who reads a sea at a URI: servers, any number of them; evaluation; training."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path

import pytest
from typer.testing import CliRunner

from seasync.cli import app
from seasync.search import Sea
from seasync.store.objects import objects

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
    from seasync.serve.work import SeaAt

    sea.remove(labels=["circle"])
    sea.rebuild("ivf_rq")
    asked = {"ref": f"clip:{sea.clips()[0].id}", "k": 5}
    with ExitStack() as stack:
        nodes = []
        for n in range(2):
            served = create_app({"small": SeaAt(sea.uri)}, state=tmp_path / f"state{n}")
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
    torch = pytest.importorskip("torch", reason="needs the extra 'torch'")
    torch.set_num_threads(1)
    quick = ["--steps", "4", "--batch", "4", "--width", "16", "--layers", "1", "--json"]
    words = ["train", "nms", "--sea", sea.uri, "--out", str(tmp_path / "trained.onnx"), *quick]
    result = CliRunner().invoke(app, words, catch_exceptions=False)
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)
