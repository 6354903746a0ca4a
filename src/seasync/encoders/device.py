"""What the encoders run on: the execution provider of onnxruntime that really loads."""

import os
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from seasync.encoders.onnx_graph import Nodes
from seasync.errors import DeviceFailed, EncoderError

CPU = "CPUExecutionProvider"
# By the name that users give; "auto" tries them in this order.
PROVIDERS = {
    "cuda": "CUDAExecutionProvider",
    "coreml": "CoreMLExecutionProvider",
    "directml": "DmlExecutionProvider",
    "openvino": "OpenVINOExecutionProvider",
    "cpu": CPU,
}


@dataclass(frozen=True)
class Device:
    """What was asked for, what loaded, and what did not.

    Attributes
    ----------
    name : str
        A key of `PROVIDERS`.
    failures : dict of str to str
        Devices that this onnxruntime was built for and that did not load, with the reason.
    """

    name: str
    failures: dict[str, str] = field(default_factory=dict)

    @property
    def providers(self) -> list[str]:
        """The execution providers for a session, best first."""
        return [PROVIDERS[self.name]] + [CPU] * (self.name != "cpu")

    @property
    def precision(self) -> str:
        """`int8` on the CPU, `fp32` elsewhere: accelerators have no fast path for dynamic 8-bit products."""
        return "int8" if self.name == "cpu" else "fp32"

    @property
    def tokens_at_once(self) -> int:
        """How many patches to send through a transformer at once.

        On the CPU, those of four pictures of 224 pixels. Those of eight take 2 to 8 % more CPU time with one
        thread, and about 3 % less with two.
        """
        return 1028 if self.name == "cpu" else 8224

    def __str__(self) -> str:
        failed = "; ".join(f"{name} failed: {reason}" for name, reason in self.failures.items())
        return f"{self.name} ({failed})" if failed else self.name


def active_device() -> Device:
    """The device that `SEASYNC_DEVICE` names, or the best one that loads.

    A device that this onnxruntime was built for and that does not load is warned of once, with the reason.

    Raises
    ------
    EncoderError
        If `SEASYNC_DEVICE` is no device, the one it names does not load, or `SEASYNC_THREADS` is no number.
    """
    named = os.environ.get("SEASYNC_DEVICE") or "auto"
    if named not in ("auto", *PROVIDERS):
        raise EncoderError(f"SEASYNC_DEVICE={named}: expected auto, {', '.join(PROVIDERS)}")
    allowed_threads()  # else a wrong number looks like a device that does not load
    return _loaded(named)


def open_session(model: Path | bytes, *, spin: bool = False, providers: list[str] | None = None) -> Any:
    """An onnxruntime session for a model.

    Parameters
    ----------
    model : Path or bytes
        The ONNX file, or its content.
    spin : bool
        Let idle threads wait in a loop. They take the cores that decoding needs meanwhile.
    providers : list of str, optional
        Default: those of the active device.
    """
    onnxruntime = load_onnxruntime()
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    if not spin:
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.intra_op_num_threads = allowed_threads()
    given = model if isinstance(model, bytes) else str(model)
    wanted = providers or active_device().providers
    return onnxruntime.InferenceSession(given, options, providers=wanted)


def load_onnxruntime() -> Any:
    """The module, told to report nothing: from 1.31 on it sends events to Microsoft on Linux, too.

    It reads the variable when it is loaded. If you set it yourself, your value stays.
    """
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    return onnxruntime


def allowed_threads() -> int:
    """The threads that `SEASYNC_THREADS` allows; 0 for all cores."""
    given = os.environ.get("SEASYNC_THREADS") or "0"
    if not given.isdecimal():
        raise EncoderError(f"SEASYNC_THREADS={given}: expected a number of threads, such as 2")
    return int(given)


@lru_cache
def _loaded(named: str) -> Device:
    built_for = load_onnxruntime().get_available_providers()
    failures: dict[str, str] = {}
    for name in PROVIDERS if named == "auto" else [named]:
        if PROVIDERS[name] not in built_for:
            failures[name] = f"this onnxruntime is not built for it ({', '.join(built_for)})"
        elif reason := _why_not(PROVIDERS[name]):
            failures[name] = reason
            if named == "auto":
                warnings.warn(
                    f"device {name}: did not load, the next one is used ({reason})",
                    DeviceFailed,
                    stacklevel=3,
                )
        else:
            return Device(name, {n: reason for n, reason in failures.items() if PROVIDERS[n] in built_for})
    reason = failures.get(named, "; ".join(failures.values()))
    raise EncoderError(f"device {named}: did not load ({reason}); install what it needs, or use --device cpu")


def _why_not(provider: str) -> str:
    """Why a provider does not load; empty if it does.

    onnxruntime falls back to the CPU without an exception, and gives the reason on standard error only.
    """
    build = Nodes()
    build.rename("x", "y")
    model = build.model({"x": [1]}, {"y": [1]}).SerializeToString()
    try:
        with captured_stderr() as said:
            wanted = [provider, CPU] if provider != CPU else [CPU]
            loaded = open_session(model, providers=wanted).get_providers()
    except Exception as error:  # noqa: BLE001  onnxruntime's own classes share no base
        return str(error).splitlines()[0]
    if provider in loaded:
        return ""
    lines = [line for line in said if line]
    return next((line for line in lines if provider in line or "rror" in line), "onnxruntime gave no reason")[
        :300
    ]


@contextmanager
def captured_stderr() -> Iterator[list[str]]:
    """Catch what libraries write to standard error from C; the list holds its lines afterwards."""
    said: list[str] = []
    held = os.dup(2)
    with tempfile.TemporaryFile() as caught:
        try:
            os.dup2(caught.fileno(), 2)
            yield said
        finally:
            os.dup2(held, 2)
            os.close(held)
            caught.seek(0)
            said += caught.read().decode(errors="replace").splitlines()
