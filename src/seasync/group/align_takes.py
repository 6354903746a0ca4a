"""Encoded takes put on the clock of a reference."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from seasync.alignment import MOTION, Alignment, Recipe, align_many, score_many
from seasync.alignment.consensus import apply_consensus
from seasync.alignment.judge import LIKELY
from seasync.encoding import Encoding
from seasync.errors import FeatureError
from seasync.group.clock import AlignedTake, Group, Judge, LeftOut, Take

PairProgress = Callable[[int, int], None]
# Takes are aligned this many at a time: enough to be solved together, few enough to bound the memory.
BATCH = 64
# A medoid is judged by its scores with this many other takes, so that its cost grows with the takes, not
# with their square.
PROBES = 12
# A take that fits the reference must also fit those takes that fit it best, if there are enough of them.
WITNESSES, FEWEST_WITNESSES = 9, 3
# DRAQ may be so much higher than among the witnesses; those that are all but copies of each other count as
# this tight. Chosen on the sample sea, gestures, actions, robots and falls: no take of the same movement is
# lost by it there.
MUCH_WORSE, TIGHT_DRAQ = 0.15, 0.35


def group_of(
    reference: Take,
    takes: Sequence[Take],
    *,
    recipe: Recipe = MOTION,
    consensus: bool = True,
    left_out: Sequence[LeftOut] = (),
    judge: Judge | None = None,
    progress: PairProgress | None = None,
) -> Group:
    """Put encoded takes on the reference's clock.

    Parameters
    ----------
    reference : Take
    takes : sequence of Take
        All but the reference.
    recipe : Recipe
    consensus : bool
        Let the takes correct each other's alignment, and leave out those that fit the reference alone. The
        cost grows with the takes times twenty.
    left_out : sequence of LeftOut
        Takes that could not be read, to be reported with those that do not align.
    judge : callable, optional
        Gives an alignment the verdict of a sea that is calibrated. Default: the verdict of the pair alone.
    progress : callable, optional
        Called with the takes done and their number.

    Raises
    ------
    FeatureError
        If there are no takes, or none aligns with the reference.
    """
    if not takes:
        reasons = f" ({left_out[0].clip.name}: {left_out[0].reason})" if left_out else ""
        raise FeatureError(f"an empty group: expected at least one take beside the reference{reasons}")
    alignments = _aligned(reference, takes, recipe, judge, progress)
    fitting = [n for n, alignment in enumerate(alignments) if alignment.alignable]
    alone = _fit_alone(takes, alignments, fitting, recipe, judge) if consensus else set()
    refused = [
        LeftOut(take.clip, "does not align with the other takes" if n in alone else alignment.verdict)
        for n, (take, alignment) in enumerate(zip(takes, alignments, strict=True))
        if n in alone or not alignment.alignable
    ]
    fitting = [n for n in fitting if n not in alone]
    if not fitting:
        raise FeatureError(
            f"{reference.clip.name}: none of {len(takes)} takes aligns with this reference; "
            "choose another reference, or takes of the same movement"
        )
    chosen = [alignments[n] for n in fitting]
    if consensus:
        chosen = apply_consensus(chosen, [takes[n].encoding for n in fitting])
    aligned = tuple(
        AlignedTake(takes[n].clip, each.of(reference.clip, takes[n].clip, ends=(reference.end, takes[n].end)))
        for n, each in zip(fitting, chosen, strict=True)
    )
    return Group(
        reference.clip,
        aligned,
        (*left_out, *refused),
        chosen[0].query_seconds,
        _frame_seconds(reference.encoding),
        (reference, *(takes[n] for n in fitting)),
        recipe,
        judge,
    )


def align_judged(
    query: Encoding, others: Sequence[Encoding], recipe: Recipe, judge: Judge | None
) -> list[Alignment]:
    """One encoding aligned with others, each with its verdict."""
    found = align_many(query, others, recipe=recipe) if others else []
    if judge is None:
        return found
    return [judge(alignment, query, other) for alignment, other in zip(found, others, strict=True)]


def _aligned(
    query: Take,
    takes: Sequence[Take],
    recipe: Recipe,
    judge: Judge | None,
    progress: PairProgress | None = None,
) -> list[Alignment]:
    """One take aligned with others, a batch at a time."""
    alignments: list[Alignment] = []
    for first in range(0, len(takes), BATCH):
        batch = [take.encoding for take in takes[first : first + BATCH]]
        alignments += align_judged(query.encoding, batch, recipe, judge)
        if progress:
            progress(len(alignments), len(takes))
    return alignments


def _fit_alone(
    takes: Sequence[Take],
    alignments: Sequence[Alignment],
    fitting: Sequence[int],
    recipe: Recipe,
    judge: Judge | None,
) -> set[int]:
    """The takes that fit the reference but not its company: the takes that fit it best.

    One pair is judged by little evidence. A take must be likely the same movement as its witnesses too, and
    must not fit them much worse than they fit each other.
    """
    witnesses = sorted(fitting, key=lambda n: -_likelihood(alignments[n]))[:WITNESSES]
    heard: dict[int, list[Alignment]] = {n: [] for n in fitting}
    among: list[float] = []  # DRAQ of the witnesses with each other
    for witness in witnesses:
        others = [n for n in fitting if n != witness]
        found = _aligned(takes[witness], [takes[n] for n in others], recipe, judge)
        for n, alignment in zip(others, found, strict=True):
            heard[n].append(alignment)
            among += [alignment.draq] if n in witnesses else []
    if len(among) < FEWEST_WITNESSES:
        return set()
    limit = max(float(np.median(among)), TIGHT_DRAQ) + MUCH_WORSE

    def fits(said: Sequence[Alignment]) -> bool:
        likely = np.mean([_likelihood(alignment) for alignment in said]) >= LIKELY
        return bool(likely and np.median([alignment.draq for alignment in said]) <= limit)

    return {n for n, said in heard.items() if len(said) >= FEWEST_WITNESSES and not fits(said)}


def _likelihood(alignment: Alignment) -> float:
    """How likely both show the same movement; where that is not known, whether they align."""
    return float(alignment.alignable) if alignment.likelihood is None else alignment.likelihood


def medoid(takes: Sequence[Take], *, recipe: Recipe = MOTION, seed: int = 0) -> int:
    """The number of the take that fits the others best: the lowest mean score with some of them."""
    if len(takes) < 2:
        return 0
    probes = np.sort(np.random.default_rng(seed).permutation(len(takes))[:PROBES])
    total, count = np.zeros(len(takes)), np.zeros(len(takes))
    for probe in probes.tolist():
        others = [n for n in range(len(takes)) if n != probe]
        for first in range(0, len(others), BATCH):
            batch = others[first : first + BATCH]
            encodings = [takes[n].encoding for n in batch]
            total[batch] += score_many(takes[probe].encoding, encodings, recipe=recipe, partial="auto").score
            count[batch] += 1
    return int(np.argmin(total / np.maximum(count, 1)))


def _frame_seconds(encoding: Encoding) -> float:
    """The time between two frames of the file, from the sampled frames' numbers and times."""
    frames, seconds = encoding.frames, encoding.seconds
    if len(frames) < 2 or frames[-1] == frames[0]:
        return 1 / 30
    return float((seconds[-1] - seconds[0]) / (frames[-1] - frames[0]))
