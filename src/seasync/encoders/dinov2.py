"""DINOv2 ViT-S/14: its network, and the encoder that looks at the still part of the picture now and then.

The network takes whole pictures, or some patches of them beside others known before.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from seasync.encoders.encoder import FrameEncoder, Look, class_and_patches, is_cut
from seasync.encoders.onnx import Nodes, active_device, open_session, prepared
from seasync.encoders.weights import DINOV2_SMALL, HEADS, LAYERS, WIDTH, Tensors, fetch, read_tensors
from seasync.encoding import FLOW_CHANNELS, Floats, Indices
from seasync.errors import EncoderError

if TYPE_CHECKING:
    from seasync.video import Frames

# The network of DINOv2 ViT-S/14 as an ONNX graph, built from its tensors.


PATCH = 14
HEAD = WIDTH // HEADS
_TABLE = 37  # the position table is 37 × 37
_CACHED = [f"{kind}.{n}" for n in range(LAYERS) for kind in ("key", "value")]
_MEAN = np.array([0.485, 0.456, 0.406]) * 255
_STD = np.array([0.229, 0.224, 0.225]) * 255


def dinov2_graph(weights: Tensors, size: int, *, int8: bool = False) -> Any:
    """Build the graph.

    Parameters
    ----------
    weights : mapping of str to ndarray
        As `read_tensors` gives them.
    size : int
        Side of the square pictures in pixels, a multiple of 14.
    int8 : bool
        Hold the weights of the linear layers in 8 bits per output channel and quantize activations as they
        come.

    Returns
    -------
    ModelProto
        Its `SerializeToString` gives what an ONNX file holds.
    """
    build = _Dinov2(weights, int8)
    x = build.embed(resized_positions(weights["pos_embed"], size // PATCH))
    kept = {}
    for n in range(LAYERS):
        x, kept[f"own_key.{n}"], kept[f"own_value.{n}"] = build.block(x, n)
    kept["tokens"] = build.norm(x, "norm")
    for name, value in kept.items():
        build.rename(value, name)
    inputs: dict[str, list[Any]] = {"pixels": ["batch", "patches", 3 * PATCH**2], "keep": ["patches"]}
    inputs |= {name: [1, "cached", WIDTH] for name in _CACHED}
    outputs: dict[str, list[Any]] = {name: ["batch", "own", WIDTH] for name in ["tokens", *sorted(kept)]}
    return build.model(inputs, outputs, {"pixels": np.uint8, "keep": np.int64})


def resized_positions(table: Floats, cells: int) -> Floats:
    """(1 + cells², 384): the position of the class token, then those of the patches, row by row.

    The table is resized linearly, as the packaged ONNX export does it (Meta's code: cubically).
    """
    grid = table[0, 1:].reshape(_TABLE, _TABLE, WIDTH).astype(np.float64)
    if cells != _TABLE:
        # DINOv2 adds the tenth so that rounding never loses a row; the sampled places shift with it.
        scale = np.float32((cells + 0.1) / _TABLE)
        at = (np.arange(cells) + 0.5) / float(scale) - 0.5
        left = np.floor(at).astype(int)
        across = np.zeros((cells, _TABLE))
        for tap in (left, left + 1):
            np.add.at(across, (np.arange(cells), tap.clip(0, _TABLE - 1)), 1 - np.abs(at - tap))
        grid = np.einsum("ya,xb,abd->yxd", across, across, grid, optimize=True)
    return np.concatenate([table[0, :1], grid.reshape(-1, WIDTH)]).astype(np.float32)


class _Dinov2(Nodes):
    def __init__(self, weights: Tensors, int8: bool) -> None:
        super().__init__(weights)
        self._int8 = int8

    def embed(self, positions: Floats) -> str:
        """The class token and the patches with their positions, (B, 1 + M, 384)."""
        # The deviation of the pictures is part of the first product. Were the mean too, digits would be lost.
        kernel = self._weights["patch_embed.proj.weight"].astype(np.float64).transpose(2, 3, 1, 0)
        matrix = (kernel / _STD[:, None]).reshape(-1, WIDTH).astype(np.float32)
        mean = self.constant(np.tile(_MEAN.astype(np.float32), PATCH**2))
        pixels = self.node("Sub", self.node("Cast", "pixels", to=1), mean)
        patches = self.node("MatMul", pixels, self.constant(matrix))
        table = self.constant(positions[1:] + self._weights["patch_embed.proj.bias"])
        patches = self.node("Add", patches, self.node("Gather", table, "keep", axis=0))
        first = self.constant((self._weights["cls_token"][0] + positions[:1])[None])
        batch = self.node("Shape", "pixels", start=0, end=1)
        shape = self.node("Concat", batch, self.constant(np.array([1, 1])), axis=0)
        return self.node("Concat", self.node("Expand", first, shape), patches, axis=1)

    def block(self, x: str, n: int) -> tuple[str, str, str]:
        """One layer: its output, and its own keys and values."""
        name = f"blocks.{n}"
        query, key, value = self._query_key_value(self.norm(x, f"{name}.norm1"), f"{name}.attn.qkv")
        mixed = self._attention(query, key, value, n)
        x = self.node("Add", x, self._linear(mixed, f"{name}.attn.proj", f"{name}.ls1.gamma"))
        wide = self._gelu(self._linear(self.norm(x, f"{name}.norm2"), f"{name}.mlp.fc1"))
        x = self.node("Add", x, self._linear(wide, f"{name}.mlp.fc2", f"{name}.ls2.gamma"))
        return x, key, value

    def norm(self, x: str, name: str) -> str:
        scale, bias = (self.constant(self._weights[f"{name}.{part}"]) for part in ("weight", "bias"))
        return self.node("LayerNormalization", x, scale, bias, epsilon=1e-6)

    def _query_key_value(self, x: str, name: str) -> list[str]:
        # The attention's scale is part of the queries.
        scale = np.repeat(np.array([HEAD**-0.5, 1, 1], np.float32), WIDTH)
        joint = self._product(x, self._weights[f"{name}.weight"], self._weights[f"{name}.bias"], scale)
        return self.split(joint, 3)

    def _linear(self, x: str, name: str, gamma: str = "") -> str:
        """A linear layer; the layer scale after it is part of its weights."""
        weight, bias = self._weights[f"{name}.weight"], self._weights[f"{name}.bias"]
        scale = self._weights[gamma] if gamma else np.ones(len(bias), np.float32)
        return self._product(x, weight, bias, scale)

    def _product(self, x: str, weight: Floats, bias: Floats, scale: Floats) -> str:
        matrix = np.ascontiguousarray((weight * scale[:, None]).T)
        product = self._quantized(x, matrix) if self._int8 else self.node("MatMul", x, self.constant(matrix))
        return self.node("Add", product, self.constant(bias * scale))

    def _quantized(self, x: str, matrix: Floats) -> str:
        """A product in 8 bits, in the nodes that onnxruntime recognizes and fuses."""
        steps = (np.abs(matrix).max(0) / 127).astype(np.float32)
        whole = np.round(matrix / steps).astype(np.int8)
        values, step, zero = self.quantize(x)
        product = self.node("Cast", self.node("MatMulInteger", values, self.constant(whole), zero), to=1)
        return self.node("Mul", product, self.node("Mul", step, self.constant(steps)))

    def _gelu(self, x: str) -> str:
        """The exact form, in the nodes that onnxruntime recognizes and fuses."""
        erf = self.node("Erf", self.node("Div", x, self.constant(np.float32(np.sqrt(2)))))
        twice = self.node("Mul", x, self.node("Add", erf, self.constant(np.float32(1))))
        return self.node("Mul", twice, self.constant(np.float32(0.5)))

    def _attention(self, query: str, key: str, value: str, n: int) -> str:
        """What each token takes from its own picture's tokens and from the cached ones.

        The cached part broadcasts over the pictures: copying it for each costs 5–10 % of the time of 64
        patches.
        """
        query, value, seen_value = (self._by_head(each) for each in (query, value, f"value.{n}"))
        key, seen_key = (self._by_head(each, transposed=True) for each in (key, f"key.{n}"))
        own, seen = self.node("MatMul", query, key), self.node("MatMul", query, seen_key)
        weights = self.node("Softmax", self.node("Concat", own, seen, axis=-1), axis=-1)
        axis, border = self.constant(np.array([3])), self.node("Shape", key, start=3, end=4)
        own = self.node("Slice", weights, self.constant(np.array([0])), border, axis)
        seen = self.node("Slice", weights, border, self.constant(np.array([2**31])), axis)
        mixed = self.node("Add", self.node("MatMul", own, value), self.node("MatMul", seen, seen_value))
        joined = self.constant(np.array([0, 0, WIDTH]))
        return self.node("Reshape", self.node("Transpose", mixed, perm=[0, 2, 1, 3]), joined)

    def _by_head(self, x: str, *, transposed: bool = False) -> str:
        """(B, T, 384) → (B, heads, T, 64), or with the last two axes exchanged."""
        # A zero keeps a size, so the number of tokens, which may be 0, must not be given as "the rest".
        split = self.node("Reshape", x, self.constant(np.array([0, 0, HEADS, HEAD])))
        return self.node("Transpose", split, perm=[0, 2, 3, 1] if transposed else [0, 2, 1, 3])


Pixels = NDArray[np.uint8]

_FORM = 3  # raised when the same weights are prepared in another way


@dataclass(frozen=True, eq=False)
class Reference:
    """A picture encoded whole: its tokens (1 + P, 384) and what each layer lets other tokens see of it."""

    tokens: Floats
    cache: Sequence[Floats]  # (1, 1 + P, 384) each: key and value of every layer

    def seen(self, places: Indices) -> dict[str, Floats]:
        """Keys and values of some patches, as the network takes them."""
        rows = places + 1
        return {name: values[:, rows] for name, values in zip(_CACHED, self.cache, strict=True)}


class Dinov2:
    """The network for square pictures of one size.

    Attributes
    ----------
    input_size : (int, int)
        Height and width of the pictures it takes.
    patches : int
        How many patches a picture has.
    """

    def __init__(self, size: int = 224) -> None:
        if size % PATCH or not 56 <= size <= 518:
            raise EncoderError(
                f"dinov2-small@{size}: the input size must be a multiple of {PATCH} from 56 to 518"
            )
        self.input_size = size, size
        self.patches = (size // PATCH) ** 2
        self._tokens_at_once = active_device().tokens_at_once
        self._session = open_session(prepared_graph(size))
        self._nothing = {name: np.empty((1, 0, WIDTH), np.float32) for name in _CACHED}

    def run(self, frames: Pixels) -> Floats:
        """Tokens (B, 1 + P, 384) of whole pictures (B, H, W, 3)."""
        return self.encode(patches_of(frames), np.arange(self.patches), self._nothing)

    def reference(self, pixels: Pixels) -> Reference:
        """Encode one picture, given as patches (P, 588), and keep what others may attend to."""
        fed = {"pixels": pixels[None], "keep": np.arange(self.patches)} | self._nothing
        tokens, *cache = self._session.run(["tokens", *(f"own_{name}" for name in _CACHED)], fed)
        return Reference(tokens[0], cache)

    def encode(self, pixels: Pixels, places: Indices, seen: dict[str, Floats]) -> Floats:
        """Tokens (B, 1 + M, 384) of some patches of each picture, beside the patches `seen` of a reference.

        Parameters
        ----------
        pixels : ndarray of uint8, shape (B, M, 588)
        places : ndarray of int64, shape (M,)
            Where in the picture the patches are.
        seen : dict
            Keys and values of other patches: `Reference.seen`.
        """
        at_once = max(1, self._tokens_at_once // (1 + len(places)))
        parts = []
        for first in range(0, len(pixels), at_once):
            fed = {"pixels": pixels[first : first + at_once], "keep": places} | seen
            parts += self._session.run(["tokens"], fed)
        return np.concatenate(parts)


def patches_of(frames: Pixels) -> Pixels:
    """(B, H, W, 3) → (B, P, 588): the patches row by row, each 14 × 14 × 3."""
    count, height, width, _ = frames.shape
    rows, columns = height // PATCH, width // PATCH
    grid = frames.reshape(count, rows, PATCH, columns, PATCH, 3).transpose(0, 1, 3, 2, 4, 5)
    return grid.reshape(count, rows * columns, 3 * PATCH**2)


def precision() -> str:
    """`int8` or `fp32`: as `SEASYNC_PRECISION` says, else what the active device is good at.

    It is no part of the fingerprint: encodings of either precision serve together (docs/models.md).
    """
    named = os.environ.get("SEASYNC_PRECISION") or active_device().precision
    if named not in ("int8", "fp32"):
        raise EncoderError(f"SEASYNC_PRECISION={named}: expected int8 or fp32")
    return named


def prepared_graph(size: int) -> Path:
    """The ONNX file for this input size, precision and device; made once and kept in the cache."""
    bits = precision()
    name = f"dinov2_vits14-{DINOV2_SMALL.sha256[:8]}-{size}-{bits}-{_FORM}.onnx"
    return prepared(name, lambda: dinov2_graph(read_tensors(fetch(DINOV2_SMALL)), size, int8=bits == "int8"))


# Encode what moves in every frame, and the still part of the picture only now and then. Frame features weigh
# patches by how much they change, so still patches count for almost nothing; they matter as surroundings of
# the moving ones. In a window of at most SPAN frames a few reference frames are encoded whole. Of the others
# only the class token and the moving patches pass through the network; in every layer they attend to
# themselves and to the still patches of the nearest reference. Still patches keep that reference's tokens.


SPAN = 64  # frames of a window
STEP = 32  # frames from one reference to the next
SHARE = 0.9  # of the sum of squared scores that the moving patches hold
FEWEST = 64  # patches, of 256; with 32 the average APA on golf falls by .018
MOST = 0.75  # of the patches: where more move, whole pictures cost no more
# 1 − correlation of two frames' brightness, patch by patch, from which both are encoded whole to see whether
# a shot begins. Of 1,440 pairs of pictures that their class tokens set apart none is below .2; inside single
# clips .4 % of the steps are above .15.
MAYBE_CUT = 0.15


class MovingPatchEncoder(FrameEncoder):
    """DINOv2 with patches weighted by their variance, the still ones encoded once per reference; and flow.

    Attributes
    ----------
    pair_fps : float
        The sampling rate for two clips that are aligned by themselves (`seasync.pair.pair_fps`).
    """

    pair_fps = 15.0

    def __init__(self, name: str, model: Dinov2, *, fingerprint: str) -> None:
        width = WIDTH + FLOW_CHANNELS
        super().__init__(
            name, model, dimension=width, fingerprint=fingerprint, split=class_and_patches, flow=True
        )
        self._dinov2 = model

    def looks(self, batches: Iterable["Frames"]) -> Iterator[Look]:
        window = Window(self._dinov2)
        for batch in batches:
            for pixels in patches_of(batch.data):
                yield from window.push(pixels)
        yield from window.end()


class Window:
    """Takes frames one by one, as patches (P, 588), and gives their looks in order, a window at a time.

    Attributes
    ----------
    encoded, frames : int
        How many patches passed through the network so far, and of how many frames.
    """

    def __init__(self, model: Dinov2) -> None:
        self.encoded = self.frames = 0
        self._model = model
        self._pixels: list[Pixels] = []  # of the frames held; the first is `_reference`, already given
        self._brightness: list[Floats] = []
        self._reference: Reference | None = None

    def push(self, pixels: Pixels) -> Iterator[Look]:
        """Take the next frame; give the looks that are settled by it."""
        self.frames += 1
        brightness = _sampled(pixels).mean(-1)
        if self._pixels and not _maybe_cut(self._brightness[-1], brightness):
            self._pixels.append(pixels)
            self._brightness.append(brightness)
            if len(self._pixels) > SPAN:
                yield from self.end()
            return
        yield from self.end()
        before, reference = self._reference, self._refer(pixels)
        self._hold(pixels, brightness, reference)
        begins = before is not None and is_cut(before.tokens[0], reference.tokens[0])
        yield Look(reference.tokens[0], reference.tokens[1:], begins)

    def end(self) -> Iterator[Look]:
        """The looks still owed. The last frame becomes the first of the next window."""
        count = len(self._pixels)
        if count < 2:
            return
        pixels = np.stack(self._pixels)
        assert self._reference is not None
        marks = np.linspace(0, count - 1, max(1, round((count - 1) / STEP)) + 1).round().astype(int)
        references = [self._reference, *(self._refer(pixels[at]) for at in marks[1:])]
        moving = moving_patches(pixels, np.stack([reference.tokens[1:] for reference in references]))
        tokens = self._encode(pixels, marks, references, moving)
        self._hold(pixels[-1], self._brightness[-1], references[-1])
        for frame in tokens[1:]:
            yield Look(frame[0], frame[1:])

    def _encode(self, pixels: Pixels, marks: Indices, references: list[Reference], moving: Indices) -> Floats:
        """(L, 1 + P, 384): the tokens of all frames of the window."""
        nearest = np.abs(np.arange(len(pixels))[:, None] - marks).argmin(1)
        tokens = np.stack([references[n].tokens for n in nearest])
        still = np.setdiff1d(np.arange(self._model.patches), moving)
        own = np.append(0, moving + 1)
        for n, reference in enumerate(references):
            frames = np.setdiff1d(np.flatnonzero(nearest == n), marks)
            if len(frames) and len(moving):
                self.encoded += len(frames) * len(moving)
                parts = pixels[frames[:, None], moving]
                tokens[frames[:, None], own] = self._model.encode(parts, moving, reference.seen(still))
        return tokens

    def _refer(self, pixels: Pixels) -> Reference:
        self.encoded += self._model.patches
        return self._model.reference(pixels)

    def _hold(self, pixels: Pixels, brightness: Floats, reference: Reference) -> None:
        self._pixels, self._brightness, self._reference = [pixels], [brightness], reference


def moving_patches(pixels: Pixels, tokens: Floats) -> Indices:
    """The places of the patches that move, in order.

    Parameters
    ----------
    pixels : ndarray of uint8, shape (L, P, 588)
        All frames of a window.
    tokens : ndarray of float32, shape (R, P, d)
        The patch tokens of its reference frames.

    Returns
    -------
    ndarray of int64, shape (M,)
        As few as are expected to carry SHARE of the weight, between FEWEST and all.
    """
    count = tokens.shape[1]
    score = _relative(_sampled(pixels).var(0).sum(-1)) + _relative(tokens.var(0).sum(-1))
    order = np.argsort(-score, kind="stable")
    weight = np.cumsum(score[order] ** 2)
    if weight[-1] <= 0:
        return order[:0]
    needed = int(np.searchsorted(weight, SHARE * weight[-1])) + 1
    needed = max(needed, round(count * FEWEST / 256))
    return np.sort(order[: count if needed > MOST * count else needed])


def _relative(variance: Floats) -> Floats:
    mean = variance.mean()
    return variance / mean if mean > 0 else variance


def _sampled(pixels: Pixels) -> Floats:
    """Every third green pixel of each patch: enough to see what changes."""
    return pixels[..., 1::9].astype(np.float32)


def _maybe_cut(before: Floats, after: Floats) -> bool:
    """Whether two frames differ so much in brightness (P,) that a shot may begin between them."""
    if np.abs(after - before).mean() < 1:
        return False
    a, b = before - before.mean(), after - after.mean()
    return float(a @ b) < (1 - MAYBE_CUT) * float(np.linalg.norm(a) * np.linalg.norm(b))
