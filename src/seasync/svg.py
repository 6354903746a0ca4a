"""Pictures of lines, boxes and words, as SVG."""

from xml.etree import ElementTree as xml

import numpy as np
from numpy.typing import ArrayLike


class Svg:
    """An SVG picture: `str` gives its text, for a page or a notebook.

    Parameters
    ----------
    width, height : float
        What its coordinates count to.
    label : str
        What the picture shows, for those who cannot see it.
    attributes
        Of the picture, as in `add`.
    """

    def __init__(self, width: float, height: float, /, *, label: str, **attributes: float | str) -> None:
        self.root = xml.Element("svg", _texts(attributes) | {"viewBox": f"0 0 {width} {height}"})
        if label:
            self.root.attrib |= {"role": "img", "aria-label": label}

    def __str__(self) -> str:
        return xml.tostring(self.root, "unicode")

    def add(self, tag: str, content: str = "", /, **values: float | str) -> xml.Element:
        """Add an element. `font_size` becomes `font-size`, `class_` becomes `class`, `title` a tooltip."""
        title = values.pop("title", "")
        element = xml.SubElement(self.root, tag, _texts(values))
        element.text = content or None
        if title:
            xml.SubElement(element, "title").text = str(title)
        return element

    def line(
        self, x: ArrayLike, y: ArrayLike, tag: str = "polyline", /, **values: float | str
    ) -> xml.Element:
        """Add a line through the points that are known: those that are no NaN. [shape=(N,) each]"""
        points = np.column_stack([np.asarray(x, np.float64), np.asarray(y, np.float64)])
        known = points[np.isfinite(points).all(1)].tolist()
        return self.add(tag, points=" ".join(f"{x:.2f},{y:.2f}" for x, y in known), **values)


def _texts(values: dict[str, float | str]) -> dict[str, str]:
    return {
        name.rstrip("_").replace("_", "-"): f"{value:.6g}" if isinstance(value, float) else str(value)
        for name, value in values.items()
    }
