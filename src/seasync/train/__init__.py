"""Temporal encoders learned on frame features (torch)."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from seasync.train.pipeline import train_on as train_on
    from seasync.train.training_plan import TrainingPlan as TrainingPlan

_HOME = {"TrainingPlan": "training_plan", "train_on": "pipeline"}
__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
