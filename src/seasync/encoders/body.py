"""Bodies: the joints of the person who moves most in a clip, and the angles between them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from seasync.clip import Clip
from seasync.encoders.encode import encode_part
from seasync.encoders.encoder import Progress, encoding_of, halved
from seasync.encoders.pose import IN_SIGHT, BlazePose, PoseModel, follow_person
from seasync.encoders.weights import BLAZEPOSE_DETECTOR, BLAZEPOSE_FULL
from seasync.encoding import Encoding, Floats, Indices, Seconds, Stream
from seasync.files import Place

if TYPE_CHECKING:
    from seasync.video import Frames

JointName = Literal[
    "nose",
    "left shoulder",
    "right shoulder",
    "left elbow",
    "right elbow",
    "left wrist",
    "right wrist",
    "left hip",
    "right hip",
    "left knee",
    "right knee",
    "left ankle",
    "right ankle",
]
JOINT_NAMES: tuple[JointName, ...] = get_args(JointName)
# At the middle joint, between the lines to the two others.
LIMBS: dict[str, tuple[JointName, JointName, JointName]] = {
    "left knee": ("left hip", "left knee", "left ankle"),
    "right knee": ("right hip", "right knee", "right ankle"),
    "left hip": ("left shoulder", "left hip", "left knee"),
    "right hip": ("right shoulder", "right hip", "right knee"),
    "left elbow": ("left shoulder", "left elbow", "left wrist"),
    "right elbow": ("right shoulder", "right elbow", "right wrist"),
    "left shoulder": ("left hip", "left shoulder", "left elbow"),
    "right shoulder": ("right hip", "right shoulder", "right elbow"),
}
TRUNK = "trunk"
ANGLE_NAMES = (*LIMBS, TRUNK)
LONGEST_GAP = 0.25  # seconds over which a joint that is out of sight is interpolated
FINGERPRINT = f"joints/{BLAZEPOSE_DETECTOR.sha256[:8]}/{BLAZEPOSE_FULL.sha256[:8]}/1"


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
    fingerprint = FINGERPRINT
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
