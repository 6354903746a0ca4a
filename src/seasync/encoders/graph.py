"""The DINOv2 graph as it is run here: ending at its tokens, at any input size, in 8 bits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from seasync.encoders.weights import DINOV2_SMALL, cache_folder, fetch
from seasync.errors import EncoderError
from seasync.files import atomic_write

PATCH = 14
_TOKENS = "/norm/Add_1_output_0"  # (B, 1 + patches, 384): class token, then patches row by row
_POSITION_SCALES = "/Constant_11_output_0"  # scales by which the 37×37 position table is resized
_POSITIONS = 37
_FORM = 1  # raised when the same weights are prepared in another way


def dinov2_graph(size: int, *, precision: str) -> Path:
    """The prepared ONNX file for square input of `size` pixels; made once and kept in the cache."""
    if size % PATCH or not 56 <= size <= 518:
        raise EncoderError(
            f"dinov2-small@{size}: the input size must be a multiple of {PATCH} from 56 to 518"
        )
    name = f"dinov2_vits14-{DINOV2_SMALL.sha256[:8]}-{size}-{precision}-{_FORM}.onnx"
    file = cache_folder() / "models" / "prepared" / name
    if not file.is_file():
        _prepare(fetch(DINOV2_SMALL), file, size, precision)
    return file


def _prepare(source: Path, target: Path, size: int, precision: str) -> None:
    import onnx

    model = onnx.load(source)
    _end_at(model.graph, _TOKENS)
    if size != 224:
        _resize_input(model.graph, size)
    with atomic_write(target, make_folder=True, error=EncoderError) as part:
        if precision == "int8":
            _quantize(model, part)
        else:
            onnx.save(model, part)


def _end_at(graph: Any, output: str) -> None:
    """Keep only what `output` depends on, and make it the graph's one output."""
    from onnx import TensorProto, helper

    needed, kept = {output}, []
    for node in reversed(graph.node):
        if needed & set(node.output):
            kept.append(node)
            needed |= set(node.input)
    kept.reverse()
    tensors = [tensor for tensor in graph.initializer if tensor.name in needed]
    for field, values in (("node", kept), ("initializer", tensors)):
        graph.ClearField(field)
        getattr(graph, field).extend(values)
    graph.ClearField("output")
    graph.ClearField("value_info")
    graph.output.append(helper.make_tensor_value_info(output, TensorProto.FLOAT, ["batch", "tokens", 384]))


def _resize_input(graph: Any, size: int) -> None:
    import numpy as np
    from onnx import numpy_helper

    scale = (size // PATCH + 0.1) / _POSITIONS  # the tenth guards the floor in Resize against rounding
    scales = numpy_helper.from_array(np.array([1, 1, scale, scale], np.float32))
    node = next(node for node in graph.node if _POSITION_SCALES in node.output)
    node.attribute[0].t.CopyFrom(scales)
    for axis in (2, 3):
        graph.input[0].type.tensor_type.shape.dim[axis].dim_value = size


def _quantize(model: Any, target: Path) -> None:
    """Weights of the matrix products in 8 bits per channel, activations quantized as they come."""
    import logging

    from onnxruntime.quantization import QuantType, quantize_dynamic

    root, level = logging.getLogger(), logging.getLogger().level
    root.setLevel(logging.ERROR)  # it advises preprocessing that changes nothing here
    try:
        quantize_dynamic(
            model, target, op_types_to_quantize=["MatMul"], per_channel=True, weight_type=QuantType.QInt8
        )
    finally:
        root.setLevel(level)
