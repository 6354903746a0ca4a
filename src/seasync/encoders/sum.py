"""`A+B`: encoders side by side, each with its own stream at its own rate; the first one leads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from seasync.clip import Clip
from seasync.encoders.encode import encode_part
from seasync.encoders.encoder import Encoder, Progress
from seasync.encoding import Encoding, Stream
from seasync.errors import EncoderError


class SumEncoder:
    """The streams of several encoders. The clip vector is the first one's.

    Each part reads the clip by itself and is cached by itself: decoding costs little beside encoding, and
    what one part has already seen is not encoded again.
    """

    def __init__(self, parts: Sequence[Encoder]) -> None:
        self.parts = tuple(parts)
        names = [part.name for part in parts]
        if len(set(names)) < len(names):
            raise EncoderError(f"{'+'.join(names)}: the same encoder twice; name each once")
        self.name = "+".join(names)
        self.fingerprint = "+".join(part.fingerprint for part in parts)
        self.dimension, self.fps = parts[0].dimension, parts[0].fps
        self.pair_fps = getattr(parts[0], "pair_fps", self.fps)

    def encode_clip(
        self, clip: Clip, *, fps: float | None, cache: bool, progress: Progress | None = None
    ) -> Encoding:
        lead, *others = (
            encode_part(clip, part, fps=None if n else fps, cache=cache, progress=progress)
            for n, part in enumerate(self.parts)
        )
        streams = [_cut_like(lead.streams[0], stream) for other in others for stream in other.streams]
        return Encoding(self.fingerprint, (*lead.streams, *streams), lead.mean, lead.trajectory)

    def __repr__(self) -> str:
        return f"SumEncoder({self.name!r})"


def parts_of(encoder: Encoder) -> tuple[Encoder, ...]:
    """The encoders side by side, the leading one first; or the one that it is."""
    return encoder.parts if isinstance(encoder, SumEncoder) else (encoder,)


def _cut_like(lead: Stream, stream: Stream) -> Stream:
    """`stream` with the leading stream's shots, so that a part which sees no cuts knows of them."""
    starts = np.searchsorted(stream.seconds, lead.seconds[lead.shots])
    return replace(stream, shots=np.unique(np.append(0, starts[starts < len(stream.seconds)])))
