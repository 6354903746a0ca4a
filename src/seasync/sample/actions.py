"""An action: key poses over action time, which runs from 0 to 1, and what is between them.

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
club_lift, club_out  where the club points from the hands, as for a right hand
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Pose = dict[str, float]

_SIDED = {"lift": 8.0, "out": 60.0, "reach": 0.96, "elbow": 0.0, "toe": 0.0, "toe_out": 14.0}
_SIDED |= {"foot_x": 0.0, "foot_y": 0.0, "foot_z": 0.03}
_MIDDLE = ("x", "z", "lean", "turn", "tilt", "twist", "side", "nod", "look", "club_lift", "club_out")
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
    ball                what a ball leaves, "hand", "foot" or "tee", and the action time at which it does
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
    ball: tuple[str, float] | None = None
    plank: bool = False
    club: bool = False

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


# The eight actions of the sample. How a step is written: `actions.Action`.


SQUAT = Action(
    name="squat",
    place="gym",
    far_place="blackboard",
    phases=("down", "up", "down again", "up again"),
    key_times=(0.25, 0.5, 0.75),
    steps="""
    0     foot_z .12  toe_out 24
    .12   = 0   x -.13 y .76 lean 22 bend 6  nod -14  lift 84  out 10 reach .95
    .24   = 0   x -.2  y .5  lean 32 bend 10 nod -24  lift 128 out 4  reach .95
    .27   = .24
    .38   = .12
    .49   = 0   lift 40 out 20
    .51   = .49
    .62   = .12
    .74   = .24
    .77   = .24
    .88   = .12
    1     = 0
    """,
    view=38,
    high=2.15,
    center=(0.0, 0.95),
)

JUMPING_JACK = Action(
    name="jumping-jack",
    place="studio",
    far_place="sunset",
    phases=("out", "in", "out again", "in again"),
    key_times=(0.27, 0.5, 0.74),
    steps="""
    0
    .09   y .95  lean 6 bend 4  lift 12  out 80 reach .9
    .18   y 1.06  lift 95  out 88  foot_y .09 foot_z .2 toe 34
    .27   y .93 nod -4  lift 166 out 84 reach .95  foot_z .4 toe_out 26
    .3    = .27
    .4    = .18
    .5    y .965 lean 4  lift 10  out 80 reach .94
    .56   = .09
    .65   = .18
    .74   = .27
    .77   = .27
    .87   = .18
    .95   = .5
    1
    """,
    view=84,
    high=2.5,
    center=(0.0, 1.07),
)

WAVE = Action(
    name="wave",
    place="beach",
    far_place="moon",
    phases=("raise", "first sweep", "second sweep", "third sweep", "lower"),
    key_times=(0.2, 0.42, 0.62, 0.82),
    steps="""
    0     l_foot_z .06
    .1    = 0   z .015  r_lift 62  r_out 52 r_reach .66
    .2    = 0   z .03 tilt 1 side 2  look -4  r_lift 120 r_out 88 r_reach .84 r_elbow -8
    .31   = .2  side -5 look 4  r_lift 150 r_out 40 r_reach .76
    .42   = .2
    .52   = .31
    .62   = .2
    .72   = .31
    .82   = .2
    .92   = .1
    1     = 0
    """,
    view=72,
    high=2.2,
    center=(0.0, 0.98),
)

THROW = Action(
    name="throw",
    place="snow",
    far_place="desert",
    phases=("wind up", "stride", "release", "follow through"),
    key_times=(0.26, 0.46, 0.58),
    steps="""
    0     lift 40 out 4 reach .7
    .26   x -.06 lean -2 turn -55 twist -10 look 55  lift 62 r_out 10 l_out -8 reach .56
          l_foot_x .1 l_foot_y .42 l_foot_z -.06 l_toe 25
    .42   x .1 y .93 lean -4 turn -48 twist -38 side 10 look 76  l_foot_x .62 l_foot_y .1 l_toe -14
          r_lift 108 r_out 112 r_reach .72 r_elbow 30  l_lift 92 l_out 74 l_reach .95
    .5    x .34 y .88 lean 4 turn -10 twist -30 side 4 look 34  l_foot_x .72 r_toe 30
          r_lift 128 r_out 104 r_reach .68 r_elbow 40  l_lift 70 l_out 50 l_reach .7
    .58   x .46 y .87 lean 20 turn 22 bend 12 twist 18 side -8 nod -16 look -34  l_foot_x .72 r_toe 58
          r_lift 142 r_out 24 r_reach .97  l_lift 42 l_out 30 l_reach .62
    .7    x .56 y .84 lean 38 turn 42 bend 26 twist 34 nod -30 look -52  l_foot_x .72 r_foot_x .16 r_foot_y .2
          r_toe 66  r_lift 42 r_out -52 r_reach .93  l_lift 28 l_out 70 l_reach .66
    .86   x .5 y .96 lean 10 turn 12 bend 8 nod -8  l_foot_x .6 r_foot_x .46  r_lift 20 r_out 20
    1     x .52  l_foot_x .56 r_foot_x .5
    """,
    view=24,
    high=2.3,
    center=(0.24, 1.0),
    ball=("hand", 0.58),
)

KICK = Action(
    name="kick",
    place="street",
    far_place="underwater",
    phases=("step", "back swing", "strike", "recover"),
    key_times=(0.2, 0.4, 0.52),
    steps="""
    0
    .2    x .2 y .96 lean -2  l_foot_x .45 l_foot_y .06 l_toe -12 r_toe 24
          r_lift 26 r_out -30  l_lift 34 l_out 70
    .4    x .42 y .95 lean 10 turn -16 bend -4 twist 14 nod 12  l_foot_x .5 r_foot_x -.28 r_foot_y .4 r_toe 92
          r_lift 44 r_out 120  l_lift 88 l_out 64
    .52   x .46 y .94 lean -4 turn 8 bend 10 twist -8 nod 16  l_foot_x .5 r_foot_x .86 r_foot_y .08 r_toe 40
          r_lift 50 r_out 110  l_lift 60 l_out 40
    .64   x .48 y .98 lean -16 turn 18 bend 16 twist -18 nod -4  l_foot_x .5 l_toe 22
          r_foot_x 1.36 r_foot_y .64 r_toe 16  r_lift 66 r_out 130  l_lift 56 l_out -10
    .82   x .5 y .97 lean 2 bend 6  l_foot_x .5 r_foot_x .84 r_foot_y .24 r_toe 14
          r_lift 30 r_out 90 l_lift 24
    1     x .52  l_foot_x .5 r_foot_x .54
    """,
    view=22,
    high=2.2,
    center=(0.3, 0.96),
    ball=("foot", 0.52),
)

BOW = Action(
    name="bow",
    place="stage",
    far_place="library",
    phases=("open arms", "go down", "rise"),
    key_times=(0.24, 0.56),
    steps="""
    0
    .2    bend -4 nod -6  lift 86 l_out 64 r_out 100  r_foot_x -.1
    .26   = .2
    .42   x -.1 y .99 lean 40 bend 20 nod 14  r_foot_x -.16 r_toe 8
          r_lift 52 r_out -40 r_reach .6  l_lift 70 l_out 110 l_reach .9
    .54   = .42 x -.18 y .975 lean 62 bend 34 nod 26  r_lift 60 r_reach .62  l_lift 84 l_out 125
    .6    = .54
    .78   = .42
    .9    = .2  lift 40
    1
    """,
    view=38,
    high=2.15,
    center=(0.08, 0.94),
)

PUSH_UP = Action(
    name="push-up",
    place="room",
    far_place="arctic",
    phases=("down", "up", "down again", "up again"),
    key_times=(0.25, 0.5, 0.75),
    steps="""
    0     reach .97 nod -26
    .24   reach .42 nod -30
    .27   = .24
    .48   = 0
    .52   = 0
    .74   = .24
    .77   = .24
    1     = 0
    """,
    view=14,
    high=1.6,
    center=(0.97, 0.46),
    plank=True,
)

SWING = Action(
    name="swing",
    place="park",
    far_place="rooftop",
    phases=("back swing", "down swing", "follow through", "finish"),
    key_times=(0.4, 0.56, 0.76),
    steps="""
    0     x -.1 y .93 lean 22 bend 12 nod 14  foot_z .14  l_lift 34 l_out -26 reach .93
          club_lift 36 club_out -4
    .2    = 0   turn -20 twist -28 look 42  l_lift 56 l_out -52  club_lift 96 club_out 50
    .38   = 0   z .04 y .94 turn -42 twist -46 look 78  l_lift 112 l_out -56 l_reach .95 l_toe 22
          club_lift 228 club_out 34
    .42   = .38
    .5    = 0   z -.05 turn -4 twist -34 look 36  l_lift 62 l_out -52  club_lift 135 club_out 56
    .56   = 0   z -.08 turn 32 twist -14 look -16  l_lift 30 l_out -22 l_reach .96 r_toe 20
    .63   = 0   z -.13 y .96 lean 14 turn 66 twist 14 look -50  l_lift 66 l_out 14 r_toe 48
          club_lift 96 club_out -50
    .76   x -.06 y .99 z -.17 lean 2 turn 84 bend -6 twist 30 look -14  foot_z .14 r_toe 72 r_toe_out -30
          l_lift 118 l_out -6 l_reach .62  club_lift 112 club_out -186
    1     = .76 l_lift 112
    """,
    view=88,
    high=2.4,
    center=(0.0, 1.03),
    ball=("tee", 0.56),
    club=True,
)

ACTIONS = (SQUAT, JUMPING_JACK, WAVE, THROW, KICK, BOW, PUSH_UP, SWING)
