"""Timelines of any alignment: whole, partial, in pieces that touch or come in another order, anchored."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from seasync.alignment import MOTION, Alignment, Piece, Warp
from seasync.alignment.prepare import end_of
from seasync.clip import Clip
from seasync.encoding import Seconds
from seasync.options import Side
from seasync.render import export, transfer
from seasync.render.frames import film_warp
from seasync.video import frame_table
from tests.render.test_timelines import READERS, Point
from tests.videos import numbered

NTSC = Fraction(30000, 1001)


def mlt_points(file: Path, rate: Fraction) -> list[Point]:
    """What the time maps of the retimed chains say; they are half a source frame late for MLT's sake."""
    root = ElementTree.parse(file).getroot()
    chains = {chain.get("id"): chain for chain in root.iter("chain")}
    points: list[Point] = []
    for entry in root.iter("entry"):
        chain = chains.get(entry.get("producer", ""))  # the background is none
        link = None if chain is None else chain.find("link[property]")
        if link is None:
            continue
        time_map = next(p.text or "" for p in link.iter("property") if p.get("name") == "time_map")
        knots = [pair.split("=") for pair in time_map.split(";")]
        frames, seconds = np.array(knots, float).T
        inside = np.arange(int(entry.get("in", "")), int(entry.get("out", "")) + 1)
        shown = np.interp(inside, frames, seconds)
        points += [
            (frame / rate, Fraction(second)) for frame, second in zip(inside.tolist(), shown, strict=True)
        ]
    return points


@st.composite
def alignments(draw: st.DrawFn, query: Path, match: Path) -> Alignment:
    """Pieces of the two files that share no frame; many touch. Anchors lie half a frame off it at most."""
    tables = frame_table(query), frame_table(match)
    count = draw(st.integers(1, 4))
    cuts = [
        sorted(draw(st.lists(st.integers(0, len(table)), min_size=2 * count, max_size=2 * count)))
        for table in tables
    ]
    # Each piece begins where the one before it ended, or there is a gap.
    spans = [list(pairwise(cut[: count + 1] if draw(st.booleans()) else cut)) for cut in cuts]
    spans = [span if len(span) == count else span[::2] for span in spans]
    if draw(st.booleans()):
        spans[1] = draw(st.permutations(spans[1]))
    paths, pieces = [], []
    for (i, last), (j, last_j) in zip(*spans, strict=True):
        if i == last or j == last_j:
            continue
        steps = draw(st.lists(st.sampled_from([(1, 1), (1, 0), (0, 1), (1, 1), (3, 3)]), max_size=12))
        cells = [(i, j)]
        for di, dj in [*steps, (last - i, last_j - j)]:
            for _ in range(max(di, dj)):
                at = min(cells[-1][0] + bool(di), last - 1), min(cells[-1][1] + bool(dj), last_j - 1)
                if at != cells[-1]:
                    cells.append(at)
        start = sum(map(len, paths))
        paths.append(np.array(cells, np.int32))
        edges = [
            (float(table.seconds[path[0]]), end_of(table.seconds, path[-1], float(table.seconds[1])))
            for table, path in zip(tables, paths[-1].T, strict=True)
        ]
        pieces.append(Piece(start, start + len(cells), edges[0], edges[1], 1.0, 4.0))
    if not paths:
        paths, pieces = [np.zeros((1, 2), np.int32)], [Piece(0, 1, (0.0, 1 / 30), (0.0, 1 / 30), 1.0, 4.0)]
    path = np.concatenate(paths)
    anchors = []
    for at in draw(st.lists(st.integers(0, len(path) - 1), max_size=3, unique=True)):
        off = draw(st.tuples(st.floats(-0.49, 0.49), st.floats(-0.49, 0.49)))
        moment = [
            float(np.clip(table.seconds[cell] + by * table.seconds[1], 0, table.end))
            for table, cell, by in zip(tables, path[at], off, strict=True)
        ]
        anchors.append((moment[0], moment[1]))
    trust = draw(st.sampled_from([1.0, 0.0, 3.0]))
    return built(query, match, path, pieces, anchors=anchors, motion=trust)


def built(
    query: Path,
    match: Path,
    path: np.ndarray,
    pieces: Sequence[Piece],
    *,
    anchors: Sequence[tuple[float, float]] = (),
    motion: float = 1.0,
) -> Alignment:
    """The alignment of every frame of the files along `path` (L, 2)."""
    tables = frame_table(query), frame_table(match)
    return Alignment(
        recipe=MOTION,
        path=path.astype(np.int32),
        query_seconds=tables[0].seconds,
        match_seconds=tables[1].seconds,
        query_frames=np.arange(len(tables[0])),
        match_frames=np.arange(len(tables[1])),
        query_motion=np.full(len(tables[0]), motion, np.float32),
        match_motion=np.full(len(tables[1]), motion, np.float32),
        query_step=float(tables[0].seconds[1]),
        match_step=float(tables[1].seconds[1]),
        dtw_cost=1.0,
        random_cost=4.0,
        pieces=tuple(pieces),
        coverage=(0.5, 0.5),
        query=Clip(str(query)),
        match=Clip(str(match)),
        anchors=tuple(anchors),
        ends=(tables[0].end, tables[1].end),
    )


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("any")
    query = numbered(folder / "query.mp4", 40, fps=NTSC, width=80, height=60)
    return query, numbered(folder / "match.mp4", 36, fps=Fraction(25), width=80, height=60)


def off_in_frames(warp: Warp, points: list[Point], rate: Fraction, frame: float) -> float:
    """The largest distance, in frames, from the stretch that is nearest among those around each moment."""
    worst = 0.0
    for time, value in points:
        around = [s for s in warp.stretches if s.start - 1 / rate <= time <= s.end + 1 / rate]
        assert around, f"{float(time):.3f} s has no partner, but is shown"
        at = [float(s.at(np.asarray(np.clip(float(time), s.start, s.end)))) for s in around]
        worst = max(worst, min(abs(float(value) - each) for each in at) / frame)
    return worst


def shown_inside(warp: Warp, times: Seconds, rate: float) -> np.ndarray:
    """Which of these frames are inside a stretch by more than a frame: they must be shown."""
    return np.array([any(s.start + 1 / rate < t < s.end - 1 / rate for s in warp.stretches) for t in times])


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_every_format_can_write_any_alignment_and_reads_back(
    files: tuple[Path, Path], tmp_path: Path, data: st.DataObject
) -> None:
    aligned = data.draw(alignments(*files))
    for keep in ("query", "match"):
        side: Side = keep
        rate = NTSC if keep == "query" else Fraction(25)
        kept = frame_table(files[0] if keep == "query" else files[1])
        warp = aligned.warp(keep=side).smooth()
        for suffix, reader in {**READERS, ".mlt": mlt_points}.items():
            (file, *_) = export(aligned, tmp_path / f"edit{suffix}", keep=side)
            points = list(reader(file, rate))
            if suffix == ".edl" and points:  # it begins at its first event
                first = round(warp.spans[0][0] * rate)
                points = [(time + first / rate, value) for time, value in points]
            # An EDL has speeds to three digits.
            assert off_in_frames(warp, points, rate, 1 / 25) <= (1.1 if suffix == ".edl" else 1.001), suffix
            numbers = {round(time * rate) for time, _ in points}
            needed = np.flatnonzero(shown_inside(warp, kept.seconds, float(rate)))
            assert numbers.issuperset(needed.tolist()), suffix
        with export(aligned, tmp_path / "map.csv", keep=side)[0].open() as lines:
            assert len(list(csv.reader(lines))) == len(kept) + 1
        pieces = film_warp(aligned.warp(keep=side), aligned.match or Clip(""), "pieces")
        assert pieces.spans[0][0] == warp.spans[0][0]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_warps_of_any_alignment_pass_their_anchors_and_keep_their_pieces_apart(
    files: tuple[Path, Path], data: st.DataObject
) -> None:
    aligned = data.draw(alignments(*files))
    for keep, side in (("query", 0), ("match", 1)):
        warp = aligned.warp(keep=keep)  # type: ignore[arg-type]
        for before, after in zip(warp.spans, warp.spans[1:], strict=False):
            assert before[1] <= after[0]
        pieces = sorted(aligned.pieces, key=lambda piece: (piece.query, piece.match)[side])
        for piece, stretch in zip(pieces, warp.stretches, strict=True):
            low, high = (piece.match, piece.query)[side]
            step = aligned.match_step if side == 0 else aligned.query_step
            ends = stretch.at(np.asarray([stretch.start, stretch.end]))
            assert low - step / 2 - 1e-9 <= ends[0] <= ends[1] <= high + step + 1e-9
        back = warp.inverse()
        assert len(back.stretches) == len(warp.stretches)


def swapped_halves(query: Path, match: Path) -> Alignment:
    """The second half of the query is the first of the match, and the other way round."""
    seconds = frame_table(query).seconds
    cells = [*zip(range(18), range(18, 36), strict=True), *zip(range(18, 36), range(18), strict=True)]
    edges = [float(seconds[18]), float(seconds[36])]
    pieces = (
        Piece(0, 18, (0.0, edges[0]), (0.72, 1.44), 0.5, 2.0),
        Piece(18, 36, (edges[0], edges[1]), (0.0, 0.72), 0.5, 2.0),
    )
    return built(query, match, np.array(cells), pieces)


def test_a_phase_that_ends_where_two_pieces_touch_stays_in_its_piece(
    files: tuple[Path, Path], tmp_path: Path
) -> None:
    aligned = swapped_halves(*files)
    edges = [aligned.pieces[0].query[1], aligned.pieces[1].query[1]]
    (tmp_path / "phases.csv").write_text(f"start,end,phase\n0,{edges[0]},late\n{edges[0]},{edges[1]},early\n")
    transfer(aligned, tmp_path / "phases.csv", tmp_path / "new.csv")
    with (tmp_path / "new.csv").open() as lines:
        rows = [(row["phase"], float(row["start"]), float(row["end"])) for row in csv.DictReader(lines)]
    assert rows == [
        ("late", pytest.approx(0.72, abs=0.01), pytest.approx(1.44, abs=0.01)),
        ("early", pytest.approx(0.0, abs=0.01), pytest.approx(0.72, abs=0.01)),
    ]


def test_what_is_shown_of_the_end_of_a_piece_belongs_to_that_piece(
    files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """Two halves in the other order, which touch in the query. Both play frame by frame."""
    pytest.importorskip("mcp", reason="needs the extra 'mcp'")
    pytest.importorskip("fastapi", reason="needs the extra 'serve'")
    from types import SimpleNamespace

    from seasync.cli.pair import _print
    from seasync.group.timing import compare_timing
    from seasync.integrations.fiftyone import _warp
    from seasync.integrations.mcp import described

    aligned = swapped_halves(*files)
    frame, pace = 1 / 25, 30 / 1.001 / 25  # seconds of the match for a second of the query

    def expect_halves(pairs: Sequence[tuple[float, float]]) -> None:
        half = len(pairs) // 2
        for part, first in ((pairs[:half], 0.72), (pairs[half:], 0.0)):
            for query, match in part:
                assert match == pytest.approx(first + (query - part[0][0]) * pace, abs=2 * frame)

    expect_halves([(one["query"], one["match"]) for one in described(aligned)["moments"]])
    expect_halves([(at, shown) for at, shown in _warp(SimpleNamespace(alignment=aligned))])  # type: ignore[arg-type]
    _print(aligned)
    lines = [line.split() for line in capsys.readouterr().out.splitlines() if line.count(" s ") == 2]
    expect_halves([(float(line[0]), float(line[2])) for line in lines])
    assert {line[4] for line in lines} - {"–"} <= {f"{speed}%" for speed in range(90, 150)}
    tempo = compare_timing(aligned, {}, {"query": "a", "match": "b"}).tempo
    assert all(one.speed == pytest.approx(1 / pace, rel=0.2) for one in tempo)
