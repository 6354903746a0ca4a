"""Taught: learn which moments of two clips are the same from their alignments.

The teacher aligns training clips with each other by the recipe and all streams there are. The pupil sees the
leading stream alone and learns, by CARL's sequence loss, features in which partners are alike. Its
transformer knows only how far frames are apart, so it cannot answer by where in the clip they are.
"""

from __future__ import annotations

from dataclasses import dataclass

from seasync.encoders.transformer import Shape
from seasync.train.carl_task import Carl


@dataclass(frozen=True)
class Taught(Carl):
    """The task and its settings; `taught` is the share of pairs of two clips, the others are of one."""

    kind = "taught"
    taught = 0.9
    width: int = 128
    layers: int = 2
    heads: int = 4
    feedforward: int = 512
    hidden: tuple[int, ...] = ()
    reach: int = 16

    @property
    def stretch(self) -> int:
        return 0

    def shape(self, features: int) -> Shape:
        return Shape(
            features, self.width, self.layers, self.heads, self.feedforward, unit=True, reach=self.reach
        )
