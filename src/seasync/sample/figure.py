"""The performer: a body's measures, and where its joints are in a pose.

All frames of a clip are computed at once. World axes: ahead, up, to the figure's own right; in metres.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from seasync.sample.actions import Action, Array

Joints = dict[str, Array]
UP = np.array([0.0, 1.0, 0.0])
BALL, HEEL = 0.55, 0.2  # of a foot's length, from the ankle to what it pivots on
ON_TOES = 72  # degrees that a foot is pitched in a plank
BALLS = {"hand": 0.07, "foot": 0.11, "tee": 0.028}  # radius of what is thrown, kicked, struck
CLUB_HEAD = 0.03  # metres above the ground when it strikes
PALM = 0.045  # metres from the wrist to the ground it is propped on


@dataclass(frozen=True)
class Body:
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
    def drawn(cls, rng: np.random.Generator) -> Body:
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


_CARRIED_BY = {"hand": "r_wrist", "foot": "r_toe", "tee": "club_head"}
_SENT = {"hand": (8.5, 1.6, 0.0), "foot": (10.0, 4.5, 0.0), "tee": (1.0, 7.0, -15.0)}  # metres a second


def perform(
    body: Body, action: Action, action_time: Array, *, vigour: float = 1.0, sway: Array | float = 0.0
) -> Joints:
    """The joints (N, 3) at `action_time` (N,), swaying by degrees; also where club and ball are, if any."""
    pose = action.pose(action_time, vigour=vigour)
    at = _joints(body, action, pose | {"bend": pose["bend"] + sway, "side": pose["side"] + 0.5 * sway})
    if not action.ball:
        return at
    carrier, moment = action.ball
    sent = _joints(body, action, action.pose(np.array([moment]), vigour=vigour))
    if action.club:
        grounded = (CLUB_HEAD - sent["l_wrist"][0, 1]) / sent["club"][0, 1]
        for places in (at, sent):
            places["club_head"] = places["l_wrist"] + grounded * places["club"]
    carried = _CARRIED_BY[carrier]
    start = sent[carried][0]
    waiting = at[carried] if carrier == "hand" else start * [1, 0, 1] + BALLS[carrier] * UP
    flown = 4 * np.maximum(action_time - moment, 0)[:, None]  # as if the action took four seconds
    flight = start + flown * np.array(_SENT[carrier]) - 4.9 * flown**2 * UP
    at["ball"] = np.where(flown > 0, flight, waiting)
    return at


def _joints(body: Body, action: Action, pose: dict[str, Array]) -> Joints:
    """Each joint's place, (N, 3), in the poses of N frames, and the directions of head, chest and club."""
    leg = body.thigh + body.shin
    pelvis = np.stack([pose["x"] * leg, body.ankle + pose["y"] * 0.985 * leg, pose["z"] * leg], -1)
    lean = pose["lean"]
    if action.plank:
        lean, pelvis = _plank(body, pose["r_reach"])
    hips = _turned(lean, pose["turn"], pose["tilt"])
    chest = hips @ _turned(pose["bend"], pose["twist"], pose["side"])
    skull = chest @ _turned(pose["nod"], pose["look"], 0 * lean)
    waist = pelvis + 0.42 * body.trunk * hips[:, :, 1]
    top = waist + 0.58 * body.trunk * chest[:, :, 1]
    head = top + body.neck * chest[:, :, 1] + body.head * skull[:, :, 1] + 0.02 * skull[:, :, 0]
    at = {"pelvis": pelvis, "waist": waist, "top": top, "head": head}
    at |= {"facing": skull[:, :, 0], "crown": skull[:, :, 1], "chest_ahead": chest[:, :, 0]}
    at["club"] = _pointing(chest, pose["club_lift"], pose["club_out"], 1)
    for side, sign in (("l", -1), ("r", 1)):
        limbs = _arm(body, action, pose, at, chest, side, sign) | _leg(
            body, action, pose, pelvis, hips, side, sign
        )
        at |= {f"{side}_{name}": place for name, place in limbs.items()}
    return at


def _arm(
    body: Body, action: Action, pose: dict[str, Array], at: Joints, chest: Array, side: str, sign: int
) -> Joints:
    lift, length = pose[f"{side}_lift"], body.upper_arm + body.forearm
    shrug = 0.05 * length * np.clip(lift / 90 - 1, 0, 1) - 0.05
    shoulder = at["top"] + sign * body.shoulder * chest[:, :, 2] + shrug[:, None] * chest[:, :, 1]
    reach = pose[f"{side}_reach"][:, None] * length
    wrist = shoulder + reach * _pointing(chest, lift, pose[f"{side}_out"], sign)
    if action.plank:
        lean, pelvis = _plank(body, np.array([0.8]))
        below = pelvis[0, 0] + body.trunk * np.sin(np.radians(lean[0]))
        wrist = np.broadcast_to([below, PALM, sign * (body.shoulder + 0.08)], wrist.shape)
    elif action.club and side == "r":
        wrist = at["l_wrist"] + 0.09 * at["club"]
    upward = 1.4 * np.sin(np.radians(pose[f"{side}_elbow"]))[:, None] * chest[:, :, 1]
    hint = chest @ np.array([-0.55, -0.5, 0.5 * sign]) + upward
    elbow, wrist = _two_bones(shoulder, wrist, body.upper_arm, body.forearm, hint)
    along = np.array([[0.95, -0.3, 0.0]]) if action.plank else (wrist - elbow) / body.forearm
    return {"shoulder": shoulder, "elbow": elbow, "wrist": wrist, "fingers": wrist + 0.08 * along}


def _leg(
    body: Body, action: Action, pose: dict[str, Array], pelvis: Array, hips: Array, side: str, sign: int
) -> Joints:
    length = body.thigh + body.shin
    pitch = np.radians(pose[f"{side}_toe"] + ON_TOES * action.plank)[:, None]
    turned = sign * np.radians(pose[f"{side}_toe_out"])
    level = np.stack([np.cos(turned), 0 * turned, np.sin(turned)], -1)
    ahead = np.cos(pitch) * level - np.sin(pitch) * UP
    above = np.sin(pitch) * level + np.cos(pitch) * UP
    x, y, z = (pose[f"{side}_foot_{axis}"] * length for axis in "xyz")
    flat = np.stack([x, body.ankle + y, sign * (body.hip + z)], -1)
    pivot = np.where(pitch > 0, BALL, -HEEL) * body.foot
    ankle = flat + pivot * (level - ahead) + body.ankle * (above - UP)
    hip = pelvis + sign * body.hip * hips[:, :, 2]
    knee, ankle = _two_bones(hip, ankle, body.thigh, body.shin, level + 0.4 * hips[:, :, 0] + 0.2 * UP)
    heel = ankle - HEEL * body.foot * ahead - 0.55 * body.ankle * above
    toe = ankle + 0.68 * body.foot * ahead - 0.65 * body.ankle * above
    return {"hip": hip, "knee": knee, "ankle": ankle, "heel": heel, "toe": toe}


def _plank(body: Body, reach: Array) -> tuple[Array, Array]:
    """Lean and pelvis of a straight body on its toes, its shoulders `reach` arm lengths above the hands."""
    tip, leg = np.radians(ON_TOES), 0.998 * (body.thigh + body.shin)
    ankle_ahead = BALL * body.foot * (1 - np.cos(tip)) + body.ankle * np.sin(tip)
    ankle_up = BALL * body.foot * np.sin(tip) + body.ankle * np.cos(tip)
    shoulder_up = reach * (body.upper_arm + body.forearm) + PALM
    slope = np.arcsin((shoulder_up - ankle_up) / (leg + body.trunk))
    pelvis = np.stack([ankle_ahead + leg * np.cos(slope), ankle_up + leg * np.sin(slope), 0 * slope], -1)
    return np.degrees(np.pi / 2 - slope), pelvis


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
