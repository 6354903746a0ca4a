"""Encodings of files already seen, kept in the cache folder up to a bounded size."""

from __future__ import annotations

import hashlib
import io
import os
from contextlib import suppress
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from seasync.encoders.weights import cache_folder
from seasync.encoding import Encoding, Stream
from seasync.errors import FeatureError
from seasync.files import DiskCache, Place, atomic_write, fetch
from seasync.files.disk_cache import touch
from seasync.files.location import expect_ordinary

LIMIT_BYTES = 2 << 30
_FORM = "1"  # raised when the same fingerprint would give another encoding


def content_hash(file: Place) -> str:
    """sha256 (32 hex digits) of a file's bytes; of an image folder, of its files' names and bytes."""
    digest = hashlib.sha256()
    path = fetch(file)
    for part in sorted(path.iterdir()) if path.is_dir() else [path]:
        if path.is_dir():
            digest.update(os.fsencode(part.name))
        expect_ordinary(part)
        with part.open("rb") as opened:
            digest.update(hashlib.file_digest(opened, "sha256").digest())
    return digest.hexdigest()[:32]


def encoding_key(content: str, start: float, end: float | None, fingerprint: str, fps: float) -> str:
    """What the cache knows an encoding by."""
    text = "\n".join((_FORM, content, repr(float(start)), repr(end), fingerprint, repr(float(fps))))
    return hashlib.sha256(text.encode()).hexdigest()[:40]


def load(key: str) -> Encoding | None:
    """The encoding of this key, or None if it is not here (or cannot be read)."""
    file = _file(key)
    try:
        with file.open("rb") as opened, np.load(opened, allow_pickle=False) as stored:
            count = int(stored["streams"])
            streams = tuple(
                Stream(
                    str(stored[f"{n}.name"]),
                    stored[f"{n}.seconds"],
                    stored[f"{n}.frames"],
                    stored[f"{n}.features"].astype(np.float32),
                    stored[f"{n}.shots"],
                    float(stored[f"{n}.found"]),
                )
                for n in range(count)
            )
            found = Encoding(str(stored["encoder"]), streams, stored["mean"], stored["trajectory"])
        touch(file)
    except (OSError, ValueError, KeyError, EOFError, BadZipFile, FeatureError):
        return None
    return found


def store(key: str, encoding: Encoding) -> None:
    """Keep an encoding (features in half precision). A cache that cannot be written is no error."""
    arrays: dict[str, object] = {
        "encoder": encoding.encoder,
        "mean": encoding.mean,
        "trajectory": encoding.trajectory,
        "streams": len(encoding.streams),
    }
    for n, stream in enumerate(encoding.streams):
        arrays |= {
            f"{n}.name": stream.name,
            f"{n}.seconds": stream.seconds,
            f"{n}.frames": stream.frames,
            f"{n}.features": stream.features.astype(np.float16),
            f"{n}.shots": stream.shots,
            f"{n}.found": stream.found,
        }
    packed = io.BytesIO()
    np.savez(packed, allow_pickle=False, **arrays)  # type: ignore[arg-type]
    file = _file(key)
    with suppress(FeatureError):
        with atomic_write(file, make_folder=True, error=FeatureError) as part:
            part.write_bytes(packed.getvalue())
        DiskCache(file.parent.parent, LIMIT_BYTES).trim()


def _file(key: str) -> Path:
    return cache_folder() / "encodings" / key[:2] / f"{key}.npz"
