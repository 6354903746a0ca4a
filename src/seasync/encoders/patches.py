"""Frame features that look where things move: patches weighed by their variance over the clip."""

from __future__ import annotations

import numpy as np

from seasync.encoding import HOP, WINDOW, Floats, windows

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
    window; of a longer one at most WINDOW + HOP frames of tokens are held at any time.
    """

    def __init__(self) -> None:
        self._tokens: list[Floats] = []  # (P, d) of the frames held
        self._held_from = 0  # the shot's frame that the first of them is
        self._done = 0  # frames of the shot already given out

    def push(self, tokens: Floats) -> list[Floats]:
        """Take the next frame's patch tokens (P, d); give the features (d,) that are settled by it."""
        self._tokens.append(tokens)
        length = self._held_from + len(self._tokens)
        features: list[Floats] = []
        # HOP frames are settled once their window lies inside the shot, however the shot goes on.
        while length > WINDOW and self._done + _AHEAD <= length:
            begin = max(0, self._done + _AHEAD - WINDOW)
            features.extend(self._weigh((self._done, self._done + HOP, begin, begin + WINDOW)))
            self._done += HOP
        unneeded = min(self._done + _AHEAD, length) - WINDOW - self._held_from
        if unneeded > 0:
            del self._tokens[:unneeded]
            self._held_from += unneeded
        return features

    def end_shot(self) -> list[Floats]:
        """The features still owed; the next frame begins a new shot."""
        length = self._held_from + len(self._tokens)
        spans = windows(0, length) if length else []
        features = [feature for span in spans if span[0] >= self._done for feature in self._weigh(span)]
        self._tokens, self._held_from, self._done = [], 0, 0
        return features

    def _weigh(self, span: tuple[int, int, int, int]) -> Floats:
        a, b, begin, end = (position - self._held_from for position in span)
        window = np.stack(self._tokens[begin:end])  # (W, P, d)
        weights = window.var(axis=0).sum(axis=-1) ** 2
        total = weights.sum()
        # A window in which nothing changes at all has no place that matters more than another.
        weights = weights / total if total > 0 else np.full_like(weights, 1 / len(weights))
        features: Floats = np.einsum("p,tpd->td", weights, window[a - begin : b - begin], optimize=True)
        return features
