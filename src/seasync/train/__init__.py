"""Temporal encoders learned on frame features (torch)."""

from typing import TYPE_CHECKING

from seasync.lazy import loader

if TYPE_CHECKING:
    from seasync.train.fit import TrainingPlan, train_on

__all__ = ["TrainingPlan", "train_on"]
__getattr__ = loader(__name__, {"fit": __all__})
