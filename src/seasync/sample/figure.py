"""The performer: what it does, a body's measures, and where its joints are in a pose.

All frames of a clip are computed at once. World axes: ahead, up, to the figure's own right; in metres.

An action is key poses over action time, which runs from 0 to 1, and what is between them; those of the sample
are written in actions.toml. A pose is a value for each channel. Angles are degrees, lengths are parts of the
performer's leg (pelvis, feet) or arm (hands), so one pose fits every body. Feet stand where they are put and
hands go where they are told; the joints between follow by inverse kinematics.

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

from seasync.sample.scenery import Color

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


_WRITTEN = tomllib.loads(files("seasync.sample").joinpath("actions.toml").read_text("utf-8"))
ACTIONS = tuple(map(_load, _WRITTEN["actions"]))
_HAIR: dict[str, list[list[float]]] = _WRITTEN["hair"]


Joints = dict[str, Array]
UP = np.array([0.0, 1.0, 0.0])
PIVOT, HEEL = 0.55, 0.2  # of a foot's length, from the ankle to what it pivots on
BALL_RADIUS = 0.07
BALL_SPEED = np.array([8.5, 1.6, 0.0])  # metres a second when it is released


@dataclass(frozen=True)
class Build:
    """Measures of one performer, metres; `girth` scales the thickness of limbs and trunk."""

    thigh: float = 0.43
    shin: float = 0.42
    ankle: float = 0.07
    foot: float = 0.24
    trunk: float = 0.5
    shoulder: float = 0.185
    hip: float = 0.095
    neck: float = 0.06
    head: float = 0.13
    upper_arm: float = 0.28
    forearm: float = 0.26
    girth: float = 1.0

    @classmethod
    def drawn(cls, rng: np.random.Generator) -> "Build":
        """A plausible adult: tall or short, long- or short-legged, slight or sturdy."""
        size, legs, arms, build = rng.uniform([0.92, 0.94, 0.95, 0.86], [1.06, 1.06, 1.05, 1.2])
        plain = cls()
        return cls(
            thigh=plain.thigh * size * legs,
            shin=plain.shin * size * legs,
            foot=plain.foot * size,
            trunk=plain.trunk * size * (2 - legs),
            shoulder=plain.shoulder * size * rng.uniform(0.92, 1.1),
            hip=plain.hip * size * rng.uniform(0.95, 1.15),
            head=plain.head * rng.uniform(0.95, 1.08),
            upper_arm=plain.upper_arm * size * arms,
            forearm=plain.forearm * size * arms,
            girth=build,
        )


def perform(
    body: Build, action: Action, action_time: Array, *, vigour: float = 1.0, sway: Array | float = 0.0
) -> Joints:
    """The joints (N, 3) at `action_time` (N,), swaying by degrees; also the ball, if any."""
    pose = action.pose(action_time, vigour=vigour)
    at = _joints(body, pose | {"bend": pose["bend"] + sway, "side": pose["side"] + 0.5 * sway})
    if action.release is not None:
        released = _joints(body, action.pose(np.array([action.release]), vigour=vigour))["r_wrist"][0]
        flown = 4 * np.maximum(action_time - action.release, 0)[:, None]  # as if the action took 4 seconds
        flight = released + flown * BALL_SPEED - 4.9 * flown**2 * UP
        at["ball"] = np.where(flown > 0, flight, at["r_wrist"])
    return at


def _joints(body: Build, pose: dict[str, Array]) -> Joints:
    """Each joint's place, (N, 3), in the poses of N frames, and the directions of the head."""
    leg = body.thigh + body.shin
    pelvis = np.stack([pose["x"] * leg, body.ankle + pose["y"] * 0.985 * leg, pose["z"] * leg], -1)
    hips = _turned(pose["lean"], pose["turn"], pose["tilt"])
    chest = hips @ _turned(pose["bend"], pose["twist"], pose["side"])
    skull = chest @ _turned(pose["nod"], pose["look"], 0 * pose["nod"])
    waist = pelvis + 0.42 * body.trunk * hips[:, :, 1]
    top = waist + 0.58 * body.trunk * chest[:, :, 1]
    head = top + body.neck * chest[:, :, 1] + body.head * skull[:, :, 1] + 0.02 * skull[:, :, 0]
    at = {"pelvis": pelvis, "waist": waist, "top": top, "head": head}
    at |= {"facing": skull[:, :, 0], "crown": skull[:, :, 1]}
    for side, sign in (("l", -1), ("r", 1)):
        limbs = _arm(body, pose, at["top"], chest, side, sign) | _leg(body, pose, pelvis, hips, side, sign)
        at |= {f"{side}_{name}": place for name, place in limbs.items()}
    return at


def _arm(body: Build, pose: dict[str, Array], top: Array, chest: Array, side: str, sign: int) -> Joints:
    lift, length = pose[f"{side}_lift"], body.upper_arm + body.forearm
    shrug = 0.05 * length * np.clip(lift / 90 - 1, 0, 1) - 0.05
    shoulder = top + sign * body.shoulder * chest[:, :, 2] + shrug[:, None] * chest[:, :, 1]
    reach = pose[f"{side}_reach"][:, None] * length
    wrist = shoulder + reach * _pointing(chest, lift, pose[f"{side}_out"], sign)
    upward = 1.4 * np.sin(np.radians(pose[f"{side}_elbow"]))[:, None] * chest[:, :, 1]
    hint = chest @ np.array([-0.55, -0.5, 0.5 * sign]) + upward
    elbow, wrist = _two_bones(shoulder, wrist, body.upper_arm, body.forearm, hint)
    fingers = wrist + 0.08 * (wrist - elbow) / body.forearm
    return {"shoulder": shoulder, "elbow": elbow, "wrist": wrist, "fingers": fingers}


def _leg(body: Build, pose: dict[str, Array], pelvis: Array, hips: Array, side: str, sign: int) -> Joints:
    length = body.thigh + body.shin
    pitch = np.radians(pose[f"{side}_toe"])[:, None]
    turned = sign * np.radians(pose[f"{side}_toe_out"])
    level = np.stack([np.cos(turned), 0 * turned, np.sin(turned)], -1)
    ahead = np.cos(pitch) * level - np.sin(pitch) * UP
    above = np.sin(pitch) * level + np.cos(pitch) * UP
    x, y, z = (pose[f"{side}_foot_{axis}"] * length for axis in "xyz")
    flat = np.stack([x, body.ankle + y, sign * (body.hip + z)], -1)
    pivot = np.where(pitch > 0, PIVOT, -HEEL) * body.foot
    ankle = flat + pivot * (level - ahead) + body.ankle * (above - UP)
    hip = pelvis + sign * body.hip * hips[:, :, 2]
    knee, ankle = _two_bones(hip, ankle, body.thigh, body.shin, level + 0.4 * hips[:, :, 0] + 0.2 * UP)
    heel = ankle - HEEL * body.foot * ahead - 0.55 * body.ankle * above
    toe = ankle + 0.68 * body.foot * ahead - 0.65 * body.ankle * above
    return {"hip": hip, "knee": knee, "ankle": ankle, "heel": heel, "toe": toe}


def _turned(pitch: Array, yaw: Array, roll: Array) -> Array:
    """(N, 3, 3) frames, columns ahead, up, right: rolled to the right, pitched forward, then turned left."""
    (cp, sp), (cy, sy), (cr, sr) = ((np.cos(a), np.sin(a)) for a in np.radians([pitch, yaw, roll]))
    zero = np.zeros_like(pitch)
    ahead = np.stack([cp * cy, -sp, -cp * sy], -1)
    up = np.stack([sp * cy, cp, -sp * sy], -1)
    right = np.stack([sy, zero, cy], -1)
    tipped_up, tipped_right = (cr[:, None] * up + sr[:, None] * right, cr[:, None] * right - sr[:, None] * up)
    return np.stack([ahead, tipped_up, tipped_right], -1)


def _pointing(frame: Array, lift: Array, out: Array, sign: int) -> Array:
    lift, out = np.radians(lift), np.radians(out)
    local = np.stack([np.sin(lift) * np.cos(out), -np.cos(lift), sign * np.sin(lift) * np.sin(out)], -1)
    return np.asarray(np.einsum("nij,nj->ni", frame, local))


def _two_bones(root: Array, target: Array, first: float, second: float, hint: Array) -> tuple[Array, Array]:
    """Middle joint and end of a limb that reaches from root to target, if it can, and bends to `hint`."""
    line = target - root
    distance = np.linalg.norm(line, axis=-1, keepdims=True)
    axis = line / np.maximum(distance, 1e-9)
    distance = np.clip(distance, abs(first - second) + 0.02, 0.999 * (first + second))
    along = (distance**2 + first**2 - second**2) / (2 * distance)
    aside = hint - np.sum(hint * axis, -1, keepdims=True) * axis
    aside /= np.maximum(np.linalg.norm(aside, axis=-1, keepdims=True), 1e-9)
    middle = root + along * axis + np.sqrt(np.maximum(first**2 - along**2, 0)) * aside
    return middle, root + distance * axis


# The figure as flat shapes.


Shape = tuple[Color, Array]
Radius = Array | float
_SIDES = (-1, 1)
_CAP = np.linspace(0, 1, 12)
_INK = (58, 38, 38)
STYLES = tuple(_HAIR)


@dataclass(frozen=True)
class Outfit:
    """Colors and cut of one performer; `sleeve` and `trouser`: how much of the limb is covered, 0 to 1."""

    skin: Color
    hair: Color
    top: Color
    trim: Color
    bottom: Color
    shoe: Color
    sole: Color
    style: str
    sleeve: float
    trouser: float


@dataclass(frozen=True, eq=False)
class FigureLayer:
    """Shapes drawn together; how far towards the viewer, (N,), and in what share of full light, (N,)."""

    shapes: list[Shape]
    near: Array
    light: Array


def seen(places: Joints, *, view: float, tilt: float) -> Joints:
    """Places across, up and towards the viewer, for a figure turned by `view` and a camera that looks down by
    `tilt` degrees."""
    (cv, ct), (sv, st) = np.cos(np.radians([view, tilt])), np.sin(np.radians([view, tilt]))
    rotation = np.array([[cv, 0, -sv], [-st * sv, ct, -st * cv], [ct * sv, st, ct * cv]])
    return {name: place @ rotation.T for name, place in places.items()}


def layers(at: Joints, body: Build, outfit: Outfit) -> list[FigureLayer]:
    """The whole figure and the ball, from joints as `seen`."""
    drawn = [_trunk(at, body, outfit), _head(at, body, outfit)]
    for side in "lr":
        drawn += [_paint_leg(at, side, outfit, body.girth), _paint_arm(at, side, outfit, body.girth)]
    if "ball" in at:
        drawn.append(_ball(at["ball"], at["top"]))
    return drawn


def shadow(places: Joints, *, view: float, tilt: float) -> FigureLayer:
    """A soft shade on the ground below the body, from end to end, fainter as the feet leave it."""
    names = [f"{side}_{part}" for side in "lr" for part in ("toe", "heel", "knee", "hip")]
    parts = np.stack([places[name] for name in (*names, "top", "head")], 1)
    lifted = np.clip(parts[..., 1].min(1), 0, 0.5)
    below = seen({"parts": parts * [1, 0, 1]}, view=view, tilt=tilt)["parts"]
    left, right = (np.stack([end, 0 * end], -1) for end in (below[..., 0].min(1), below[..., 0].max(1)))
    level = np.stack([0 * lifted, below[..., 1].mean(1)], -1)[:, None]
    rings = [_stroke((20, 18, 40, 26), left, right, size) for size in (0.19, 0.15, 0.11, 0.07)]
    shapes = [(ink, outline * [1, 0.22] + level) for ink, outline in rings]
    return FigureLayer(shapes, np.full(len(level), -np.inf), 1 - lifted)


def _stroke(ink: Color, start: Array, end: Array, radius: Radius, end_radius: Radius | None = None) -> Shape:
    """Two discs, their centers (N, 2 or more), and all that lies between them."""
    end_radius = radius if end_radius is None else end_radius
    across, up = (end - start)[:, 0], (end - start)[:, 1]
    distance = np.maximum(np.hypot(across, up), 1e-6)
    heading = np.arctan2(up, across)[:, None]
    opening = np.arccos(np.clip((radius - end_radius) / distance, -1, 1))[:, None]
    around_start = _arc(start, radius, heading + opening + _CAP * 2 * (np.pi - opening))
    around_end = _arc(end, end_radius, heading - opening + _CAP * 2 * opening)
    return ink, np.concatenate([around_start, around_end], 1)


def _arc(center: Array, radius: Radius, angles: Array) -> Array:
    directions = np.stack([np.cos(angles), np.sin(angles)], -1)
    return np.asarray(center[:, None, :2] + np.reshape(radius, (-1, 1, 1)) * directions)


def _between(a: Array, b: Array, share: float) -> Array:
    return a + share * (b - a)


def _light(depth: Array) -> Array:
    """What is behind the body lies in its shade."""
    return np.asarray(1 - 0.24 * np.clip(-depth / 0.2, 0, 1))


def _limb(
    bones: tuple[Array, Array, Array], radii: Array, skin: Color, cloth: Color, covered: float
) -> list[Shape]:
    """Two bones between three joints, clothed from the first joint on as far as `covered`."""
    a, b, c = bones
    shapes = [_stroke(skin, b, c, radii[1], radii[2]), _stroke(skin, a, b, radii[0], radii[1])]
    loose, upper, lower = 1.14 * radii, min(1.0, 2 * covered), max(0.0, 2 * covered - 1)
    if lower:
        shapes.append(_stroke(cloth, b, _between(b, c, lower), loose[1], _between(loose[1], loose[2], lower)))
    shapes.append(_stroke(cloth, a, _between(a, b, upper), loose[0], _between(loose[0], loose[1], upper)))
    return shapes


def _paint_leg(at: Joints, side: str, outfit: Outfit, girth: float) -> FigureLayer:
    hip, knee, ankle, heel, toe = (at[f"{side}_{name}"] for name in ("hip", "knee", "ankle", "heel", "toe"))
    radii = girth * np.array([0.09, 0.064, 0.042])
    shapes = _limb((hip, knee, ankle), radii, outfit.skin, outfit.bottom, outfit.trouser)
    above = np.array([0, 0.011, 0])
    shapes += [
        _stroke(outfit.sole, heel - above, toe - above, 0.038, 0.032),
        _stroke(outfit.shoe, heel + above, toe + above, 0.042, 0.032),
        _stroke(outfit.shoe, ankle - above, _between(ankle, toe, 0.55), 0.046, 0.034),
    ]
    depth = (hip + knee + ankle)[:, 2] / 3 - at["pelvis"][:, 2]
    return FigureLayer(shapes, (knee - at["pelvis"])[:, 2] - 0.26, _light(depth))


def _paint_arm(at: Joints, side: str, outfit: Outfit, girth: float) -> FigureLayer:
    shoulder, elbow, wrist = (at[f"{side}_{name}"] for name in ("shoulder", "elbow", "wrist"))
    radii = girth * np.array([0.056, 0.044, 0.031])
    hand = _stroke(outfit.skin, wrist, at[f"{side}_fingers"], 0.037, 0.033)
    shapes = [hand, *_limb((shoulder, elbow, wrist), radii, outfit.skin, outfit.top, outfit.sleeve)]
    depth = (elbow + wrist - at["top"] - at["waist"])[:, 2] / 2
    return FigureLayer(shapes, depth + 0.01, _light(depth))


def _trunk(at: Joints, body: Build, outfit: Outfit) -> FigureLayer:
    chest, hips = at["r_shoulder"] - at["l_shoulder"], at["r_hip"] - at["l_hip"]
    high = _between(at["top"], at["waist"], 0.4)
    bust, belly, seat = (
        (middle - half, middle + half)
        for middle, half in (
            (high, 0.27 * chest),
            (at["waist"], 0.14 * (chest + hips)),
            (at["pelvis"], 0.3 * hips),
        )
    )
    hem = (_between(belly[0], seat[0], 0.62), _between(belly[1], seat[1], 0.62))
    wide, slim, full = body.girth * np.array([0.106, 0.094, 0.11])
    shapes: list[Shape] = []
    for ink, (l_top, r_top), (l_low, r_low), above, below in (
        (outfit.bottom, belly, seat, slim, full),
        (outfit.top, belly, hem, slim, full),
        (outfit.top, bust, belly, wide, slim),
    ):
        shapes += [_stroke(ink, l_top, l_low, above, below), _stroke(ink, r_top, r_low, above, below)]
        shapes += [
            _stroke(ink, l_low, r_low, below),
            (ink, np.stack([l_top, r_top, r_low, l_low], 1)[..., :2]),
        ]
    left, right = (_between(at["l_shoulder"], at["r_shoulder"], share) for share in (0.06, 0.94))
    neck, yoke = _between(at["waist"], at["top"], 1.1), 0.059 * body.girth
    shapes += [_stroke(outfit.top, end, neck, yoke, 0.062) for end in (left, right)]
    shapes.append(_stroke(outfit.top, left, right, yoke))
    shapes.append(
        _stroke(outfit.trim, _between(bust[0], belly[0], 0.2), _between(bust[1], belly[1], 0.2), 0.024)
    )
    return FigureLayer(shapes, np.zeros(len(chest)), np.ones(len(chest)))


def _head(at: Joints, body: Build, outfit: Outfit) -> FigureLayer:
    size, head, ahead, crown = body.head, at["head"], at["facing"], at["crown"]
    right = np.cross(ahead, crown)

    def spot(forward: float, up: float, aside: float = 0.0) -> Array:
        return np.asarray(head + size * (forward * ahead + up * crown + aside * right))

    def mark(ink: Color, start: Array, end: Array, radius: float, depth: float) -> Shape:
        """A feature of the head's surface: of no size where that side is turned away."""
        return _stroke(ink, start, end, np.where((start - head)[:, 2] > depth * size, radius * size, 0.0))

    shapes = [_stroke(outfit.skin, at["top"], spot(0, -0.5), 0.05, 0.048)]
    for forward, up, radius, end_forward, end_up, end_radius in _HAIR[outfit.style]:
        ends = spot(forward, up), spot(end_forward, end_up)
        shapes.append(_stroke(outfit.hair, *ends, radius * size, end_radius * size))
    shapes += [
        _stroke(outfit.skin, spot(0.16, -0.02), spot(0.24, -0.52), 0.75 * size, 0.52 * size),
        _stroke(outfit.skin, spot(0.84, -0.16), spot(0.92, -0.26), 0.07 * size, 0.1 * size),
    ]
    for side in _SIDES:
        shapes += [
            mark(_INK, spot(0.72, -0.06, 0.32 * side), spot(0.72, -0.12, 0.32 * side), 0.085, 0.12),
            mark(outfit.skin, spot(-0.1, -0.14, 0.72 * side), spot(-0.1, -0.26, 0.72 * side), 0.15, 0.3),
            mark(_INK, spot(0.74, -0.58), spot(0.66, -0.51, 0.17 * side), 0.032, 0.1),
        ]
    return FigureLayer(shapes, (head - at["top"])[:, 2] + 0.03, np.ones(len(head)))


def _ball(ball: Array, body: Array) -> FigureLayer:
    glint = ball + BALL_RADIUS * np.array([0.3, 0.35, 0])
    shapes = [
        _stroke((232, 106, 58), ball, ball, BALL_RADIUS),
        _stroke((255, 190, 140), glint, glint, 0.4 * BALL_RADIUS),
    ]
    return FigureLayer(shapes, (ball - body)[:, 2], np.ones(len(ball)))
