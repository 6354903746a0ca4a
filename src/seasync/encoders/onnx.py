"""ONNX graphs put together node by node, and what runs them: the execution provider that really loads."""

import os
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from seasync.errors import DeviceFailed, EncoderError
from seasync.files import atomic_write, cache_folder

# The messages that ONNX files consist of, as far as they are read or written here, by protobuf alone.


# name:type=number for each field; a star means that it may come more than once.
_MESSAGES = {
    "ModelProto": "ir_version:int64=1 graph:GraphProto=7 opset_import:*OperatorSetIdProto=8 "
    "metadata_props:*StringStringEntryProto=14",
    "OperatorSetIdProto": "domain:string=1 version:int64=2",
    "StringStringEntryProto": "key:string=1 value:string=2",
    "GraphProto": "node:*NodeProto=1 name:string=2 initializer:*TensorProto=5 input:*ValueInfoProto=11 "
    "output:*ValueInfoProto=12",
    "NodeProto": "input:*string=1 output:*string=2 name:string=3 op_type:string=4 "
    "attribute:*AttributeProto=5",
    "AttributeProto": "name:string=1 f:float=2 i:int64=3 ints:*int64=8 type:int32=20",
    "TensorProto": "dims:*int64=1 data_type:int32=2 float_data:*float=4 name:string=8 raw_data:bytes=9",
    "ValueInfoProto": "name:string=1 type:TypeProto=2",
    "TypeProto": "tensor_type:TensorTypeProto=1",
    "TensorTypeProto": "elem_type:int32=1 shape:TensorShapeProto=2",
    "TensorShapeProto": "dim:*DimensionProto=1",
    "DimensionProto": "dim_value:int64=1 dim_param:string=2",
}
_PACKAGE = "seasync_onnx"
_MAKING = Lock()
_FLOAT, _INT, _INTS = 1, 2, 7  # AttributeProto.AttributeType
_TYPES = {np.dtype(name): number for name, number in (("f4", 1), ("u1", 2), ("i1", 3), ("i4", 6), ("i8", 7))}


def message(name: str) -> Any:
    """The class of a message, such as `ModelProto`."""
    with _MAKING:  # classes of two pools do not fit into each other
        return _classes()[name]


@lru_cache
def _classes() -> dict[str, Any]:
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    file = descriptor_pb2.FileDescriptorProto(name="seasync_onnx.proto", package=_PACKAGE)
    kinds = descriptor_pb2.FieldDescriptorProto
    for name, fields in _MESSAGES.items():
        entry = file.message_type.add(name=name)
        for text in fields.split():
            field, _, rest = text.partition(":")
            kind, _, number = rest.partition("=")
            label = kinds.LABEL_REPEATED if kind.startswith("*") else kinds.LABEL_OPTIONAL
            added = entry.field.add(name=field, number=int(number), label=label)
            kind = kind.removeprefix("*")
            if kind in _MESSAGES:
                added.type, added.type_name = kinds.TYPE_MESSAGE, f".{_PACKAGE}.{kind}"
            else:
                added.type = getattr(kinds, f"TYPE_{kind.upper()}")
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    found = {name: pool.FindMessageTypeByName(f"{_PACKAGE}.{name}") for name in _MESSAGES}
    return {name: message_factory.GetMessageClass(each) for name, each in found.items()}


def tensor(values: NDArray[Any], name: str) -> Any:
    """An array as a `TensorProto`."""
    stored = values.astype(values.dtype.newbyteorder("<"), copy=False)
    return message("TensorProto")(
        name=name, dims=values.shape, data_type=_TYPES[values.dtype], raw_data=stored.tobytes()
    )


def array(stored: Any) -> NDArray[Any]:
    """The array in a `TensorProto`.

    Raises
    ------
    ValueError
        If it is of an unknown type, or its values are not in this file.
    """
    dtype = next((dtype for dtype, number in _TYPES.items() if number == stored.data_type), None)
    if dtype is None:
        raise ValueError(f"{stored.name}: a tensor of type {stored.data_type}, which is not known here")
    if stored.float_data:
        return np.array(stored.float_data, dtype).reshape(stored.dims)
    return np.frombuffer(stored.raw_data, dtype.newbyteorder("<")).reshape(stored.dims)


def attribute(name: str, value: float | list[int]) -> Any:
    """A number, or a list of whole numbers, as an `AttributeProto`."""
    kind = message("AttributeProto")
    if isinstance(value, list):
        return kind(name=name, type=_INTS, ints=value)
    if isinstance(value, int):
        return kind(name=name, type=_INT, i=value)
    return kind(name=name, type=_FLOAT, f=value)


def value_info(name: str, dtype: Any, sizes: list[int | str]) -> Any:
    """An input or output: its type, and its sizes or their names."""
    dimension = message("DimensionProto")
    dims = [
        dimension(dim_value=size) if isinstance(size, int) else dimension(dim_param=size) for size in sizes
    ]
    shape = message("TensorShapeProto")(dim=dims)
    kind = message("TensorTypeProto")(elem_type=_TYPES[np.dtype(dtype)], shape=shape)
    return message("ValueInfoProto")(name=name, type=message("TypeProto")(tensor_type=kind))


def write_model(model: Any, file: Path) -> None:
    """Write an ONNX file, whole or not at all."""
    with atomic_write(file, make_folder=True, error=EncoderError) as part:
        part.write_bytes(model.SerializeToString())


def prepared(name: str, make: Callable[[], Any]) -> Path:
    """The ONNX file of this name in the cache; what `make` gives if it is not there yet."""
    file = cache_folder() / "models" / "prepared" / name
    if not file.is_file():
        write_model(make(), file)
    return file


OPERATORS, FORMAT = 17, 9  # versions of the operator set and of the file format


class Nodes:
    """A graph in the making; a value is known by its name. Networks take their weights, by name too."""

    def __init__(self, weights: Mapping[str, NDArray[Any]] | None = None) -> None:
        self._weights = weights or {}
        self._nodes: list[Any] = []
        self._tensors: list[Any] = []

    def node(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """Add a node and return the name of its output."""
        name = f"{kind}{len(self._nodes)}"
        self._add(kind, inputs, [name], **attributes)
        return name

    def constant(self, values: ArrayLike) -> str:
        """Add a constant and return its name."""
        name = f"constant{len(self._tensors)}"
        self._tensors.append(tensor(np.array(values), name))
        return name

    def split(self, value: str, count: int) -> list[str]:
        """Cut a value into equal parts along its last axis and return their names."""
        names = [f"Split{len(self._nodes)}.{part}" for part in range(count)]
        self._add("Split", [value], names, axis=-1)
        return names

    def quantize(self, value: str) -> list[str]:
        """Bring a value to 8 bits by its own range; return the names of the result, its step and its zero."""
        names = [f"Quantize{len(self._nodes)}.{part}" for part in ("values", "step", "zero")]
        self._add("DynamicQuantizeLinear", [value], names)
        return names

    def rename(self, value: str, name: str) -> None:
        """Give a value the name by which callers ask for it."""
        self._add("Identity", [value], [name])

    def model(
        self,
        inputs: Mapping[str, Sequence[Any]],
        outputs: Mapping[str, Sequence[Any]],
        kinds: Mapping[str, DTypeLike] | None = None,
    ) -> Any:
        """The model with these inputs and outputs, by name and shape; `kinds`: types that are not float."""
        kinds = kinds or {}
        graph = message("GraphProto")(
            name="seasync",
            node=self._nodes,
            initializer=self._tensors,
            input=[
                value_info(name, kinds.get(name, np.float32), list(sizes)) for name, sizes in inputs.items()
            ],
            output=[value_info(name, np.float32, list(sizes)) for name, sizes in outputs.items()],
        )
        operators = message("OperatorSetIdProto")(domain="", version=OPERATORS)
        return message("ModelProto")(ir_version=FORMAT, graph=graph, opset_import=[operators])

    def _add(self, kind: str, inputs: Sequence[str], outputs: Sequence[str], **attributes: Any) -> None:
        given = [attribute(name, value) for name, value in sorted(attributes.items())]
        self._nodes.append(message("NodeProto")(op_type=kind, input=inputs, output=outputs, attribute=given))


# By the name that users give; "auto" tries them in this order.
_DEVICES = {"cuda": "CUDA", "coreml": "CoreML", "directml": "Dml", "openvino": "OpenVINO", "cpu": "CPU"}
PROVIDERS = {name: f"{device}ExecutionProvider" for name, device in _DEVICES.items()}
CPU = PROVIDERS["cpu"]


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
