"""The taught task: learn which moments of two clips are the same from their alignments.

A teacher aligns the training clips with each other, using all streams of the encoder. The model sees the
leading stream alone and learns, by CARL's sequence loss, features in which aligned frames are similar. Its
transformer knows only how far frames are apart, so it cannot answer by their position in the clip.
"""

from __future__ import annotations

from dataclasses import dataclass

from seasync.encoders.transformer import Shape
from seasync.train.carl_task import CarlTask


@dataclass(frozen=True)
class TaughtTask(CarlTask):
    """The task and its settings; the share `taught` of the pairs shows two clips, the others one."""

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
        """Positions are not stretched."""
        return 0

    def shape(self, features: int) -> Shape:
        """The transformer for frame features of this dimension."""
        return Shape(
            features, self.width, self.layers, self.heads, self.feedforward, unit=True, reach=self.reach
        )
