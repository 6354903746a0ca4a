"""The part of a group's time in which the reference moves."""

from __future__ import annotations

import numpy as np

from seasync.encoding import Seconds
from seasync.group.clock import STARTED, Group


def while_moving(group: Group, values: Seconds) -> Seconds:
    """Values at the moments of the common clock, with NaN before the movement begins and after it ends.

    Where all stand still, tempo and who is ahead mean nothing.

    Parameters
    ----------
    group : Group
    values : ndarray [shape=(..., N)]
    """
    share = np.cumsum(group.motion) / max(float(group.motion.sum()), 1e-12)
    moving = (share >= STARTED) & (share <= 1 - STARTED)
    return np.where(moving, values, np.nan)
