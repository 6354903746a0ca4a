"""`pose`: the joints of the person who moves most, followed through the clip."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from seasync.encoders.blazepose import PRESENT, BlazePose, Box, Person, Picture
from seasync.encoders.encoder import encoding_of, halved
from seasync.encoders.weights import BLAZEPOSE_DETECTOR, BLAZEPOSE_FULL, BLAZEPOSE_HEAVY
from seasync.encoding import Encoding, Floats, Seconds, Stream
from seasync.errors import VideoError

if TYPE_CHECKING:
    from seasync.video import Frames

# Of BlazePose's 33: nose, shoulders, elbows, wrists, hips, knees, ankles; left before right.
JOINTS = (0, 11, 12, 13, 14, 15, 16, 23, 24, 25, 26, 27, 28)
_SHOULDERS, _HIPS = [1, 2], [7, 8]  # among these thirteen
_LOOKS = 5  # frames in which the actor is looked for
_SCENE = 150  # frames held in memory
_PATIENCE = 5  # frames without the person until another is looked for
_AROUND = 2  # sides of the box in which a lost person is looked for
_SMOOTHING = 0.5  # samples
_IN_SIGHT = 0.5  # visibility from which a joint's place is believed
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
        self.fingerprint = f"{self.name}/{BLAZEPOSE_DETECTOR.sha256[:8]}/{landmarks.sha256[:8]}/4"
        self._model = BlazePose(landmarks)

    def encode(self, batches: Iterable[Frames]) -> Encoding:
        seconds, numbers = [], []
        joints: list[Floats | None] = []
        follower = Follower(self._model)
        for scene in scenes(batches):
            seconds += [batch.seconds for batch in scene]
            numbers += [batch.numbers for batch in scene]
            joints += follower.follow(np.concatenate([batch.data for batch in scene]))
        if not joints:
            raise VideoError("no frames to encode; the clip is empty")
        times = np.concatenate(seconds)
        found = sum(points is not None for points in joints) / len(joints)
        features = halved(normalized(joints, times))
        return encoding_of(self, Stream("pose", times, np.concatenate(numbers), features, found=found))

    def __repr__(self) -> str:
        return f"PoseEncoder({self.name!r}, {len(JOINTS)} joints)"


def scenes(batches: Iterable[Frames]) -> Iterator[list[Frames]]:
    """Batches put together until they hold _SCENE frames."""
    scene: list[Frames] = []
    for batch in batches:
        scene.append(batch)
        if sum(map(len, scene)) >= _SCENE:
            yield scene
            scene = []
    if scene:
        yield scene


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

    Of all people found in five pictures, and in a closer look at where most happens in them: the largest
    product of the detector's score and the energy of what changes around that moment and in all five, under a
    Gaussian on the body, over the body's size: else who stands in front of a crowd has all of its energy.
    """
    looks = np.unique(np.linspace(0, len(pictures) - 1, _LOOKS + 2).round().astype(int)[1:-1])
    energies = np.stack([_energy(pictures[max(at - 1, 0) : at + 2]) for at in looks])
    best = -1.0
    where: tuple[int, Box | None] = 0, None
    for at, energy in zip(looks.tolist(), energies + energies.mean(0), strict=True):
        for view in (Box.whole(energy.shape), _liveliest(energy)):
            for person in model.people(pictures[at], view):
                glow = person.box.glow(energy.shape)
                worth = person.score * (1 + float((energy * glow).sum())) / person.box.side
                if worth > best:
                    best, where = worth, (at, person.box)
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
        seen = found[:, joint, 2] > _IN_SIGHT
        if seen.sum() < _SELDOM:
            seen[:] = True
        for axis in (0, 1):
            features[:, joint, axis] = np.interp(seconds, times[seen], points[seen, joint, axis])
    moved = features - features.mean(0)
    features += moved * (_WEIGHTS - 1)
    return _smoothed(features.reshape(len(joints), -1)).astype(np.float32)


def _smoothed(values: Seconds) -> Seconds:
    """(T, d) under a Gaussian over time, the ends repeated."""
    reach = np.arange(-2, 3)
    kernel = np.exp(-0.5 * (reach / _SMOOTHING) ** 2)
    padded = np.pad(values, ((2, 2), (0, 0)), mode="edge")
    windows = np.lib.stride_tricks.sliding_window_view(padded, len(reach), axis=0)
    return np.asarray(windows @ (kernel / kernel.sum()))
