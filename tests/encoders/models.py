"""Small ONNX image models, made on the spot."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def colour_grid(file: Path, *, size: int = 32, cells: int = 4, channels_last: bool = False) -> Path:
    """A model (B, 3, size, size) → (B, 3·cells²): the mean colour of each cell, a fixed, smooth feature."""
    step = size // cells
    shape = ["batch", size, size, 3] if channels_last else ["batch", 3, size, size]
    nodes = (
        [helper.make_node("Transpose", ["pictures"], ["first"], perm=[0, 3, 1, 2])] if channels_last else []
    )
    source = "first" if channels_last else "pictures"
    nodes += [
        helper.make_node(
            "AveragePool", [source], ["pooled"], kernel_shape=[step, step], strides=[step, step]
        ),
        helper.make_node("Flatten", ["pooled"], ["feature"]),
    ]
    return _save(file, nodes, [], shape, ["batch", 3 * cells * cells])


def token_grid(file: Path, *, size: int = 32, cells: int = 4, width: int = 8) -> Path:
    """A model (B, 3, size, size) → (B, cells², width): tokens, a fixed projection of each cell's colour."""
    step = size // cells
    weights = np.random.default_rng(0).normal(size=(3, width)).astype(np.float32)
    nodes = [
        helper.make_node(
            "AveragePool", ["pictures"], ["pooled"], kernel_shape=[step, step], strides=[step, step]
        ),
        helper.make_node("Reshape", ["pooled", "shape"], ["cells"]),
        helper.make_node("Transpose", ["cells"], ["last"], perm=[0, 2, 1]),
        helper.make_node("MatMul", ["last", "weights"], ["tokens"]),
    ]
    tensors = [
        numpy_helper.from_array(weights, "weights"),
        numpy_helper.from_array(np.array([0, 3, cells * cells], np.int64), "shape"),
    ]
    return _save(file, nodes, tensors, ["batch", 3, size, size], ["batch", cells * cells, width])


def _save(file: Path, nodes: list, tensors: list, entry: list, out: list) -> Path:  # type: ignore[type-arg]
    graph = helper.make_graph(
        nodes,
        "model",
        [helper.make_tensor_value_info("pictures", TensorProto.FLOAT, entry)],
        [helper.make_tensor_value_info(nodes[-1].output[0], TensorProto.FLOAT, out)],
        tensors,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, file)
    return file
