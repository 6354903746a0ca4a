"""`pose`: the joints of the person who moves most, followed through the clip, and the angles between them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from seasync.clip import Clip
from seasync.encoders.encode import encode_part
from seasync.encoders.encoder import Progress, encoding_of, halved
from seasync.encoders.onnx import allowed_threads, captured_stderr
from seasync.encoders.weights import BLAZEPOSE_DETECTOR, BLAZEPOSE_FULL, BLAZEPOSE_HEAVY, Weights, fetch
from seasync.encoding import Encoding, Floats, Indices, Seconds, Stream
from seasync.errors import MissingExtra, VideoError
from seasync.files import Place

if TYPE_CHECKING:
    from seasync.video import Frames


# BlazePose: people in a picture, and the joints of one of them (LiteRT models, arrays in and out).


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


# Of BlazePose's 33: nose, shoulders, elbows, wrists, hips, knees, ankles; left before right.
JOINTS = (0, 11, 12, 13, 14, 15, 16, 23, 24, 25, 26, 27, 28)
_SHOULDERS, _HIPS = [1, 2], [7, 8]  # among these thirteen
_LOOKS = 5  # frames in which the actor is looked for
_SCENE = 150  # frames held in memory
_PATIENCE = 5  # frames without the person until another is looked for
_AROUND = 2  # sides of the box in which a lost person is looked for
_SMOOTHING = 0.5  # samples
IN_SIGHT = 0.5  # visibility from which a joint's place is believed
_SELDOM = 3  # frames in which a joint must be in sight for that
# (13, 2) of movement: up and down it is the same from all around; legs move less than arms and tell as much.
_WEIGHTS = np.outer(np.where(np.arange(13) < _HIPS[0], 1, 3 / 2), (1, 4 / 3))


class PoseEncoder:
    """(x, y) of 13 joints per frame, from the clip's median hip center, in median torso lengths."""

    dimension = 2 * len(JOINTS)
    input_size = (512, 512)
    fit: Literal["within"] = "within"
    fps = 15.0

    def __init__(self, *, heavy: bool = False) -> None:
        landmarks = BLAZEPOSE_HEAVY if heavy else BLAZEPOSE_FULL
        self.name = "pose-heavy" if heavy else "pose"
        self.fingerprint = f"{self.name}/{BLAZEPOSE_DETECTOR.sha256[:8]}/{landmarks.sha256[:8]}/5"
        self._model = BlazePose(landmarks)

    def encode(self, batches: Iterable[Frames]) -> Encoding:
        seconds, numbers, joints, _ = follow_person(self._model, batches)
        found = sum(points is not None for points in joints) / len(joints)
        features = halved(normalized(joints, seconds))
        return encoding_of(self, Stream("pose", seconds, numbers, features, found=found))

    def __repr__(self) -> str:
        return f"PoseEncoder({self.name!r}, {len(JOINTS)} joints)"


def follow_person(
    model: PoseModel, batches: Iterable[Frames]
) -> tuple[Seconds, Indices, list[Floats | None], tuple[int, int]]:
    """Follow who moves most through a clip: times and numbers of its frames, joints, (width, height).

    Joints are (13, 3) as BlazePose gives them, None without a person. Raises VideoError without frames.
    """
    seconds, numbers, size = [], [], (0, 0)
    joints: list[Floats | None] = []
    scene: list[Picture] = []
    follower = Follower(model)
    for batch in batches:
        seconds.append(batch.seconds)
        numbers.append(batch.numbers)
        size = batch.data.shape[2], batch.data.shape[1]
        scene.append(batch.data)
        if sum(map(len, scene)) >= _SCENE:
            joints += follower.follow(np.concatenate(scene))
            scene = []
    if scene:
        joints += follower.follow(np.concatenate(scene))
    if not joints:
        raise VideoError("no frames to encode; the clip is empty")
    return np.concatenate(seconds), np.concatenate(numbers), joints, size


class PoseModel(Protocol):
    """Finds people in a picture, and the 33 joints of one of them, as `BlazePose` does."""

    def people(self, picture: Picture, view: Box) -> list[Person]: ...

    def joints(self, picture: Picture, box: Box) -> tuple[Floats, float, Box]: ...


class Follower:
    """Follows one person through the pictures of a clip, scene by scene."""

    def __init__(self, model: PoseModel) -> None:
        self._model = model
        self._box: Box | None = None

    def follow(self, pictures: Picture) -> list[Floats | None]:
        """Joints (13, 3) as BlazePose gives them in the next pictures (T, H, W, 3), None without a person.

        A person lost for longer than a moment is given up. Then the actor is looked for in what is left.
        """
        count = len(pictures)
        joints: list[Floats | None] = [None] * count
        done = 0
        if self._box is not None:
            done, self._box = self._track(pictures, range(count), self._box, joints)
        stretches = [(done, count)]
        while stretches:
            first, last = stretches.pop()
            start, box = actor(self._model, pictures[first:last]) if first < last else (0, None)
            if box is None:
                continue
            start += first
            before, _ = self._track(pictures, range(start - 1, first - 1, -1), box, joints)
            after, box = self._track(pictures, range(start, last), box, joints)
            stretches += [(first, start - before), (start + max(after, _PATIENCE), last)]
            if start + after == count:
                self._box = box
        return joints

    def _track(
        self, pictures: Picture, order: range, box: Box, joints: list[Floats | None]
    ) -> tuple[int, Box | None]:
        """Note the joints of who is in `box`: in how many pictures, and where to look next if not lost."""
        lost = 0
        for done, at in enumerate(order, 1):
            joints[at], box = self._look(pictures[at], box)
            lost = lost + 1 if joints[at] is None else 0
            if lost == _PATIENCE:
                return done - lost, None
        return len(order), box

    def _look(self, picture: Picture, box: Box) -> tuple[Floats | None, Box]:
        """The joints of the person last seen in `box`, and where to look next."""
        points, presence, seen = self._model.joints(picture, box)
        if presence <= PRESENT:
            # Lost: whoever stands where that was, if anybody does.
            people = [person.box for person in self._model.people(picture, box.upright(_AROUND))]
            nearest = min(people, key=box.distance, default=None)
            if nearest is None or box.distance(nearest) > box.side / 4:
                return None, box
            points, presence, seen = self._model.joints(picture, nearest)
            if presence <= PRESENT:
                return None, box
        return points[list(JOINTS)], seen


def actor(model: PoseModel, pictures: Picture) -> tuple[int, Box | None]:
    """Where the person who moves most is seen best: the picture's index, and the box; (0, None) if nobody is.

    Of all people found in five pictures, or, if there are none, in a closer look at where most happens there:
    the largest product of the detector's score and the energy of what changes around that moment and in all
    five, under a Gaussian on the body, over the square root of the body's size. Without that, who stands in
    front of a crowd has all of its energy; with the size itself, a spectator far away has too much.
    """
    looks = np.unique(np.linspace(0, len(pictures) - 1, _LOOKS + 2).round().astype(int)[1:-1])
    energies = np.stack([_energy(pictures[max(at - 1, 0) : at + 2]) for at in looks])
    best = -1.0
    where: tuple[int, Box | None] = 0, None
    for view_of in (lambda energy: Box.whole(energy.shape), _liveliest):
        for at, energy in zip(looks.tolist(), energies + energies.mean(0), strict=True):
            for person in model.people(pictures[at], view_of(energy)):
                glow = person.box.glow(energy.shape)
                worth = person.score * (1 + float((energy * glow).sum())) / person.box.side**0.5
                if worth > best:
                    best, where = worth, (at, person.box)
        if best >= 0:
            break
    return where


def _energy(pictures: Picture) -> NDArray[np.float64]:
    """Of the difference between the first of these pictures and the last, (H, W)."""
    return np.asarray((pictures[-1].mean(-1) - pictures[0].mean(-1)) ** 2)


def _liveliest(energy: NDArray[np.float64]) -> Box:
    """A square, half the picture's larger side long, in the middle of which most happens."""
    from PIL import Image, ImageFilter

    larger = max(energy.shape)
    strength = Image.fromarray(np.sqrt(energy).clip(0, 255).astype(np.uint8))
    around = np.asarray(strength.filter(ImageFilter.GaussianBlur(larger / 16)))
    y, x = np.unravel_index(around.argmax(), around.shape)
    return Box(float(x), float(y), larger / 2, 0.0)


def normalized(joints: Sequence[Floats | None], seconds: Seconds) -> Floats:
    """(T, 26): joints (13, 3) relative to the body, linear in time where they were not in sight.

    A joint that is hardly ever in sight is taken as it was guessed. Movement up and down and movement of legs
    counts for more than it is. All zeros if nobody was ever there.
    """
    there = [at for at, found in enumerate(joints) if found is not None]
    if not there:
        return np.zeros((len(joints), 2 * len(JOINTS)), np.float32)
    found = np.stack([points for points in joints if points is not None]).astype(np.float64)
    points, times = found[..., :2], seconds[there]
    hips = points[:, _HIPS].mean(1)
    torso = np.median(np.linalg.norm(points[:, _SHOULDERS].mean(1) - hips, axis=-1))
    points = (points - np.median(hips, axis=0)) / max(float(torso), 1.0)
    features = np.empty((len(joints), len(JOINTS), 2))
    for joint in range(len(JOINTS)):
        seen = found[:, joint, 2] > IN_SIGHT
        if seen.sum() < _SELDOM:
            seen[:] = True
        for axis in (0, 1):
            features[:, joint, axis] = np.interp(seconds, times[seen], points[seen, joint, axis])
    moved = features - features.mean(0)
    features += moved * (_WEIGHTS - 1)
    return smooth(features.reshape(len(joints), -1), deviation=_SMOOTHING, reach=2).astype(np.float32)


def smooth(values: Seconds, *, deviation: float, reach: int) -> Seconds:
    """(T, d) under a Gaussian over time that ends `reach` samples away, the ends repeated."""
    away = np.arange(-reach, reach + 1)
    kernel = np.exp(-0.5 * (away / deviation) ** 2)
    padded = np.pad(values, ((reach, reach), (0, 0)), mode="edge")
    windows = np.lib.stride_tricks.sliding_window_view(padded, len(away), axis=0)
    return np.asarray(windows @ (kernel / kernel.sum()))


# Bodies: the joints of the person who moves most in a clip, and the angles between them.


_LIMB_PARTS = ("shoulder", "elbow", "wrist", "hip", "knee", "ankle")
JOINT_NAMES = ("nose", *(f"{side} {part}" for part in _LIMB_PARTS for side in ("left", "right")))
# At the middle joint, between the lines to the two others.
_BENDS = {
    "knee": ("hip", "knee", "ankle"),
    "hip": ("shoulder", "hip", "knee"),
    "elbow": ("shoulder", "elbow", "wrist"),
    "shoulder": ("hip", "shoulder", "elbow"),
}
LIMBS = {
    f"{side} {joint}": tuple(f"{side} {part}" for part in parts)
    for joint, parts in _BENDS.items()
    for side in ("left", "right")
}
TRUNK = "trunk"
ANGLE_NAMES = (*LIMBS, TRUNK)
LONGEST_GAP = 0.25  # seconds over which a joint that is out of sight is interpolated


@dataclass(frozen=True, eq=False)
class Body:
    """The joints of one person, frame by frame.

    Attributes
    ----------
    seconds : [shape=(T,)]
        When each frame is shown, from the first frame of the file.
    frames : [shape=(T,)]
        Their numbers in the file.
    joints : [shape=(T, 13, 3)]
        For each of `JOINT_NAMES`: x and y as shares of the picture's width and height, and how surely it is
        in sight. All zeros where no person was found.
    aspect
        Width of the picture over its height.
    """

    seconds: Seconds
    frames: Indices
    joints: Floats
    aspect: float

    @property
    def found(self) -> float:
        """Share of the frames in which a person was found."""
        return float(self.joints.any((1, 2)).mean())

    def angles(self) -> dict[str, Seconds]:
        """Angles in the plane of the picture, in degrees [shape=(T,) each], by the names `ANGLE_NAMES`.

        180 is a straight knee or elbow. The trunk's angle is 0 when upright and positive when it leans to the
        right of the picture. NaN where a joint is out of sight for longer than a moment.
        """
        points = self._points()
        place = {name: points[:, number] for number, name in enumerate(JOINT_NAMES)}
        found = {
            name: _angle(place[one] - place[middle], place[other] - place[middle])
            for name, (one, middle, other) in LIMBS.items()
        }
        hips = (place["left hip"] + place["right hip"]) / 2
        shoulders = (place["left shoulder"] + place["right shoulder"]) / 2
        up = shoulders - hips
        found[TRUNK] = np.degrees(np.arctan2(up[:, 0], -up[:, 1]))
        return found

    def _points(self) -> Seconds:
        """Joints in heights of the picture [shape=(T, 13, 2)], NaN where they are out of sight."""
        points = self.joints[..., :2].astype(np.float64) * (self.aspect, 1.0)
        points[self.joints[..., 2] <= IN_SIGHT] = np.nan
        for joint in range(len(JOINT_NAMES)):
            for axis in (0, 1):
                points[:, joint, axis] = _bridged(self.seconds, points[:, joint, axis])
        return points

    def __repr__(self) -> str:
        return f"Body({len(self.seconds)} frames, found in {self.found:.0%})"


class JointsEncoder:
    """Places of 13 joints in the picture: what the pose stream is made from, before it is normalized.

    Parameters
    ----------
    model
        Finds people and their joints. Default: BlazePose, loaded when the first clip is encoded.
    """

    name = "joints"
    fingerprint = f"joints/{BLAZEPOSE_DETECTOR.sha256[:8]}/{BLAZEPOSE_FULL.sha256[:8]}/2"
    dimension = 3 * len(JOINT_NAMES)
    input_size = (512, 512)
    fit: Literal["within"] = "within"
    fps = 30.0

    def __init__(self, model: PoseModel | None = None) -> None:
        self._model = model

    def encode(self, batches: Iterable[Frames]) -> Encoding:
        """Encode one clip, given its sampled frames in order. Raises VideoError if there are none."""
        self._model = self._model or BlazePose()
        seconds, numbers, joints, size = follow_person(self._model, batches)
        nobody = np.zeros((len(JOINT_NAMES), 3))
        rows = [nobody if found is None else found / (*size, 1) for found in joints]
        features = halved(np.stack(rows).reshape(len(rows), -1).astype(np.float32))
        return encoding_of(self, Stream(self.name, seconds, numbers, features))


def find_body(
    source: Clip | Place,
    *,
    fps: float = JointsEncoder.fps,
    cache: bool = True,
    model: PoseModel | None = None,
    progress: Progress | None = None,
) -> Body:
    """Find the person who moves most in a clip, and follow their joints.

    Parameters
    ----------
    source
        A clip, or a video file.
    fps
        Frames per second to look at, at most.
    cache
        Whether to take the result from the cache folder, and to keep it there.
    model
        Another model in the place of BlazePose.
    progress
        Called with the seconds that are done, and their total.

    Returns
    -------
    Body
        Its `found` is 0 if the clip shows nobody.

    Raises
    ------
    VideoError
        If the clip cannot be read.
    MissingExtra
        If `pip install 'seasync[pose]'` is needed.

    Examples
    --------
    >>> body = find_body("swing.mp4")                            # doctest: +SKIP
    >>> body.angles()["left knee"].round()                       # doctest: +SKIP
    """
    from seasync.video import probe

    clip = Clip.of(source)
    encoding = encode_part(clip, JointsEncoder(model), fps=fps, cache=cache, progress=progress)
    info, stream = probe(clip.file), encoding.streams[0]
    joints = stream.features.reshape(len(stream.seconds), len(JOINT_NAMES), 3)
    return Body(stream.seconds, stream.frames, joints, info.width / info.height)


def _angle(one: Seconds, other: Seconds) -> Seconds:
    """The angle between vectors [shape=(T, 2)], in degrees from 0 to 180."""
    cross = one[:, 0] * other[:, 1] - one[:, 1] * other[:, 0]
    return np.asarray(np.degrees(np.arctan2(np.abs(cross), (one * other).sum(1))))


def _bridged(seconds: Seconds, values: Seconds) -> Seconds:
    """The values [shape=(T,)], linear over gaps of at most `LONGEST_GAP` seconds."""
    known = np.flatnonzero(np.isfinite(values))
    if len(known) < 2:
        return values
    filled = np.interp(seconds, seconds[known], values[known], left=np.nan, right=np.nan)
    after = np.searchsorted(known, np.arange(len(values)))
    before = known[np.maximum(np.searchsorted(known, np.arange(len(values)), "right") - 1, 0)]
    gaps = seconds[known[np.minimum(after, len(known) - 1)]] - seconds[before]
    return np.where(gaps <= LONGEST_GAP, filled, values)
