"""Encodings made of given or random features."""

from __future__ import annotations

import numpy as np

from seasync.encoding import Encoding, Stream


def stream(features, *, fps=7.5, start=0.0, seconds=None, shots=(0,), name="frames", found=1.0):
    features = np.asarray(features, np.float32)
    seconds = start + np.arange(len(features)) / fps if seconds is None else np.asarray(seconds, float)
    frames = np.rint(seconds * 30).astype(np.int64)
    return Stream(name, seconds, frames, features, np.asarray(shots, np.int64), found)


def encoding(features, *, more=(), **options):
    lead = stream(features, **options)
    mean = lead.features.mean(0)
    return Encoding("test", (lead, *more), mean, mean)


def walk(length, width=8, seed=0, offset=0.0):
    """A smooth random course of features (length, width) float32, `offset` away from the origin."""
    rng = np.random.default_rng(seed)
    course = np.cumsum(rng.normal(size=(length + 4, width)), axis=0)
    smooth = (course[4:] + course[2:-2] + course[:-4]) / 3
    return (smooth + offset * rng.normal(size=width)).astype(np.float32)


def retimed(features, places):
    """The features at fractional positions `places` of their course."""
    at = np.arange(len(features))
    return np.stack([np.interp(places, at, column) for column in features.T], axis=1).astype(np.float32)
