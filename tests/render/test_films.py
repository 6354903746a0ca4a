"""Films, decoded again: every picture shows its own number, so a test can see which frame is where."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import av
import numpy as np
import pytest

from seasync.alignment import Alignment
from seasync.clip import Clip
from seasync.errors import PartlyDecoded, RenderError
from seasync.render import Mark, compare, grid, retime
from seasync.render.films import Cell, Film, captions
from seasync.render.frames import Clock, FrameSelection
from tests.render.aligned import alignment, bent, pictures, shown, whole
from tests.render.conftest import KEYS, MATCH_KEYS, true_map
from tests.videos import is_upright, number_of, numbered, vfr


def left(image: np.ndarray) -> np.ndarray:
    return image[:, : image.shape[1] // 2]


def right(image: np.ndarray) -> np.ndarray:
    return image[:, image.shape[1] // 2 :]


@pytest.mark.parametrize("smooth", ["nearest", "pieces"])
def test_retimed_film_has_every_key_moment_within_a_frame_of_the_querys(
    aligned: Alignment, tmp_path: Path, smooth: str
) -> None:
    retime(aligned, tmp_path / "film.mp4", smooth=smooth)
    numbers = shown(tmp_path / "film.mp4")
    assert len(numbers) == 90
    for key, match_key in zip(KEYS, MATCH_KEYS, strict=True):
        found = np.abs(np.array(numbers) - match_key * 30).argmin()
        assert abs(found - key * 30) <= 1


def test_nearest_film_is_frame_exact_to_the_path(aligned: Alignment, tmp_path: Path) -> None:
    retime(aligned, tmp_path / "film.mp4")
    assert shown(tmp_path / "film.mp4") == aligned.path[:, 1].tolist()


def test_kept_match_plays_as_it_is_and_the_query_follows(aligned: Alignment, tmp_path: Path) -> None:
    compare(aligned, tmp_path / "film.mp4", keep="match", labels=False)
    assert shown(tmp_path / "film.mp4", left) == list(range(120))
    followed = np.array(shown(tmp_path / "film.mp4", right))
    assert (np.diff(followed[6:111]) >= 0).all()  # what the path reaches
    for key, match_key in zip(KEYS, MATCH_KEYS, strict=True):
        assert abs(followed[round(match_key * 30)] - key * 30) <= 1


@pytest.mark.parametrize(
    ("layout", "first", "second"),
    [
        ("side", left, right),
        ("stack", lambda image: image[: image.shape[0] // 2], lambda image: image[image.shape[0] // 2 :]),
    ],
)
def test_both_clips_are_in_step(
    aligned: Alignment, tmp_path: Path, layout: str, first: Callable, second: Callable
) -> None:
    compare(aligned, tmp_path / "film.mp4", layout=layout)
    assert shown(tmp_path / "film.mp4", first) == list(range(90))
    assert shown(tmp_path / "film.mp4", second) == aligned.path[:, 1].tolist()


def test_overlay_shows_the_one_through_the_other(pair: tuple[Path, Path], tmp_path: Path) -> None:
    same = whole(pair[0], pair[0], lambda seconds: seconds)
    compare(same, tmp_path / "film.mp4", layout="overlay", labels=False)
    assert shown(tmp_path / "film.mp4") == list(range(90))
    apart = whole(*pair, bent((0.0, 3.0), (1.0, 4.0)))
    compare(apart, tmp_path / "apart.mp4", layout="overlay", labels=False)
    row = pictures(tmp_path / "apart.mp4")[0][60].mean(1)  # 0 through 30: four cells half bright
    assert 90 < row[24] < 160
    assert row[100] < 40


def test_blend_mixes_neighbours_where_the_warp_falls_between_frames(
    pair: tuple[Path, Path], tmp_path: Path
) -> None:
    slow = whole(*pair, bent((0.0, 3.0), (0.0, 1.5)))
    retime(slow, tmp_path / "film.mp4", smooth="blend")
    lowest_bit = [image[60, 8].mean() for image in pictures(tmp_path / "film.mp4")]
    assert 15 < sum(60 < light < 195 for light in lowest_bit) < 60  # every second frame lies between two


def test_grid_shows_all_matches_in_step_with_the_query(
    aligned: Alignment, pair: tuple[Path, Path], tmp_path: Path
) -> None:
    other = whole(*pair, bent((0.0, 3.0), (1.0, 4.0)))
    grid([aligned, other, aligned], tmp_path / "film.mp4", labels=False)
    assert shown(tmp_path / "film.mp4", lambda image: left(image[:120])) == list(range(90))
    assert shown(tmp_path / "film.mp4", lambda image: right(image[:120])) == aligned.path[:, 1].tolist()
    assert shown(tmp_path / "film.mp4", lambda image: left(image[120:])) == other.path[:, 1].tolist()


def partial(pair: tuple[Path, Path]) -> Alignment:
    """0.5–1.5 s and 2–2.5 s of the query have partners."""
    return alignment(
        *pair, (0.5, 1.5, bent((0.5, 1.5), (1.0, 2.0))), (2.0, 2.5, bent((2.0, 2.5), (3.0, 3.5)))
    )


def test_left_out_frames_are_dimmed_and_run_on(pair: tuple[Path, Path], tmp_path: Path) -> None:
    compare(partial(pair), tmp_path / "film.mp4", labels=False)
    images = pictures(tmp_path / "film.mp4")
    bright = np.array([right(image)[:30].mean() for image in images])
    left_out = np.r_[0:15, 46:60, 76:90]
    assert bright[left_out].max() < 0.6 * bright[20:44].min()
    assert len(images) == 90
    assert [number_of(left(image)) for image in images] == list(range(90))


def test_left_out_frames_are_skipped(pair: tuple[Path, Path], tmp_path: Path) -> None:
    compare(partial(pair), tmp_path / "film.mp4", labels=False, gaps="skip", audio="mix")
    query, match = shown(tmp_path / "film.mp4", left), shown(tmp_path / "film.mp4", right)
    assert query == [*range(15, 46), *range(60, 76)]
    assert np.abs(np.array(match) - np.array([*range(30, 61), *range(90, 106)])).max() <= 1
    with av.open(str(tmp_path / "film.mp4")) as film:
        seconds = [float(stream.duration * stream.time_base) for stream in film.streams]
    assert seconds[1] == pytest.approx(seconds[0], abs=0.03)


def test_left_out_frames_play_alone(pair: tuple[Path, Path], tmp_path: Path) -> None:
    compare(partial(pair), tmp_path / "film.mp4", labels=False, gaps="alone")
    images = pictures(tmp_path / "film.mp4")
    assert right(images[5]).max() < 20
    assert number_of(left(images[5])) == 5
    assert right(images[30]).max() > 200


def test_pieces_out_of_order_play_in_the_querys_order(pair: tuple[Path, Path], tmp_path: Path) -> None:
    swapped = alignment(*pair, (0.0, 1.47, lambda s: s + 2.0), (1.5, 3.0, lambda s: s - 1.5))
    retime(swapped, tmp_path / "film.mp4", audio="none")
    assert shown(tmp_path / "film.mp4") == [*range(60, 105), *range(45)]


@pytest.mark.parametrize("layout", ["side", "stack", "overlay", "grid"])
@pytest.mark.parametrize("known", [True, False])
def test_captions_never_lie_over_each_other(layout: str, known: bool) -> None:
    """From thumbnails to 4K, in any shape."""
    clock = Clock(Fraction(30), np.array([3725.04]))
    source = FrameSelection("a.mp4", np.zeros(1, np.int64), np.array([3725.04]), np.array([known]))
    marks = (Mark("ball meets the club, and the hips are open", 3725.0),)
    for width, height in ((16, 16), (48, 270), (90, 60), (120, 90), (320, 24), (320, 240), (1920, 1080)):
        places = {
            "side": [(0, 0), (width, 0)],
            "stack": [(0, 0), (0, height)],
            "overlay": [(0, 0), (0, 0)],
            "grid": [(0, 0), (width, 0), (0, height), (width, height)],
        }[layout]
        cells = [Cell(source, *place, width, height, title="a long name.mp4") for place in places]
        size = max(left for left, _ in places) + width, max(top for _, top in places) + height
        film = Film(
            clock, cells, size, gaps="dim", overlay=layout == "overlay", corner="DRAQ 0.43", marks=marks
        )
        written = list(captions(film, 0))
        boxes = [caption.box for caption in written]
        for left, top, right, bottom in boxes:
            assert 0 <= left < right <= size[0]
            assert 0 <= top < bottom <= size[1]
        for one, other in combinations(boxes, 2):
            apart = one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]
            assert apart, (layout, width, height, one, other)
        if width >= 320 and height >= 240:
            assert len(boxes) >= len(cells) + 1  # the mark
            assert sum("a long name.mp4" in caption.text for caption in written) == len(cells)
        if width >= 1920:
            assert len(boxes) == len(cells) + 2  # the score too


def test_labels_marks_and_scores_are_on_the_picture(aligned: Alignment, tmp_path: Path) -> None:
    compare(aligned, tmp_path / "plain.mp4", labels=False, size=(1280, 480))
    compare(
        aligned, tmp_path / "film.mp4", size=(1280, 480), marks=[Mark("release", 1.0), Mark("rest", 2.0, 2.5)]
    )
    plain, lettered = pictures(tmp_path / "plain.mp4"), pictures(tmp_path / "film.mp4")

    def changed(number: int, box: tuple[slice, slice]) -> bool:
        difference = np.abs(plain[number][box].astype(int) - lettered[number][box])
        return bool((difference > 60).mean() > 0.05)

    top_left, top_right = (slice(8, 40), slice(10, 200)), (slice(8, 40), slice(1170, 1270))
    bottom = (slice(440, 472), slice(600, 680))
    assert changed(10, top_left)
    assert changed(10, top_right)
    assert [changed(number, bottom) for number in (28, 32, 52, 58, 62, 73, 77)] == [
        False,
        True,
        True,
        False,
        True,
        True,
        False,
    ]


def test_span_of_a_file_is_filmed_alone(aligned: Alignment, tmp_path: Path) -> None:
    assert aligned.query is not None
    part = replace(aligned, query=Clip(aligned.query.file, 1.0, 2.0))
    compare(part, tmp_path / "film.mp4", labels=False)
    assert shown(tmp_path / "film.mp4", left) == list(range(30, 60))
    assert shown(tmp_path / "film.mp4", right) == aligned.path[30:60, 1].tolist()


def test_sources_of_all_kinds_render(pair: tuple[Path, Path], tmp_path: Path, tool: Callable) -> None:
    odd = numbered(tmp_path / "odd.mkv", 40, width=161, height=121, codec="ffv1", pix_fmt="bgr0")
    turned = numbered(tmp_path / "turned.mp4", 40, width=120, height=160, rotation=(90, False, False))
    single = numbered(tmp_path / "single.mp4", 1)
    uneven, _ = vfr(tmp_path / "uneven.mp4")
    wide = numbered(tmp_path / "wide.mp4", 40, sar=Fraction(4, 3))
    deep = numbered(tmp_path / "deep.mkv", 40, pix_fmt="yuv420p10le")
    ffprobe = tool("ffprobe")
    for number, source in enumerate((odd, turned, single, uneven, wide, deep)):
        for query, match in ((pair[0], source), (source, pair[1])):
            film = tmp_path / f"film{number}.mp4"
            compare(whole(query, match, lambda seconds: seconds), film, labels=False, audio="mix")
            said = subprocess.run(
                [ffprobe, "-v", "warning", film], capture_output=True, text=True, check=True
            )
            assert said.stderr == ""
            assert len(pictures(film)) >= 1
            retime(whole(query, match, lambda seconds: seconds), film)
            assert len(pictures(film)) >= 1


def test_rotated_phone_video_is_upright(pair: tuple[Path, Path], tmp_path: Path) -> None:
    source = tmp_path / "turned.mp4"
    from tests.videos import picture, write

    lying = [np.rot90(picture(number, 120, 160), -1).copy() for number in range(30)]
    write(source, lying, rotation=(90, False, False))
    retime(whole(pair[0], source, lambda seconds: seconds), tmp_path / "film.mp4")
    images = pictures(tmp_path / "film.mp4")
    assert images[0].shape == (160, 120, 3)
    assert all(is_upright(image) for image in images[:30:10])
    assert [number_of(image) for image in images[:30]] == list(range(30))


def test_variable_rate_query_keeps_its_true_times(pair: tuple[Path, Path], tmp_path: Path) -> None:
    uneven, times = vfr(tmp_path / "uneven.mp4")
    compare(whole(uneven, pair[1], lambda seconds: seconds), tmp_path / "film.mp4", labels=False)
    with av.open(str(tmp_path / "film.mp4")) as film:
        rate = float(film.streams.video[0].average_rate)
    numbers = shown(tmp_path / "film.mp4", left)
    for at, number in enumerate(numbers):
        assert times[number] <= at / rate + 0.5 / rate + 1e-6
    assert len(numbers) / rate == pytest.approx(times[-1], abs=0.2)


def test_animations_have_the_films_frames(aligned: Alignment, tmp_path: Path) -> None:
    from PIL import Image

    for name in ("film.webp", "film.gif"):
        compare(aligned, tmp_path / name, labels=False, size=(640, 240))
        with Image.open(tmp_path / name) as animation:
            assert animation.n_frames == 38
            seen = []
            for frame in range(38):
                animation.seek(frame)
                seen.append(number_of(left(np.asarray(animation.convert("RGB")))))
        assert np.abs(np.array(seen) - np.arange(38) * 30 / 12.5).max() <= 1


def test_failure_leaves_no_half_film_and_keeps_the_old_one(aligned: Alignment, tmp_path: Path) -> None:
    (tmp_path / "film.mp4").write_bytes(b"the old film")

    def stop(done: int, total: int) -> None:
        if done == 20:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compare(aligned, tmp_path / "film.mp4", progress=stop)
    assert [path.name for path in tmp_path.iterdir()] == ["film.mp4"]
    assert (tmp_path / "film.mp4").read_bytes() == b"the old film"


def test_too_large_a_film_is_refused(aligned: Alignment, tmp_path: Path) -> None:
    with pytest.raises(RenderError, match="is too large: ask for 16384 at most"):
        compare(aligned, tmp_path / "film.mp4", size=(99999, 99999))


def test_film_is_not_written_over_its_sources(aligned: Alignment, tmp_path: Path) -> None:
    query = tmp_path / "query.mp4"
    query.write_bytes(Path(aligned.query.file).read_bytes())
    mine = replace(aligned, query=replace(aligned.query, file=str(query)))
    with pytest.raises(RenderError, match=r"query\.mp4: would overwrite one of the inputs"):
        compare(mine, query)
    assert query.read_bytes() == Path(aligned.query.file).read_bytes()


def test_damaged_frames_are_bridged_and_said_so(pair: tuple[Path, Path], tmp_path: Path) -> None:
    broken = tmp_path / "broken.mp4"
    data = bytearray(pair[1].read_bytes())
    middle = len(data) // 2
    data[middle : middle + 400] = bytes(400)
    broken.write_bytes(data)
    with pytest.warns(PartlyDecoded, match="broken.mp4"):
        retime(whole(pair[0], broken, lambda seconds: seconds), tmp_path / "film.mp4", audio="none")
    assert len(pictures(tmp_path / "film.mp4")) == 90


def test_progress_counts_every_frame(aligned: Alignment, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    retime(aligned, tmp_path / "film.mp4", progress=lambda done, total: seen.append((done, total)))
    assert seen == [(number, 90) for number in range(1, 91)]


@pytest.mark.parametrize(
    ("option", "value"), [("layout", "pile"), ("gaps", "fill"), ("smooth", "much"), ("audio", "loud")]
)
def test_unknown_choice_is_named_with_what_was_expected(
    aligned: Alignment, tmp_path: Path, option: str, value: str
) -> None:
    with pytest.raises(RenderError, match=f"{option}='{value}': expected"):
        compare(aligned, tmp_path / "film.mp4", **{option: value})


def test_alignment_without_files_says_so(aligned: Alignment, tmp_path: Path) -> None:
    with pytest.raises(RenderError, match="does not know its files"):
        compare(replace(aligned, query=None), tmp_path / "film.mp4")


MEASURE = """
import resource, sys
from pathlib import Path
from seasync.render import compare
from tests.render.aligned import whole
file = Path(sys.argv[1])
compare(whole(file, file, lambda seconds: seconds), file.with_suffix(".film.mp4"), labels=False)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def test_memory_does_not_grow_with_the_films_length(tmp_path: Path) -> None:
    peaks = []
    for frames in (80, 640):
        file = numbered(tmp_path / f"{frames}.mp4", frames, width=320, height=240)
        done = subprocess.run(
            [sys.executable, "-c", MEASURE, file], capture_output=True, text=True, check=True
        )
        peaks.append(int(done.stdout))
    held = 2 * 560 * 320 * 240 * 1.5 / 1024  # what 560 frames more of both would take
    assert peaks[1] - peaks[0] < held / 4


def test_true_map_is_what_the_pair_says() -> None:
    assert true_map(np.array(KEYS)).tolist() == pytest.approx(MATCH_KEYS)
