"""The kernels: C, compiled when the package is built, called with numpy arrays.

Every function checks the types and shapes of its arrays, because C would read beyond them. Kernels let go of
Python's lock while they compute. LANES matrices of costs are solved together, one in each lane of the
processor's vectors: then `cells` has the shape (n, m * LANES), the lane innermost, zero beyond the rows and
columns of each matrix, and `rows`, `columns` (LANES,) hold these, zero where there is none.
"""

import ctypes
import hashlib
import platform
import sys
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seasync.errors import SeasyncError

LANES = 16
Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Indices = NDArray[np.int64]
Int32s = NDArray[np.int32]
Moves = NDArray[np.uint8]

_HERE = Path(__file__).parent
_F32, _F64, _I32, _I64, _U8, _U16 = map(np.dtype, ("f4", "f8", "i4", "i8", "u1", "u2"))
# Arguments: pointer, integer, double, float. Results: a number (negative if memory was short), or nothing.
_KINDS = {"p": ctypes.c_void_p, "i": ctypes.c_int64, "d": ctypes.c_double, "f": ctypes.c_float}
_RESULTS = {"?": ctypes.c_int64, "": None}
_FUNCTIONS = {
    "share_table": ("ip", ""), "interleave_all": ("pppp", ""), "take_boxes": ("pipiip", ""),
    "solve_lanes": ("ppppipp", "?"), "solve_disordered": ("pppp", "?"),
    "solve_rows": ("piiiifppppp", "?"), "price_frames": ("piiippdppp", ""),
    "solve_priced": ("piiippppppp", "?"), "trace": ("pipiiiiippp", "?"), "trace_lanes": ("pppiipp", ""),
    "measure": ("pppiiipip", ""), "take_pieces": ("piippppppipp", "?"), "solve_film": ("piiipfpppp", ""),
    "widen": ("pip", ""), "clock_of": ("pidp", ""), "dots": ("ppiip", ""), "prepare_frames": ("ppipppp", "?"),
    "products": ("pipiip", "?"), "add_cosines": ("ppipppiiip", "?"), "finish_costs": ("piiiffpp", ""),
    "pair_costs": ("pppiip", "?"), "plan_clips": ("pppippp", ""),
    "stored_costs": ("ppppppipdppp", "?"), "whittaker": ("ppidp", "?"),
}  # fmt: skip


def _check(result: int, *_: Any) -> int:
    if result < 0:
        raise MemoryError("too little memory for a kernel")
    return result


def _open(name: str) -> ctypes.CDLL:
    """One of the libraries beside this file."""
    kind = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")
    try:
        return ctypes.CDLL(str(_HERE / (name + kind)))
    except OSError as error:
        raise SeasyncError(f"the compiled kernels do not load ({error}): {_advice()}") from error


def _advice() -> str:
    if (_HERE / "path.c").exists():
        return "run `python hatch_build.py` in the checkout"
    return "reinstall with `pip install --force-reinstall --no-deps seasync`"


def _load() -> ctypes.CDLL:
    """The library for this processor."""
    machine = platform.machine().lower()
    if machine in ("x86_64", "amd64"):
        library = _open("x86_64_v2")
        level = library.processor_level()
        library = library if level == 2 else _open(f"x86_64_v{level}")
    else:
        library = _open("arm64" if machine in ("arm64", "aarch64") else "other")
    library.sources.restype = ctypes.c_char_p
    sources = sorted(_HERE.glob("*.[ch]"))  # in a checkout; wheels have none
    hashed = hashlib.sha256(b"".join(file.read_bytes() for file in sources)).hexdigest()[:16]
    if sources and library.sources().decode() != hashed:
        raise SeasyncError(f"the compiled kernels are older than their sources: {_advice()}")
    for name, (arguments, result) in _FUNCTIONS.items():
        function = getattr(library, name)
        function.argtypes = [_KINDS[kind] for kind in arguments]
        function.restype = _RESULTS[result]
        if result == "?":
            function.errcheck = _check
    return library


_library = _load()


_address_of, _view = ctypes.addressof, ctypes.c_char.from_buffer


def _address(array: NDArray[Any]) -> int:
    """Where the numbers of a contiguous array begin in memory."""
    try:  # four times as fast as array.ctypes
        return _address_of(_view(array))  # type: ignore[arg-type]
    except (TypeError, ValueError):  # it is read-only, empty, or not contiguous
        if not array.flags.c_contiguous:
            raise ValueError(f"expected a contiguous array, got strides {array.strides}") from None
        return int(array.ctypes.data)


def _at(array: NDArray[Any], dtype: np.dtype[Any], *shape: int) -> int:
    """`_address` of an array of that type and shape."""
    if array.dtype != dtype or array.shape != shape:
        raise ValueError(f"expected {dtype} of shape {shape}, got {array.dtype} of shape {array.shape}")
    return _address(array)


class StreamArrays(ctypes.Structure):
    """A prepared stream as the kernels read it; it keeps the arrays alive.

    Parameters
    ----------
    rows, links, scales, lower, grid : numpy.ndarray
        See `PreparedStream`.
    """

    _fields_ = [
        *((f"{name}_at", ctypes.c_void_p) for name in ("rows", "links", "scales", "lower", "grid")),
        *((name, ctypes.c_int64) for name in ("length", "extra", "width", "points")),
    ]

    def __init__(self, rows: Floats, links: Int32s, scales: Floats, lower: Int32s, grid: Floats) -> None:
        (count, width), length, points = rows.shape, links.shape[1], len(lower)
        if count < length or not length or not 0 <= int(lower[0]) <= int(lower[-1]) < length:
            raise ValueError(f"expected rows and grid points for {length} frames, got {count} and {points}")
        super().__init__(
            _at(rows, _F32, count, width), _at(links, _I32, 3, length), _at(scales, _F32, 2, length),
            _at(lower, _I32, points), _at(grid, _F32, 3, points), length, count - length, width, points,
        )  # fmt: skip
        self.rows, self.links, self.scales, self.lower, self.grid = rows, links, scales, lower, grid

    def __reduce__(self) -> tuple[Any, ...]:
        """Pointers mean nothing in another process: there it is made again from its arrays."""
        return StreamArrays, (self.rows, self.links, self.scales, self.lower, self.grid)


# Paths.


@lru_cache(maxsize=1)
def share_table(size: int) -> Floats:
    """How often random paths enter each cell diagonally, from above, from the left, shape (size, 3, size)."""
    out = np.empty((size, 3, size), np.float32)
    _library.share_table(size, _address(out))
    return out


def _sizes(rows: Indices, columns: Indices) -> tuple[int, int, int, int]:
    """The largest of rows and columns, and where both begin in memory."""
    return max(rows.tolist()), max(columns.tolist()), _at(rows, _I64, LANES), _at(columns, _I64, LANES)


def _addresses(matrices: Sequence[Floats], rows: Indices, columns: Indices) -> Indices:
    """Where up to LANES matrices of these sizes begin; beyond, where the first one does."""
    given = [
        _at(matrix, _F32, n, m)
        for matrix, n, m in zip(matrices, rows.tolist(), columns.tolist(), strict=False)
    ]
    return np.array(given + given[:1] * (LANES - len(given)), np.int64)


def interleave(matrices: Sequence[Floats], rows: Indices, columns: Indices, cells: Floats) -> None:
    """Write up to LANES matrices into cells."""
    n, m, *sizes = _sizes(rows, columns)
    places = _addresses(matrices, rows, columns)
    _library.interleave_all(_address(places), *sizes, _at(cells, _F32, n, m * LANES))


def take_boxes(cells: Floats, boxes: Indices, out: Floats) -> None:
    """Write boxes of matrices as matrices of their own into `out`, shape (n, m * LANES).

    boxes (5, LANES): lane, first row, first column, rows, columns of each.
    """
    (n, m), all_columns = boxes[3:].max(1).tolist(), cells.shape[1] // LANES
    if (boxes[1] + boxes[3]).max() > len(cells) or (boxes[2] + boxes[4]).max() > all_columns:
        raise ValueError("the boxes reach beyond the cells")
    where, to = _at(boxes, _I64, 5, LANES), _at(out, _F32, n, m * LANES)
    _library.take_boxes(_at(cells, _F32, *cells.shape), all_columns, where, n, m, to)


def solve_lanes(cells: Floats, rows: Indices, columns: Indices, *, moves: Moves | None = None) -> Floats:
    """The cost of the cheapest path and the mean cost of random paths of LANES matrices, shape (2, LANES).

    The moves of the cheapest paths are written into `moves`, like cells.
    """
    n, m, *sizes = _sizes(rows, columns)
    out = np.zeros((2, LANES), np.float32)
    table = share_table(-(-max(n, m, 512) // 128) * 128)
    _library.solve_lanes(
        _at(cells, _F32, n, m * LANES), *sizes, _address(table), len(table), _address(out),
        None if moves is None else _at(moves, _U8, n, m * LANES),
    )  # fmt: skip
    return out


def solve_disordered(cells: Floats, rows: Indices, columns: Indices) -> Floats:
    """The costs of the cheapest paths with the match backwards, and begun half-way, shape (2, LANES)."""
    n, m, *sizes = _sizes(rows, columns)
    out = np.zeros((2, LANES), np.float32)
    _library.solve_disordered(_at(cells, _F32, n, m * LANES), *sizes, _address(out))
    return out


def solve_rows(
    costs: Floats,
    first: int,
    step: float,
    limits: Int32s,
    held: Int32s,
    values: Floats,
    means: Floats,
    moves: Moves,
) -> None:
    """Carry the cheapest path of one matrix, shape (n, m), over the block of rows from `first` on.

    costs (k, m); step: price of each step that is not diagonal; limits (2, n): first and last column allowed
    in each row; held (2, n): first and last column that the path must pass, −1 for none; values, means (m,):
    minus the cost of the cheapest path to each cell of the row before, and the mean of random ones, replaced
    (begin with −∞ and 0); moves (n, ⌈m/4⌉), written: two bits a cell, for `trace`.
    """
    (count, m), n = costs.shape, limits.shape[1]
    if not 0 <= first <= first + count <= n or int(held.max()) >= m:
        raise ValueError(f"rows {first} to {first + count} and columns {held.max()} lie outside ({n}, {m})")
    _library.solve_rows(
        _at(costs, _F32, count, m), first, count, n, m, step, _at(limits, _I32, 2, n),
        _at(held, _I32, 2, n), _at(values, _F32, m), _at(means, _F32, m), _at(moves, _U8, n, (m + 3) // 4),
    )  # fmt: skip


def price_frames(
    cells: Floats, rows: Indices, columns: Indices, share: float
) -> tuple[Floats, Floats, Doubles]:
    """Prices of rows, shape (n, lanes), and of columns, shape (m, lanes), and the sums of both (lanes, 2).

    A price is `share` of what random paths spend: the mean cost times the mean number of cells that they have
    in a row. `cells` holds LANES matrices or, with rows and columns of length 1, is one.
    """
    (n, width), lanes = cells.shape, len(rows)
    m = width // lanes
    out = np.empty((n, lanes), np.float32), np.empty((m, lanes), np.float32), np.empty((lanes, 2))
    if lanes not in (1, LANES) or rows.max() > n or columns.max() > m:
        raise ValueError(f"expected 1 or {LANES} matrices within {n} × {m}")
    _library.price_frames(
        _at(cells, _F32, n, m * lanes), n, m, lanes, _at(rows, _I64, lanes), _at(columns, _I64, lanes), share,
        *map(_address, out),
    )  # fmt: skip
    return out


def solve_priced(
    cells: Floats, rows: Floats, columns: Floats, jumps: Floats, moves: Moves, sources: Int32s
) -> tuple[Floats, Int32s]:
    """What the paths with jumps gain that gain most, and where they end (i · m + j), shape (lanes,) each.

    rows (n, lanes), columns (m, lanes): prices; jumps (lanes,): of a jump; lanes is 1 or LANES.
    moves, sources (n, m * lanes): written, for `trace`.
    """
    (n, lanes), m = rows.shape, len(columns)
    if lanes not in (1, LANES) or n * m >= 1 << 31:
        raise ValueError(f"expected 1 or {LANES} matrices of fewer than 2³¹ cells, got {lanes} of {n} × {m}")
    best, ends = np.empty(lanes, np.float32), np.empty(lanes, np.int32)
    _library.solve_priced(
        _at(cells, _F32, n, m * lanes), n, m, lanes, _at(rows, _F32, n, lanes),
        _at(columns, _F32, m, lanes), _at(jumps, _F32, lanes), _at(moves, _U8, n, m * lanes),
        _at(sources, _I32, n, m * lanes), _address(best), _address(ends),
    )  # fmt: skip
    return best, ends


def trace_rows(moves: Moves, m: int) -> Int32s:
    """The path (L, 2) through a matrix with m columns by the moves of `solve_rows`."""
    n = len(moves)
    path = np.empty((n + m, 2), np.int32)
    where = _at(moves, _U8, n, (m + 3) // 4)
    return path[-_library.trace(where, 2, None, n, m, 1, 0, n * m - 1, _address(path), None, None) :]


def trace_lanes(moves: Moves, rows: Indices, columns: Indices) -> list[Int32s]:
    """The paths (L, 2) by the moves of `solve_lanes`."""
    n, m, *sizes = _sizes(rows, columns)
    paths, lengths = np.empty((LANES, n + m, 2), np.int32), np.empty(LANES, np.int64)
    where = _at(moves, _U8, n, m * LANES)
    _library.trace_lanes(where, *sizes, n, m, _address(paths), _address(lengths))
    return [path[n + m - length :].copy() for path, length in zip(paths, lengths.tolist(), strict=True)]


def trace_priced(
    moves: Moves, sources: Int32s, end: int, *, lane: int = 0, lanes: int = 1
) -> tuple[Int32s, Indices]:
    """The path (L, 2) to a cell by the moves of `solve_priced`, and where its pieces begin.

    breaks (P + 1,): piece p is path[breaks[p] : breaks[p + 1]].
    """
    n, m = len(moves), moves.shape[1] // lanes
    path, breaks, count = np.empty((n + m, 2), np.int32), np.empty(n + 1, np.int64), ctypes.c_int64()
    where, places = _at(moves, _U8, n, m * lanes), _at(sources, _I32, n, m * lanes)
    if not (0 <= end < n * m and 0 <= lane < lanes):
        raise ValueError(f"no cell {end} of lane {lane}")
    length = _library.trace(
        where, 8, places, n, m, lanes, lane, end, _address(path), _address(breaks), _address_of(count)
    )
    return path[-length:].copy(), breaks[n - count.value :].copy()


def measure(
    cells: Floats, rows: Floats, columns: Floats, path: Int32s, *, lane: int = 0
) -> tuple[float, float, float]:
    """What a piece (L, 2) of a path costs, and the prices of the rows and of the columns it enters."""
    (n, lanes), m, path = rows.shape, len(columns), np.ascontiguousarray(path)
    out = (ctypes.c_double * 3)()
    _library.measure(
        _at(cells, _F32, n, m * lanes), _at(rows, _F32, n, lanes), _at(columns, _F32, m, lanes), m, lanes,
        lane, _at(path, _I32, len(path), 2), len(path), _address_of(out),
    )  # fmt: skip
    return out[0], out[1], out[2]


def take_pieces(
    cells: Floats, rows: Floats, columns: Floats, moves: Moves, sources: Int32s, ends: Int32s, lanes: Indices
) -> tuple[Indices, Doubles]:
    """The pieces of the paths of `solve_priced` in some lanes, without their cells.

    Returns boxes (P, 5): lane, first row, first column, rows, columns; and the `measure` of each (P, 3).
    """
    n, m, count = len(rows), len(columns), len(lanes)
    boxes, measures = np.empty((count * n, 5), np.int64), np.empty((count * n, 3))
    found = _library.take_pieces(
        _at(cells, _F32, n, m * LANES), n, m, _at(rows, _F32, n, LANES), _at(columns, _F32, m, LANES),
        _at(moves, _U8, n, m * LANES), _at(sources, _I32, n, m * LANES), _at(ends, _I32, LANES),
        _at(lanes, _I64, count), count, _address(boxes), _address(measures),
    )  # fmt: skip
    return boxes[:found].copy(), measures[:found].copy()


def solve_film(
    costs: Floats, first: int, prices: Floats, share: float, values: Floats, since: Int32s,
    gains: Floats, starts: Int32s,
) -> None:  # fmt: skip
    """Carry the paths through a whole query and any part of a film over a block of film frames.

    A path begins at the query's first sample and ends at its last, anywhere in the film. It earns the price
    of each sample and frame that it enters and pays its cells; a frame's price is `share` of its mean cost.

    costs (k, n): film frames first … first + k − 1 with the query's n samples; prices (n,); values, since
    (n,): what the best path to each sample gains in the frame before, and the frame where it began, replaced
    (begin with −∞ and 0); gains, starts (m,), written: the same of paths that end with each film frame
    """
    count, n = costs.shape
    if not 0 <= first <= first + count <= len(gains):
        raise ValueError(f"frames {first} to {first + count} lie outside the film's {len(gains)}")
    _library.solve_film(
        _at(costs, _F32, count, n), first, count, n, _at(prices, _F32, n), share, _at(values, _F32, n),
        _at(since, _I32, n), _at(gains, _F32, len(gains)), _at(starts, _I32, len(gains)),
    )  # fmt: skip


# Features.


def single(halves: NDArray[Any]) -> Floats:
    """The same float16 values as float32: numpy converts them one by one."""
    given = np.ascontiguousarray(halves).view(np.uint16)
    out = np.empty(halves.shape, np.float32)
    _library.widen(_at(given, _U16, *given.shape), given.size, _address(out))
    return out


def dots(vector: Floats, others: Floats, out: Floats) -> None:
    """Write the products of a vector (d,) with each of others (m, d) into `out`, shape (m,)."""
    count, width = others.shape
    where = _at(vector, _F32, width), _at(others, _F32, count, width)
    _library.dots(*where, count, width, _at(out, _F32, count))


def clock_of(seconds: Doubles, limit: float = np.inf) -> tuple[float, float, int, float]:
    """The clock of sampled times (T,).

    Returns the longest step over the shortest one; the rate of the steps shorter than `limit`; how many
    samples a uniform clock of that rate has; and how far the times are from it, in steps (infinite if their
    number differs). Sampling 25 fps at 7.5 gives steps of 3 and 4 frames, and 7.5 in the mean.
    """
    out = (ctypes.c_double * 4)()
    _library.clock_of(_at(seconds, _F64, len(seconds)), len(seconds), limit, _address_of(out))
    return out[0], out[1], int(out[2]), out[3]


class Windows(ctypes.Structure):
    """The surroundings of the frames of a clip.

    Parameters
    ----------
    scene, window : numpy.ndarray [shape=(T,)], int32
        Each frame's scene and window.
    order : numpy.ndarray [shape=(T,)]
        The frames, scene by scene.
    starts, stops : numpy.ndarray [shape=(W,)]
        Where in that order each window starts and stops.
    """

    _fields_ = [
        *((name, ctypes.c_void_p) for name in ("scene", "window", "order", "starts", "stops")),
        *((name, ctypes.c_int64) for name in ("scenes", "count")),
    ]

    def __init__(
        self, scene: Int32s, window: Int32s, order: Indices, starts: Indices, stops: Indices
    ) -> None:
        length, count = len(scene), len(starts)
        if min(scene.min(), window.min(), starts.min()) < 0 or window.max() >= count or stops.max() > length:
            raise ValueError(f"windows lie outside the {length} frames")
        super().__init__(
            _at(scene, _I32, length), _at(window, _I32, length), _at(order, _I64, length),
            _at(starts, _I64, count), _at(stops, _I64, count), int(scene.max()) + 1, count,
        )  # fmt: skip
        self.arrays = scene, window, order, starts, stops


class Settings(ctypes.Structure):
    """How frames are prepared.

    Parameters
    ----------
    reach : int
        Frames to look ahead and behind for the change.
    context, with_change : bool
    motion_cap : float
        The motion of a frame counts this much at most.
    scale_floor : float
        A window's mean square counts as this share of the clip's at least.
    """

    _fields_ = [
        *((name, ctypes.c_int64) for name in ("reach", "context", "with_change")),
        *((name, ctypes.c_double) for name in ("motion_cap", "scale_floor")),
    ]


def prepare_frames(
    features: Floats, shots: Indices, windows: Windows, settings: Settings, lower: Int32s, weight: Doubles
) -> tuple[StreamArrays, bool]:
    """Prepare features (T, d) of a stream; also returns whether nothing moves.

    shots (S,): first frames; grid point a lies weight[a] of the way from frame lower[a] to the next.
    """
    (length, width), points, count = features.shape, len(lower), windows.count
    extra = 2 if settings.context else count if count > 1 else 0
    if len(windows.arrays[0]) != length:
        raise ValueError(f"expected windows of {length} frames, got {len(windows.arrays[0])}")
    stream = StreamArrays(
        np.empty((length + extra, width), np.float32), np.empty((3, length), np.int32),
        np.empty((2, length), np.float32), lower, np.empty((3, points), np.float32),
    )  # fmt: skip
    still = _library.prepare_frames(
        _at(features, _F32, length, width), _at(shots, _I64, len(shots)), len(shots), _address_of(windows),
        _address_of(settings), _at(weight, _F64, points), _address_of(stream),
    )  # fmt: skip
    return stream, bool(still)


# Costs.


def products(rows: Floats, others: Floats) -> Floats:
    """rows (n, d) · othersᵀ (d, m), in this thread: BLAS's wait for each other longer than they work."""
    (n, width), m = rows.shape, len(others)
    out = np.empty((n, m), np.float32)
    where = _at(rows, _F32, n, width), n, _at(others, _F32, m, width), m
    _library.products(*where, width, _address(out))
    return out


def add_cosines(
    query: StreamArrays, match: StreamArrays, context: bool, state: tuple[Indices, Floats, Doubles],
    start: int, out: Floats, *, add: bool,
) -> None:  # fmt: skip
    """Write, or add to `out`, the cosines of grid rows from `start` on of the query with the match's grid.

    state: last frame done (1,), rows of the last two (2, m + 1), sums (m + 2,): what one
    block of rows hands to the next, −1 and 0 at the beginning; out (rows, grid points of the match)
    """
    (done, carried, sums), points = state, match.points
    if not 0 <= start < start + len(out) <= query.points or query.width != match.width:
        raise ValueError(f"rows from {start} on lie outside {query.points}, or widths differ")
    if query.lower[start] < done[0] - 1:
        raise ValueError(f"the rows before {start} are gone")
    _library.add_cosines(
        _address_of(query), _address_of(match), context, _at(done, _I64, 1),
        _at(carried, _F32, 2, match.length + 1), _at(sums, _F64, match.length + 2),
        start, len(out), add, _at(out, _F32, len(out), points),
    )  # fmt: skip


def finish_costs(
    out: Floats, streams: int, power: float, stillness: float, query_motion: Floats, match_motion: Floats
) -> None:
    """Turn cosines (n, m), summed over streams, into costs, in place."""
    n, m = out.shape
    motion = _at(query_motion, _F32, n), _at(match_motion, _F32, m)
    _library.finish_costs(_at(out, _F32, n, m), n, m, streams, power, stillness, *motion)


class Layout(NamedTuple):
    """Where the costs of LANES pairs go, and how large each is.

    Attributes
    ----------
    rows, columns : numpy.ndarray [shape=(LANES,)]
        Grid points of each query and match, zero where there is none.
    frames : (int, int)
        Frames of the longest query and of the longest match.
    factors : (int, int)
        Grid points from one frame to the next, of the queries and of the matches.
    planes : numpy.ndarray [shape=(LANES, frames of a query, frames of a match + 1)]
        Working memory, as is `sides`, shape (n + m, 3, LANES).
    cells : numpy.ndarray [shape=(n, m * LANES)]
        The costs, written.
    stillness, power : float
        See `Recipe`.
    """

    rows: Indices
    columns: Indices
    frames: tuple[int, int]
    factors: tuple[int, int]
    planes: Floats
    sides: Floats
    cells: Floats
    stillness: float
    power: float


class _Layout(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_void_p) for name in ("rows", "columns", "planes", "sides", "cells")),
        *((name, ctypes.c_int64) for name in ("frames", "width", "factor", "other", "n", "m")),
        *((name, ctypes.c_float) for name in ("stillness", "power")),
    ]

    def __init__(self, layout: Layout) -> None:
        n, m, *sizes = _sizes(layout.rows, layout.columns)
        (frames, width), (factor, other) = layout.frames, layout.factors
        if (n - 1) // factor >= frames or (m - 1) // other >= width:
            raise ValueError(f"{n} × {m} grid points lie beyond {frames} × {width} frames")
        super().__init__(
            *sizes, _at(layout.planes, _F32, LANES, frames, width + 1),
            _at(layout.sides, _F32, n + m, 3, LANES), _at(layout.cells, _F32, n, m * LANES),
            frames, width + 1, factor, other, n, m, layout.stillness, layout.power,
        )  # fmt: skip


def pair_costs(
    queries: Sequence[StreamArrays],
    matches: Sequence[StreamArrays],
    moving: NDArray[np.bool_],
    context: bool,
    layout: Layout,
) -> None:
    """Compute the costs of up to LANES pairs; those of a pair in which nothing moves are all one."""
    count = len(moving)
    if not count == len(queries) == len(matches) <= LANES:
        raise ValueError(f"expected up to {LANES} queries and matches, got {len(queries)} and {len(matches)}")
    if any(each.length > layout.frames[k] for k, clips in enumerate((queries, matches)) for each in clips):
        raise ValueError(f"a clip has more frames than {layout.frames}")
    lanes = ctypes.c_void_p * LANES
    sides = lanes(*map(_address_of, queries)), lanes(*map(_address_of, matches))
    flags, to = _at(moving.view(np.uint8), _U8, count), _Layout(layout)
    _library.pair_costs(*map(_address_of, sides), flags, count, context, _address_of(to))


# Clips as a sea stores them: their features are `halves` (N, d), shown at `seconds` (N,), one clip after the
# other; frames_of (B, 2) tells where each begins and ends. Columns of a plan:
PLAIN, SAMPLES, FACTOR, POINTS, RESAMPLED = range(5)


def plan_clips(
    seconds: Doubles, frames_of: Indices, shots_of: Indices, *, jitter: float, ordinary: float, window: float,
    window_fps: float, grid_fps: float, longest: int,
) -> tuple[Indices, Doubles]:  # fmt: skip
    """How clips are prepared: plans (B, 5) and the rates of their frames (B,).

    jitter: steps by which frames may be off a uniform clock; ordinary: a step is, if shorter than this many
    of the shortest; window: samples of a window at the rate window_fps; longest: grid points of the longest
    clip that is solved with others. A clip is not plain if it has several shots, windows or kinds of steps.
    """
    count = len(frames_of)
    if count and (frames_of.min() < 0 or frames_of.max() > len(seconds) or (np.diff(frames_of) < 1).any()):
        raise ValueError(f"clips lie outside the {len(seconds)} frames")
    plans, rates = np.zeros((count, 5), np.int64), np.zeros(count)
    settings = (ctypes.c_double * 6)(jitter, ordinary, window, window_fps, grid_fps, longest)
    _library.plan_clips(
        _at(seconds, _F64, len(seconds)), _at(frames_of, _I64, count, 2), _at(shots_of, _I64, count, 2),
        count, _address_of(settings), _address(plans), _address(rates),
    )  # fmt: skip
    return plans, rates


def stored_costs(
    halves: NDArray[Any], seconds: Doubles, frames_of: Indices, plans: Indices, rates: Doubles,
    chosen: Indices, query: StreamArrays, settings: Settings, change_seconds: float, layout: Layout,
) -> NDArray[np.bool_]:  # fmt: skip
    """Compute the costs of a query with up to LANES plain clips; returns whether something moves in each.

    The reach of the settings is that of change_seconds at the rate of each clip.
    """
    count, clips, frames = len(chosen), len(plans), len(seconds)
    if not 0 < count <= LANES or chosen.min() < 0 or chosen.max() >= clips or not plans[chosen, PLAIN].all():
        raise ValueError(f"expected up to {LANES} plain clips of {clips}, got {chosen}")
    moving, to = np.empty(count, np.uint8), _Layout(layout)
    _library.stored_costs(
        _at(halves.view(np.uint16), _U16, frames, query.width), _at(seconds, _F64, frames),
        _at(frames_of, _I64, clips, 2), _at(plans, _I64, clips, 5), _at(rates, _F64, clips),
        _at(chosen, _I64, count), count, _address_of(settings), change_seconds, _address_of(query),
        _address(moving), _address_of(to),
    )  # fmt: skip
    return moving.view(np.bool_)


# Sequences of times.


def smooth(values: Doubles, weights: Doubles, bending: float) -> Doubles:
    """The w (K,) that minimizes Σ weights (w − values)² + bending Σ (Δ²w)²: Whittaker's smoother."""
    count = len(values)
    out, where = np.empty(count), (_at(values, _F64, count), _at(weights, _F64, count))
    _library.whittaker(*where, count, bending, _address(out))
    return out
