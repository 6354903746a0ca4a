"""Recipes: how a cost matrix is made of frame features, how a path is read off, and when it counts."""

from __future__ import annotations

from dataclasses import dataclass

from seasync.options import Readout, expect


@dataclass(frozen=True)
class Recipe:
    """What is done with frame features to align two clips; a small value to compare, vary and store.

    The features of a frame are its *state* (the feature minus the clip's mean; with `context` also the
    running sum of all features so far) and, with `change_seconds`, its *change*: the difference between
    the features that much later and earlier. Cost = max(1 − cosine, 0)^power, weighted by how much moves.

    context         append the running sum over time to the state
    change_seconds  half-width of the difference; None leaves change out
    power           exponent on 1 − cosine
    stillness       share of the cost that a pair of motionless frames keeps; 1 weighs all frames alike
    penalty         price of a step that is not diagonal, as a share of the mean cost; never part of DRAQ
    readout         the partner of a frame the path pairs several times: the "first", or their "mean"
    grid_fps        rate to which slower features are refined by an integer factor; None: frames as they are
    windows         mean, scale and motion of a frame come from its surroundings within its shot, not the clip
    threshold       DRAQ below this reads as alignable
    price           cost of leaving a frame out of a partial alignment, as a share of its random price;
                    None: partial alignment only on demand, at the price of `threshold`
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
        expect(f"recipe {self.name}: readout", self.readout, Readout)


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
)
