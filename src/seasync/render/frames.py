"""Pictures of films: what each frame shows, and how it is put together in YUV.

The kept clip shows its own frames, the other clip those along the warp. The way through RGB would cost
a third more.
"""

import math
import unicodedata
from collections.abc import Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from av.video.frame import VideoFrame
from av.video.reformatter import ColorRange, Colorspace, VideoReformatter
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from seasync.alignment import Segment, Warp
from seasync.alignment.warp import Stretch
from seasync.clip import Clip
from seasync.encoding import Seconds
from seasync.errors import RenderError
from seasync.files import Location, Place, atomic_write
from seasync.group.clock import has_partner, nearest
from seasync.options import Smooth
from seasync.video import FrameTable, decode, frame_table, probe
from seasync.video.reader import warn_if_damaged
from seasync.video.source import Orientation

Plane = NDArray[np.uint8]
BLACK, WHITE, GRAY = 16, 235, 128
DIM = 0.35  # how bright a frame without a partner stays


def planes(frame: VideoFrame) -> list[Plane]:
    """Y (H, W), U and V (H/2, W/2) of a yuv420p frame: views, not copies."""
    return [
        np.frombuffer(memoryview(plane), np.uint8).reshape(-1, plane.line_size)[: plane.height, : plane.width]
        for plane in frame.planes
    ]


class Panel:
    """Makes stored frames fit one place in a film: upright, `width`×`height` (even), as films are coded."""

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = width, height
        self._scale = VideoReformatter()

    def __call__(self, frame: VideoFrame) -> VideoFrame:
        turn = Orientation.of(frame)
        size = (self.height, self.width) if turn.transpose else (self.width, self.height)
        flat = decode.film_frame(frame, self._scale, size=size, coded=decode.matrix(frame))
        return flat if turn == Orientation() else self._turned(flat, turn)

    def _turned(self, frame: VideoFrame, turn: Orientation) -> VideoFrame:
        upright = VideoFrame(self.width, self.height, "yuv420p")
        for source, target in zip(planes(frame), planes(upright), strict=True):
            turned = source.T if turn.transpose else source
            target[:] = turned[:: -1 if turn.flip else 1, :: -1 if turn.mirror else 1]
        return upright


class Canvas:
    """A black picture of `width`×`height` (even) to put others on, at even places."""

    def __init__(self, width: int, height: int) -> None:
        self.frame = VideoFrame(width, height, "yuv420p")
        self.frame.colorspace, self.frame.color_range = Colorspace.ITU709, ColorRange.MPEG
        self._planes = planes(self.frame)
        for plane, value in zip(self._planes, (BLACK, GRAY, GRAY), strict=True):
            plane[:] = value

    def put(
        self, frame: VideoFrame, left: int, top: int, *, opacity: float = 1.0, light: float = 1.0
    ) -> None:
        """Copy `frame` (yuv420p) to a place, mixed with what is there, or darkened."""
        for number, source in enumerate(planes(frame)):
            x, y = (left, top) if number == 0 else (left // 2, top // 2)
            target = self._planes[number][y : y + source.shape[0], x : x + source.shape[1]]
            if light < 1:
                source = _faded(light, BLACK if number == 0 else GRAY)[source]
            target[:] = source if opacity == 1 else mixed(target, source, opacity)

    def fill(self, patch: Plane, left: int, top: int) -> None:
        """Put colors, YUV of shape (h, w, 3), at an even place."""
        height, width = patch.shape[:2]
        self._planes[0][top : top + height, left : left + width] = patch[..., 0]
        for number, plane in enumerate(self._planes[1:], 1):
            half = patch[::2, ::2, number]
            plane[top // 2 : top // 2 + half.shape[0], left // 2 : left // 2 + half.shape[1]] = half

    def text(self, text: str, at: tuple[int, int], *, size: int) -> None:
        """White letters on a dark plate whose upper left corner is `at`."""
        luma, cover = _plate(text, size)
        height, width = luma.shape
        left, top = max(0, at[0]) // 2 * 2, max(0, at[1]) // 2 * 2
        target = self._planes[0][top : top + height, left : left + width]
        height, width = target.shape
        target[:] = mixed(target, luma[:height, :width], cover[:height, :width])
        for plane in self._planes[1:]:
            target = plane[top // 2 : (top + height) // 2, left // 2 : (left + width) // 2]
            share = cover[:height:2, :width:2][: target.shape[0], : target.shape[1]]
            target[:] = mixed(target, np.uint8(GRAY), share)


def mixed(below: Plane, above: Plane | np.uint8, share: float | NDArray[np.uint16]) -> Plane:
    """`share` of `above` (0–1, or 0–256 as whole numbers) over `below`."""
    weight = np.uint16(round(share * 256)) if isinstance(share, float) else share
    total = below.astype(np.uint16) * (256 - weight) + np.asarray(above, np.uint16) * weight
    return np.asarray((total + 128) >> 8, np.uint8)


@lru_cache(maxsize=8)
def _faded(light: float, towards: int) -> Plane:
    """A table of all 256 values moved towards black or gray."""
    return np.asarray(np.rint(towards + (np.arange(256) - towards) * light), np.uint8)


@lru_cache(maxsize=512)
def plate_width(text: str, size: int) -> int:
    """How wide the plate of a line of letters is; even."""
    width = int(font(size).getlength(drawable(text))) + round(size * 1.1)
    return width + width % 2


def plate_height(size: int) -> int:
    """How high the plate of a line of letters is; even."""
    return round(size * 0.8) * 2


@lru_cache(maxsize=512)
def _plate(text: str, size: int) -> tuple[Plane, NDArray[np.uint16]]:
    """Luma (h, w) and cover (h, w, 0–256) of a line of letters on a plate with round corners; even sides."""
    shape = plate_width(text, size), plate_height(size)
    letters, cover = Image.new("L", shape, BLACK), Image.new("L", shape, 0)
    ImageDraw.Draw(cover).rounded_rectangle((0, 0, shape[0] - 1, shape[1] - 1), size * 0.4, 150)
    ImageDraw.Draw(letters).text((shape[0] / 2, shape[1] / 2), drawable(text), WHITE, font(size), "mm")
    luma = np.asarray(letters)
    # Letters hide what is below them, the plate only darkens it.
    ink = (luma.astype(np.uint16) - BLACK) * 256 // (WHITE - BLACK)
    return luma, np.maximum(np.asarray(cover, np.uint16), ink)


# Letters on pictures and films.


FONTS = (  # regular and bold
    ("Helvetica.ttc", "HelveticaNeue.ttc"),
    ("Arial.ttf", "Arial Bold.ttf"),
    ("arial.ttf", "arialbd.ttf"),
    ("LiberationSans-Regular.ttf", "LiberationSans-Bold.ttf"),
    ("DejaVuSans.ttf", "DejaVuSans-Bold.ttf"),
    ("NotoSans-Regular.ttf", "NotoSans-Bold.ttf"),
)
PLAIN = str.maketrans({"–": "-", "—": "-", "×": "x", "→": "->", "’": "'", "≤": "<=", "≥": ">=", "½": "1/2"})


@lru_cache(maxsize=32)
def font(size: int, *, bold: bool = False) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """A sans-serif font of the system, or the one that comes with Pillow."""
    file = _system_font(bold)
    return ImageFont.truetype(file, size) if file else ImageFont.load_default(size)


def drawable(text: str) -> str:
    """`text`, in plain ASCII where only Pillow's own font is there: it has no other letters."""
    if _system_font(False):
        return text
    return unicodedata.normalize("NFKD", text.translate(PLAIN)).encode("ascii", "ignore").decode()


@lru_cache
def _system_font(bold: bool) -> str | None:
    for names in FONTS:
        with suppress(OSError):
            return str(ImageFont.truetype(names[bold], 12).path)
    return None


def clock(seconds: float, *, places: int = 2) -> str:
    """Minutes and seconds.

    >>> clock(75.5), clock(3725.04)
    ('1:15.50', '1:02:05.04')
    """
    total = round(seconds * 10**places)
    whole, part = divmod(total, 10**places)
    hours, rest = divmod(whole, 3600)
    minutes, rest = divmod(rest, 60)
    head = f"{hours}:{minutes:02}" if hours else f"{minutes}"
    return f"{head}:{rest:02}" + (f".{part:0{places}}" if places else "")


def ticks(first: float, last: float, about: int) -> list[float]:
    """Round numbers of seconds between `first` and `last`, at most so many.

    >>> ticks(0.3, 2.1, 5)
    [0.5, 1.0, 1.5, 2.0]
    """
    steps = [step * 10.0**power for power in range(-2, 5) for step in (1, 2, 5)]
    step = next((step for step in steps if (last - first) / step <= about), steps[-1])
    return [number * step for number in range(math.ceil(first / step), math.floor(last / step) + 1)]


def save(picture: Image.Image, file: Place, **options: Any) -> None:
    """Write a picture in the format its name asks for."""
    kinds = Image.registered_extensions()
    if kinds.get(Location(file).suffix.lower()) not in Image.SAVE:
        raise RenderError(f"{file}: cannot be written as a picture; use .png, .svg, .jpg or .webp")
    with atomic_write(file, error=RenderError) as part:
        picture.save(part, **options)


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


MOST_FRAMES = 10_000_000  # of a film: two days at 50 per second


def clock_of(clip: Clip, *, fps: float | None = None) -> Clock:
    """The clock of a film of `clip`, at the file's own rate (which shows every frame) or at `fps`."""
    table = frame_table(clip.file)
    span = table.shown(clip.start, clip.end)
    start = float(table.seconds[span.start])
    end = table.end if span.stop == len(table) else float(table.seconds[span.stop])
    rate = Fraction(fps) if fps else frame_rate(table)
    count = max(1, round((end - start) * float(rate)))
    if count > MOST_FRAMES:
        raise RenderError(
            f"{clip.file}: {end - start:.0f} s at {float(rate):g} frames per second are {count} frames, at "
            f"most {MOST_FRAMES}: show a shorter span, and check the timestamps of the file"
        )
    return Clock(rate, start + np.arange(count) / float(rate))


@lru_cache(maxsize=64)
def frame_rate(table: FrameTable) -> Fraction:
    """The file's average rate; where frames come irregularly, the rate at which most of them do."""
    average = probe(table.file).fps or Fraction(30)
    if len(table) < 3:
        return average
    usual = 1 / float(np.median(np.diff(table.seconds)))
    if abs(usual - average) < 0.02 * average:
        return average
    return Fraction(usual).limit_denominator(1001) or average


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
        self._frames = decode.chosen(table, numbers)
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
    to_rgb = decode.ToRGB(table.sar, None, "squash")
    found = {
        number: Image.fromarray(to_rgb(frame)) for frame, number in decode.chosen(table, np.unique(numbers))
    }
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
