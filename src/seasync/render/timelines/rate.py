"""Frame rates and time codes as editing programs count them."""

from __future__ import annotations

from fractions import Fraction

STANDARD = [Fraction(base * 1000, per) for base in (24, 30, 48, 60, 120) for per in (1000, 1001)]
STANDARD += [Fraction(25), Fraction(50), Fraction(100)]
"""The rates that editing programs have names for."""


def standard_rate(fps: Fraction) -> Fraction:
    """The standard rate within 0.05 % of `fps` (cameras and muxers write 29.978 for 29.97), else `fps`."""
    nearest = min(STANDARD, key=lambda rate: abs(rate - fps))
    return nearest if abs(nearest - fps) <= fps / 2000 else fps.limit_denominator(1001)


def timeline_rate(fps: Fraction) -> Fraction:
    """The standard rate for a timeline that shows every frame of a video at `fps`.

    Editing programs offer only standard rates. For another one, such as a GIF's 12.5, the result is the
    lowest standard rate that is a multiple of it, else the lowest that is higher, else the highest.

    Examples
    --------
    >>> timeline_rate(Fraction(25, 2)), timeline_rate(Fraction(2997, 100)), timeline_rate(Fraction(33, 2))
    (Fraction(25, 1), Fraction(30000, 1001), Fraction(24000, 1001))
    """
    nearest = standard_rate(fps)
    higher = [rate for rate in sorted(STANDARD) if rate >= nearest] or [max(STANDARD)]
    multiples = [rate for rate in higher if standard_rate(rate / max(1, round(rate / fps))) == nearest]
    return next(iter(multiples), higher[0])


def is_drop_frame(rate: Fraction) -> bool:
    """29.97 and 59.94 are counted in drop-frame time code, so that an hour of it lasts an hour."""
    return rate in (Fraction(30000, 1001), Fraction(60000, 1001))


def timecode(frame: int, rate: Fraction, *, drop: bool | None = None) -> str:
    """`hh:mm:ss:ff` of frame number `frame`, or `hh:mm:ss;ff` in drop-frame time code.

    Parameters
    ----------
    frame
        Frame number, counted from 0 at 00:00:00:00.
    rate
        Frames per second. Time codes count in whole numbers: 30 per second at 29.97.
    drop
        Whether to count drop-frame. None: at the rates for which `is_drop_frame` holds.

    Examples
    --------
    >>> timecode(1800, Fraction(30000, 1001)), timecode(17982, Fraction(30000, 1001))
    ('00:01:00;02', '00:10:00;00')
    >>> timecode(1800, Fraction(30000, 1001), drop=False)
    '00:01:00:00'
    """
    base = round(rate)
    is_drop = is_drop_frame(rate) if drop is None else drop
    if is_drop:
        dropped = base // 15  # numbers skipped each minute, but not each tenth: 2 at 29.97, 4 at 59.94
        tens, rest = divmod(frame, 600 * base - 9 * dropped)
        minutes = max(0, rest - dropped) // (60 * base - dropped)
        frame += dropped * (9 * tens + minutes)
    seconds, frames = divmod(frame, base)
    separator = ";" if is_drop else ":"
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}{separator}{frames:02}"


def frame_of(code: str, rate: Fraction, *, drop: bool | None = None) -> int:
    """The frame number of a time code.

    Parameters
    ----------
    code
        `hh:mm:ss:ff`, with `;` or `.` before the frames in drop-frame time code.
    rate
        Frames per second.
    drop
        Whether the code counts drop-frame. None: as its separator says.

    Examples
    --------
    >>> frame_of("00:01:00;02", Fraction(30000, 1001))
    1800
    """
    base = round(rate)
    hours, minutes, seconds, frames = (
        int(part) for part in code.replace(";", ":").replace(".", ":").split(":")
    )
    frame = ((hours * 60 + minutes) * 60 + seconds) * base + frames
    if has_drop_separator(code) if drop is None else drop:
        total = hours * 60 + minutes
        frame -= base // 15 * (total - total // 10)
    return frame


def has_drop_separator(code: str) -> bool:
    return ";" in code or "." in code
