"""Adapting a sea: train on it, see whether held-out clips align better, and if so encode it anew."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from seasync.align import MOTION, Recipe
from seasync.clip import Clip
from seasync.encoders import Encoder, encode_clip, get_encoder
from seasync.encoders.encoder import TakesFrames
from seasync.encoders.sum import SumEncoder, parts_of
from seasync.encoders.temporal import TemporalEncoder, TemporalModel
from seasync.encoding import Encoding
from seasync.errors import SeaError, VideoError
from seasync.files import cache_folder, is_uri
from seasync.files.objects import write
from seasync.options import TrainKind
from seasync.sea.rows import CLIP_COLUMNS, FORMAT, About, Row
from seasync.search import Sea
from seasync.train.judge import (
    FEWEST,
    Errors,
    agreement_errors,
    cycle_errors,
    judged,
    planted_errors,
    retime,
)
from seasync.train.pipeline import train_on
from seasync.train.training_clips import Progress, SeaFootage, split
from seasync.train.views import View

Renew = Callable[[Encoding], Encoding]
JUDGED = 40  # held-out clips, at most
ROWS = 256  # encoded anew at a time


@dataclass(frozen=True)
class AdaptResult:
    """How held-out clips align before and after, and whether the sea was encoded anew.

    why        it was or was not, in a line
    step       of the training whose weights were judged; at 0 they are untrained
    agreement  how far the way from clip to clip is from the ways through others, in milliseconds (None of
               fewer than four clips)
    planted    mean error of clips against themselves, altered and at another pace, in milliseconds (None
               where too few files can be read)
    cycle      squared frames at 30 a second, there and back (FPE); it is told, but does not decide
    """

    encoder: str
    better: bool
    why: str
    step: int
    clips: int
    judged: int
    agreement: tuple[float, float] | None
    planted: tuple[float, float] | None
    cycle: tuple[float, float]


def adapt(
    sea: Sea,
    to: str | Path,
    *,
    kind: TrainKind = "taught",
    recipe: Recipe = MOTION,
    held_out: float = 0.2,
    seed: int = 0,
    restart: bool = False,
    progress: Progress | None = None,
    **training: Any,
) -> AdaptResult:
    """Train on `sea` and, if held-out clips then align better, write it to the sea `to`, encoded anew.

    Under a recipe with change the new encoder is the old one with the learned features beside it; under the
    paper's it is the learned features alone. The model lies beside the new sea, by path or URI; for one at a
    URI the checkpoint is kept in the cache of this machine. Interrupted and called again, it goes on where it
    was. If clips do not align better, model and checkpoint are removed. The old sea stays as it is.

    kind, restart, training  steps, size, views, …: as in `train_on`
    """
    target = str(to).rstrip("/")
    if not target.endswith(".sea"):
        raise SeaError(f"{target}: the adapted sea needs a name that ends in .sea")
    file = _model_file(target)
    model = _beside(target) if is_uri(target) else str(file)
    begun = Sea(target)  # a store that does not answer says so before anything is trained
    if begun.exists() and (restart or f":{model}" not in begun.snapshot().about.encoder):
        raise SeaError(f"{target}: there is a sea already; name a new one")
    footage = SeaFootage(sea)
    held = _to_judge_by(sea, footage, held_out, seed)
    how: dict[str, Any] = {"held_out": held_out, "seed": seed, "restart": restart, "progress": progress}
    trained = train_on(sea, kind=kind, file=file, **how, **training)
    # By its file, not by its name: at a URI it is put only if it is better.
    lead = get_encoder(footage.lead[0])
    old, learned = sea.encoder(), TemporalEncoder(f"{lead.name}+{kind}:{model}", lead, TemporalModel(file))
    beside = recipe.compares_change
    sides = (*parts_of(old), learned) if beside else (learned, *parts_of(old)[1:])
    new = SumEncoder(sides) if len(sides) > 1 else learned

    def renewed(encoding: Encoding) -> Encoding:
        """What the new encoder would make of a clip, given what the old one made of it."""
        after = learned.over(encoding)
        if beside:
            return replace(encoding, encoder=new.fingerprint, streams=(*encoding.streams, after.streams[0]))
        return replace(after, encoder=new.fingerprint)

    clips, before = [footage.clips[n] for n in held], footage.encodings(held)
    after = [renewed(encoding) for encoding in before]
    cycle = cycle_errors(before, recipe), cycle_errors(after, recipe)
    agreement = agreement_errors(before, after, recipe)
    planted = _planted(clips, before, old, footage.fps, renewed, recipe, np.random.default_rng(seed))
    better, why = judged(agreement, planted)
    count = 0
    if better:
        if is_uri(target):
            write(model, file.read_bytes())
        count = reencode(sea, Sea(target, new), renewed, progress)
    elif not begun.exists():
        for left in (file, file.with_suffix(".ckpt")):
            left.unlink()
    return AdaptResult(
        encoder=(new if better else old).name,
        better=better,
        why=why,
        step=trained.kept,
        clips=count,
        judged=len(before),
        agreement=None if agreement is None else _means(agreement),
        planted=None if planted is None else _means(planted),
        cycle=_means(cycle),
    )


def _to_judge_by(sea: Sea, footage: SeaFootage, share: float, seed: int) -> list[int]:
    """Numbers of held-out clips; that they are too few is said before anything is trained."""
    held = split(footage.clips, share, seed)[1]
    if len(held) < FEWEST:
        raise SeaError(
            f"{sea.uri}: {len(held)} of {len(footage.clips)} clips held out, too few to judge by; hold out a "
            "larger share, or add clips"
        )
    return held[:JUDGED]


def _model_file(target: str) -> Path:
    """Where the model is trained, with its checkpoint: beside the sea; for one at a URI, in the cache."""
    if not is_uri(target):
        return Path(_beside(target)).absolute()
    name = hashlib.sha256(target.encode()).hexdigest()[:32]
    return cache_folder() / "adapt" / f"{name}.onnx"


def _beside(target: str) -> str:
    return f"{target.removesuffix('.sea')}.onnx"


def _means(pair: tuple[Errors, Errors]) -> tuple[float, float]:
    return float(pair[0].mean()), float(pair[1].mean())


def _planted(
    clips: Sequence[Clip],
    before: Sequence[Encoding],
    encoder: Encoder,
    fps: float,
    renewed: Renew,
    recipe: Recipe,
    rng: np.random.Generator,
) -> tuple[Errors, Errors] | None:
    """Planted errors before and after, of the clips without a cut whose files can be read."""
    parts = parts_of(encoder)
    if not all(isinstance(part, TakesFrames) for part in parts):
        return None
    altered = [View(part, 0) for part in parts]
    looking = SumEncoder(altered) if len(altered) > 1 else altered[0]
    firsts, seconds, truths = [], [], []
    for clip, encoding in zip(clips, before, strict=True):
        if len(encoding.shots) > 1:
            continue
        try:
            view = encode_clip(clip, looking, fps=fps)
        except VideoError:
            continue
        if len(view.shots) == 1:
            retimed, truth = retime(replace(view, encoder=encoding.encoder), rng)
            firsts.append(encoding)
            seconds.append(retimed)
            truths.append(truth)
    if len(firsts) < FEWEST:
        return None
    after = [*map(renewed, firsts)], [*map(renewed, seconds)]
    return planted_errors(firsts, seconds, truths, recipe), planted_errors(*after, truths, recipe)


def reencode(sea: Sea, target: Sea, renewed: Renew, progress: Progress | None) -> int:
    """Write to `target` what `renewed` makes of all clips with frame features, except those already there."""
    snapshot = sea.snapshot()
    about, columns = snapshot.about, [*CLIP_COLUMNS, "content", "split", "part", "parts", "fps", "tags"]
    kept = snapshot.table(["id"], "features_0 IS NOT NULL")
    there = set(target.snapshot().table(["id"])["id"].to_pylist()) if target.exists() else set()
    missing = [
        row
        for row, name in zip(*(kept[c].to_pylist() for c in ("_rowid", "id")), strict=True)
        if name not in there
    ]
    new = target.encoder()
    with target.writing():
        for start in range(0, len(missing), ROWS):
            if progress:
                progress("encoding anew", start, len(missing))
            chosen = missing[start : start + ROWS]
            table = snapshot.take(chosen, columns)
            rows = [
                Row(
                    clip,
                    **{name: row[name] for name in ("content", "split", "part", "parts", "fps", "duration")},
                    tags=tuple(row["tags"] or ()),
                    encoding=renewed(encoding),
                )
                for clip, row, encoding in zip(
                    snapshot.clips_of(table), table.to_pylist(), snapshot.encodings(chosen), strict=True
                )
                if encoding is not None
            ]
            streams = tuple((s.name, s.features.shape[1]) for s in rows[0].encoding.streams)
            trajectory = len(rows[0].encoding.trajectory)
            target.append(rows, About(FORMAT, new.name, new.fingerprint, about.fps, streams, trajectory))
    return len(kept)
