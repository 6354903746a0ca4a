"""What works on this machine, and what to do about what does not."""

import importlib.util
import os
import re
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import distributions, requires
from pathlib import Path
from typing import Literal

from seasync import plugins
from seasync.errors import SeasyncError
from seasync.files import cache_folder

State = Literal["ok", "note", "fails"]
LOW_DISK_BYTES = 2e9


@dataclass(frozen=True)
class Check:
    """One thing that was looked at.

    Attributes
    ----------
    name : str
    state : {"ok", "note", "fails"}
        `note`: works, but could be better, or is not needed by everyone.
    found : str
    advice : str
        What to do; empty if there is nothing to do.
    """

    name: str
    state: State
    found: str
    advice: str = ""


def examine() -> list[Check]:
    """Look at everything that Seasync stands on. Nothing is fetched."""
    programs: tuple[Callable[[], Check], ...] = _python, _ffmpeg, _sound, _device, _weights, _encoder
    folders: tuple[Callable[[], Check], ...] = (
        lambda: _folder("cache folder", cache_folder(), "SEASYNC_CACHE"),
        lambda: _folder("temporary folder", Path(tempfile.gettempdir()), "TMPDIR"),
        lambda: _folder("current folder", Path.cwd(), ""),
    )
    return [_guarded(check) for check in (*programs, *folders, _extras, _plugins)]


def _guarded(check: Callable[[], Check]) -> Check:
    """A check that breaks is a finding too."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return check()
    except Exception as error:  # noqa: BLE001  a broken library raises anything
        name = getattr(check, "__name__", "check").strip("_<>")
        said = f"{type(error).__name__}: {error}".splitlines()[0]
        return Check(name, "fails", said, "reinstall Seasync: pip install --force-reinstall seasync")


def _python() -> Check:
    return Check("Python", "ok", f"{sys.version.split()[0]} on {sys.platform}, {os.cpu_count()} cores")


def _ffmpeg() -> Check:
    import av

    missing = [name for name in ("libx264", "aac") if name not in av.codecs_available]
    found = f"{av.ffmpeg_version_info} in PyAV {av.__version__}"
    if missing:
        without = f"{found}, without {', '.join(missing)}"
        return Check("FFmpeg", "fails", without, "pip install --force-reinstall av")
    return Check("FFmpeg", "ok", found)


def _sound() -> Check:
    if importlib.util.find_spec("python_stretch"):
        return Check("sound", "ok", "python-stretch")
    return Check("sound", "note", "atempo: python-stretch has no wheel for this Python or processor")


def _device() -> Check:
    from seasync.encoders.onnx import active_device

    device = active_device()
    if device.failures:
        advice = "see 'Encoders and weights' in the documentation; SEASYNC_DEVICE=cpu hides this"
        return Check("device", "note", str(device), advice)
    return Check("device", "ok", str(device))


def _weights() -> Check:
    from seasync.encoders.weights import DINOV2_SMALL, locate

    if (file := locate(DINOV2_SMALL)) is None:
        advice = "run `seasync models pull`; without a network, set SEASYNC_MODELS to a folder that has them"
        return Check("weights", "note", f"{DINOV2_SMALL.name} is not on this machine yet", advice)
    return Check("weights", "ok", str(file))


def _encoder() -> Check:
    """The default encoder on one gray picture."""
    import numpy as np

    from seasync.encoders.dinov2 import Dinov2

    if _weights().state != "ok":
        return Check("encoder", "note", "not tried: its weights are not on this machine yet")
    try:
        tokens = Dinov2().run(np.full((1, 224, 224, 3), 128, np.uint8))
    except SeasyncError as error:
        return Check("encoder", "fails", str(error))
    if not np.isfinite(tokens).all():
        return Check("encoder", "fails", "dinov2-small gives no numbers", "set SEASYNC_DEVICE=cpu")
    return Check("encoder", "ok", "dinov2-small runs")


def _folder(name: str, folder: Path, variable: str) -> Check:
    """Whether files can be made there, and how much room there is."""
    other = f"set {variable} to another folder" if variable else "work in another folder"
    try:
        if variable == "SEASYNC_CACHE":
            folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".seasync-"):
            free = shutil.disk_usage(folder).free
    except OSError as error:
        # Only reading from the current folder is fine.
        return Check(name, "fails" if variable else "note", f"{folder}: {error.strerror or error}", other)
    if free < LOW_DISK_BYTES:
        return Check(name, "note", f"{folder}, {free / 1e9:.1f} GB free", f"make room, or {other}")
    return Check(name, "ok", f"{folder}, {free / 1e9:.0f} GB free")


def _extras() -> Check:
    """Which extras have all that they bring, without those for development."""
    missing: dict[str, bool] = {}
    for line in requires("seasync") or ():
        package, _, marker = line.partition(";")
        extra = marker.partition("extra ==")[2].strip(" '\"")
        if extra and extra not in ("all", "dev", "docs", "fiftyone", "gpu", "test"):
            name = re.split(r"[^\w.-]", package.strip(), maxsplit=1)[0]
            missing[extra] = missing.get(extra, False) or not any(distributions(name=name))
    found = [f"{extra} {'missing' if lacks else 'installed'}" for extra, lacks in sorted(missing.items())]
    advice = "pip install 'seasync[NAME]' for those that you need" if any(missing.values()) else ""
    return Check("extras", "note" if advice else "ok", ", ".join(found), advice)


def _plugins() -> Check:
    broken = [name for kind in plugins.KINDS for name in plugins.names(kind) if not plugins.find(kind, name)]
    found = ", ".join(plugins.described()) or "none"
    if broken:
        broken_of = f"{', '.join(broken)} of {found}"
        return Check("plugins", "fails", broken_of, "update or uninstall their packages")
    return Check("plugins", "ok", found)
