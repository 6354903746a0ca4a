"""Takes of one movement at known tempos: a smooth course of features, walked through along known warps."""

from __future__ import annotations

import numpy as np

from seasync.clip import Clip
from seasync.encoders.encoder import clip_vector_parts
from seasync.encoding import Encoding
from seasync.group.clock import Take
from tests.alignment.clips import retimed, stream, walk

FPS = 15.0


def places(length: int, bend: float) -> np.ndarray:
    """Positions 0–1 of a course over time, slower at first where `bend` > 0: p = t + bend·t·(t − 1)."""
    t = np.linspace(0, 1, length)
    return t + bend * t * (t - 1)


def when(place: float, bend: float) -> float:
    """The share of the take's time at which it is at this place of the course."""
    if bend == 0:
        return place
    return float((-(1 - bend) + np.sqrt((1 - bend) ** 2 + 4 * bend * place)) / (2 * bend))


def take(name: str, *, length: int = 60, bend: float = 0.0, seed: int = 1, noise: float = 0.05) -> Take:
    course = walk(80, width=16, seed=seed)
    features = retimed(course, places(length, bend) * (len(course) - 1))
    rng = np.random.default_rng(sum(map(ord, name)))
    features = features + noise * rng.normal(size=features.shape).astype(np.float32)
    lead = stream(features, fps=FPS)
    encoding = Encoding("test", (lead,), *clip_vector_parts(lead.features, lead.seconds))
    return Take(Clip(f"{name}.mp4"), encoding, length / FPS)


def true_seconds(place: float, *, length: int = 60, bend: float = 0.0) -> float:
    """When a take of this length and bend is at a place 0–1 of the course."""
    return when(place, bend) * (length - 1) / FPS
