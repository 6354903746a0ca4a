"""Training, from clips to the model: steps, validation, early stopping, checkpoints that resume exactly."""

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, fields
from functools import cached_property, partial
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import torch

from seasync.alignment import PAPER
from seasync.clip import Clip
from seasync.encoders import DEFAULT, TakesFrames, clip_vector_parts, encoder_for, get_encoder, onnx, temporal
from seasync.encoders.torch_models import best_device
from seasync.encoding import Encoding, Stream
from seasync.errors import EncoderError, SeaError
from seasync.files import Location, Place, atomic_write, expect_writable, local, store
from seasync.options import TrainKind
from seasync.sea.sea import Sea
from seasync.sea.sources import find_videos
from seasync.train.clips import ClipViews, Footage, Pair, Progress, SeaFootage, VideoFootage, split
from seasync.train.judge import Teacher, cycle_errors
from seasync.train.methods import FrameTask, GtaTask, LavTask, SalTask, TccTask, TcnTask
from seasync.train.tasks import CarlTask, NmsTask, TaughtTask, Temporal

# How long to train, and what came of it.


@dataclass(frozen=True)
class TrainingPlan:
    """How long and how to train.

    Attributes
    ----------
    steps : int
        Training steps.
    batch : int
        Clips per step.
    rate : float
        Highest learning rate; it rises over `warmup` steps and falls as a cosine.
    warmup : int
    decay : float
        Weight decay.
    every : int
        Steps between validations.
    patience : int
        Training stops after this many validations without a better score.
    held_out : float
        Share of the files that are used for validation only.
    seed : int
    """

    steps: int = 400
    batch: int = 16
    rate: float = 1e-4
    warmup: int = 100
    decay: float = 0.01
    every: int = 100
    patience: int = 8
    held_out: float = 0.2
    seed: int = 0

    def rate_at(self, step: int) -> float:
        """The learning rate at a step: linear warm-up, then half a cosine."""
        if step < self.warmup:
            return self.rate * (step + 1) / self.warmup
        done = (step - self.warmup) / max(1, self.steps - self.warmup)
        return self.rate * (1 + math.cos(math.pi * done)) / 2


@dataclass(frozen=True)
class TrainingResult:
    """The outcome of a training.

    Attributes
    ----------
    best : dict of str to float
        Scores on held-out clips at the best step.
    history : list of dict
        Scores of all validations.
    steps : int
        Steps that were trained.
    training_clips, held_out_clips : int
    encoder : str
        Name of the encoder whose frame features the model takes.
    """

    best: dict[str, float]
    history: list[dict[str, float]]
    steps: int
    training_clips: int
    held_out_clips: int
    encoder: str

    @property
    def kept(self) -> int:
        """The step whose weights were kept; 0 means untrained."""
        return int(self.best.get("step", 0))


TASKS: Mapping[str, Any] = {
    task.kind: task for task in (TaughtTask, NmsTask, CarlTask, TccTask, TcnTask, SalTask, LavTask, GtaTask)
}


def train_on(
    source: Place | Sea | Sequence[Place],
    *,
    kind: TrainKind = "nms",
    file: Place,
    encoder: str | None = None,
    fps: float | None = None,
    views: int | None = None,
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
    kind : str
        What is learned, one of `seasync.options.TrainKind`. "taught": the same moments in two clips, from
        their alignments. "nms": frames out of order and changing speed. "carl": the same moments in two
        sequences of one clip. "tcc", "tcn", "sal", "lav", "gta": see `seasync.train.methods`.
    file : path or URI
        The model to write, .onnx; a checkpoint lies beside it. For a model at a URI it lies in the cache
        folder of this machine.
    encoder : str, optional
        What makes the frame features of videos. Default: `dinov2-small`. A sea has its own.
    fps : float, optional
        Sampled frames per second of videos.
    views : int, optional
        Altered views of each clip that are encoded first and drawn from. Default: what the task asks for (2
        for "nms"), if the clips are videos whose pictures the encoder takes.
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
    working = local.working_path(place)
    sizes = dict(size or {})
    known = {field.name for field in fields(TASKS[kind])}
    if unknown := sorted(set(sizes) - known):
        raise EncoderError(f"{kind} has no {', '.join(unknown)} to choose; leave it out")
    if "width" in sizes and "feedforward" in known:
        sizes.setdefault("feedforward", 4 * sizes["width"])
    task = TASKS[kind](**sizes)
    if restart:
        working.with_suffix(".ckpt").unlink(missing_ok=True)
    footage = _footage(source, encoder, fps, progress)
    asked = task.views if views is None and isinstance(footage, VideoFootage) else views or 0
    frames = encoder_for(*footage.lead) if asked else None
    if views is None and not isinstance(frames, TakesFrames):
        asked = 0
    clip_views = ClipViews(footage, encoder=frames, views=asked, progress=progress)
    plan = plan or TrainingPlan()
    training = Training(footage, task, plan, working, views=clip_views, progress=progress)

    def report(step: int, values: dict[str, float]) -> None:
        if progress:
            losses = ", ".join(f"{name} {value:.3f}" for name, value in values.items())
            progress(losses, step, plan.steps)

    result = training.run(report=report)
    if not place.is_local:
        store.upload(working, place.text)
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


Task = NmsTask | CarlTask | FrameTask
# Called after each step with its number and losses; after a validation with scores too.
Report = Callable[[int, dict[str, float]], None]
VALIDATED, CYCLED = 64, 16  # held-out clips at most, for the task's scores and for cycle errors
_REACHED = ("step", "stale", "history", "best", "best_weights")  # what a checkpoint keeps of a training,
_LEARNED = ("model", "head", "optimizer")  # and of these their states
START_OVER = "start over with --restart (in Python restart=True), or write to another file"


class Training:
    """One training, from its first step or from the checkpoint beside `file`.

    Parameters
    ----------
    footage : Footage
        Clips with frame features.
    task : NmsTask, CarlTask or FrameTask
        What is learned.
    plan : TrainingPlan
    file : pathlib.Path
        The model to write, .onnx; the checkpoint lies beside it as .ckpt.
    views : ClipViews, optional
        Altered views of the clips. Default: the plain ones.
    progress : callable, optional
        Called as ``progress(what, done, total)`` while the teacher works.

    Raises
    ------
    EncoderError
        If the checkpoint belongs to a training with other clips or settings.
    """

    def __init__(
        self,
        footage: Footage,
        task: Task,
        plan: TrainingPlan,
        file: Path,
        *,
        views: ClipViews | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.footage, self.task, self.plan, self.file = footage, task, plan, file
        self.checkpoint = file.with_suffix(".ckpt")
        self.views = views or ClipViews(footage)
        self.train, self.held_out = split(footage.clips, plan.held_out, plan.seed)
        self._training = set(self.train)
        self.device = best_device()
        torch.manual_seed(plan.seed)
        self.model = Temporal(task.shape(footage.dimension), dropout=task.dropout).to(self.device)
        self.head = task.head().to(self.device)
        self._standardize()
        parameters = [*self.model.parameters(), *self.head.parameters()]
        self.optimizer = torch.optim.AdamW(parameters, lr=plan.rate, weight_decay=plan.decay)
        self._progress = progress
        self.step, self.stale = 0, 0
        self.history: list[dict[str, float]] = []
        self.best: dict[str, float] = {"score": -np.inf}
        self.best_weights = _copied(self.model)
        if self.checkpoint.is_file():
            self._resume()

    @cached_property
    def teachers(self) -> list[Teacher | None]:
        """One teacher for each side of the split, so that pairs are also validated on pairs.

        They are made at the first step: a finished training needs none.
        """
        if not self.task.taught:
            return [None, None]
        teach = partial(Teacher, self.footage, seed=self.plan.seed, progress=self._progress)
        return [teach(self.train), teach(self.held_out)]

    def run(self, *, until: int | None = None, report: Report | None = None) -> TrainingResult:
        """Train to the end, or `until` a step; an interruption keeps what was reached."""
        last = self.plan.steps if until is None else min(until, self.plan.steps)
        try:
            if not self.history:
                self._validate()  # the score before anything is learned, to compare with
            while self.step < last and self.stale <= self.plan.patience:
                values = self._step()
                self.step += 1
                if self.step % self.plan.every == 0 or self.step == self.plan.steps:
                    values |= self._validate()
                    self._save()
                if report:
                    report(self.step, values)
        finally:
            self._save()
        self.model.load_state_dict(self.best_weights)
        about = self.about().to_json()
        onnx.write_model(temporal.transformer_graph(self.model.shape, self.model.weights(), about), self.file)
        return TrainingResult(
            self.best, self.history, self.step, len(self.train), len(self.held_out), self.footage.lead[0]
        )

    def about(self) -> temporal.About:
        """What the model's file says about it."""
        task, shape = self.task, self.model.shape
        windows, moments = (task.window, task.window // 2), (task.stretch, task.earlier)
        return temporal.About(task.kind, *self.footage.lead, shape, *windows, self.footage.fps, *moments)

    def _step(self) -> dict[str, float]:
        """Run one step; all randomness in it follows from the seed and the step's number."""
        plan = self.plan
        rng = np.random.default_rng((plan.seed, self.step))
        torch.manual_seed(plan.seed * 1_000_003 + self.step)
        chosen = rng.choice(self.train, min(plan.batch, len(self.train)), replace=False).tolist()
        batch = self.task.draw(self._pairs(chosen, rng, self.teachers[0]), rng).to(self.device)
        for group in self.optimizer.param_groups:
            group["lr"] = plan.rate_at(self.step)
        self.model.train()
        self.head.train()
        with torch.autocast("cuda", torch.bfloat16) if self.device == "cuda" else nullcontext():
            features = self.model(batch.features, batch.places, batch.known)
            losses = self.task.losses(self.head, features, batch)
        total = sum(losses.values())
        self.optimizer.zero_grad()
        total.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        return {name: float(loss.detach()) for name, loss in losses.items()}

    def _pairs(self, chosen: Sequence[int], rng: np.random.Generator, teacher: Teacher | None) -> list[Pair]:
        """Pair each clip with another of its action, with itself or, for the share `taught`, one in step."""
        partners = [
            teacher.partner(n, rng) if teacher and rng.random() < self.task.taught else None for n in chosen
        ]
        others = [n if partner is None else partner[0] for n, partner in zip(chosen, partners, strict=True)]
        if self.task.same_action:
            others = [self._of_one_action(n, rng) for n in chosen]
        seen = self.views.of([*chosen, *others])
        return [
            Pair(one.looks, other.looks, one.seconds, other.seconds, partner[1] if partner else other.seconds)
            for one, other, partner in zip(seen[: len(chosen)], seen[len(chosen) :], partners, strict=True)
        ]

    def _of_one_action(self, number: int, rng: np.random.Generator) -> int:
        """Another clip of this side of the split with the same label; the clip itself if there is none."""
        clips, side = self.footage.clips, self.train if number in self._training else self.held_out
        others = [n for n in side if n != number and clips[n].label == clips[number].label]
        return int(rng.choice(others)) if others else number

    def _validate(self) -> dict[str, float]:
        """Score held-out clips, with the same draws every time."""
        rng = np.random.default_rng((self.plan.seed, 1 << 32))
        batch = self.task.draw(self._pairs(self.held_out[:VALIDATED] * 4, rng, self.teachers[1]), rng)
        self.model.eval()
        self.head.eval()
        with torch.inference_mode():
            moved = batch.to(self.device)
            features = self.model(moved.features, moved.places, moved.known)
            losses = self.task.losses(self.head, features, moved)
            scores = self.task.scores(self.head.cpu(), features.cpu().float(), batch)
        self.head.to(self.device)
        scores |= {f"held-out {name}": float(loss) for name, loss in losses.items()} | self._cycle()
        self.history.append({"step": self.step, **scores})
        self.stale += 1
        if scores["score"] > self.best["score"]:
            self.best, self.stale, self.best_weights = self.history[-1], 0, _copied(self.model)
        return scores

    def _cycle(self) -> dict[str, float]:
        """Cycle error (FPE) of held-out clips among each other, by the paper's recipe."""
        encodings = []
        for seen in self.views.of(self.held_out[:CYCLED]):
            length = min(len(seen.seconds), self.task.window)
            shown = temporal.with_earlier(seen.looks[0, :length], self.task.earlier)
            looks = torch.from_numpy(shown[None]).to(self.device)
            places = torch.linspace(0, self.task.window - 1, length, device=self.device)[None]
            with torch.inference_mode():
                known = torch.ones(1, length, dtype=torch.bool, device=self.device)
                out = self.model(looks, places, known)
            features, seconds = out[0].cpu().float().numpy(), seen.seconds[:length]
            stream = Stream("learned", seconds, np.arange(length), features)
            encodings.append(Encoding("learned", (stream,), *clip_vector_parts(features, seconds)))
        return {"cycle error": float(cycle_errors(encodings, PAPER).mean())} if len(encodings) > 1 else {}

    def _standardize(self) -> None:
        """Scale features to mean 0 and spread 1, measured on up to 200 training clips."""
        sample = np.random.default_rng(self.plan.seed).permutation(self.train)[:200].tolist()
        shown = [temporal.with_earlier(seen.looks[0], self.task.earlier) for seen in self.views.of(sample)]
        frames = np.concatenate(shown)
        self.model.shift.copy_(torch.from_numpy(frames.mean(0)))
        self.model.scale.copy_(torch.from_numpy(1 / (frames.std(0) + 1e-6)))

    def _identity(self) -> str:
        """A digest of everything that must be the same for a checkpoint to be resumed."""
        clips = [(clip.file, clip.start, clip.end) for clip in self.footage.clips]
        task = self.task.kind, asdict(self.task)
        same = repr((task, asdict(self.plan), self.footage.fingerprint, self.footage.fps, clips))
        return hashlib.sha256(same.encode()).hexdigest()

    def _save(self) -> None:
        state = {"identity": self._identity()} | {name: getattr(self, name) for name in _REACHED}
        state |= {name: getattr(self, name).state_dict() for name in _LEARNED}
        with atomic_write(self.checkpoint, make_folder=True, error=EncoderError) as part:
            torch.save(state, part)

    def _resume(self) -> None:
        try:
            state = torch.load(self.checkpoint, weights_only=True, map_location=self.device)
            known = state["identity"]
        except Exception as error:  # pickle, zip and torch errors of a file that is something else
            raise EncoderError(f"{self.checkpoint}: not a checkpoint of a training; {START_OVER}") from error
        if known != self._identity():
            raise EncoderError(
                f"{self.checkpoint}: made by a training with other clips or settings; {START_OVER}"
            )
        for name in _REACHED:
            setattr(self, name, state[name])
        for name in _LEARNED:
            getattr(self, name).load_state_dict(state[name])


def _copied(model: Temporal) -> dict[str, Any]:
    return {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}
