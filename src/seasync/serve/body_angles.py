"""Bodies: found in a worker process, as the API describes them, and their angles over synced time."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from seasync.clip import Clip
from seasync.encoders import pose as bodies_of
from seasync.encoders.pose import ANGLE_NAMES, JOINT_NAMES, TRUNK, Body
from seasync.encoding import Seconds
from seasync.errors import ServeError
from seasync.files import write_text
from seasync.marks import csv_text
from seasync.options import Side
from seasync.serve.models import Angles, BodyForm, JointAngle

if TYPE_CHECKING:
    from seasync.alignment import Alignment

SELDOM = 0.5  # share of the frames below which the page warns
MOST_MOMENTS = 3000
# Seconds: the deviation of the Gaussian that takes the jitter of single frames out of an angle. It lowers a
# swing that lasts half a second from end to end by a few per cent.
SMOOTHING = 0.05


def find_body(clip: Clip, out: str, report: Callable[[tuple[float, str]], None]) -> dict[str, Any]:
    """Find the joints of the person who moves most in a clip, and write them to `out`."""

    def progress(done: float, total: float) -> None:
        report((min(done / max(total, 1e-3), 1.0), "looking for the body"))

    body = bodies_of.find_body(clip, progress=progress)
    write_body(body, out)
    return {"found": round(body.found, 4)}


def write_body(body: Body, file: str) -> None:
    """Write a body to a JSON file."""
    known = {"seconds": body.seconds.round(6).tolist(), "joints": _rows(body), "aspect": body.aspect}
    write_text(file, json.dumps(known), make_folder=True)


def _rows(body: Body) -> list[Any]:
    """The joints of each frame; None where nobody was found."""
    return [frame.astype(np.float64).round(4).tolist() if frame.any() else None for frame in body.joints]


def read_body(file: Path) -> Body:
    """Read a body that `write_body` has written."""
    known: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    nobody = [[0.0, 0.0, 0.0]] * len(JOINT_NAMES)
    joints = np.array([nobody if row is None else row for row in known["joints"]], np.float32)
    seconds = np.array(known["seconds"])
    return Body(seconds, np.arange(len(seconds)), joints, known["aspect"])


def body_model(ref: str, body: Body, name: str) -> BodyForm:
    """A body as the API describes it."""
    return BodyForm(
        ref=ref,
        found=round(body.found, 4),
        note=body_note(body, name),
        names=list(JOINT_NAMES),
        seconds=body.seconds.tolist(),
        joints=_rows(body),
    )


def body_note(body: Body, name: str) -> str | None:
    """What to know about a body, in words; None if it was found most of the time."""
    if not body.found:
        return f"No body found in {name}."
    if body.found < SELDOM:
        return f"{name}: a body was found in only {body.found:.0%} of the frames."
    return None


def compare_angles(
    alignment: "Alignment",
    bodies: dict[Side, Body],
    names: dict[Side, str],
    *,
    mirror: bool,
    raw: bool = False,
) -> Angles:
    """The angles of both bodies at the same synced moments: those of the query's frames.

    Parameters
    ----------
    mirror
        Whether the match is a mirror image: left is compared with right.
    raw
        Whether the angles stay as they were found in each frame, with their jitter.
    """
    query, match = bodies["query"], bodies["match"]
    warp = alignment.warp(keep="query")
    step = max(1, len(query.seconds) // MOST_MOMENTS)
    seconds = np.array([time for time in query.seconds[::step].tolist() if warp.covers(time)])
    if not len(seconds):
        raise ServeError("the two videos share no moment; there are no angles to compare", status=422)
    partners = np.asarray(warp.at(seconds), np.float64)
    own, others = (
        {name: values if raw else smoothed(body.seconds, values) for name, values in body.angles().items()}
        for body in (query, match)
    )
    angles = []
    for name in ANGLE_NAMES:
        other = others[_other_side(name) if mirror else name] * (-1 if mirror and name == TRUNK else 1)
        # Linear between samples; NaN next to a sample that is not known.
        first = np.interp(seconds, query.seconds, own[name])
        second = np.interp(partners, match.seconds, other)
        lists = {"query": first, "match": second, "difference": second - first}
        angles.append(JointAngle(name=name, **{side: _rounded(values) for side, values in lists.items()}))
    found = [body_note(bodies[side], names[side]) for side in bodies]
    return Angles(
        seconds={"query": seconds.round(4).tolist(), "match": partners.round(4).tolist()},
        angles=angles,
        notes=[note for note in found if note],
    )


def angles_csv(angles: Angles) -> str:
    """A row per synced moment; three columns per angle: query, match, difference."""
    names = [f"{one.name} {what}" for one in angles.angles for what in ("query", "match", "difference")]
    columns: list[Sequence[float | None]] = [angles.seconds["query"], angles.seconds["match"]]
    columns += [column for one in angles.angles for column in (one.query, one.match, one.difference)]
    return csv_text(["query seconds", "match seconds", *names], zip(*columns, strict=True))


def smoothed(seconds: Seconds, values: Seconds) -> Seconds:
    """The values [shape=(T,)] without the jitter of single frames: a Gaussian mean over known neighbors.

    NaN stays NaN. The mean is that of a straight line through the neighbors, so that a steady movement keeps
    its values at the ends and beside gaps.
    """
    found = np.full(len(values), np.nan)
    for n in np.flatnonzero(np.isfinite(values)).tolist():
        low, high = np.searchsorted(seconds, (seconds[n] - 3 * SMOOTHING, seconds[n] + 3 * SMOOTHING))
        away, near = seconds[low:high] - seconds[n], values[low:high]
        weights = np.where(np.isfinite(near), np.exp(-((away / SMOOTHING) ** 2) / 2), 0.0)
        near = np.nan_to_num(near)
        count, first, second = (float(weights @ away**power) for power in range(3))
        spread = count * second - first**2
        mean, lean = float(weights @ near), float(weights @ (near * away))
        found[n] = (second * mean - first * lean) / spread if spread > 1e-12 else mean / count
    return found


def _rounded(values: Seconds) -> list[float | None]:
    return [round(value, 1) if np.isfinite(value) else None for value in values.tolist()]


def _other_side(name: str) -> str:
    sides = {"left": "right", "right": "left"}
    side, _, part = name.partition(" ")
    return f"{sides[side]} {part}" if side in sides else name
