"""What each clip of a sample will show and when, drawn from the seed before any picture is."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from seasync.sample import looks
from seasync.sample.actions import Action, Array, smooth_through
from seasync.sample.choreography import ACTIONS
from seasync.sample.looks import Look

FRAME_RATES = (Fraction(24), Fraction(25), Fraction(30), Fraction(30000, 1001))
TONES = (220.0, 247.5, 275.0, 330.0, 371.25)  # hertz; they sound well together
# The kind of distractor that each round of all actions is.
ROUNDS = ("", "", "look", "motion", "", "", "", "")


@dataclass(frozen=True, eq=False)
class Plan:
    """One clip to be.

    seconds      (N,) when each frame is shown        action_time  (N,) from 0 to 1, never falling
    key_seconds  (K,) when the key moments happen     distractor   "" | "look" | "motion"
    """

    index: int
    action: Action
    look: Look
    distractor: str
    fps: Fraction
    seconds: Array
    action_time: Array
    key_seconds: Array
    tone: float
    seed: tuple[int, ...]

    @property
    def name(self) -> str:
        return f"{self.action.name}/{self.action.name}-{self.index:03d}.mp4"


def plan(index: int, *, seed: int, seconds: tuple[float, float]) -> Plan:
    """Clip `index` of the sample; it does not depend on how many clips there are."""
    turn, kind = divmod(index, len(ACTIONS))
    action, distractor = ACTIONS[kind], ROUNDS[turn % len(ROUNDS)]
    if distractor == "look":
        borrowed = _elsewhere(turn, kind)
        look = looks.drawn(seed, borrowed, ACTIONS[borrowed % len(ACTIONS)].place)
    else:
        look = looks.drawn(seed, index, action.far_place if distractor == "motion" else action.place)
    rng = np.random.default_rng([seed, index, 1])
    fps = FRAME_RATES[int(rng.integers(len(FRAME_RATES)))]
    count = round(rng.uniform(*seconds) * fps)
    times, progress, keys = _speed_curve(action.key_times, float(count / fps), rng)
    shown = np.arange(count) / float(fps)
    return Plan(
        index=index,
        action=action,
        look=look,
        distractor=distractor,
        fps=fps,
        seconds=shown,
        action_time=smooth_through(times, progress, shown),
        key_seconds=keys,
        tone=float(rng.choice(TONES)),
        seed=(seed, index, 2),
    )


def _elsewhere(turn: int, kind: int) -> int:
    """The clip of another action, two rounds before, whose look is borrowed."""
    return (turn - 2) * len(ACTIONS) + (kind + len(ACTIONS) // 2) % len(ACTIONS)


def _speed_curve(
    key_times: tuple[float, ...], seconds: float, rng: np.random.Generator
) -> tuple[Array, Array, Array]:
    """Knots of action time over seconds, and the seconds at which the key times are first reached.

    It stands still at both ends and, here and there, at a key moment; between, each stretch has a pace of its
    own and changes it on the way.
    """
    lead, tail = rng.uniform(0.07, 0.15, 2) * seconds
    holds = np.where(rng.random(len(key_times)) < 0.35, rng.uniform(0.04, 0.1, len(key_times)), 0) * seconds
    stops = np.array([0.0, *key_times, 1.0])
    share = np.diff(stops) * rng.uniform(0.65, 1.5, len(stops) - 1)
    spent = share / share.sum() * (seconds - lead - tail - holds.sum())
    times, progress, keys = [0.0, lead], [0.0, 0.0], []
    for k, stretch in enumerate(spent):
        start = times[-1]
        for at, gone in zip((0.5, 1.0), (rng.uniform(0.36, 0.64), 1.0), strict=True):
            times.append(start + at * stretch)
            progress.append(stops[k] + gone * (stops[k + 1] - stops[k]))
        if k < len(key_times):
            keys.append(times[-1])
            if holds[k]:
                times.append(times[-1] + holds[k])
                progress.append(progress[-1])
    return np.array([*times, seconds]), np.array([*progress, 1.0]), np.array(keys)
