"""CMX3600 edit decision lists: write one event for each piece, true source in and out, its speed as `M2`."""

import re
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path

from seasync.alignment import Warp
from seasync.errors import RenderError
from seasync.files import Location, fetch
from seasync.render.frames import frame_rate
from seasync.render.timelines import edit as edits
from seasync.render.timelines.edit import Edit, Event, Media, Slot, frame_of, is_drop_frame, timecode
from seasync.video import frame_table


def edl_text(edit: Edit) -> str:
    """The edit as an EDL; source time codes are counted at the timeline's rate, from the first frame."""
    first = frame_of("01:00:00;00" if is_drop_frame(edit.rate) else "01:00:00:00", edit.rate)
    counting = "DROP FRAME" if is_drop_frame(edit.rate) else "NON-DROP FRAME"
    lines = [f"TITLE: {edit.name}", f"FCM: {counting}", ""]
    for number, event in enumerate(edit.events, 1):
        lines += event_lines(number, event, edit.rate, edit.media.name, record_start=first)
    lines += [f"* {edit.note}"]
    return "\n".join(lines) + "\n"


def event_lines(
    number: int,
    event: Event,
    rate: Fraction,
    clip_name: str,
    *,
    record_start: int,
    channel: str = "V",
    drop: bool | None = None,
) -> Iterator[str]:
    """The lines of one event; `record_start` is the timeline's first frame, `drop` is as in `timecode`."""
    source = round(event.source_start * rate)
    # A held frame is one frame long at the source.
    source_end = source + 1 if event.is_hold else round(event.source_end * rate)
    codes = [timecode(frame, rate, drop=drop) for frame in (source, source_end)]
    codes += [timecode(record_start + frame, rate, drop=drop) for frame in (event.start, event.end)]
    yield f"{number:03}  AX       {channel:<5} C        {' '.join(codes)}"
    if event.is_hold or source_end - source != event.frames:
        speed = 0.0 if event.is_hold else float((source_end - source) * rate / event.frames)
        yield f"M2   AX       {speed:07.3f}                {codes[0].replace(';', ':')}"
    yield f"* FROM CLIP NAME: {clip_name}"
    if event.is_hold:
        yield "* FREEZE FRAME"


CODE = r"(\d\d:\d\d:\d\d[:;.]\d\d)"
EVENT = re.compile(rf"(\d+)\s+(\S+)\s+(\S+)\s+(\S+)(?:\s+\d+)?\s+{CODE}\s+{CODE}\s+{CODE}\s+{CODE}\s*$")
NAME = re.compile(r"\*\s*FROM CLIP NAME:\s*(.+?)\s*$", re.IGNORECASE)
SPEED = re.compile(r"M2\s+\S+\s+(-?[\d.]+)")
COUNTING = re.compile(r"FCM:\s*(NON-)?DROP", re.IGNORECASE)
# Lines that are about the old clip's file and speed; all others stay when another clip takes its place.
OF_OLD_CLIP = re.compile(r"M2\s|\*\s*(FROM CLIP NAME|SOURCE FILE|FREEZE FRAME)", re.IGNORECASE)


class EdlFile:
    """Blocks of lines: the head, then one for each event."""

    def __init__(self, file: Location, media: Location | None) -> None:
        self.file, self._media = file, media
        self._blocks: list[list[str]] = [[]]
        for line in fetch(file).read_text(encoding="utf-8", errors="replace").splitlines():
            if EVENT.match(line):
                self._blocks.append([])
            self._blocks[-1].append(line)

    def slots(self) -> list[tuple[str, Callable[[], Slot]]]:
        return [(_name(block), partial(self._slot, number)) for number, block in self._events()]

    def _events(self) -> list[tuple[int, list[str]]]:
        """The blocks of events, with their numbers among all blocks."""
        return [
            (number, block) for number, block in enumerate(self._blocks) if block and EVENT.match(block[0])
        ]

    def _slot(self, number: int) -> Slot:
        block = self._blocks[number]
        _, _, _, transition, *codes = _fields(block[0])
        name = _name(block)
        file = edits.find_media(name, name, self._media, self.file)
        rate = self._rate(edits.standard_rate(frame_rate(frame_table(file))))
        source, source_end = (self._frame(number, code, rate) for code in codes[:2])
        record, record_end = (self._frame(number, code, rate) for code in codes[2:])
        speeds = [float(found_speed[1]) / float(rate) for line in block if (found_speed := SPEED.match(line))]
        frames = record_end - record
        if transition != "C" or frames <= 0 or any(speed <= 0 for speed in speeds):
            raise RenderError(
                f"{self.file}: event {name} is a transition, frozen or backwards; only cuts are replaced"
            )
        length = float(frames / rate)
        speed = speeds[0] if speeds else (source_end - source) / frames
        start = float(source / rate)
        return Slot(file, frames, rate, Warp.through([0.0, length], [start, start + length * speed]), number)

    def _rate(self, media_rate: Fraction) -> Fraction:
        """The rate that the codes are counted at: the media's, unless they cannot be. No EDL states it."""
        codes = [code for _, block in self._events() for code in _fields(block[0])[4:]]
        is_drop = any(map(edits.has_drop_separator, codes)) or any(_stated_drop(self._blocks))
        highest = max(int(code[-2:]) for code in codes)
        fits = [
            rate
            for rate in (edits.DROP_RATES if is_drop else sorted(edits.STANDARD))
            if highest < round(rate)
        ]
        if not fits or media_rate in fits:
            return media_rate
        # A clip at another rate than its timeline: the codes tell which rates are high enough.
        return fits[0]

    def _is_drop(self, number: int, code: str) -> bool:
        """Whether a code of that event counts drop-frame: by its separator or the last FCM line before."""
        return edits.has_drop_separator(code) or _stated_drop(self._blocks[:number])[-1:] == [True]

    def _frame(self, number: int, code: str, rate: Fraction) -> int:
        return frame_of(code, rate, drop=is_drop_frame(rate) and self._is_drop(number, code))

    def put(self, slot: Slot, media: Media, events: Sequence[Event]) -> None:
        """Time codes are counted and written as the old event's; its other lines stay, after the new ones."""
        old = self._blocks[slot.place]
        _, _, channel, *_, record, _ = _fields(old[0])
        drop = is_drop_frame(slot.rate) and self._is_drop(slot.place, record)
        first = self._frame(slot.place, record, slot.rate)
        blocks = [
            list(event_lines(1, event, slot.rate, media.name, record_start=first, channel=channel, drop=drop))
            for event in events
        ]
        if not edits.has_drop_separator(record):
            blocks = [[block[0].replace(";", ":"), *block[1:]] for block in blocks]
        blocks[-1] += [f"* COMMENT: IN PLACE OF {_name(old)}"]
        blocks[-1] += [line for line in old[1:] if not OF_OLD_CLIP.match(line)]
        self._blocks[slot.place : slot.place + 1] = blocks

    def save(self, file: Path) -> None:
        for number, (_, block) in enumerate(self._events(), 1):
            block[0] = re.sub(r"^\d+", f"{number:03}", block[0])
        file.write_text("\n".join(line for block in self._blocks for line in block) + "\n", encoding="utf-8")


def _stated_drop(blocks: Sequence[Sequence[str]]) -> list[bool]:
    """For each FCM line, whether it says that codes count drop-frame."""
    return [found[1] is None for block in blocks for line in block if (found := COUNTING.match(line))]


def _fields(line: str) -> tuple[str, ...]:
    event = EVENT.match(line)
    assert event is not None
    return event.groups()


def _name(block: Sequence[str]) -> str:
    """The clip's name; without one, the reel's."""
    names = [name[1] for line in block if (name := NAME.match(line))]
    return names[0] if names else _fields(block[0])[1]
