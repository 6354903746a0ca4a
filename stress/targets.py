"""What is done with a hostile file: the commands that read it, and the server's own readers."""

from __future__ import annotations

import os
import pickle
import shutil
from contextlib import suppress
from pathlib import Path

import lance  # imported once, by the server that the processes are forked from
import onnxruntime
from typer.main import get_command

from seasync.cli import app
from seasync.encoders.torch_models import read_checkpoint, require_torch
from seasync.encoders.weights import read_tensors
from seasync.errors import MissingExtra
from seasync.evaluate.data import load_features, load_penn
from seasync.sea.sea import Sea
from seasync.serve import Limits, comparison_file
from seasync.serve.backend import Backend
from seasync.serve.media import inspect_video
from seasync.serve.tasks import SeaLocation

COMMAND = get_command(app)  # once: typer takes longer to make it than a small file to be read
assert lance
assert onnxruntime
SMALL = Limits(quota_bytes=1 << 30, pixels=1 << 22, video_seconds=3600, inspect_seconds=10)

COMMANDS: dict[str, tuple[tuple[str, float], ...]] = {  # by the file's name: what opens it, and how often
    "video": (("align", 6), ("add", 2), ("inspect", 3), ("render", 1), ("find", 1)),
    ".edl": (("replace", 1),),
    ".otio": (("replace", 1),),
    ".fcpxml": (("replace", 1),),
    ".srt": (("transfer", 1), ("marks", 1)),
    ".vtt": (("transfer", 1), ("marks", 1)),
    ".eaf": (("marks", 1),),
    "marks.csv": (("transfer", 1), ("marks", 1)),
    "list.csv": (("add", 1),),
    ".npy": (("features", 1),),
    ".mat": (("penn", 1),),
    ".pkl": (("carl", 1),),
    ".onnx": (("encoder", 3), ("tensors", 1)),
    ".safetensors": (("tensors", 1),),
    ".pth": (("checkpoint", 1), ("tensors", 1)),
    ".seasync": (("comparison", 1),),
}


class Targets:
    """Opens files the way users do. Outputs go to `work`."""

    def __init__(self, good: Path, work: Path) -> None:
        self._good, self._work = good, work
        self._query, self._match = str(good / "query.mp4"), str(good / "match.mp4")
        os.environ["SEASYNC_CACHE"] = str(work / "cache")
        self._encoder = f"onnx:{good / 'grid.onnx'}"
        self._backend: Backend | None = None

    def warm_up(self) -> None:
        """Load and compile what any file needs, before the limits are set."""
        with suppress(MissingExtra):
            require_torch("a checkpoint")
        sea = Sea(self._work / "warm.sea", self._encoder)
        if not sea.exists():
            sea.add(self._query, self._match)
        self._app("align", self._query, self._match, "--encoder", self._encoder, "--json")
        self._app(
            "group",
            self._query,
            self._match,
            "--encoder",
            self._encoder,
            "--marks",
            str(self._good / "marks.csv"),
        )

    def run(self, target: str, file: Path) -> None:
        """Open the file; whatever the target raises comes through."""
        out = str(self._work / "out")
        match target:
            case "align":
                self._app("align", self._query, str(file), "--encoder", self._encoder, "--json")
            case "render":
                self._app("render", self._query, str(file), "--encoder", self._encoder, "--to", f"{out}.mp4")
            case "find":
                self._app("find", self._query, str(file), "--encoder", self._encoder, "--json")
            case "add":
                shutil.rmtree(f"{out}.sea", ignore_errors=True)
                self._app("add", str(file), "--sea", f"{out}.sea", "--encoder", self._encoder)
            case "inspect":
                inspect_video(str(file), SMALL.pixels, SMALL.video_seconds)
            case "replace":
                sea = str(self._work / "warm.sea")
                self._app("replace", str(file), "1", "--sea", sea, "--anyway", "--to", f"{out}{file.suffix}")
            case "transfer":
                pair = (self._query, self._match, "--encoder", self._encoder)
                self._app("transfer", str(file), *pair, "--to", f"{out}{file.suffix}")
            case "marks":
                named = shutil.copy(
                    file, self._work / f"query{file.suffix}"
                )  # subtitles are named like a clip
                self._app(
                    "group", self._query, self._match, "--encoder", self._encoder, "--marks", str(named)
                )
            case "encoder":
                self._app("align", self._query, self._match, "--encoder", f"onnx:{file}", "--json")
            case _:
                self._read(target, file)

    def _read(self, target: str, file: Path) -> None:
        match target:
            case "tensors":
                read_tensors(file)
            case "checkpoint":
                read_checkpoint(file)
            case "comparison":
                comparison_file.load(self._server(), file)
            case "features":
                for item in load_features(self._alone(file, "data/class")).items:
                    item.ready["features"]()
            case "penn":
                for item in load_penn(self._alone(file, "penn/labels", "0001.mat", up=1)).items:
                    item.ready["joints"]()
            case "carl":
                root = self._alone(file, "carl", "train.pkl", up=0)
                (root / "val.pkl").write_bytes(pickle.dumps(([], {})))
                shutil.copy(self._query, root)
                load_penn(root)
            case _:
                raise ValueError(target)

    def _alone(self, file: Path, folder: str, name: str | None = None, *, up: int = 1) -> Path:
        """A data set that holds this file only; gives its folder."""
        place = self._work / folder
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        shutil.copy(file, place / (name or file.name))
        return place.parents[up - 1] if up else place

    def _server(self) -> Backend:
        if self._backend is None:
            seas = {"warm": SeaLocation(str(self._work / "warm.sea"), self._encoder)}
            state = self._work / f"state-{os.getpid()}"
            self._backend = Backend(seas, state=state, roots=[self._good], limits=SMALL)
        return self._backend

    @staticmethod
    def _app(*words: str) -> None:
        COMMAND(list(words), standalone_mode=False)
