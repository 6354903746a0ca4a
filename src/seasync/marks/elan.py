"""Marks as ELAN annotations (.eaf): one document per clip, annotations of time-aligned tiers."""

from __future__ import annotations

import re
from urllib.parse import unquote
from xml.etree import ElementTree as xml

from seasync.errors import DataError, SeasyncError
from seasync.files import Location, atomic_write, fetch
from seasync.marks.mark import FrameSeconds, Mark, MarkedClips
from seasync.marks.subtitles import SHOWN_SECONDS, one_of

TIER = "seasync"


def read(path: Location, frame_seconds: FrameSeconds | None) -> MarkedClips:
    """The annotations of one document, by the name of its media file."""
    root = parse_xml(path, "ELAN document")
    slots = {slot.get("TIME_SLOT_ID"): slot.get("TIME_VALUE") for slot in root.iter("TIME_SLOT")}
    media = root.find("./HEADER/MEDIA_DESCRIPTOR")
    url = "" if media is None else media.get("RELATIVE_MEDIA_URL") or media.get("MEDIA_URL") or ""
    # By hand: `urlsplit` refuses some names that ELAN writes, such as those with a bracket.
    clip = unquote(re.split("[?#]", url)[0]).rpartition("/")[2] or path.stem
    marks = []
    for annotation in root.iter("ALIGNABLE_ANNOTATION"):
        start, end = (slots.get(annotation.get(side)) for side in ("TIME_SLOT_REF1", "TIME_SLOT_REF2"))
        if start is None or end is None:
            raise DataError(f"{path}: an annotation has no time; align it in ELAN first")
        try:
            first, last = int(start) / 1000, int(end) / 1000
        except (ValueError, OverflowError) as error:
            raise DataError(f"{path}: {error}; expected times in whole milliseconds") from error
        name = (annotation.findtext("ANNOTATION_VALUE") or "").strip()
        marks.append(Mark(name, first, None if round(last - first, 3) <= SHOWN_SECONDS else last))
    return {clip: sorted(marks, key=lambda mark: mark.seconds)}


def write(path: Location, clips: MarkedClips) -> None:
    """One document per clip, with all marks on one tier."""
    for clip, marks in clips.items():
        root = xml.Element("ANNOTATION_DOCUMENT", AUTHOR="Seasync", DATE="", FORMAT="3.0", VERSION="3.0")
        header = xml.SubElement(root, "HEADER", MEDIA_FILE="", TIME_UNITS="milliseconds")
        name = Location(clip).name
        xml.SubElement(
            header, "MEDIA_DESCRIPTOR", MEDIA_URL=name, MIME_TYPE="video/*", RELATIVE_MEDIA_URL=name
        )
        order = xml.SubElement(root, "TIME_ORDER")
        tier = xml.SubElement(root, "TIER", LINGUISTIC_TYPE_REF="default-lt", TIER_ID=TIER)
        for number, mark in enumerate(marks, 1):
            end = mark.seconds + SHOWN_SECONDS if mark.end is None else mark.end
            slots = [f"ts{2 * number - 1}", f"ts{2 * number}"]
            for slot, time in zip(slots, (mark.seconds, end), strict=True):
                xml.SubElement(order, "TIME_SLOT", TIME_SLOT_ID=slot, TIME_VALUE=str(round(time * 1000)))
            outer = xml.SubElement(tier, "ANNOTATION")
            inner = xml.SubElement(
                outer,
                "ALIGNABLE_ANNOTATION",
                ANNOTATION_ID=f"a{number}",
                TIME_SLOT_REF1=slots[0],
                TIME_SLOT_REF2=slots[1],
            )
            xml.SubElement(inner, "ANNOTATION_VALUE").text = mark.name
        xml.SubElement(
            root,
            "LINGUISTIC_TYPE",
            GRAPHIC_REFERENCES="false",
            LINGUISTIC_TYPE_ID="default-lt",
            TIME_ALIGNABLE="true",
        )
        xml.indent(root)
        with atomic_write(one_of(path, clip, len(clips)), make_folder=True, error=DataError) as part:
            xml.ElementTree(root).write(part, encoding="UTF-8", xml_declaration=True)


def parse_xml(path: Location, kind: str, *, raises: type[SeasyncError] = DataError) -> xml.Element:
    """The root of an XML file that is not trusted: one that defines entities is refused."""
    try:
        text = fetch(path).read_bytes()
        if b"<!ENTITY" in text:
            raise raises(f"{path}: defines XML entities; expected a plain {kind}")
        # Without entities nothing expands, and expat opens no other files.
        return xml.fromstring(text)  # nosec B314
    except (OSError, xml.ParseError, ValueError, LookupError) as error:  # LookupError: an unknown encoding
        raise raises(f"{path}: cannot be read as an {kind} ({error})") from error
