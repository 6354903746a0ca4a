"""What a server loads at its start, so that the first visitor does not wait for it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from seasync.encoding import Encoding
from seasync.serve.tasks import SeaLocation, load_encoder
from tests.serve.conftest import Server


def test_the_encoder_runs_once_on_noise(tmp_path: Path, encoder: str) -> None:
    found = load_encoder(SeaLocation(str(tmp_path / "none.sea"), encoder))
    assert isinstance(found, Encoding)
    assert found.streams[0].features.shape[0] > 1


def test_an_encoder_without_its_weights_is_not_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEASYNC_CACHE", str(tmp_path))
    monkeypatch.delenv("SEASYNC_MODELS", raising=False)
    monkeypatch.delenv("SEASYNC_OFFLINE", raising=False)
    assert load_encoder(SeaLocation(str(tmp_path / "none.sea"), "tinyvit-5m")) is None
    assert "SEASYNC_OFFLINE" not in os.environ  # later calls may fetch it


def test_a_server_without_its_encoder_still_starts(tmp_path: Path, start: Callable[..., Server]) -> None:
    server = start(tmp_path / "none.sea", warm=True)
    assert server.client.get("/api/v1").status_code == 200
