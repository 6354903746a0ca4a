"""The clips that take the most similar course."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from seasync.encoding import Encoding


def nearest(target: Encoding, numbers: Sequence[int], encodings: Sequence[Encoding], most: int) -> list[int]:
    """At most so many of the numbers: those whose encodings take the most similar course."""
    if len(numbers) <= most:
        return list(numbers)
    courses = np.stack([encoding.trajectory for encoding in encodings])
    lengths = np.linalg.norm(courses, axis=1) * np.linalg.norm(target.trajectory)
    similarity = courses @ target.trajectory / np.maximum(lengths, 1e-12)
    return [numbers[n] for n in np.argsort(-similarity, kind="stable")[:most].tolist()]
