"""Recipes: how clips are compared, aligned and ranked, as one value that holds every choice and number."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, fields, replace
from functools import cached_property

from seasync.options import Order, Partial, Readout, RecipeName, Rerank, expect

# These change no score of a pair: what users ask for, how a path is read, and what becomes of scores later.
_NOT_SCORED = (
    "name", "partial", "order", "consensus", "readout", "candidates", "rerank",
    "strictness", "least_coverage", "helpers", "direct_weight", "worse_detour", "tolerance",
    "score_weight", "contrast_weight", "contrast_seconds", "usual_deviation", "company",
)  # fmt: skip


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
    partial : {"auto", "never", "always"}
        "never" aligns from the first frames to the last. "always" aligns only what corresponds. "auto"
        aligns the whole clips unless leaving something out gains clearly more; it is
        "never" with a band, or without a `price`.
    order : {"same", "any"}
        "any" also looks for parts that come in another order.
    consensus : bool, optional
        Whether the matches of a search correct each other's paths. ``None``: where that is fast.
    context : bool
        Append the running sum over time to the state (Eq. 2 of the paper).
    change_seconds : float, optional
        Half-width of the difference that describes change. ``None`` leaves change out.
    power : float
        Exponent on ``1 − cosine``.
    stillness : float
        Share of the cost that a pair of motionless frames keeps. 1 weighs all frames alike.
    motion_cap : float
        A frame moves at most this many times as much as the mean one.
    penalty : float
        Price of a step that is not diagonal, as a share of the mean cost. It is never part of DRAQ.
    readout : {"first", "mean"}
        The partner of a frame that the path pairs several times: the first one, or the mean of all.
    grid_fps : float, optional
        Rate to which slower features are refined by an integer factor. ``None`` keeps the sampled frames.
    windows : bool
        Take a frame's mean, scale and motion from its surroundings within its scene, not from the clip.
    scene_distance : float
        Shots show one scene if 1 − cosine of their mean features is below this.
    scale_floor : float
        The mean square of a window counts as at least this share of the clip's.
    threshold : float
        A DRAQ below this counts as alignable.
    strictness : float
        The DRAQ of pieces must be below `threshold` by this much, because they are chosen to fit.
    least_coverage : float
        Share of one of the clips that pieces must cover to count as alignable.
    price : float, optional
        Cost of leaving a frame out of a partial alignment, as a share of its random price. ``None`` aligns
        in part only on demand, at the price of `threshold`.
    jump, jump_in_any_order : float
        Cost of jumping ahead from piece to piece, and of jumping anywhere, as a share of the random price of
        both clips.
    margin : float
        What leaving something out must gain, as a share of the cost of the path through the whole clips.
    mirror_share : float
        A mirrored match must cost less than this share of the plain one.
    film_price : float
        Random price of a frame, as a share of its mean cost, where a query is sought in a film.
    helpers, direct_weight, worse_detour
        Consensus: through how many other matches detours lead, how many detours the direct way outweighs, and
        how much higher DRAQ on a detour may be.
    tolerance : float
        How much more expensive a path is that could still be right, as a share of the geometric mean of the
        cheapest path's cost and that of random ones.
    trajectory : bool
        Compare clip vectors by mean and trajectory. ``False`` compares means alone, as in the paper.
    candidates : int
        How many clips the clip vectors propose for ranking.
    score_weight, contrast_weight, contrast_seconds, usual_deviation, company : float
        Weights of the order, the length of a query from which contrast counts in full, the deviation of
        distances in sets too small for a cohort, and how much nearness to the best matches counts.
    rerank : {"order", "product", "draq", "dtw", "none"}
        What orders the candidates; see `seasync.ranking`.

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
    _: KW_ONLY
    # What users ask for.
    partial: Partial = "auto"
    order: Order = "same"
    consensus: bool | None = None
    # The cost of a pair of frames.
    motion_cap: float = 3.0  # of 2–10 the best on falls; the other sets hardly change
    scene_distance: float = 0.3  # halves of one scene differ by .24 at most, foreign footage by .35 at least
    scale_floor: float = 0.25  # not measured
    # What is left out.
    jump: float = 0.025  # chosen on planted parts of one half of the clips, measured on the other
    jump_in_any_order: float = 0.015  # chosen on golf swings in two and three pieces; uncut they stay whole
    margin: float = 0.2  # of the nearest pairs of clips that correspond whole, 1 % gain that much by chance
    # The score and the verdict.
    mirror_share: float = 0.97  # not measured
    strictness: float = 0.02  # not measured
    least_coverage: float = 0.5  # not measured
    film_price: float = 0.75  # mean number of cells of a random path per frame, of two clips of equal length
    # Consensus and uncertainty.
    helpers: int = 9  # not measured
    direct_weight: int = 3  # not measured
    worse_detour: float = 0.05  # not measured
    tolerance: float = 0.035  # the true moment lies within for 84–100 % of the events of sets left out
    # The order of candidates.
    score_weight: float = 1.5  # chosen in eight of nine sets of kinds, one left out each; 1–2 is as good
    contrast_weight: float = 3.0  # the same; 2–4 is as good
    contrast_seconds: float = 6.0  # two seconds of movement fit many others in the right order by chance
    usual_deviation: float = 0.2  # the median in a sea of six kinds of footage is .21
    company: float = 2.0  # gestures P@10 62 → 70, actions 95 → 98; 1–4 is as good

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
        expect("partial", self.partial, Partial)
        expect("order", self.order, Order)

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

    @property
    def frame_price(self) -> float:
        """What leaving a frame out costs, as a share of its random price."""
        return self.threshold if self.price is None else self.price

    @property
    def takes_apart(self) -> bool:
        """Whether anything may be left out of the clips, or come in another order."""
        never = "auto" if self.price is None and self.order == "same" else "never"
        return self.partial not in ("never", never)

    def asked(
        self, *, partial: Partial | None = None, order: Order | None = None, consensus: bool | None = None
    ) -> "Recipe":
        """The recipe with what a user asks for; what is None stays as it is."""
        wanted = {"partial": partial, "order": order, "consensus": consensus}
        changed = {name: value for name, value in wanted.items() if value is not None}
        return replace(self, **changed) if changed else self  # type: ignore[arg-type]

    def refined(self, rate: float) -> "Recipe":
        """The recipe with a grid twice as fine, for features of this rate that its own grid does not refine.

        Single pairs gain from it: without, 7.5 frames per second have a grid of 15, and 15 frames as well.
        """
        if self.grid_fps is None or self.grid_fps >= 1.8 * rate:
            return self
        return replace(self, grid_fps=2 * self.grid_fps)

    @cached_property
    def fingerprint(self) -> str:
        """Digest of all values that can change a score; a calibration belongs to it."""
        values = {
            field.name: value if value is None else float(value)  # 2 and 2.0 are the same value
            for field in fields(self)
            if field.name not in _NOT_SCORED
            for value in [getattr(self, field.name)]
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
    rerank="order",
)

RECIPES: Mapping[RecipeName, Recipe] = {"motion": MOTION, "paper": PAPER}
"""The recipes that users can name."""
