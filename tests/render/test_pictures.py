"""Pictures: what is drawn where."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

from seasync.alignment import Alignment
from seasync.errors import RenderError
from seasync.render import alignment_picture, contact_sheet, warp_picture
from seasync.render.frames import clock, ticks
from tests.render.aligned import alignment, bent, whole
from tests.videos import number_of

SVG = "{http://www.w3.org/2000/svg}"
PATH = (255, 90, 54)


def pixels(file: Path) -> np.ndarray:
    with Image.open(file) as image:
        return np.asarray(image.convert("RGB"))


def frames_in(file: Path, width: range = range(100, 1000)) -> list[int]:
    """The numbers of the frames embedded in an SVG, in the order drawn."""
    found = []
    for element in ElementTree.parse(file).iter(f"{SVG}image"):
        data = base64.b64decode(element.attrib["href"].split(",")[1])
        with Image.open(io.BytesIO(data)) as image:
            if image.width in width:
                found.append(number_of(np.asarray(image.convert("RGB"))))
    return found


def texts(file: Path) -> list[str]:
    return [element.text or "" for element in ElementTree.parse(file).iter(f"{SVG}text")]


def near(image: np.ndarray, color: tuple[int, int, int]) -> np.ndarray:
    return np.abs(image.astype(int) - color).max(-1) < 40


def test_alignment_picture_draws_the_path_over_the_cost(aligned: Alignment, tmp_path: Path) -> None:
    cost = np.full((90, 120), 1.0, np.float32)
    cost[aligned.path[:, 0], aligned.path[:, 1]] = 0.0
    alignment_picture(replace(aligned, cost=cost), tmp_path / "picture.png")
    image = pixels(tmp_path / "picture.png")
    assert image.shape[1] == 1600
    matrix = near(image, PATH)[136:556, 108:1552]
    columns = np.flatnonzero(matrix.any(0))
    assert columns[0] < 30
    assert columns[-1] > matrix.shape[1] - 30
    rise = np.array([np.flatnonzero(matrix[:, column]).mean() for column in columns])
    assert np.corrcoef(columns, rise)[0, 1] < -0.95  # the match's time runs upwards


def test_strips_hold_frames_in_step(aligned: Alignment, tmp_path: Path) -> None:
    alignment_picture(aligned, tmp_path / "picture.svg", strips=6)
    numbers = frames_in(tmp_path / "picture.svg")
    upper, lower = np.array(numbers[:6]), np.array(numbers[6:])
    assert len(numbers) == 12
    assert (np.diff(upper) > 0).all()
    assert np.abs(aligned.path[upper, 1] - lower).max() <= 1


def test_a_file_that_ends_soon_after_its_last_sample_is_not_veiled_there(
    pair: tuple[Path, Path], tmp_path: Path
) -> None:
    aligned = whole(*pair, bent((0, 3), (0, 4)))
    ends = float(aligned.query_seconds[-1]) + 0.001, float(aligned.match_seconds[-1]) + 0.001
    alignment_picture(aligned.of(aligned.query, aligned.match, ends=ends), tmp_path / "picture.svg")
    boxes = ElementTree.parse(tmp_path / "picture.svg").iter(f"{SVG}rect")
    assert not [box.attrib for box in boxes if "fill-opacity" in box.attrib]


def test_what_is_left_out_is_said_so(pair: tuple[Path, Path], tmp_path: Path) -> None:
    partial = alignment(
        *pair, (0.5, 1.5, bent((0.5, 1.5), (1.0, 2.0))), (2.0, 2.5, bent((2.0, 2.5), (3.0, 3.5)))
    )
    alignment_picture(partial, tmp_path / "picture.svg", strips=12)
    said = texts(tmp_path / "picture.svg").count("left out")
    assert said == 12 - len(frames_in(tmp_path / "picture.svg")[12:])
    assert 4 <= said <= 8
    full, cut = tmp_path / "full.png", tmp_path / "cut.png"
    alignment_picture(whole(*pair, bent((0.0, 3.0), (0.0, 4.0))), full)
    alignment_picture(partial, cut)
    matrices = [pixels(file)[136:556, 108:1552].astype(float) for file in (full, cut)]
    assert matrices[1][:, :150].std() < 0.5 * matrices[0][:, :150].std()  # the first 0.3 s lie under a veil


def test_picture_needs_no_cost_matrix(aligned: Alignment, tmp_path: Path) -> None:
    alignment_picture(replace(aligned, cost=None), tmp_path / "picture.png")
    assert near(pixels(tmp_path / "picture.png"), PATH).any()


def test_warp_picture_tells_speed(pair: tuple[Path, Path], tmp_path: Path) -> None:
    double = whole(pair[1], pair[0], bent((0.0, 1.5, 4.0), (0.0, 3.0, 3.0)))
    for name in ("warp.png", "warp.svg"):
        warp_picture(double, tmp_path / name)
    assert {"50%", "100%", "200%"} <= set(texts(tmp_path / "warp.svg"))
    image = near(pixels(tmp_path / "warp.png"), PATH)
    speed = np.flatnonzero(image[:, 250])  # 0.5 s
    assert speed.mean() == pytest.approx(545, abs=4)  # the line of 200 %


def test_contact_sheet_has_a_row_for_each_match(
    aligned: Alignment, pair: tuple[Path, Path], tmp_path: Path
) -> None:
    other = whole(*pair, bent((0.0, 3.0), (1.0, 4.0)))
    contact_sheet([aligned, other], tmp_path / "sheet.svg", strips=5)
    rows = np.array(frames_in(tmp_path / "sheet.svg")).reshape(3, 5)
    assert rows[1].tolist() == aligned.path[rows[0], 1].tolist()
    assert rows[2].tolist() == other.path[rows[0], 1].tolist()
    assert sum("DRAQ 0.250" in text for text in texts(tmp_path / "sheet.svg")) == 2
    with pytest.raises(RenderError, match="share their query"):
        contact_sheet([aligned, whole(pair[1], pair[0], lambda seconds: seconds)], tmp_path / "sheet.png")
    with pytest.raises(RenderError, match="at least one"):
        contact_sheet([], tmp_path / "sheet.png")


@pytest.mark.parametrize("draw", [alignment_picture, warp_picture])
def test_unwritable_picture_is_one_line(aligned: Alignment, tmp_path: Path, draw: Callable) -> None:
    with pytest.raises(RenderError, match=r"picture\.xyz: cannot be written as a picture"):
        draw(aligned, tmp_path / "picture.xyz")
    for name in ("picture.png", "picture.svg"):
        with pytest.raises(RenderError, match="there is no folder"):
            draw(aligned, tmp_path / "none" / name)


def test_names_in_any_script_are_drawn(pair: tuple[Path, Path], tmp_path: Path) -> None:
    named = tmp_path / "日本 – ü.mp4"
    named.write_bytes(pair[0].read_bytes())
    alignment_picture(whole(named, pair[1], lambda seconds: seconds), tmp_path / "picture.png")


def test_times_and_ticks_read_well() -> None:
    assert [clock(seconds) for seconds in (0, 59.999, 75.5, 3725.04)] == [
        "0:00.00",
        "1:00.00",
        "1:15.50",
        "1:02:05.04",
    ]
    assert ticks(0.3, 2.1, 5) == [0.5, 1.0, 1.5, 2.0]
