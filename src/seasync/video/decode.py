"""Decode chosen frames of a file at the cost of little more than those, and turn them into upright RGB.

A picture is scaled once, and has its colors as they were meant.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import groupby
from typing import Literal

import av
import numpy as np
from av.container import InputContainer
from av.filter import Graph
from av.video import reformatter as av_color
from av.video.reformatter import ColorRange, Colorspace, ColorTrc, Interpolation, VideoReformatter
from numpy.typing import NDArray

from seasync.errors import VideoError
from seasync.files import fetch
from seasync.video import source
from seasync.video.source import FrameTable, Orientation, decode_all, open_picture, packets, shown_size

LEAP = 24  # frames not wanted before a keyframe that are worth a seek
# Decoders that leave out a frame that no other refers to when told so packet by packet.
SKIPS = {"h264", "hevc", "mpeg2video", "mpeg4", "vp8"}

Numbered = tuple[av.VideoFrame, int]


def chosen(table: FrameTable, wanted: NDArray[np.int64], *, frame_threads: bool = True) -> Iterator[Numbered]:
    """The frames with the numbers `wanted` (increasing) that decode, as stored but deinterlaced.

    Threads that decode several frames at the same time take an eighth more CPU time. Raises VideoError if
    none of the frames decodes.
    """
    came = False
    for frame, number in _whole(table, wanted, frame_threads):
        came = True
        yield frame, number
    if not came:
        raise VideoError(
            f"{table.file}: none of the {len(wanted)} frames asked for can be decoded; it is damaged"
        )


def _whole(table: FrameTable, wanted: NDArray[np.int64], frame_threads: bool) -> Iterator[Numbered]:
    for frame, number in _stored(table, wanted, frame_threads):
        if frame.interlaced_frame:
            rest = wanted[wanted >= number]
            # Deinterlacing looks at the frames around, so it needs them all, and one more at each end.
            around = np.arange(max(int(rest[0]) - 1, 0), min(int(rest[-1]) + 2, len(table)))
            yield from _among(_deinterlaced(_stored(table, around, frame_threads)), rest)
            return
        yield frame, number


def _among(frames: Iterator[Numbered], wanted: NDArray[np.int64]) -> Iterator[Numbered]:
    numbers = set(wanted.tolist())
    return ((frame, number) for frame, number in frames if number in numbers)


def _stored(table: FrameTable, wanted: NDArray[np.int64], frame_threads: bool) -> Iterator[Numbered]:
    if fetch(table.file).is_dir():
        return _pictures(table, wanted)
    if table.pts is None:
        return _among(_counted(table), wanted)
    return _sought(table, wanted, frame_threads)


def _pictures(table: FrameTable, wanted: NDArray[np.int64]) -> Iterator[Numbered]:
    files = source.images(fetch(table.file))
    for number in wanted.tolist():
        with open_picture(files[number]) as (container, stream):
            for frame in decode_all(container, stream):
                yield frame, number
                break


def _counted(table: FrameTable) -> Iterator[Numbered]:
    with open_picture(table.file) as (container, stream):
        for number, frame in enumerate(decode_all(container, stream)):
            yield frame, number


def _sought(table: FrameTable, wanted: NDArray[np.int64], frame_threads: bool) -> Iterator[Numbered]:
    """Frames found by their times, jumping over stretches of which nothing is wanted."""
    at = np.searchsorted(table.keys, wanted, "right") - 1  # the keyframe before each; -1 without any
    starts = table.keys[at] if len(table.keys) else at
    leaps = np.flatnonzero(starts[1:] - wanted[:-1] > LEAP) + 1
    with open_picture(table.file, frame_threads=frame_threads) as (container, stream):
        for run, key in zip(np.split(wanted, leaps), at[[0, *leaps]].tolist(), strict=True):
            if key > 0:
                yield from _after_seeking(container, stream, table, run, key)
            else:  # the first run of all: the container stands at its beginning
                yield from _forward(container, stream, table, run)


def _after_seeking(
    container: InputContainer, stream: av.VideoStream, table: FrameTable, run: NDArray[np.int64], key: int
) -> Iterator[Numbered]:
    """The frames of a run from its keyframe (the key-th) on."""
    assert table.pts is not None
    back = 1
    while key > 0:
        container.seek(int(table.pts[table.keys[key]]), stream=stream)
        frames = _forward(container, stream, table, run)
        first = next(frames, None)
        if first is not None and first[1] == run[0]:
            yield first
            yield from frames
            return
        # It landed too late, or the picture only builds up after this keyframe: from one further back.
        key, back = key - back, 2 * back
    with open_picture(table.file) as (container, stream):
        yield from _forward(container, stream, table, run)


def _forward(
    container: InputContainer, stream: av.VideoStream, table: FrameTable, run: NDArray[np.int64]
) -> Iterator[Numbered]:
    """The frames of a run, from the next keyframe on."""
    done = -1
    for frame in _decoded(container, stream, table, run):
        number = table.number_at(frame.pts)
        if number > done and _holds(run, number):
            yield frame, number
            done = number
        if number >= run[-1]:
            return


def _decoded(
    container: InputContainer, stream: av.VideoStream, table: FrameTable, run: NDArray[np.int64]
) -> Iterator[av.VideoFrame]:
    """Decode what leads to the frames of a run, and little else: where the decoder can leave out frames that
    no other refers to, or all stand alone, only the wanted ones of those."""
    codec, begun = stream.codec_context, False
    alone = len(table.keys) == len(table)
    for packet in packets(container, stream):
        begun = begun or packet.is_keyframe or not len(table.keys)
        wanted = _holds(run, table.number_at(packet.pts))
        if not begun or (alone and not wanted):
            continue
        if codec.name in SKIPS:
            codec.skip_frame = "DEFAULT" if wanted else "NONREF"
        yield from source.decode(stream, packet)
    yield from source.decode(stream, None)


def _holds(run: NDArray[np.int64], number: int) -> bool:
    at = int(np.searchsorted(run, number))
    return at < len(run) and int(run[at]) == number


def _deinterlaced(frames: Iterator[Numbered]) -> Iterator[Numbered]:
    """The same frames, each interlaced one made whole from itself and its neighbors (bwdif)."""
    waiting = deque[int]()
    for _, alike in groupby(frames, key=lambda item: (item[0].width, item[0].height, item[0].format.name)):
        graph = None
        for frame, number in alike:
            graph = graph or filter_graph(frame, [("bwdif", "mode=send_frame:deint=interlaced")])
            waiting.append(number)
            yield from _pulled(graph, frame, waiting)
        if graph is not None:
            yield from _pulled(graph, None, waiting)


def filter_graph(frame: av.VideoFrame, filters: Iterable[tuple[str, str | None]]) -> Graph:
    """FFmpeg's filters, each with its options, one after the other, for frames such as this one."""
    graph = Graph()
    tick = frame.time_base or Fraction(1, 1000)
    entry = graph.add_buffer(width=frame.width, height=frame.height, format=frame.format, time_base=tick)
    graph.link_nodes(entry, *(graph.add(*each) for each in filters), graph.add("buffersink"))
    graph.configure()
    return graph


def _pulled(graph: Graph, frame: av.VideoFrame | None, waiting: deque[int]) -> Iterator[Numbered]:
    graph.vpush(frame)
    while waiting:
        try:
            done = graph.vpull()
        except (av.BlockingIOError, av.EOFError):
            return
        yield done, waiting.popleft()


# HDR pictures as SDR ones: highlights rolled off, the rest as bright as it was meant, BT.2020 to BT.709.


Floats = NDArray[np.float32]

WHITE, PEAK = 203.0, 1000.0  # cd/m²: diffuse white (BT.2408) and the brightest highlight told apart
KNEE = 0.3  # of diffuse white; what is darker stays exactly as it is
TO_709 = np.array(
    [[1.6605, -0.5876, -0.0728], [-0.1246, 1.1329, -0.0083], [-0.0182, -0.1006, 1.1187]], np.float32
)
LUMA_2020 = np.array([0.2627, 0.6780, 0.0593], np.float32)


def is_hdr(frame: av.VideoFrame) -> bool:
    return frame.color_trc in (ColorTrc.SMPTE2084, ColorTrc.ARIB_STD_B67)


def to_sdr(coded: NDArray[np.uint16], frame: av.VideoFrame) -> NDArray[np.uint8]:
    """(H, W, 3) uint16 RGB in the frame's transfer curve (PQ or HLG) to (H, W, 3) uint8 sRGB."""
    light = _curve(int(frame.color_trc))[coded]
    if frame.color_trc == ColorTrc.ARIB_STD_B67:  # HLG codes the scene; a 1000 cd/m² display adds this gamma
        light *= (PEAK / WHITE) * (light @ LUMA_2020)[..., None] ** 0.2
    brightest = light.max(-1, keepdims=True)
    light *= _rolled_off(brightest) / np.maximum(brightest, 1e-6)
    if frame.color_primaries != av_color.ColorPrimaries.BT709:
        light = light @ TO_709.T
    return _display()[(light.clip(0, 1) * 4095 + 0.5).astype(np.uint16)]


def _rolled_off(light: Floats) -> Floats:
    """Brightness in units of diffuse white to 0–1: the Möbius curve, linear up to the knee, 1 at the peak."""
    peak = PEAK / WHITE
    a = -(KNEE**2) * (peak - 1) / (KNEE**2 - 2 * KNEE + peak)
    b = (KNEE**2 - 2 * KNEE * peak + peak) / (peak - 1)
    rolled = (b + KNEE) ** 2 / (b - a) * (light + a) / (light + b)
    return np.where(light > KNEE, rolled, light)


@lru_cache(maxsize=2)
def _curve(transfer: int) -> Floats:
    """(65536,) code value to light: PQ in units of diffuse white, HLG as scene light from 0 to 1."""
    code = np.linspace(0, 1, 65536)
    if transfer == ColorTrc.SMPTE2084:
        root = code ** (32 / 2523)
        light = (
            10000 / WHITE * (np.maximum(root - 0.8359375, 0) / (18.8515625 - 18.6875 * root)) ** (8192 / 1305)
        )
    else:
        bright = (np.exp((code - 0.55991073) / 0.17883277) + 0.28466892) / 12
        light = np.where(code <= 0.5, code**2 / 3, bright)
    return light.astype(np.float32)


@lru_cache(maxsize=1)
def _display() -> NDArray[np.uint8]:
    """(4096,) linear light to sRGB."""
    light = np.linspace(0, 1, 4096)
    coded = np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1 / 2.4) - 0.055)
    return np.round(255 * coded).astype(np.uint8)


Fit = Literal["squash", "crop", "within"]
GOOD = Interpolation.BICUBIC | Interpolation.ACCURATE_RND | Interpolation.FULL_CHR_H_INT
# The mean of all pixels that become one. Where these are many, it takes half the time of GOOD, and alignments
# hardly differ (docs/results/speed.md).
MEAN = Interpolation.AREA | Interpolation.ACCURATE_RND | Interpolation.FULL_CHR_H_INT
MANY = 4  # on each side
# FFmpeg's numbers for a frame's matrix to swscale's.
MATRICES = {
    1: Colorspace.ITU709,
    4: Colorspace.FCC,
    5: Colorspace.ITU601,
    6: Colorspace.ITU601,
    7: Colorspace.SMPTE240M,
    9: Colorspace.BT2020,
    10: Colorspace.BT2020,
}


def matrix(frame: av.VideoFrame) -> Colorspace:
    """The matrix a frame's colors are coded with; untagged ones are guessed by size as players do."""
    guess = Colorspace.ITU709 if frame.height >= 720 or frame.width >= 1280 else Colorspace.ITU601
    return MATRICES.get(int(frame.colorspace), guess)


class ToRGB:
    """Frame to (height, width, 3) uint8. `size` is (height, width), None for as shown by the first frame.

    fit="squash" scales each side by itself; "crop" keeps the shape of things and cuts what is too much;
    "within" keeps it too, and `size` is what the picture is made no larger than.
    """

    def __init__(self, sar: Fraction, size: tuple[int, int] | None = None, fit: Fit = "squash") -> None:
        self._sar, self._size, self._fit = sar, size, fit
        self._scale = VideoReformatter()

    def __call__(self, frame: av.VideoFrame) -> NDArray[np.uint8]:
        turn = Orientation.of(frame)
        shown_width, shown_height = shown_size(frame, self._sar, turn)
        self._size = self._size or (shown_height, shown_width)
        if self._fit == "within":
            factor = min(1.0, self._size[0] / shown_height, self._size[1] / shown_width)
            self._size = max(1, round(shown_height * factor)), max(1, round(shown_width * factor))
            self._fit = "squash"  # every picture to the size of the first
        height, width = self._size
        if self._fit == "crop":
            factor = max(height / shown_height, width / shown_width)
            height, width = max(height, round(shown_height * factor)), max(width, round(shown_width * factor))
        image = rgb(frame, self._scale, size=(height, width) if turn.transpose else (width, height))
        if turn.transpose:
            image = image.swapaxes(0, 1)
        image = image[:: -1 if turn.flip else 1, :: -1 if turn.mirror else 1]
        top, left = (height - self._size[0]) // 2, (width - self._size[1]) // 2
        return image[top : top + self._size[0], left : left + self._size[1]]


def rgb(frame: av.VideoFrame, scale: VideoReformatter, *, size: tuple[int, int]) -> NDArray[np.uint8]:
    """`frame` as stored, scaled to `size` (width, height): (height, width, 3) uint8, HDR as SDR."""
    kind = "rgb48le" if is_hdr(frame) else "rgb24"
    how = MEAN if min(frame.width / size[0], frame.height / size[1]) >= MANY else GOOD
    try:
        picture = scale.reformat(
            frame, *size, kind, src_colorspace=matrix(frame), interpolation=how, threads=1
        )
    except av.FFmpegError as error:
        raise VideoError(f"pictures in {frame.format.name} cannot be shown ({error.strerror})") from error
    coded = picture.to_ndarray()
    return to_sdr(np.asarray(coded, np.uint16), frame) if is_hdr(frame) else np.asarray(coded, np.uint8)


def film_frame(
    frame: av.VideoFrame, scale: VideoReformatter, *, size: tuple[int, int], coded: Colorspace
) -> av.VideoFrame:
    """`frame`, whose matrix is `coded`, as yuv420p in BT.709 limited range at `size` (width, height), in SDR;
    the frame itself where it is that already."""
    if is_hdr(frame):
        frame, coded = av.VideoFrame.from_ndarray(rgb(frame, scale, size=size), "rgb24"), Colorspace.ITU709
    full = frame.color_range == ColorRange.JPEG or frame.format.name.startswith("yuvj")
    same = frame.format.name == "yuv420p" and (frame.width, frame.height) == size
    if not same or full or coded != Colorspace.ITU709:
        frame = scale.reformat(
            frame,
            *size,
            "yuv420p",
            src_colorspace=coded,
            dst_colorspace=Colorspace.ITU709,
            dst_color_range=ColorRange.MPEG,
            interpolation=GOOD,
            threads=1,
        )
    frame.colorspace, frame.color_range = 1, ColorRange.MPEG
    return frame
