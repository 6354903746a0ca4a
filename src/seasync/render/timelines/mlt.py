"""MLT XML (Shotcut, melt): a chain with a `timeremap` link, the carried sound on its own track."""

from fractions import Fraction
from xml.etree import ElementTree as xml

from seasync.files import Location
from seasync.render.timelines.edit import Edit, Event


def mlt_text(edit: Edit, *, sound: Location | None = None) -> str:
    """The edit as an MLT project: the kept clip on the lower track, the retimed one above it.

    The layout is that of Shotcut's own projects: a tractor with the property `shotcut`, a black background,
    a playlist for each track. Without these, Shotcut opens the file as one clip that cannot be edited.

    Parameters
    ----------
    edit
        What to write.
    sound
        The retimed clip's sound, already carried onto the timeline's clock: MLT's own is late.
    """
    root = xml.Element("mlt", LC_NUMERIC="C", title=edit.name, producer="main")
    root.append(xml.Comment(f" {edit.note.replace('--', '—')} "))
    _profile(root, edit)
    _properties(xml.SubElement(root, "playlist", id="main_bin"), xml_retain=1)
    first = round(edit.kept_start * edit.rate)
    _chain(root, "kept", edit.kept.file, first + edit.frames)
    retimed = []
    for number, span in enumerate(edit.spans(), 1):
        start, end = span[0].start, span[-1].end
        link = xml.SubElement(_chain(root, f"retimed{number}", edit.media.file, end), "link")
        link.set("mlt_service", "timeremap")
        # Debian's melt reads `map`, newer ones `time_map`.
        table = _time_map(span, 1 / edit.media.fps)
        _properties(link, map=table, time_map=table, image_mode="nearest", pitch=1)
        retimed.append((start, end, f"retimed{number}", start))
    _black(root, edit.frames)
    _playlist(root, "background", [(0, edit.frames, "black", 0)])
    _playlist(root, "track_kept", [(0, edit.frames, "kept", first)], video=1, name="V1")
    _playlist(root, "track_retimed", retimed, video=1, name="V2")
    tracks = [("background", ""), ("track_kept", ""), ("track_retimed", "audio" if sound is not None else "")]
    if sound is not None:
        _chain(root, "sound", sound, edit.frames)
        _playlist(root, "track_sound", [(0, edit.frames, "sound", 0)], audio=1, name="A1")
        tracks.append(("track_sound", "video"))
    tractor = xml.SubElement(root, "tractor", id="main", out=str(edit.frames - 1))
    _properties(tractor, **{"shotcut": 1, "shotcut:projectAudioChannels": 2, "shotcut:projectFolder": 0})
    for name, hidden in tracks:
        xml.SubElement(tractor, "track", {"producer": name} | ({"hide": hidden} if hidden else {}))
    for number in range(1, len(tracks)):
        transition = xml.SubElement(tractor, "transition")
        _properties(transition, a_track=0, b_track=number, mlt_service="mix", always_active=1, sum=1)
    xml.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + xml.tostring(root, "unicode") + "\n"


def _profile(root: xml.Element, edit: Edit) -> None:
    """The picture is the kept clip's, with even sides: most encoders refuse odd ones."""
    width, height = (side + side % 2 for side in (edit.kept.width, edit.kept.height))
    shape = Fraction(width, height)
    profile = {
        "description": edit.name,
        "width": width,
        "height": height,
        "progressive": 1,
        "sample_aspect_num": 1,
        "sample_aspect_den": 1,
        "display_aspect_num": shape.numerator,
        "display_aspect_den": shape.denominator,
        "frame_rate_num": edit.rate.numerator,
        "frame_rate_den": edit.rate.denominator,
        "colorspace": 709,
    }
    xml.SubElement(root, "profile", {name: str(value) for name, value in profile.items()})


def _black(root: xml.Element, frames: int) -> None:
    black = xml.SubElement(root, "producer", {"id": "black", "in": "0", "out": str(frames - 1)})
    _properties(black, length=frames, eof="pause", resource=0, aspect_ratio=1, mlt_service="color")
    _properties(black, mlt_image_format="rgba", **{"set.test_audio": 0})


def _time_map(span: tuple[Event, ...], source_frame: Fraction) -> str:
    """`timeline frame=source second` pairs. MLT shows the last frame begun; half a frame on: the nearest."""
    points = [(event.start, event.source_start) for event in span] + [(span[-1].end, span[-1].source_end)]
    return ";".join(f"{frame}={float(source + source_frame / 2):.6f}" for frame, source in points)


def _chain(root: xml.Element, name: str, file: Location, frames: int) -> xml.Element:
    chain = xml.SubElement(root, "chain", id=name, out=str(frames - 1))
    _properties(chain, length=frames, resource=str(file), mlt_service="avformat")
    _properties(chain, **{"shotcut:caption": file.name})
    return chain


def _playlist(
    root: xml.Element, track: str, entries: list[tuple[int, int, str, int]], **shotcut: object
) -> None:
    """`entries`: (timeline start, end, producer, producer's first frame); `shotcut`: its own properties."""
    playlist = xml.SubElement(root, "playlist", id=track)
    _properties(playlist, **{f"shotcut:{key}": value for key, value in shotcut.items()})
    now = 0
    for start, end, producer, first in entries:
        if start > now:
            xml.SubElement(playlist, "blank", length=str(start - now))
        last = first + end - start - 1
        xml.SubElement(playlist, "entry", {"producer": producer, "in": str(first), "out": str(last)})
        now = end


def _properties(parent: xml.Element, **values: object) -> None:
    for name, value in values.items():
        xml.SubElement(parent, "property", name=name).text = str(value)
