"""An action: key poses over action time, which runs from 0 to 1, and what is between them.

The actions of the sample are written in actions.toml.

A pose is a value for each channel. Angles are degrees, lengths are parts of the performer's leg (pelvis,
feet) or arm (hands), so one pose fits every body. Feet stand where they are put and hands go where they are
told; the joints between follow by inverse kinematics (`figure.py`).

x, y, z              pelvis: ahead, height (1 = standing), to the own right
lean, turn, tilt     pelvis: forward, to the own left, to the own right
bend, twist, side    chest, the same three, relative to the pelvis
nod, look            head, relative to the chest: down, to the own left
r_lift, r_out        where the right hand is from its shoulder: 0 down, 90 level, 180 up; 0 ahead, 90 outward
r_reach, r_elbow     how far it reaches; how far the elbow is swivelled upward around that line
r_foot_x, _y, _z     the right foot: ahead, up, outward; r_toe: heel raised; r_toe_out: turned outward
"""

import tomllib
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Pose = dict[str, float]

_SIDED = {"lift": 8.0, "out": 60.0, "reach": 0.96, "elbow": 0.0, "toe": 0.0, "toe_out": 14.0}
_SIDED |= {"foot_x": 0.0, "foot_y": 0.0, "foot_z": 0.03}
_MIDDLE = ("x", "z", "lean", "turn", "tilt", "twist", "side", "nod", "look")
REST: Pose = {"y": 1.0, "bend": 2.0} | dict.fromkeys(_MIDDLE, 0.0)
REST |= {f"{side}_{name}": value for side in "rl" for name, value in _SIDED.items()}


@dataclass(frozen=True)
class Action:
    """What is done, and how it is filmed.

    place, far_place    where one mostly sees it, and where no other action is seen; of `scenery.PLACES`
    phases, key_times   phase k ends at key_times[k], a moment that a viewer would point at
    steps               key poses: action time, then the channels that differ from rest, each with its value;
                        a hand's or foot's without r_ or l_ means both, `= T` begins from the pose at T
    view                degrees that the figure is turned towards the camera: 0 = profile, 90 = face on
    high, center        metres that fill the picture's height, and what it looks at: ahead, up
    release             the action time at which a ball leaves the right hand, if there is one
    """

    name: str
    place: str
    far_place: str
    phases: tuple[str, ...]
    key_times: tuple[float, ...]
    steps: str
    view: float
    high: float
    center: tuple[float, float]
    release: float | None = None

    def pose(self, action_time: Array, *, vigour: float = 1.0) -> dict[str, Array]:
        """Channels, (N,) each, at `action_time` (N,); `vigour` scales how far they leave the first pose."""
        poses = _read(self.steps)
        times = np.array(list(poses))
        table = np.array([list(pose.values()) for pose in poses.values()])
        table = table[0] + vigour * (table - table[0])
        return {channel: smooth_through(times, table[:, k], action_time) for k, channel in enumerate(REST)}

    def phase(self, action_time: Array) -> NDArray[np.int64]:
        """The phase's number, (N,), at `action_time` (N,)."""
        return np.searchsorted(np.array(self.key_times), action_time, side="right").astype(np.int64)


def _read(steps: str) -> dict[float, Pose]:
    """Whole poses by action time, their channels in the order of REST."""
    poses: dict[float, Pose] = {}
    pose: Pose = {}
    words = iter(steps.split())
    for word in words:
        if word[0] in "0123456789.":
            pose = poses[float(word)] = dict(REST)
        elif word == "=":
            pose |= poses[float(next(words))]
        else:
            channels = (f"r_{word}", f"l_{word}") if word in _SIDED else (word,)
            pose |= dict.fromkeys(channels, float(next(words)))
    return poses


def smooth_through(x: Array, y: Array, at: Array) -> Array:
    """Monotone cubic through (x, y), level at both ends (Fritsch & Carlson): plateaus stay flat."""
    step, rise = np.diff(x), np.diff(y) / np.diff(x)
    before, after = rise[:-1], rise[1:]
    heavy, light = 2 * step[1:] + step[:-1], step[1:] + 2 * step[:-1]
    turning = before * after <= 0
    weighted = heavy / np.where(turning, 1, before) + light / np.where(turning, 1, after)
    slope = np.concatenate([[0.0], np.where(turning, 0, (heavy + light) / weighted), [0.0]])
    at = np.clip(at, x[0], x[-1])
    k = np.clip(np.searchsorted(x, at, side="right") - 1, 0, len(x) - 2)
    t, h = (at - x[k]) / step[k], step[k]
    ends = y[k] + (y[k + 1] - y[k]) * t**2 * (3 - 2 * t)
    return np.asarray(ends + h * t * (1 - t) * (slope[k] * (1 - t) - slope[k + 1] * t))


def _load(written: dict[str, Any]) -> Action:
    plain: dict[str, Any] = {key: tuple(v) if isinstance(v, list) else v for key, v in written.items()}
    return Action(**plain)


ACTIONS = tuple(
    map(_load, tomllib.loads(files("seasync.sample").joinpath("actions.toml").read_text("utf-8"))["actions"])
)
