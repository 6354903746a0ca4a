"""Training from start to end: footage, views, steps, the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

from seasync.clip import Clip
from seasync.encoders import DEFAULT, encoder_for, get_encoder
from seasync.errors import EncoderError, SeaError
from seasync.files import Location, Place, expect_writable
from seasync.files.cache import working_path
from seasync.files.store import upload
from seasync.options import TrainKind
from seasync.sea.sea import Sea
from seasync.sea.sources import find_videos
from seasync.train.clips import ClipViews, Footage, Progress, SeaFootage, VideoFootage
from seasync.train.fit import Training, TrainingPlan, TrainingResult
from seasync.train.tasks import CarlTask, NmsTask, TaughtTask

TASKS: Mapping[TrainKind, Any] = {"nms": NmsTask, "carl": CarlTask, "taught": TaughtTask}


def train_on(
    source: Place | Sea | Sequence[Place],
    *,
    kind: TrainKind = "nms",
    file: Place,
    encoder: str | None = None,
    fps: float | None = None,
    views: int = 0,
    size: Mapping[str, int] | None = None,
    plan: TrainingPlan | None = None,
    restart: bool = False,
    progress: Progress | None = None,
) -> TrainingResult:
    """Train a temporal encoder and write it to a file.

    Call it again after an interruption: it resumes exactly where it was.

    Parameters
    ----------
    source : Sea, path or sequence of paths
        A sea (or where it is), or videos.
    kind : {"nms", "carl", "taught"}
        What is learned. "nms": frames out of order and changing speed. "carl": the same moments in two
        sequences of one clip. "taught": the same moments in two clips, from their alignments.
    file : path or URI
        The model to write, .onnx; a checkpoint lies beside it. For a model at a URI it lies in the cache
        folder of this machine.
    encoder : str, optional
        What makes the frame features of videos. Default: `dinov2-small`. A sea has its own.
    fps : float, optional
        Sampled frames per second of videos.
    views : int
        Altered views of each clip that are encoded first and drawn from.
    size : mapping of str to int, optional
        Sizes other than the task's own, such as ``{"width": 256, "layers": 2}``.
    plan : TrainingPlan, optional
        Steps, batch size, learning rate and so on.
    restart : bool
        Start over although `file` has a checkpoint beside it.
    progress : callable, optional
        Called as ``progress(what, done, total)``.

    Returns
    -------
    TrainingResult

    Raises
    ------
    EncoderError
        If `file` is not named .onnx, or its checkpoint has other settings.
    FeatureError
        If there are too few clips.
    """
    place = Location(file)
    if place.suffix != ".onnx":
        raise EncoderError(f"{file}: the model is written as ONNX; name it something.onnx")
    expect_writable(place, make_folder=True, error=EncoderError)
    local = working_path(place)
    task = TASKS[kind](**_sized(size or {}))
    if restart:
        local.with_suffix(".ckpt").unlink(missing_ok=True)
    footage = _footage(source, encoder, fps, progress)
    frames = encoder_for(*footage.lead) if views else None
    clip_views = ClipViews(footage, encoder=frames, views=views, progress=progress)
    training = Training(footage, task, plan or TrainingPlan(), local, views=clip_views, progress=progress)

    def report(step: int, values: dict[str, float]) -> None:
        if progress:
            losses = ", ".join(f"{name} {value:.3f}" for name, value in values.items())
            progress(losses, step, training.plan.steps)

    result = training.run(report=report)
    if not place.is_local:
        upload(local, place.text)
    return result


def _footage(
    source: Place | Sea | Sequence[Place], encoder: str | None, fps: float | None, progress: Progress | None
) -> Footage:
    if isinstance(source, str | PathLike):
        source = Sea(source, encoder, create=False)
    if isinstance(source, Sea):
        if fps and fps != source.fps:
            raise SeaError(f"{source.uri}: sampled at {source.fps:g} fps; leave --fps out")
        return SeaFootage(source)
    clips = [Clip(str(found.file), found.start or 0.0, found.end) for found in find_videos(source)]
    return VideoFootage(clips, get_encoder(encoder or DEFAULT), fps=fps, progress=progress)


def _sized(size: Mapping[str, int]) -> dict[str, int]:
    return {**size, "feedforward": 4 * size["width"]} if "width" in size else dict(size)
