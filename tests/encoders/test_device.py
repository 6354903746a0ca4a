"""Devices: what is asked for, what loads, and what is said of what does not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from seasync.cli import app
from seasync.encoders import onnx
from seasync.encoders.dinov2 import precision
from seasync.encoders.onnx import CPU, active_device, captured_stderr
from seasync.errors import DeviceFailed, EncoderError
from seasync.options import DeviceName, values


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing remembered, nothing chosen."""
    onnx._loaded.cache_clear()
    for name in ("SEASYNC_DEVICE", "SEASYNC_PRECISION"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def built_for_cuda(monkeypatch: pytest.MonkeyPatch) -> None:
    """An onnxruntime that has CUDA's provider; whether it loads is another matter."""
    import onnxruntime

    monkeypatch.setattr(
        onnxruntime, "get_available_providers", lambda: ["CUDAExecutionProvider", "CPUExecutionProvider"]
    )


def test_the_cpu_always_loads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEASYNC_DEVICE", "cpu")
    assert active_device().providers == [CPU]
    assert precision() == "int8"


@pytest.mark.filterwarnings("ignore:Specified provider")  # this onnxruntime has no such provider to fail
def test_provider_that_fails_is_a_warning_and_the_cpu_runs_in_8_bits(built_for_cuda: None) -> None:
    """As with a CUDA build whose libraries are missing: it was taken for an accelerator, in 32 bits."""
    with pytest.warns(DeviceFailed, match="device cuda: did not load"):
        found = active_device()
    assert found.name == "cpu"
    assert found.precision == "int8"
    assert "cuda failed" in str(found)


def test_provider_that_loads_decides_precision_and_batch(
    built_for_cuda: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(onnx, "_why_not", lambda provider: "")
    found = active_device()
    assert found.providers == ["CUDAExecutionProvider", CPU]
    assert (found.precision, found.tokens_at_once) == ("fp32", 8224)


def test_named_device_that_does_not_load_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEASYNC_DEVICE", "cuda")
    with pytest.raises(EncoderError, match=r"device cuda: did not load \(.*\); .* use --device cpu"):
        active_device()


def test_threads_that_are_no_number_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEASYNC_THREADS", "all")
    with pytest.raises(EncoderError, match="SEASYNC_THREADS=all: expected a number of threads"):
        active_device()


def test_unknown_device_lists_what_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEASYNC_DEVICE", "tpu")
    with pytest.raises(EncoderError, match="SEASYNC_DEVICE=tpu: expected auto, cuda"):
        active_device()


def test_stderr_of_libraries_is_caught() -> None:
    with captured_stderr() as said:
        os.write(2, b"from C\n")
    assert said == ["from C"]


def test_the_options_users_meet_are_the_devices_there_are() -> None:
    assert set(values(DeviceName)) == {"auto", *onnx.PROVIDERS}


def test_device_option_reaches_the_encoders(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEASYNC_DEVICE", "cpu")  # put back afterwards
    missing = CliRunner().invoke(app, ["align", "no.mp4", "such.mp4", "--device", "cuda"])
    assert missing.exit_code != 0
    assert os.environ["SEASYNC_DEVICE"] == "cuda"


def test_onnxruntime_reports_nothing_to_anyone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It keeps what it is going to send, and a number for this machine, in the user's cache folder."""
    monkeypatch.delenv("ORT_DISABLE_TELEMETRY", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    code = "from seasync.encoders.onnx import active_device; print(active_device())"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    assert "cpu" in done.stdout
    assert not [file for file in tmp_path.rglob("*") if "icrosoft" in str(file.relative_to(tmp_path))]
