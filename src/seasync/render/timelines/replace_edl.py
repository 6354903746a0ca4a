"""Events of a CMX3600 edit decision list, to be replaced."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path

from seasync.align import Warp
from seasync.errors import RenderError
from seasync.files import Location, fetch
from seasync.render.plan import frame_rate
from seasync.render.timelines.edit import Event, Media
from seasync.render.timelines.edl import event_lines
from seasync.render.timelines.rate import frame_of, standard_rate
from seasync.render.timelines.replace import Slot, found
from seasync.video import frame_table

CODE = r"(\d\d:\d\d:\d\d[:;.]\d\d)"
EVENT = re.compile(rf"(\d+)\s+(\S+)\s+(\S+)\s+(\S+)(?:\s+\d+)?\s+{CODE}\s+{CODE}\s+{CODE}\s+{CODE}\s*$")
NAME = re.compile(r"\*\s*FROM CLIP NAME:\s*(.+?)\s*$", re.IGNORECASE)
SPEED = re.compile(r"M2\s+\S+\s+(-?[\d.]+)")


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
        events = [
            (number, block) for number, block in enumerate(self._blocks) if block and EVENT.match(block[0])
        ]
        return [(_name(block), partial(self._slot, number)) for number, block in events]

    def _slot(self, number: int) -> Slot:
        block = self._blocks[number]
        _, _, _, transition, *codes = _fields(block[0])
        name = _name(block)
        file = found(name, name, self._media, self.file)
        rate = standard_rate(frame_rate(frame_table(file)))
        if ";" in "".join(codes) and rate not in (Fraction(30000, 1001), Fraction(60000, 1001)):
            rate = Fraction(30000, 1001)
        source, source_end, record, record_end = (frame_of(code, rate) for code in codes)
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

    def put(self, slot: Slot, media: Media, events: Sequence[Event]) -> None:
        _, _, channel, *_, record, _ = _fields(self._blocks[slot.place][0])
        first = frame_of(record, slot.rate)
        lines = [
            list(event_lines(1, event, slot.rate, media.name, record_start=first, channel=channel))
            for event in events
        ]
        self._blocks[slot.place : slot.place + 1] = lines

    def save(self, file: Path) -> None:
        number, out = 0, []
        for block in self._blocks:
            if block and EVENT.match(block[0]):
                number += 1
                block = [re.sub(r"^\d+", f"{number:03}", block[0]), *block[1:]]
            out += block
        file.write_text("\n".join(out) + "\n", encoding="utf-8")


def _fields(line: str) -> tuple[str, ...]:
    event = EVENT.match(line)
    assert event is not None
    return event.groups()


def _name(block: Sequence[str]) -> str:
    """The clip's name; without one, the reel's."""
    names = [name[1] for line in block if (name := NAME.match(line))]
    return names[0] if names else _fields(block[0])[1]
