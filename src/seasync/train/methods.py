"""The methods of the paper's Table 3 that learn from frames alone or from pairs of one action.

Each is a task as those of `seasync.train.tasks`: what is drawn of a clip, the loss, the embedder. All see a
frame and one half a second before it, through two layers of 512 and one of 128, as their papers do on top of
a frame encoder. Theirs is trained with it and keeps its map of the picture; ours is frozen and pooled.

The formulas and settings were read in public code: TCC and TCN in minghchen/CARL_code, SaL in
google-research/tcc, LAV in trquhuytin/LAV-CVPR21, GTA in hadjisma/VideoAlignment. Where a paper says
otherwise than this code, the docstring of the loss tells.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional

from seasync.encoders.temporal import Shape, with_earlier
from seasync.encoding import Floats, Seconds
from seasync.train.clips import Batch, Pair, pad_batch

Ints = NDArray[np.int64]
FAR = 1e9  # the cost of what is outside a table


@dataclass(frozen=True)
class FrameTask(ABC):
    """What these methods share: the embedder, and frames drawn at random, in order.

    Attributes
    ----------
    width : int
        Numbers per frame out.
    hidden : tuple of int
        Widths of the layers before.
    dropout : float
    frames : int
        Frames drawn of a clip.
    earlier : int
        How many frames back the second frame lies that is seen with each: half a second at 7.5 per second.
    window : int
        Frames seen at once. It makes no difference: each frame is seen by itself.
    """

    kind: ClassVar[str] = ""
    taught: ClassVar[float] = 0.0
    stretch: ClassVar[int] = 0
    same_action: ClassVar[bool] = True
    views: ClassVar[int] = 0
    unit: ClassVar[bool] = False
    width: int = 128
    hidden: tuple[int, ...] = (512, 512)
    dropout: float = 0.1
    frames: int = 20
    earlier: int = 4
    window: int = 1024

    def shape(self, features: int) -> Shape:
        """The embedder for frame features of this dimension."""
        return Shape(2 * features, self.width, 0, 1, 0, self.hidden, unit=self.unit)

    def head(self) -> Any:
        """What is learned beside the embedder and not exported: nothing."""
        return nn.Identity()

    def draw(self, pairs: Sequence[Pair], rng: np.random.Generator) -> Batch:
        """Draw frames of both clips of every pair, one after the other."""
        sequences: list[Floats] = []
        labels: dict[str, list[NDArray[Any]]] = {"seconds": [], "share": [], "lasts": []}
        for pair in pairs:
            for looks, seconds in ((pair.one, pair.seconds), (pair.other, pair.other_seconds)):
                at = self.chosen(seconds, rng)
                seen = with_earlier(looks[rng.integers(len(looks))], self.earlier)
                sequences.append(seen[at])
                lasts = max(float(seconds[-1] - seconds[0]), 1e-6)
                labels["seconds"].append(seconds[at])
                labels["share"].append((seconds[at] - seconds[0]) / lasts)
                labels["lasts"].append(np.full(len(at), lasts))
        return pad_batch(sequences, labels["seconds"], **labels)

    def chosen(self, seconds: Seconds, rng: np.random.Generator) -> Ints:
        """The numbers of the frames that are drawn of a clip with frames at these times."""
        return np.sort(rng.choice(len(seconds), self.frames, replace=len(seconds) < self.frames))

    @abstractmethod
    def losses(self, head: Any, features: Any, batch: Batch) -> dict[str, Any]:
        """The loss, from features of shape (2B, T, d)."""

    def scores(self, head: Any, features: Any, batch: Batch) -> dict[str, float]:
        """Kendall's τ of the nearest frames of the other clip, as these papers measure it; 0 is chance."""
        seconds = batch.labels["seconds"].float()
        nearest = torch.cdist(features[::2], features[1::2]).argmin(-1)
        found = seconds[1::2].gather(-1, nearest)
        asked = (seconds[::2, None, :] - seconds[::2, :, None]).sign()
        agree = asked * (found[:, None, :] - found[:, :, None]).sign()
        tau = float(agree.sum() / asked.abs().sum().clamp(min=1))
        return {"tau": tau, "score": tau}


@dataclass(frozen=True)
class TccTask(FrameTask):
    """Temporal cycle consistency (Dwibedi et al. 2019): frames of two clips of one action."""

    kind = "tcc"
    temperature: float = 0.1
    spread_weight: float = 0.001

    def losses(self, head: Any, features: Any, batch: Batch) -> dict[str, Any]:
        one, other, share = features[::2], features[1::2], batch.labels["share"].float()
        settings = self.temperature, self.spread_weight
        forth = tcc_loss(one, other, share[::2], *settings)
        return {"cycle": (forth + tcc_loss(other, one, share[1::2], *settings)) / 2}


@dataclass(frozen=True)
class TcnTask(FrameTask):
    """Time-contrastive networks of one view (Sermanet et al. 2018): pairs of frames near in time.

    The loss is that of n pairs, by which the figures of the paper's Table 3 were made, not the triplets
    of TCN's own paper.
    """

    kind = "tcn"
    near: float = 5 / 30  # seconds
    length_weight: float = 0.002

    def chosen(self, seconds: Seconds, rng: np.random.Generator) -> Ints:
        """Anchors in order, each followed by its positive frame."""
        count = self.frames // 2
        anchors = np.sort(rng.choice(len(seconds), count, replace=len(seconds) < count))
        reach = max(1, round(self.near / max(float(np.median(np.diff(seconds))), 1e-6)))
        moved = rng.integers(1, reach, count, endpoint=True) * rng.choice([-1, 1], count)
        inside = (anchors + moved >= 0) & (anchors + moved < len(seconds))
        positives = np.clip(np.where(inside, anchors + moved, anchors - moved), 0, len(seconds) - 1)
        return np.stack([anchors, positives], axis=1).reshape(-1)

    def losses(self, head: Any, features: Any, batch: Batch) -> dict[str, Any]:
        return {"pairs": n_pairs_loss(features[:, ::2], features[:, 1::2], self.length_weight)}


@dataclass(frozen=True)
class SalTask(FrameTask):
    """Shuffle and Learn (Misra et al. 2016): are three frames in order?

    Three of five frames a < b < c < d < e: b, c, d in order, b, a, d or b, e, d out of order, forwards or
    backwards. The original draws them where much moves; we draw them anywhere.
    """

    kind = "sal"
    triplets: int = 8
    shuffled: float = 0.75

    def head(self) -> Any:
        """The classifier of three embeddings side by side."""
        sizes = (3 * self.width, 128, 64)
        layers = [layer for a, b in pairwise(sizes) for layer in (nn.Linear(a, b), nn.ReLU())]
        return nn.Sequential(*layers, nn.Linear(64, 2))

    def chosen(self, seconds: Seconds, rng: np.random.Generator) -> Ints:
        """The frames of all triplets, one triplet after the other."""
        triplets = []
        for _ in range(self.triplets):
            five = np.sort(rng.choice(len(seconds), 5, replace=False))
            if rng.random() < 0.5:
                five = five[::-1]
            middle = rng.choice([0, 4]) if rng.random() < self.shuffled else 2
            triplets.append(five[[1, middle, 3]])
        return np.concatenate(triplets)

    def losses(self, head: Any, features: Any, batch: Batch) -> dict[str, Any]:
        three = batch.labels["seconds"].reshape(-1, 3).diff(dim=1).sign()
        right = (three[:, 0] == three[:, 1]).long()
        return {"order": functional.cross_entropy(head(features.reshape(len(right), -1)), 1 - right)}


@dataclass(frozen=True)
class LavTask(FrameTask):
    """Learning by aligning videos (Haresh et al. 2021): soft DTW, and frames of a clip kept apart."""

    kind = "lav"
    unit = True
    softness: float = 0.1
    weight: float = 0.5
    near: float = 10 / 30  # seconds
    margin: float = 2.0

    def losses(self, head: Any, features: Any, batch: Batch) -> dict[str, Any]:
        share, near = batch.labels["share"].float(), self.near / batch.labels["lasts"][:, :1].float()
        path = soft_dtw(_squares(features[::2], features[1::2]), self.softness)
        apart = contrastive_idm(features, share, near, self.margin)
        return {"path": path.mean() / self.frames, "apart": 2 * self.weight * apart.mean() / self.frames}


@dataclass(frozen=True)
class GtaTask(FrameTask):
    """Global temporal alignment (Hadji et al. 2021): smooth DTW, and a cycle through both of its tables."""

    kind = "gta"
    unit = True
    softness: float = 0.1
    temperature: float = 0.1
    smoothing: float = 0.1
    path_weight: float = 0.1

    def losses(self, head: Any, features: Any, batch: Batch) -> dict[str, Any]:
        path, cycle = gta_loss(features[::2], features[1::2], self.softness, self.temperature, self.smoothing)
        return {"path": self.path_weight * path, "cycle": cycle}


# The losses, on embeddings of pairs of clips: (P, T, d) and (P, U, d).


def tcc_loss(one: Any, other: Any, times: Any, temperature: float, spread_weight: float) -> Any:
    """Cycle-back regression: (t − μ)² / σ² + λ·log σ² of where a frame comes back to, (P, T) times.

    As in its public code, similarity is minus the squared distance over d·temperature, times are shares of
    the clip, and λ multiplies log σ². The paper writes λ·log σ.
    """
    scale = one.shape[-1] * temperature
    neighbor = (-_squares(one, other) / scale).softmax(-1) @ other
    share = (-_squares(neighbor, one) / scale).softmax(-1)
    mean = (share * times[:, None]).sum(-1)
    spread = (share * (times[:, None] - mean[..., None]) ** 2).sum(-1).clamp(min=1e-9)
    return ((times - mean) ** 2 / spread + spread_weight * spread.log()).mean()


def n_pairs_loss(anchors: Any, positives: Any, length_weight: float) -> Any:
    """Cross entropy of each anchor finding its own positive of the clip; long vectors cost extra."""
    logits = anchors @ positives.transpose(1, 2)
    own = torch.arange(logits.shape[1], device=logits.device).expand(logits.shape[0], -1)
    lengths = (anchors**2).sum(-1).mean() + (positives**2).sum(-1).mean()
    return functional.cross_entropy(logits.transpose(1, 2), own) + 0.25 * length_weight * lengths


def contrastive_idm(features: Any, times: Any, near: Any, margin: float) -> Any:
    """Sum over two frames of one clip, (P,): near in time they are drawn together, else pushed apart.

    Frames more than `near` (P, 1) apart cost (1 + Δt²)·max(0, margin − distance), others their squared
    distance. Times are shares of the clip, as in the public code; the paper writes frame numbers.
    """
    apart = (times[:, :, None] - times[:, None, :]).abs()
    distance = _squares(features, features)
    pushed = (1 + apart**2) * functional.relu(margin - distance)
    return torch.where(apart > near[..., None], pushed, distance).sum((1, 2))


def soft_dtw(cost: Any, softness: float) -> Any:
    """Soft DTW (Cuturi and Blondel 2017) of costs (P, T, U): (P,)."""
    return dtw_table(cost, lambda ways: -softness * (-ways / softness).logsumexp(-1))[:, -1, -1]


def gta_loss(one: Any, other: Any, softness: float, temperature: float, smoothing: float) -> tuple[Any, Any]:
    """Both paths' costs, and the cross entropy of coming back to where a frame began.

    The cost of two frames is −log of the share of their similarity among all frames of the first clip. The
    cycle is the product of both tables as shares, read as logits as in the public code.
    """

    def smoothest(ways: Any) -> Any:
        return ((-ways / softness).softmax(-1) * ways).sum(-1)

    def table(first: Any, second: Any) -> Any:
        return dtw_table(-(first @ second.transpose(1, 2) / temperature).log_softmax(1), smoothest)

    forth, back = table(one, other), table(other, one)
    cycle = ((-forth).softmax(1) @ (-back).softmax(1)).transpose(1, 2).flatten(0, 1)
    own = torch.arange(one.shape[1], device=one.device).repeat(len(one))
    return (
        forth[:, -1, -1].mean() + back[:, -1, -1].mean(),
        functional.cross_entropy(cycle, own, label_smoothing=smoothing),
    )


def dtw_table(cost: Any, best: Callable[[Any], Any]) -> Any:
    """The table of DTW with another minimum, (P, T, U) → (P, T, U), one diagonal after the other.

    `best` maps the tables' three earlier cells (P, n, 3) to (P, n).
    """
    _, rows, columns = cost.shape
    edge = cost.new_full((len(cost), rows + 1), FAR)
    begin = edge.clone()
    begin[:, 0] = 0
    diagonals = [begin, edge]  # diagonal d holds cell (i, d − i) at i; row and column 0 lie outside
    for d in range(2, rows + columns + 1):
        low, high = max(1, d - columns), min(rows, d - 1)
        inside = torch.arange(low, high + 1, device=cost.device)
        before, last = diagonals[-2][:, low - 1 : high], diagonals[-1]
        ways = torch.stack([last[:, low : high + 1], before, last[:, low - 1 : high]], dim=-1)
        here = cost[:, inside - 1, d - inside - 1] + best(ways)
        diagonals.append(torch.cat([edge[:, :low], here, edge[:, high + 1 :]], dim=1))
    place = torch.arange(1, rows + 1, device=cost.device)[:, None]
    across = torch.arange(1, columns + 1, device=cost.device)[None]
    return torch.stack(diagonals, dim=1)[:, place + across, place]


def _squares(one: Any, other: Any) -> Any:
    """Squared distances, (P, T, d) and (P, U, d) → (P, T, U)."""
    products = one @ other.transpose(1, 2)
    return ((one**2).sum(-1)[:, :, None] + (other**2).sum(-1)[:, None] - 2 * products).clamp(min=0)
