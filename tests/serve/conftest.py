"""A small sea and servers of it."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")

from fastapi.testclient import TestClient

from seasync.sea.sea import Sea
from seasync.serve import create_app
from seasync.serve.backend import Backend
from seasync.serve.tasks import SeaLocation
from tests.encoders.models import colour_grid
from tests.serve.films import footage

ADDRESS = "http://127.0.0.1:8080"


@pytest.fixture(scope="session")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return f"onnx:{colour_grid(tmp_path_factory.mktemp('model') / 'tiny.onnx')}"


@pytest.fixture(scope="session")
def films(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """right/a.mp4 … arc/c.mp4"""
    return footage(tmp_path_factory.mktemp("footage").resolve())


@pytest.fixture(scope="session")
def made_sea(tmp_path_factory: pytest.TempPathFactory, films: Path, encoder: str) -> Path:
    """Never written to: tests get copies."""
    place = tmp_path_factory.mktemp("seas") / "small.sea"
    Sea(place, encoder).add(films, labels="folder")
    return place


@pytest.fixture
def sea(tmp_path: Path, made_sea: Path) -> Path:
    """A copy to write to."""
    return shutil.copytree(made_sea, tmp_path / "small.sea")


class Server:
    """An application under test, its client, and where its things lie."""

    def __init__(self, client: TestClient, sea: Path, state: Path) -> None:
        self.client, self.sea, self.state = client, sea, state

    @property
    def backend(self) -> Backend:
        """What the routes of the application share."""
        found: Backend = self.client.app.state.backend  # type: ignore[attr-defined]
        return found

    def clip(self, name: str) -> str:
        """The reference of a clip, by a part of its file's name."""
        found = self.client.get("/api/v1/seas/small/clips", params={"text": name}).json()["clips"]
        assert len(found) == 1, found
        return str(found[0]["ref"])

    def wait(self, job: dict[str, Any]) -> dict[str, Any]:
        """The job when it is over."""
        with self.client.stream("GET", "/api/v1/jobs/events", params={"job": job["id"]}) as answer:
            for _ in answer.iter_lines():
                pass
        found: dict[str, Any] = self.client.get(f"/api/v1/jobs/{job['id']}").json()
        return found

    def upload(self, file: Path, name: str | None = None) -> Any:
        return self.client.post(
            "/api/v1/uploads", params={"name": name or file.name}, content=file.read_bytes()
        )

    def files(self) -> set[str]:
        """All that lies in the state folder, but its database."""
        found = (file for file in self.state.rglob("*") if file.is_file())
        return {str(file.relative_to(self.state)) for file in found if "state.sqlite" not in file.name}


@contextmanager
def running(sea: Path, state: Path, encoder: str, **options: Any) -> Iterator[Server]:
    options = {"warm": False} | options  # most tests need little of what a warm-up loads
    app = create_app({"small": SeaLocation(str(sea), encoder)}, state=state, **options)
    with TestClient(app, base_url=ADDRESS, raise_server_exceptions=False) as client:
        yield Server(client, sea, state)


@pytest.fixture(scope="session")
def served(
    tmp_path_factory: pytest.TempPathFactory, made_sea: Path, films: Path, encoder: str
) -> Callable[..., AbstractContextManager[Any]]:
    """Serves a copy of the sea, with a cache of its own: `with served(running)`, `with served(live)`."""

    @contextmanager
    def serve(how: Callable[..., AbstractContextManager[Any]], **options: Any) -> Iterator[Any]:
        folder = tmp_path_factory.mktemp("served")
        sea = shutil.copytree(made_sea, folder / "small.sea")
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("SEASYNC_CACHE", str(folder / "cache"))
            with how(sea, folder / "state", encoder, roots=[films], **options) as it:
                yield it

    return serve


@pytest.fixture(scope="session")
def server(served: Callable[..., AbstractContextManager[Server]]) -> Iterator[Server]:
    """One for all tests that leave the sea's clips as they are."""
    with served(running) as server:
        yield server


@pytest.fixture
def start(tmp_path: Path, encoder: str) -> Iterator[Callable[..., Server]]:
    """Starts servers of a test's own: `start(sea, token=…)`."""
    with ExitStack() as stack:

        def begin(sea: Path, *, state: Path | None = None, **options: Any) -> Server:
            state = state or Path(tempfile.mkdtemp(dir=tmp_path, prefix="state"))
            return stack.enter_context(running(sea, state, encoder, **options))

        yield begin
