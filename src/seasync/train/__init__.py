"""Temporal encoders learned on frame features (torch)."""

from typing import TYPE_CHECKING

from seasync.lazy import loader

if TYPE_CHECKING:
    from seasync.train.fit import TrainingPlan as TrainingPlan, train_on as train_on

_HOMES = {"TrainingPlan": "fit", "train_on": "fit"}
__all__ = sorted(_HOMES)
__getattr__ = loader(__name__, _HOMES)
