"""Putting an ONNX graph together, node by node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from seasync.encoders.onnx_messages import attribute, message, tensor, value_info

OPERATORS, FORMAT = 17, 9  # versions of the operator set and of the file format


class Nodes:
    """A graph in the making; a value is known by its name."""

    def __init__(self) -> None:
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
