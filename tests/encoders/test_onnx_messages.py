"""Our messages of ONNX against those of the package onnx, which defines them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from seasync.encoders.onnx import _MESSAGES, Nodes, array, message, tensor
from seasync.encoders.weights import read_tensors
from seasync.errors import EncoderError
from tests.encoders.models import colour_grid

INNER = {"TensorTypeProto": onnx.TypeProto.Tensor, "DimensionProto": onnx.TensorShapeProto.Dimension}


@pytest.mark.parametrize("name", list(_MESSAGES))
def test_every_field_has_the_number_and_the_type_of_the_original(name: str) -> None:
    theirs = INNER[name] if name in INNER else getattr(onnx, name)
    for field in message(name).DESCRIPTOR.fields:
        original = theirs.DESCRIPTOR.fields_by_name[field.name]
        assert field.number == original.number
        assert field.is_repeated == original.is_repeated
        # A named number is a whole number on the wire.
        same = {original.TYPE_ENUM: original.TYPE_INT32}.get(original.type, original.type)
        assert field.type == same


def test_a_graph_is_valid_and_means_what_was_asked_for() -> None:
    build = Nodes()
    first, second = build.split("x", 2)
    joined = build.node("Concat", second, first, axis=-1)
    scaled = build.node("Mul", joined, build.constant(np.array([1, 2, 3, 4], np.float32)))
    turned = build.node("Transpose", scaled, perm=[1, 0])
    build.rename(build.node("LeakyRelu", turned, alpha=0.5), "y")
    model = onnx.load_from_string(build.model({"x": ["frames", 4]}, {"y": [4, "frames"]}).SerializeToString())
    onnx.checker.check_model(model, full_check=True)
    (scale,) = model.graph.initializer
    assert numpy_helper.to_array(scale).tolist() == [1, 2, 3, 4]
    attributes = {
        each.name: onnx.helper.get_attribute_value(each) for n in model.graph.node for each in n.attribute
    }
    assert attributes == {"axis": -1, "perm": [1, 0], "alpha": 0.5}
    session = pytest.importorskip("onnxruntime").InferenceSession(model.SerializeToString())
    (y,) = session.run(["y"], {"x": np.array([[1, 2, 3, -4]], np.float32)})
    assert y[:, 0].tolist() == [3, -4, 3, 8]


@pytest.mark.parametrize("kind", ["f4", "u1", "i1", "i4", "i8"])
def test_arrays_go_there_and_back(kind: str) -> None:
    values = np.arange(6).reshape(2, 3).astype(kind)
    theirs = onnx.TensorProto.FromString(tensor(values, "a").SerializeToString())
    assert np.array_equal(numpy_helper.to_array(theirs), values)
    back = array(message("TensorProto").FromString(numpy_helper.from_array(values).SerializeToString()))
    assert back.dtype == values.dtype
    assert np.array_equal(back, values)


def test_floats_may_be_listed_one_by_one() -> None:
    listed = onnx.helper.make_tensor("a", onnx.TensorProto.FLOAT, [3], [1.5, 2.5, 3.5])
    assert array(message("TensorProto").FromString(listed.SerializeToString())).tolist() == [1.5, 2.5, 3.5]


def test_another_model_is_not_taken_for_dinov2(tmp_path: Path) -> None:
    for file in (colour_grid(tmp_path / "grid.onnx"), tmp_path / "text.onnx"):
        if not file.exists():
            file.write_text("no model at all, whatever its name says")
        with pytest.raises(EncoderError, match=r"not the weights of DINOv2|neither ONNX"):
            read_tensors(file)


def test_threads_that_come_at_once_get_messages_that_fit_into_each_other() -> None:
    script = """
import sys
from threading import Barrier, Thread
import google.protobuf.descriptor_pb2
from seasync.encoders.onnx import message

sys.setswitchinterval(1e-6)
start, made = Barrier(8), []

def make():
    start.wait()
    made.append(message("GraphProto")(node=[message("NodeProto")(op_type="Add")]))

threads = [Thread(target=make) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert len(made) == 8 and len({type(graph) for graph in made}) == 1, made
"""
    subprocess.run([sys.executable, "-c", script], check=True)
