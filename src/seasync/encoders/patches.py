"""Frame features that look where things move: patches weighted by their variance over the clip."""

from __future__ import annotations

from collections import deque

import numpy as np

from seasync.encoding import HOP, WINDOW, Floats

_ROUNDING = 1e-9  # share of the mean square that a variance of nothing may have
_AHEAD = (HOP + WINDOW) // 2  # a window ends this many frames after the first of those that share it

CUT = 0.35  # 1 − cosine of two consecutive class tokens beyond which a new shot begins


def is_cut(before: Floats, after: Floats, threshold: float = CUT) -> bool:
    """Whether a shot begins between two frames, by their class tokens (d,)."""
    scale = float(np.linalg.norm(before) * np.linalg.norm(after))
    return scale > 0 and 1 - float(before @ after) / scale > threshold


class PatchPool:
    """Turns a stream of patch tokens into frame features, one shot at a time, in bounded memory.

    For patches p[t, i] (i = place, d channels) of a window of the shot: v_i = Σ_d var_t p[t, i, d],
    w_i = v_i² / Σ v², and the frame feature is f_t = Σ_i w_i p[t, i]. A shot of at most WINDOW frames is one
    window; of a longer one WINDOW frames of tokens are held, and their sums follow as frames come and go.
    """

    def __init__(self) -> None:
        self._begin_shot()

    def _begin_shot(self) -> None:
        self._tokens: deque[Floats] = deque()  # (P, d) of the frames held
        self._length = 0  # of the shot so far, in frames
        self._done = 0  # frames of the shot already given out
        self._origin: Floats | None = None  # (P, d) what the sums are taken from: the shot's first frame

    def push(self, tokens: Floats) -> list[Floats]:
        """Take the next frame's patch tokens (P, d); give the features (d,) that are settled by it."""
        if self._origin is None:
            self._origin = tokens
            self._sum = np.zeros(tokens.shape)
            self._squares = np.zeros(len(tokens))
        self._tokens.append(tokens)
        self._length += 1
        self._count(tokens, 1)
        if len(self._tokens) > WINDOW:
            self._count(self._tokens.popleft(), -1)
        # HOP frames are settled once their window lies inside the shot, however the shot continues.
        hops = (self._length - self._done - _AHEAD) // HOP + 1
        return self._weigh(self._done + HOP * hops) if len(self._tokens) == WINDOW and hops > 0 else []

    def end_shot(self) -> list[Floats]:
        """The features still owed; the next frame begins a new shot."""
        features = self._weigh(self._length) if self._length else []
        self._begin_shot()
        return features

    def _count(self, tokens: Floats, sign: int) -> None:
        assert self._origin is not None
        away = np.subtract(tokens, self._origin, dtype=np.float64)  # or what comes and goes leaves rounding
        self._sum += sign * away
        self._squares += sign * np.einsum("pd,pd->p", away, away)

    def _weigh(self, until: int) -> list[Floats]:
        """The features of the frames that were not given out yet, up to `until`."""
        count = len(self._tokens)
        squares, mean = self._squares / count, self._sum / count
        variance = squares - np.einsum("pd,pd->p", mean, mean)
        weights = np.where(variance > _ROUNDING * squares, variance, 0.0) ** 2
        total = weights.sum()
        # A window in which nothing changes at all has no place that matters more than another.
        shares = (weights / total if total > 0 else np.full(len(weights), 1 / len(weights))).astype(
            np.float32
        )
        first = self._length - count
        held = list(self._tokens)[self._done - first : until - first]
        self._done = until
        return [shares @ tokens for tokens in held]
