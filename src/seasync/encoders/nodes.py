"""Putting an ONNX graph together, node by node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike


class Nodes:
    """A graph in the making; a value is known by its name."""

    def __init__(self) -> None:
        self._nodes: list[Any] = []
        self._tensors: list[Any] = []

    def node(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """Add a node and return the name of its output."""
        from onnx import helper

        name = f"{kind}{len(self._nodes)}"
        self._nodes.append(helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def constant(self, values: ArrayLike) -> str:
        """Add a constant and return its name."""
        from onnx import numpy_helper

        name = f"constant{len(self._tensors)}"
        self._tensors.append(numpy_helper.from_array(np.array(values), name))
        return name

    def split(self, value: str, count: int) -> list[str]:
        """Cut a value into equal parts along its last axis and return their names."""
        from onnx import helper

        names = [f"Split{len(self._nodes)}.{part}" for part in range(count)]
        self._nodes.append(helper.make_node("Split", [value], names, axis=-1))
        return names

    def quantize(self, value: str) -> list[str]:
        """Bring a value to 8 bits by its own range; return the names of the result, its step and its zero."""
        from onnx import helper

        names = [f"Quantize{len(self._nodes)}.{part}" for part in ("values", "step", "zero")]
        self._nodes.append(helper.make_node("DynamicQuantizeLinear", [value], names))
        return names

    def rename(self, value: str, name: str) -> None:
        """Give a value the name by which callers ask for it."""
        from onnx import helper

        self._nodes.append(helper.make_node("Identity", [value], [name]))

    def model(
        self,
        inputs: Mapping[str, Sequence[Any]],
        outputs: Mapping[str, Sequence[Any]],
        kinds: Mapping[str, DTypeLike] | None = None,
    ) -> Any:
        """The model with these inputs and outputs, by name and shape; `kinds`: types that are not float."""
        from onnx import TensorProto, helper

        kinds = kinds or {}
        value = helper.make_tensor_value_info
        graph = helper.make_graph(
            self._nodes,
            "seasync",
            [
                value(name, helper.np_dtype_to_tensor_dtype(np.dtype(kinds.get(name, np.float32))), sizes)
                for name, sizes in inputs.items()
            ],
            [value(name, TensorProto.FLOAT, sizes) for name, sizes in outputs.items()],
            self._tensors,
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
