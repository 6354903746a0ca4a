"""The alignment of two clips: the path, its scores, and the warps read off it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seasync.align.cost_pair import CostPair
from seasync.align.fit import Judged, Piece
from seasync.align.grid import end_of
from seasync.align.recipe import Recipe
from seasync.align.speed import speed_warnings
from seasync.align.warp import Stretch, Warp
from seasync.clip import Clip
from seasync.encoding import Floats, Indices, Seconds
from seasync.json_forms import AlignmentForm
from seasync.options import Side, expect


@dataclass(frozen=True, eq=False)
class Alignment(Judged):
    """How two clips correspond in time.

    Attributes
    ----------
    recipe : Recipe
        How the clips were compared.
    path : numpy.ndarray [shape=(L, 2)], int32
        Pairs of grid points (query, match), increasing within each piece.
    query_seconds, match_seconds : numpy.ndarray [shape=(n,)], numpy.ndarray [shape=(m,)]
        Times of the grid points in their files.
    query_frames, match_frames : numpy.ndarray [shape=(n,)], numpy.ndarray [shape=(m,)]
        Numbers of the file frames nearest to them, counted from 0.
    query_motion, match_motion : numpy.ndarray [shape=(n,)], numpy.ndarray [shape=(m,)]
        How much moves there, 1 on average.
    query_step, match_step : float
        Seconds between sampled frames.
    dtw_cost, random_cost : float
        Cost of the path, and mean cost of random paths through the same pieces. DRAQ counts the cheapest
        path, which costs less if other matches corrected `path`.
    pieces : tuple of Piece
        One piece unless the clips were aligned in part.
    coverage : (float, float)
        Share of the movement in the query, and in the match, that the path covers.
    likelihood : float, optional
        Probability, at even odds, that both show the same movement; it decides the verdict. None if it is
        not known for this encoder and recipe: then DRAQ decides.
    query, match : Clip, optional
        The clips, if they come from files.
    anchors : tuple of (float, float)
        Moments (query, match) that the path had to pass; warps pass them exactly.
    ends : (float, float)
        Where query and match end in their files, in seconds, if known.
    cost : numpy.ndarray [shape=(n, m)], optional
        The cost matrix, if it was kept.
    pair : CostPair, optional
        What the costs are computed from.

    Examples
    --------
    >>> seasync.align("query.mp4", "other.mp4").draq < 1
    True
    """

    recipe: Recipe
    path: NDArray[np.int32]
    query_seconds: Seconds
    match_seconds: Seconds
    query_frames: Indices
    match_frames: Indices
    query_motion: Floats
    match_motion: Floats
    query_step: float
    match_step: float
    dtw_cost: float
    random_cost: float
    pieces: tuple[Piece, ...]
    coverage: tuple[float, float] = (1.0, 1.0)
    query: Clip | None = None
    match: Clip | None = None
    anchors: tuple[tuple[float, float], ...] = ()
    ends: tuple[float, float] = (math.inf, math.inf)
    cost: Floats | None = field(default=None, repr=False)
    likelihood: float | None = None
    pair: CostPair | None = field(default=None, repr=False)

    def _repr_html_(self) -> str:
        from seasync.align.notebook import alignment_html

        return alignment_html(self)

    def __repr__(self) -> str:
        size = f"{len(self.query_seconds)}×{len(self.match_seconds)}"
        return f"Alignment({size} by {self.recipe.name}, DRAQ {self.draq:.3f}, {self.verdict})"

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """What to check, in words: long stretches at an absurd speed. None if the clips do not align."""
        if not self.alignable:
            return ()
        return tuple(speed_warnings(self.warp(keep="query"), self.warp(keep="match")))

    def of(self, query: Clip | None, match: Clip | None, *, ends: tuple[float, float]) -> Alignment:
        """The alignment as one of these clips; nothing reaches beyond their `ends`, in seconds."""
        return replace(self, query=query, match=match, ends=ends, pieces=self.pieces_until(ends))

    def warp(self, keep: Side = "query") -> Warp:
        """The map from one clip's seconds to the other's.

        Every grid point of the kept clip has exactly one partner. A point that the path pairs several times
        takes its first partner or the mean of all, as the recipe's `readout` says.

        Parameters
        ----------
        keep : {"query", "match"}
            The clip whose time stays as it is.

        Returns
        -------
        Warp
        """
        expect("keep", keep, Side)
        side = 0 if keep == "query" else 1
        times, others = (self.query_seconds, self.match_seconds)[:: 1 - 2 * side]
        motion = self.query_motion if keep == "query" else self.match_motion
        step = self.query_step if keep == "query" else self.match_step
        stretches = []
        for piece in self.pieces:
            cells = self.path[piece.start : piece.stop]
            kept, partners = cells[:, side], others[cells[:, 1 - side]]
            first = np.flatnonzero(np.diff(kept, prepend=-1))  # points never go back within a piece
            indices = kept[first]
            if self.recipe.readout == "first":
                values = partners[first]
            else:
                values = np.add.reduceat(partners, first) / np.diff(first, append=len(kept))
            end = max(min(end_of(times, indices[-1], step), self.ends[side]), float(times[indices[-1]]))
            trust = motion[indices].astype(float)
            stretch = Stretch(times[indices], values, end, trust, self.ends[1 - side])
            for anchor in self._anchors_in(cells):
                stretch = stretch.through(anchor[side], anchor[1 - side])
            stretches.append(stretch)
        return Warp(tuple(stretches))

    @property
    def uncertainty(self) -> NDArray[np.float64] | None:
        """The earliest and latest partner of each of the query's grid points, (n, 2) seconds of the match.

        None without a cost matrix. See `seasync.align.uncertainty`.
        """
        from seasync.align.uncertainty import partner_bounds

        return partner_bounds(self)

    @property
    def typical_uncertainty(self) -> float | None:
        """By how many seconds the partner of a typical moment could be off, weighted by what moves."""
        from seasync.align.uncertainty import typical_width

        return typical_width(self)

    def _anchors_in(self, cells: NDArray[np.int32]) -> Iterator[tuple[float, float]]:
        """The anchors whose cell is among these."""
        for query, match in self.anchors:
            place = np.abs(self.query_seconds - query).argmin(), np.abs(self.match_seconds - match).argmin()
            if (cells == place).all(1).any():
                yield query, match

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON, as `seasync.json_forms.AlignmentForm` describes them."""
        from seasync.align.uncertainty import uncertainty_rows

        i, j = self.path.T
        rows = zip(
            self.query_frames[i].tolist(),
            self.query_seconds[i].round(6).tolist(),
            self.match_frames[j].tolist(),
            self.match_seconds[j].round(6).tolist(),
            strict=True,
        )
        form = AlignmentForm(
            **vars(self.scores()),
            path=list(rows),
            warnings=list(self.warnings),
            uncertainty=uncertainty_rows(self),
        )
        return asdict(form)
