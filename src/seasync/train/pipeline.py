"""Training from start to end: footage, views, steps, the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from seasync.clip import Clip
from seasync.encoders import DEFAULT, get_encoder
from seasync.errors import EncoderError, SeaError
from seasync.options import TrainKind
from seasync.sea.sources import find_sources
from seasync.search import Sea
from seasync.train.carl_task import Carl
from seasync.train.fit import Plan, Training, TrainingResult
from seasync.train.nms_task import Nms
from seasync.train.taught_task import Taught
from seasync.train.training_clips import Footage, Looks, Progress, SeaFootage, VideoFootage

TASKS: Mapping[TrainKind, Any] = {"nms": Nms, "carl": Carl, "taught": Taught}


def train_on(
    source: str | Path | Sea | Sequence[str | Path],
    *,
    kind: TrainKind = "nms",
    file: str | Path,
    encoder: str | None = None,
    fps: float | None = None,
    views: int = 0,
    size: Mapping[str, int] | None = None,
    restart: bool = False,
    progress: Progress | None = None,
    **plan: Any,
) -> TrainingResult:
    """Train a temporal encoder on the clips of a sea (or its place), or on videos, and write it to `file`.

    kind      "nms": out-of-order frames and changing speed; "carl": sequence contrastive within a clip;
              "taught": between clips, by their alignments
    encoder   what makes the frame features of videos, sampled at `fps` (`dinov2-small`); a sea has its own
    views     altered views of each clip, encoded first and drawn from frame by frame
    size      other numbers than the task's own, such as {"width": 256, "layers": 2}
    restart   begin anew although `file` has a checkpoint beside it
    plan      steps, batch, rate, held_out, patience, seed, …: see `seasync.train.fit.Plan`
    """
    file = Path(file)
    if file.suffix != ".onnx":
        raise EncoderError(f"{file}: the model is written as ONNX; name it something.onnx")
    task = TASKS[kind](**_sized(size or {}))
    if restart:
        file.with_suffix(".ckpt").unlink(missing_ok=True)
    footage = _footage(source, encoder, fps, progress)
    frames = get_encoder(footage.lead[0]) if views else None
    looks = Looks(footage, encoder=frames, views=views, progress=progress)
    training = Training(footage, task, Plan(**plan), file, looks=looks, progress=progress)

    def tell(step: int, said: dict[str, float]) -> None:
        if progress:
            losses = ", ".join(f"{name} {value:.3f}" for name, value in said.items())
            progress(losses, step, training.plan.steps)

    return training.run(tell=tell)


def _footage(
    source: str | Path | Sea | Sequence[str | Path],
    encoder: str | None,
    fps: float | None,
    progress: Progress | None,
) -> Footage:
    if isinstance(source, str | Path):
        source = Sea(source, encoder, create=False)
    if isinstance(source, Sea):
        if fps and fps != source.fps:
            raise SeaError(f"{source.uri}: sampled at {source.fps:g} fps; leave --fps out")
        return SeaFootage(source)
    clips = [Clip(str(found.file), found.start or 0.0, found.end) for found in find_sources(source)]
    return VideoFootage(clips, get_encoder(encoder or DEFAULT), fps=fps, progress=progress)


def _sized(size: Mapping[str, int]) -> dict[str, int]:
    return {**size, "feedforward": 4 * size["width"]} if "width" in size else dict(size)
