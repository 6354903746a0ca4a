"""Adapting a sea: train on it and, if held-out clips then align better, encode it again."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from seasync.alignment import MOTION, Recipe
from seasync.clip import Clip
from seasync.encoders import Encoder, TakesFrames, encode, encode_clip, encoder_for
from seasync.encoders.temporal import TemporalEncoder, TemporalModel
from seasync.encoding import Encoding
from seasync.errors import SeaError, VideoError
from seasync.files import Location, Place, is_uri, local, store
from seasync.options import TrainKind
from seasync.sea.copies import reencode as write_again
from seasync.sea.sea import Sea
from seasync.train.clips import Progress, SeaFootage, View, split
from seasync.train.fit import TrainingPlan, train_on
from seasync.train.judge import FEWEST, Errors, agreement_errors, cycle_errors, judge, planted_errors, retime

Reencode = Callable[[Encoding], Encoding]
MOST_JUDGED = 40  # held-out clips at most
ROWS = 256  # clips that are encoded again at a time
WITH_FEATURES = "features_0 IS NOT NULL"


@dataclass(frozen=True)
class AdaptResult:
    """How held-out clips align before and after, and whether the sea was encoded again.

    Attributes
    ----------
    encoder : str
        Name of the encoder that the result uses.
    better : bool
        Whether the sea was encoded again.
    why : str
        The reason, in one line.
    step : int
        The training step whose weights were judged; 0 means untrained.
    clips : int
        Clips that were encoded again.
    judged : int
        Held-out clips that were compared.
    agreement : (float, float), optional
        Disagreement between clips before and after, in milliseconds; None with fewer than four clips.
    planted : (float, float), optional
        Error of clips against altered, retimed copies of themselves before and after, in milliseconds; None
        if too few files can be read.
    cycle : (float, float)
        Cycle error (FPE) before and after, in squared frames at 30 per second. It does not decide.
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
    to: Place,
    *,
    kind: TrainKind = "taught",
    recipe: Recipe = MOTION,
    views: int | None = None,
    size: Mapping[str, int] | None = None,
    plan: TrainingPlan | None = None,
    restart: bool = False,
    progress: Progress | None = None,
) -> AdaptResult:
    """Train on a sea and, if held-out clips then align better, write it to a new sea, encoded again.

    With a recipe that compares change, the new encoder is the old one plus the learned features; with the
    paper's recipe it is the learned features alone. The model lies beside the new sea; if that is at a URI,
    the checkpoint is kept in this machine's cache. Call it again after an interruption: it resumes. If clips
    do not align better, model and checkpoint are removed. The old sea never changes.

    Parameters
    ----------
    sea : Sea
        The sea to train on.
    to : path or URI
        The new sea, NAME.sea.
    recipe : Recipe
        How held-out clips are aligned to judge the encoder.
    kind, views, size, plan, restart, progress
        As in `seasync.train.train_on`.

    Returns
    -------
    AdaptResult

    Raises
    ------
    SeaError
        If `to` is no usable name or is taken, or too few clips are held out.
    """
    target = str(to).rstrip("/")
    if not target.endswith(".sea"):
        raise SeaError(f"{target}: the adapted sea needs a name that ends in .sea")
    model = f"{target.removesuffix('.sea')}.onnx"
    file = local.working_path(Location(model))
    if not is_uri(target):
        model = str(file)
    begun = Sea(target)  # a store that does not answer says so before anything is trained
    if begun.exists() and (restart or f":{model}" not in begun.record.snapshot().facts.encoder):
        raise SeaError(f"{target}: there is a sea already; name a new one")
    footage = SeaFootage(sea)
    plan = plan or TrainingPlan()
    held = split(footage.clips, plan.held_out, plan.seed)[1][:MOST_JUDGED]
    if len(held) < FEWEST:
        raise SeaError(
            f"{sea.uri}: {len(held)} of {len(footage.clips)} clips held out, too few to judge by; hold out a "
            "larger share, or add clips"
        )
    trained = train_on(
        sea, kind=kind, file=file, views=views, size=size, plan=plan, restart=restart, progress=progress
    )
    # Loaded from its local file: at a URI it is stored only if it is better.
    lead = encoder_for(*footage.lead)
    old, learned = sea.encoder(), TemporalEncoder(f"{lead.name}+{kind}:{model}", lead, TemporalModel(file))
    beside = recipe.compares_change
    sides = (*encode.parts_of(old), learned) if beside else (learned, *encode.parts_of(old)[1:])
    new = encode.SumEncoder(sides) if len(sides) > 1 else learned

    def reencoded(encoding: Encoding) -> Encoding:
        """What the new encoder would make of a clip, from what the old one made of it."""
        after = learned.over(encoding)
        if beside:
            return replace(encoding, encoder=new.fingerprint, streams=(*encoding.streams, after.streams[0]))
        return replace(after, encoder=new.fingerprint)

    clips, before = [footage.clips[n] for n in held], footage.encodings(held)
    after = [reencoded(encoding) for encoding in before]
    cycle = cycle_errors(before, recipe), cycle_errors(after, recipe)
    agreement = agreement_errors(before, after, recipe)
    rng = np.random.default_rng(plan.seed)
    planted = _planted_errors(clips, before, old, footage.fps, reencoded, recipe, rng)
    better, why = judge(agreement, planted)
    count = 0
    if better:
        if is_uri(target):
            store.upload(file, model)
        count = reencode(sea, Sea(target, new), reencoded, progress)
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


def _means(pair: tuple[Errors, Errors]) -> tuple[float, float]:
    return float(pair[0].mean()), float(pair[1].mean())


def _planted_errors(
    clips: Sequence[Clip],
    before: Sequence[Encoding],
    encoder: Encoder,
    fps: float,
    reencoded: Reencode,
    recipe: Recipe,
    rng: np.random.Generator,
) -> tuple[Errors, Errors] | None:
    """Planted errors before and after, for clips without a cut whose files can be read."""
    parts = encode.parts_of(encoder)
    if not all(isinstance(part, TakesFrames) for part in parts):
        return None
    altered = [View(part, 0) for part in parts]
    looking = encode.SumEncoder(altered) if len(altered) > 1 else altered[0]
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
    after = [*map(reencoded, firsts)], [*map(reencoded, seconds)]
    return planted_errors(firsts, seconds, truths, recipe), planted_errors(*after, truths, recipe)


def reencode(sea: Sea, target: Sea, reencoded: Reencode, progress: Progress | None) -> int:
    """Write all clips with frame features to `target`, encoded again, and return how many there are.

    Clips that `target` already has are left alone, so an interrupted call can be repeated.
    """

    def again(_: Clip, held: Encoding | None) -> Encoding:
        assert held is not None
        return reencoded(held)

    def report(done: int, total: int) -> None:
        if progress and done % ROWS == 0:
            progress("encoding again", done, total)

    write_again(sea, target, again, condition=WITH_FEATURES, rows=ROWS, progress=report)
    return len(sea.record.snapshot().table(["id"], WITH_FEATURES))
