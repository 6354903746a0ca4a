"""What each frame of a film shows: the kept clip's own frames, and the other clip's along the warp."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

import numpy as np
from av.video.frame import VideoFrame
from numpy.typing import NDArray
from PIL import Image

from seasync.alignment import Segment, Warp
from seasync.alignment.warp import Stretch
from seasync.clip import Clip
from seasync.encoding import Seconds
from seasync.errors import RenderError
from seasync.files import Place
from seasync.group.clock import has_partner, nearest
from seasync.options import Smooth
from seasync.render.canvas import Canvas, Panel
from seasync.video import FrameTable, frame_table, probe
from seasync.video.color import ToRGB
from seasync.video.decode import chosen
from seasync.video.reader import warn_if_damaged


def in_even_pieces(warp: Warp, fps: Fraction, *, max_error_frames: float) -> Warp:
    """`warp` in the fewest stretches of even speed, joined without jumps; errors are in frames at `fps`."""
    stretches = []
    for stretch in warp.stretches:
        lines = Warp((stretch,)).segments(max_error_frames=max_error_frames, fps=fps)
        if not lines:
            stretches.append(stretch)
            continue
        inner = [(before.value_end + after.value_start) / 2 for before, after in pairwise(lines)]
        values = np.maximum.accumulate([lines[0].value_start, *inner, lines[-1].value_end])
        times = np.asarray([lines[0].start, *(line.end for line in lines)])
        stretches.append(Stretch(times, values, float(times[-1])))
    return Warp(tuple(stretches))


def linear_pieces(warp: Warp) -> list[Segment]:
    """The linear pieces between a warp's knots, and after its last ones."""
    pieces = []
    for stretch in warp.stretches:
        times, values = stretch.times.tolist(), stretch.values.tolist()
        if stretch.end > times[-1]:
            times, values = [*times, stretch.end], [*values, stretch.value_end]
        ends = pairwise(zip(times, values, strict=True))
        pieces += [Segment(start, end, first, last) for (start, first), (end, last) in ends]
    return pieces


@dataclass(frozen=True, eq=False)
class Clock:
    """The frames of a film: their rate, and the second of the kept clip that each of them shows (F,)."""

    rate: Fraction
    seconds: Seconds

    @property
    def length(self) -> float:
        return float(len(self.seconds) / self.rate)

    def only(self, wanted: NDArray[np.bool_]) -> "Clock":
        """The clock with some of its frames."""
        if not wanted.any():
            raise RenderError("nothing of the clips corresponds, so skipping the rest leaves no film")
        return Clock(self.rate, self.seconds[wanted])

    def runs(self) -> list[tuple[float, float, float]]:
        """Stretches without a jump: (second of the film, first and last second of the kept clip)."""
        step = float(1 / self.rate)
        jumps = (np.flatnonzero(np.diff(self.seconds) > 1.5 * step) + 1).tolist()
        return [
            (start * step, float(self.seconds[start]), float(self.seconds[end - 1]) + step)
            for start, end in pairwise([0, *jumps, len(self.seconds)])
        ]


def clock_of(clip: Clip, *, fps: float | None = None) -> Clock:
    """The clock of a film of `clip`, at the file's own rate (which shows every frame) or at `fps`."""
    table = frame_table(clip.file)
    span = table.shown(clip.start, clip.end)
    start = float(table.seconds[span.start])
    end = table.end if span.stop == len(table) else float(table.seconds[span.stop])
    rate = Fraction(fps) if fps else frame_rate(table)
    count = max(1, round((end - start) * float(rate)))
    return Clock(rate, start + np.arange(count) / float(rate))


@lru_cache(maxsize=64)
def frame_rate(table: FrameTable) -> Fraction:
    """The file's average rate; where frames come irregularly, the rate at which most of them do."""
    average = probe(table.file).fps or Fraction(30)
    if len(table) < 3:
        return average
    usual = 1 / float(np.median(np.diff(table.seconds)))
    return average if abs(usual - average) < 0.02 * average else Fraction(usual).limit_denominator(1001)


@dataclass(frozen=True, eq=False)
class FrameSelection:
    """A file, and which of its frames each frame of the film shows.

    numbers  (F,) frames of the file
    seconds  (F,) the file's seconds, for the time code
    known    (F,) False where the alignment leaves the film's frame without a partner
    blend    (F,) share of the frame after it; None shows frames as they are
    """

    file: str
    numbers: NDArray[np.int64]
    seconds: Seconds
    known: NDArray[np.bool_]
    blend: NDArray[np.float32] | None = None


def own_frames(clip: Clip, clock: Clock) -> FrameSelection:
    """The kept clip on its own clock."""
    numbers = frames_at(frame_table(clip.file), clock.seconds)
    return FrameSelection(clip.file, numbers, clock.seconds, np.ones(len(numbers), bool))


def film_warp(warp: Warp, clip: Clip, smooth: Smooth) -> Warp:
    """The warp that a film follows: as read off the path, smoothed to blend along it, or in even pieces."""
    if smooth == "nearest":
        return warp
    if smooth == "blend":
        return warp.smooth()
    if smooth == "pieces":
        return in_even_pieces(warp.smooth(), frame_rate(frame_table(clip.file)), max_error_frames=0.5)
    raise RenderError(f"smooth={smooth!r}: expected 'nearest', 'blend' or 'pieces'")


def warped_frames(clip: Clip, clock: Clock, warp: Warp, *, blend: bool = False) -> FrameSelection:
    """The other clip brought to the clock by `warp`: the nearest frame each time, or two of them mixed."""
    table = frame_table(clip.file)
    seconds, known = warp.at(clock.seconds), has_partner(warp, clock.seconds)
    if not blend:
        return FrameSelection(clip.file, frames_at(table, seconds), seconds, known)
    below, above = _around(table, seconds)
    width = np.maximum(table.seconds[above] - table.seconds[below], 1e-9)
    share = np.clip((seconds - table.seconds[below]) / width, 0, 1)
    return FrameSelection(clip.file, below, seconds, known, share.astype(np.float32))


def frames_at(table: FrameTable, seconds: Seconds) -> NDArray[np.int64]:
    """The frame nearest to each of `seconds`, but none that is shown more than half a usual frame later."""
    before, after = _around(table, seconds)
    wait = table.seconds[after] - seconds
    is_nearer = (wait < seconds - table.seconds[before]) & (wait < 0.5 / float(frame_rate(table)))
    return np.where(is_nearer, after, before)


def _around(table: FrameTable, seconds: Seconds) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The frames on screen at `seconds`, and those after them."""
    on_screen = np.searchsorted(table.seconds, seconds, side="right") - 1
    before = np.clip(on_screen, 0, len(table) - 1).astype(np.int64)
    return before, np.minimum(before + 1, len(table) - 1)


def scheduled_pictures(source: FrameSelection, panel: Panel) -> Generator[VideoFrame]:
    """One picture for each frame of the film, made to fit `panel`; at most two are held at a time."""
    table, blend = frame_table(source.file), source.blend
    after = source.numbers if blend is None else np.minimum(source.numbers + (blend > 0), len(table) - 1)
    # Each film frame needs one frame of the file, or two to mix.
    needed = np.stack([source.numbers, after], axis=1)
    # Film frames in which the file runs forward: all of them, unless pieces changed their order.
    back = np.flatnonzero(np.diff(needed[:, 0]) < 0) + 1
    for start, end in pairwise([0, *back.tolist(), len(needed)]):
        wanted = np.unique(needed[start:end])
        reader = _Reader(table, wanted, panel)
        for at in range(start, end):
            below, above = (reader.at(number) for number in needed[at].tolist())
            yield below if blend is None or below is above else _blended(below, above, float(blend[at]))
        warn_if_damaged(table, len(wanted), reader.whole, 0)


class _Reader:
    """Numbered frames of a file, asked for in increasing order; remembers the last two."""

    def __init__(self, table: FrameTable, numbers: NDArray[np.int64], panel: Panel) -> None:
        self.file, self.panel = table.file, panel
        self.whole = 0  # frames that came undamaged
        self._frames = chosen(table, numbers)
        self._held: list[tuple[int, VideoFrame]] = []

    def at(self, number: int) -> VideoFrame:
        """The frame; where it is damaged, the one before it (the next one at the beginning)."""
        while not self._held or self._held[-1][0] < number:
            found = next(self._frames, None)
            if found is None:
                break
            frame, found_number = found
            self.whole += not frame.is_corrupt
            self._held = [*self._held[-1:], (found_number, self.panel(frame))]
        if not self._held:
            raise _nothing_decoded(self.file)
        return next((frame for held, frame in reversed(self._held) if held <= number), self._held[0][1])


def _blended(below: VideoFrame, above: VideoFrame, share: float) -> VideoFrame:
    canvas = Canvas(below.width, below.height)
    canvas.put(below, 0, 0)
    canvas.put(above, 0, 0, opacity=share)
    return canvas.frame


def stills(file: Place, seconds: Sequence[float], *, size: tuple[int, int]) -> list[Image.Image]:
    """The frames of `file` nearest to `seconds`, each as large as fits into `size` (width, height)."""
    if not seconds:
        return []
    table = frame_table(file)
    numbers = nearest(table.seconds, np.asarray(seconds))
    to_rgb = ToRGB(table.sar, None, "squash")
    found = {number: Image.fromarray(to_rgb(frame)) for frame, number in chosen(table, np.unique(numbers))}
    if not found:
        raise _nothing_decoded(file)
    shown = {number: fitted(picture, size) for number, picture in found.items()}
    # A damaged frame is replaced by the nearest one that is whole.
    return [shown[min(shown, key=lambda whole: abs(whole - number))] for number in numbers.tolist()]


def _nothing_decoded(file: Place) -> RenderError:
    return RenderError(f"{file}: none of the frames asked for can be decoded; the file is damaged")


def fitted(picture: Image.Image, size: tuple[int, int]) -> Image.Image:
    """`picture` as large as fits into `size` (width, height), shape kept."""
    scale = min(size[0] / picture.width, size[1] / picture.height)
    return picture.resize((max(1, round(picture.width * scale)), max(1, round(picture.height * scale))))
