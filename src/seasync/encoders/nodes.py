"""Putting an ONNX graph together, node by node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike


class Nodes:
    """A graph in the making; a value is known by its name."""

    def __init__(self) -> None:
        self._nodes: list[Any] = []
        self._tensors: list[Any] = []

    def node(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """The output of a new node."""
        from onnx import helper

        name = f"{kind}{len(self._nodes)}"
        self._nodes.append(helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def constant(self, values: ArrayLike) -> str:
        from onnx import numpy_helper

        name = f"constant{len(self._tensors)}"
        self._tensors.append(numpy_helper.from_array(np.array(values), name))
        return name

    def model(self, inputs: Mapping[str, Sequence[Any]], output: str, shape: Sequence[Any]) -> Any:
        """The model from float inputs of these shapes to the value `output`."""
        from onnx import TensorProto, helper

        value = helper.make_tensor_value_info
        graph = helper.make_graph(
            self._nodes,
            "seasync",
            [value(name, TensorProto.FLOAT, sizes) for name, sizes in inputs.items()],
            [value(output, TensorProto.FLOAT, shape)],
            self._tensors,
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
