"""What notebooks show."""

from __future__ import annotations

from xml.etree import ElementTree

from seasync.alignment import align_encodings
from seasync.clip import Clip
from tests.alignment.clips import encoding, walk


def test_an_alignment_shows_its_verdict_and_its_path():
    one = encoding(walk(20))
    found = align_encodings(one, one).of(Clip("<a>.mp4"), Clip("b.mp4"), ends=(3.0, 3.0))
    html = found._repr_html_()
    assert found.summary.split(",")[0] in html
    assert "<a>" not in html
    svg = ElementTree.fromstring(html[html.index("<svg") :])
    assert len(svg.findall("polyline")) == len(found.pieces)
