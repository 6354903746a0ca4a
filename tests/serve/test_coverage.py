"""Every route has examples that its own schema allows, and a call of the typed client."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import jsonschema
import pytest

from seasync.errors import ServeError
from seasync.serve import Client, create_app, models
from seasync.serve.client import Connection

ID = "5f0c3a1e9b7d4c2e8a6f1b3d5e7c9a0b"


@pytest.fixture(scope="module")
def schema(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("none")
    app = create_app({"none": folder / "none.sea"}, state=folder / "state")
    found: dict[str, Any] = app.openapi()
    app.state.backend.close()
    return found


def operations(schema: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, item in schema["paths"].items():
        for method, operation in item.items():
            yield method.upper(), path, operation


def test_every_example_is_one_that_the_schema_allows(schema: dict[str, Any]) -> None:
    seen = 0
    for method, path, operation in operations(schema):
        examples = [(one["schema"], one["example"]) for one in operation.get("parameters", ())]
        good = [answer for code, answer in operation["responses"].items() if code < "3"]
        for part in (operation.get("requestBody", {}), *good):
            content = part.get("content", {}).get("application/json", {})
            examples += [(content["schema"], content["example"])] if content.get("schema") else []
        for form, example in examples:
            jsonschema.validate(example, form | {"components": schema["components"]})
            seen += 1
        assert examples or path == "/api/v1/jobs/events", f"{method} {path}"
    assert seen > 100


def samples(folder: Path) -> dict[str, Any]:
    """Arguments of the client's calls, by their names."""
    (folder / "video.mp4").write_bytes(b"0")
    request = models.AlignmentRequest(query=f"clip:{ID}", match=f"clip:{ID}")
    job = models.JobForm(
        id=ID, kind="film", sea="none", title="", state="done", attempts=1, progress=1, message="",
        error=None, result=None, created=0, started=0, ended=0,
    )  # fmt: skip
    kept = models.Comparison(
        id=ID, name="", sea="-", alignment=request, videos={"query": "", "match": ""}, created=0, changed=0
    )
    return {
        "sea": "none", "name": "new", "clip": ID, "upload": ID, "query": f"clip:{ID}", "match": f"clip:{ID}",
        "same": True,
        "ref": f"clip:{ID}", "form": "otio", "anchors": [], "marks": [], "drawings": [], "at": [0.5],
        "file": folder / "video.mp4", "comparison": kept, "job": job, "request": request,
    }  # fmt: skip


def _use(call: Callable[..., Any], *given: Any) -> None:
    found = call(*given)
    if inspect.isgenerator(found):
        list(found)


def test_the_client_has_a_call_for_every_route(
    schema: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: set[tuple[str, str]] = set()

    def answer(request: httpx.Request) -> httpx.Response:
        asked.add((request.method, request.url.path))
        return httpx.Response(500, json={"detail": "only asked"})

    known, grid = samples(tmp_path), models.GridRequest(leader=f"clip:{ID}", followers=[f"clip:{ID}"])
    with Client("http://127.0.0.1:1") as client:
        http: Connection = client.jobs.__self__._http  # type: ignore[attr-defined]
        http._http = httpx.Client(base_url="http://127.0.0.1:1", transport=httpx.MockTransport(answer))
        for part in (client, client.bodies, client.comparisons, client.labeling):
            for name, call in inspect.getmembers(part, inspect.ismethod):
                if name.startswith("_"):
                    continue
                given = known | {"request": grid} if name == "grid_film" else dict(known)
                if name in ("job", "get"):
                    given |= {"job": ID, "comparison": ID}
                if name == "carry":
                    given["marks"] = None
                needed = [
                    one.name
                    for one in inspect.signature(call).parameters.values()
                    if one.default is one.empty and one.kind is not one.VAR_KEYWORD
                ]
                with pytest.raises(ServeError, match="only asked"):
                    _use(call, *(given[one] for one in needed))
    routes = {
        (method, path, re.compile(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(path)) + "$"))
        for method, path, _ in operations(schema)
    }
    left = {
        f"{method} {path}"
        for method, path, form in routes
        if not any(method == how and form.match(where) for how, where in asked)
    }
    assert not left
