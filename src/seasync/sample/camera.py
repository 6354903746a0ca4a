"""How a clip is filmed: where the camera points, frame by frame."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from seasync.sample.actions import Action, Array

MARGIN = 0.2  # of the picture, by which the scenery extends beyond it on each side


@dataclass(frozen=True, eq=False)
class Camera:
    """What is in view. Lengths are pixels of the picture at zoom 1.

    corner  (N, 2)  of the part of the scenery that is in view      scale      pixels to a metre
    zoom    (N,)    how much that part is enlarged                  origin     (2,) where the figure stands
    view    degrees that the figure is turned towards the camera
    """

    corner: Array
    zoom: Array
    scale: float
    origin: Array
    view: float

    @classmethod
    def held(cls, action: Action, seconds: Array, size: tuple[int, int], rng: np.random.Generator) -> Camera:
        """A camera that pans and zooms a little, in hands that are not quite still."""
        frame, course = np.array(size, np.float64), seconds / seconds[-1] - 0.5
        zoom = rng.uniform(0.96, 1.06) * (1 + rng.uniform(-0.04, 0.04) * course)
        pan = course[:, None] * rng.uniform([-0.03, -0.01], [0.03, 0.01])
        shake = rng.uniform(0.001, 0.005) * np.stack([wander(seconds, rng), wander(seconds, rng)], -1)
        view, scale = action.view + rng.uniform(-9, 9), size[1] / action.high
        ahead, up = action.center
        subject = scale * np.array([ahead * np.cos(np.radians(view)), -up])
        middle = frame * (0.5 + MARGIN)
        aside = frame * [rng.uniform(-0.03, 0.03), 0]
        corner = middle + frame * (pan + shake) - frame / 2 / zoom[:, None]
        return cls(corner, zoom, scale, middle - subject + aside, view)

    def pixels(self, points: Array) -> Array:
        """Where points (N, P, 2) in metres, across and up, are in the picture: right and down."""
        in_scenery = points * [self.scale, -self.scale] + self.origin
        return np.asarray((in_scenery - self.corner[:, None]) * self.zoom[:, None, None])


def wander(seconds: Array, rng: np.random.Generator) -> Array:
    """A slow irregular movement about 0, (N,)."""
    rates, phases = rng.uniform(0.2, 1.1, 3), rng.uniform(0, 2 * np.pi, 3)
    return np.asarray(np.sin(2 * np.pi * rates * seconds[:, None] + phases).mean(1))
