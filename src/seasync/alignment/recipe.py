"""Recipes: how clips are compared, aligned and ranked, as one small value."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property

from seasync.options import Readout, RecipeName, Rerank, expect

# These fields change neither similarity nor score, so a calibration stays valid when they change.
_NOT_SCORED = ("name", "readout", "candidates", "rerank", "steady")


@dataclass(frozen=True)
class Recipe:
    """Everything that turns two encodings into an alignment, and candidates into a ranking.

    A frame is described by its *state* (its feature minus the clip's mean; with `context` also the running
    sum of all features so far) and, with `change_seconds`, by its *change*: the difference between the
    features that much later and earlier. The cost of pairing two frames is ``max(1 − cosine, 0) ** power``,
    weighted by how much moves.

    Attributes
    ----------
    name : str
        A word for tables and messages. Two recipes with the same values behave the same.
    context : bool
        Append the running sum over time to the state (Eq. 2 of the paper).
    change_seconds : float, optional
        Half-width of the difference that describes change. ``None`` leaves change out.
    power : float
        Exponent on ``1 − cosine``.
    stillness : float
        Share of the cost that a pair of motionless frames keeps. 1 weighs all frames alike.
    penalty : float
        Price of a step that is not diagonal, as a share of the mean cost. It is never part of DRAQ.
    readout : {"first", "mean"}
        The partner of a frame that the path pairs several times: the first one, or the mean of all.
    grid_fps : float, optional
        Rate to which slower features are refined by an integer factor. ``None`` keeps the sampled frames.
    windows : bool
        Take a frame's mean, scale and motion from its surroundings within its shot, not from the clip.
    threshold : float
        A DRAQ below this counts as alignable.
    price : float, optional
        Cost of leaving a frame out of a partial alignment, as a share of its random price. ``None`` aligns
        in part only on demand, at the price of `threshold`.
    trajectory : bool
        Compare clip vectors by mean and trajectory. ``False`` compares means alone, as in the paper.
    candidates : int
        How many clips the clip vectors propose for ranking.
    rerank : {"evidence", "product", "draq", "dtw", "none"}
        What orders the candidates; see `seasync.ranking`.
    steady : bool
        Take a steadier path where the order of the frames says little; see `seasync.alignment.steady`.

    Raises
    ------
    ValueError
        If a value is out of range, or if two of them contradict each other.

    Examples
    --------
    >>> import dataclasses
    >>> careful = dataclasses.replace(seasync.MOTION, name="careful", candidates=50)
    >>> alignment = seasync.align("query.mp4", "other.mp4", recipe=careful)
    """

    name: str
    context: bool = False
    change_seconds: float | None = None
    power: float = 1.0
    stillness: float = 1.0
    penalty: float = 0.0
    readout: Readout = "first"
    grid_fps: float | None = None
    windows: bool = False
    threshold: float = 0.6
    price: float | None = None
    trajectory: bool = False
    candidates: int = 10
    rerank: Rerank = "draq"
    steady: bool = False

    def __post_init__(self) -> None:
        for field in ("change_seconds", "grid_fps", "price"):
            value = getattr(self, field)
            if value is not None and not value > 0:
                raise ValueError(f"recipe {self.name}: {field} must be positive or None, got {value}")
        if not self.power > 0 or self.penalty < 0 or not 0 <= self.stillness <= 1:
            raise ValueError(
                f"recipe {self.name}: expected power > 0, penalty ≥ 0 and stillness within 0–1, got "
                f"{self.power = }, {self.penalty = }, {self.stillness = }"
            )
        if self.stillness < 1 and self.change_seconds is None:
            raise ValueError(f"recipe {self.name}: stillness below 1 needs change_seconds to measure motion")
        if self.context and self.windows:
            raise ValueError(f"recipe {self.name}: context sums over the whole clip; it takes no windows")
        if self.candidates < 1:
            raise ValueError(f"recipe {self.name}: candidates must be 1 or more, got {self.candidates}")
        expect(f"recipe {self.name}: readout", self.readout, Readout)
        expect(f"recipe {self.name}: rerank", self.rerank, Rerank)

    def __repr__(self) -> str:
        """`MOTION` or `PAPER`, so that signatures stay short; of others, what differs from the defaults."""
        if self in RECIPES.values():
            return self.name.upper()
        values = {each.name: getattr(self, each.name) for each in fields(self)[1:]}
        changed = [f"{name}={value!r}" for name, value in values.items() if value != _DEFAULTS[name]]
        return f"Recipe({', '.join([repr(self.name), *changed])})"

    @property
    def compares_change(self) -> bool:
        """Whether frames are compared by their change, not by their state alone."""
        return self.change_seconds is not None

    @cached_property
    def fingerprint(self) -> str:
        """Digest of the values that determine similarity and score; a calibration belongs to it.

        Only values that differ from the defaults count, so that a field added later changes no digest.
        """
        values = {
            field.name: float(value)  # 2 and 2.0 are the same value
            for field in fields(self)
            if field.name not in _NOT_SCORED and (value := getattr(self, field.name)) != field.default
        }
        return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:16]


_DEFAULTS = {each.name: each.default for each in fields(Recipe)}

PAPER = Recipe("paper", context=True)

MOTION = Recipe(
    "motion",
    change_seconds=1 / 7.5,
    power=2.0,
    stillness=0.1,
    readout="mean",
    grid_fps=15.0,
    windows=True,
    threshold=0.57,
    price=0.57,
    trajectory=True,
    candidates=25,
    rerank="evidence",
    steady=True,
)

RECIPES: Mapping[RecipeName, Recipe] = {"motion": MOTION, "paper": PAPER}
"""The recipes that users can name."""
