"""BlazePose: people in a picture, and the joints of one of them (LiteRT models, arrays in and out)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seasync.encoders.device import allowed_threads, captured_stderr
from seasync.encoders.weights import BLAZEPOSE_DETECTOR, BLAZEPOSE_FULL, Weights, fetch
from seasync.encoding import Floats
from seasync.errors import MissingExtra

Picture = NDArray[np.uint8]
PRESENT = 0.5  # score from which a person counts as found

_DETECTOR_SIDE, _LANDMARK_SIDE = 224, 256
_STRIDES = ((8, 2), (16, 2), (32, 6))  # of the detector's grids, and anchors at each of their cells
_OVERLAP = 0.3  # of two boxes beyond which they are one person
_MARGIN = 1.25  # of the picture given to the landmark model around a body
_LANDMARKS, _CENTER, _TOP = 39, 33, 34  # the last six are auxiliary: hip center, top of the body circle


@dataclass(frozen=True)
class Box:
    """A square of the picture, turned so that the body in it stands upright; pixels and radians."""

    x: float
    y: float
    side: float
    angle: float

    @classmethod
    def around(cls, center: Floats, top: Floats) -> Box:
        """Of a body with this hip center and the point `top` on the circle around it, (2,) each."""
        right, up = float(top[0] - center[0]), float(center[1] - top[1])
        turn = math.pi / 2 - math.atan2(up, right)
        return cls(float(center[0]), float(center[1]), 2 * _MARGIN * math.hypot(right, up), turn)

    @classmethod
    def whole(cls, shape: tuple[int, ...]) -> Box:
        """Around a picture of this (height, width)."""
        return cls(shape[1] / 2, shape[0] / 2, float(max(shape[:2])), 0.0)

    def upright(self, times: float) -> Box:
        """The square around the same center that is not turned, `times` as large."""
        return Box(self.x, self.y, times * self.side, 0.0)

    def axes(self) -> tuple[float, float]:
        """Its side as a vector: (across, down) of the picture along its own horizontal."""
        return self.side * math.cos(self.angle), self.side * math.sin(self.angle)

    def distance(self, other: Box) -> float:
        """Between the centers, in pixels."""
        return math.hypot(self.x - other.x, self.y - other.y)

    def glow(self, shape: tuple[int, int]) -> NDArray[np.float64]:
        """A Gaussian on the body for a picture of this (height, width): 1 at the center."""
        down, across = (np.arange(shape[0]) + 0.5 - self.y), (np.arange(shape[1]) + 0.5 - self.x)
        return np.exp(-8 / self.side**2 * (down[:, None] ** 2 + across**2))


@dataclass(frozen=True)
class Person:
    """Someone the detector found: how sure it is, and where."""

    score: float
    box: Box


class BlazePose:
    """Detector and landmark model: the full one, or another with the same tensors."""

    def __init__(self, landmarks: Weights = BLAZEPOSE_FULL) -> None:
        self._detect = _model(fetch(BLAZEPOSE_DETECTOR))
        self._landmark = _model(fetch(landmarks))
        self._anchors = _anchors()

    def people(self, picture: Picture, view: Box) -> list[Person]:
        """Everybody found in an upright view of a picture (H, W, 3), surest first."""
        raw, logits = self._detect(cut_out(picture, view, _DETECTOR_SIDE) * 2 - 1)
        scores = _sigmoid(logits[0, :, 0])
        sure = np.flatnonzero(scores > PRESENT)
        sure = sure[np.argsort(-scores[sure])]
        # (N, 6, 2): box center, box size, hip center, top of the body circle, and the same of the upper body.
        points = raw[0, sure].reshape(-1, 6, 2) / _DETECTOR_SIDE
        points[:, [0, 2, 3, 4, 5]] += self._anchors[sure, None]
        points = (points - [[0.5], [0], [0.5], [0.5], [0.5], [0.5]]) * view.side
        points[:, [0, 2, 3, 4, 5]] += (view.x, view.y)
        return [
            Person(float(scores[sure[k]]), Box.around(points[k, 2], points[k, 3]))
            for k in _apart(points[:, 0], points[:, 1])
        ]

    def joints(self, picture: Picture, box: Box) -> tuple[Floats, float, Box]:
        """Of the person in `box`: 33 joints, how surely there is one, the box it fills.

        Joints are (33, 3): x and y in pixels, and how surely the joint is in sight.
        """
        landmarks, presence, _, heat, _ = self._landmark(cut_out(picture, box, _LANDMARK_SIDE))
        landmarks = landmarks.reshape(_LANDMARKS, 5)
        inside = _refined(landmarks[:, :2] / _LANDMARK_SIDE, heat[0]) - 0.5
        across, down = box.axes()
        turn = np.array([[across, down], [-down, across]], np.float32)
        points = inside @ turn + np.array([box.x, box.y], np.float32)
        joints = np.column_stack([points[:33], _sigmoid(landmarks[:33, 3])])
        return joints, float(presence[0, 0]), Box.around(points[_CENTER], points[_TOP])


def _refined(points: Floats, heat: Floats) -> Floats:
    """Points (N, 2) from 0 to 1, moved to the center of their own heat (h, w, N) within three cells around.

    A point that is outside, or whose heat is nowhere over one half, stays where it is.
    """
    size, reach = heat.shape[0], 3
    cells = np.floor(points * size).astype(int)
    around = np.arange(-reach, reach + 1)
    places = cells[:, :, None] + around  # (N, 2, 7)
    padded = np.pad(_sigmoid(heat), ((reach, reach), (reach, reach), (0, 0)))
    known = ((cells >= 0) & (cells < size)).all(1)
    at = np.clip(places + reach, 0, size + 2 * reach - 1)
    weights = padded[at[:, 1, :, None], at[:, 0, None, :], np.arange(len(points))[:, None, None]]
    known &= weights.max((1, 2)) >= 0.5
    total = np.maximum(weights.sum((1, 2)), 1e-6)
    centers = np.stack(
        [(weights.sum(1) * places[:, 0]).sum(1) / total, (weights.sum(2) * places[:, 1]).sum(1) / total],
        axis=1,
    )
    return np.where(known[:, None], centers / size, points).astype(np.float32)


def _sigmoid(values: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-values.clip(-50, 50))), np.float32)


def cut_out(picture: Picture, box: Box, side: int) -> Floats:
    """What `box` shows, (side, side, 3) from 0 to 1, black outside the picture."""
    from PIL import Image

    across, down = (length / side for length in box.axes())
    half = side / 2
    corner = box.x - half * (across - down), box.y - half * (across + down)
    affine = (across, -down, corner[0], down, across, corner[1])
    image = Image.fromarray(picture).transform(
        (side, side), Image.Transform.AFFINE, affine, resample=Image.Resampling.BILINEAR
    )
    return np.asarray(image, np.float32) / np.float32(255)


def _anchors() -> Floats:
    """(2254, 2): x and y from 0 to 1 that the detector's boxes are told relative to."""
    grids = []
    for stride, count in _STRIDES:
        centers = (np.arange(_DETECTOR_SIDE // stride) + 0.5) * stride / _DETECTOR_SIDE
        y, x = np.meshgrid(centers, centers, indexing="ij")
        grids.append(np.repeat(np.stack([x, y], -1).reshape(-1, 2), count, axis=0))
    return np.concatenate(grids).astype(np.float32)


def _apart(centers: Floats, sizes: Floats) -> list[int]:
    """Indices of the boxes that overlap no box before them."""
    low, high = centers - sizes / 2, centers + sizes / 2
    areas = sizes.prod(1)
    kept: list[int] = []
    for k in range(len(centers)):
        common = (np.minimum(high[k], high[kept]) - np.maximum(low[k], low[kept])).clip(0).prod(1)
        if not (common > _OVERLAP * (areas[k] + areas[kept] - common)).any():
            kept.append(k)
    return kept


def _model(file: Path) -> Any:
    """The LiteRT model in `file` as a function from one input (without its batch axis) to its outputs."""
    try:
        from ai_edge_litert.interpreter import Interpreter
    except ImportError as error:
        raise MissingExtra("pose", "pose") from error
    threads = allowed_threads() or None
    with captured_stderr():  # LiteRT tells there what it runs on, and has no switch for that
        interpreter = Interpreter(str(file), num_threads=threads)
        interpreter.allocate_tensors()
    entry = interpreter.get_input_details()[0]["index"]
    exits = [details["index"] for details in interpreter.get_output_details()]

    def run(values: Floats) -> list[Floats]:
        interpreter.set_tensor(entry, values[None].astype(np.float32))
        interpreter.invoke()
        return [interpreter.get_tensor(index) for index in exits]

    return run
