"""A stand-in for BlazePose: it sees the disc of `tests.serve.films` as a person whose left knee bends."""

from __future__ import annotations

import numpy as np

from seasync.encoders.pose import Box, Person, Picture
from seasync.encoding import Floats

LIMB = 15.0  # pixels


class DiscFigure:
    """The hips are at the center of the disc. The knee is straight at first and bent to 90° at the end."""

    def people(self, picture: Picture, view: Box) -> list[Person]:
        place = _disc(picture)
        return [] if place is None else [Person(0.9, _box(place))]

    def joints(self, picture: Picture, box: Box) -> tuple[Floats, float, Box]:
        place = _disc(picture)
        if place is None:
            return np.zeros((33, 3), np.float32), 0.0, box
        x, y, progress = place
        points = np.tile(np.float32([x, y - 2 * LIMB, 0.9]), (33, 1))
        bend = np.pi / 2 * progress
        up, hip, knee = (x, y - 2 * LIMB), (x, y), (x, y + LIMB)
        ankle = (knee[0] + LIMB * np.sin(bend), knee[1] + LIMB * np.cos(bend))
        for number, point in {11: up, 12: up, 13: hip, 14: hip, 23: hip, 24: hip}.items():
            points[number, :2] = point
        for number, point in {25: knee, 26: knee, 27: ankle, 28: (x, y + 2 * LIMB)}.items():
            points[number, :2] = point
        return points, 0.9, _box(place)


def _box(place: tuple[float, float, float]) -> Box:
    return Box(place[0], place[1], 5 * LIMB, 0.0)


def _disc(picture: Picture) -> tuple[float, float, float] | None:
    """Center of the disc, and how far its action is; None without a disc."""
    colors = picture.astype(int)
    rows, columns = np.nonzero((colors[..., 0] > 180) & (colors[..., 2] < 120))
    if len(rows) < 50:
        return None
    green = float(np.median(colors[rows, columns, 1]))
    return float(columns.mean()), float(rows.mean()), min(max((200 - green) / 150, 0.0), 1.0)
