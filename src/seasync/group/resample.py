"""Per-frame tables of takes (angles, forces, joints, sensors) brought to the group's clock."""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seasync.encoding import Seconds
from seasync.errors import DataError
from seasync.files import Location, Place, atomic_write, fetch, files_in
from seasync.group.clock import Group, over_takes
from seasync.marks import clip_names, take_name, write_csv

Table = NDArray[np.float64]
POINTS = 101  # 0, 1, … 100 percent, as biomechanics reports it
TIME_COLUMNS = ("seconds", "time", "timestamp", "t")
FRAME_COLUMNS = ("frame", "frame_index")


@dataclass(frozen=True, eq=False)
class Resampled:
    """Signals of all takes on one clock.

    Attributes
    ----------
    takes : tuple of str
        The reference first, if it has a table.
    channels : tuple of str
    percent : ndarray [shape=(P,)]
        Normalized time, 0–100 % of the reference.
    values : ndarray [shape=(takes, P, channels)]
        NaN where a take shows nothing of that moment, or its table has no value.
    """

    takes: tuple[str, ...]
    channels: tuple[str, ...]
    percent: Seconds
    values: Table

    def __repr__(self) -> str:
        takes, moments, channels = self.values.shape
        return f"Resampled({takes} takes, {moments} moments, {channels} channels)"

    @property
    def mean(self) -> Table:
        """Over the takes. [shape=(P, channels)]"""
        return over_takes(np.nanmean, self.values)

    @property
    def spread(self) -> Table:
        """Standard deviation over the takes. [shape=(P, channels)]"""
        return over_takes(np.nanstd, self.values)

    def save(self, file: Place) -> None:
        """Write `.npz` (takes, channels, percent, values, mean, spread), or `.csv` with a row per value.

        Raises
        ------
        DataError
            If the file has another ending.
        """
        path = Location(file)
        if path.suffix.lower() not in (".npz", ".csv"):
            raise DataError(f"{file}: expected a name that ends in .npz or .csv")
        if path.suffix.lower() == ".csv":
            rows = (
                (take, f"{percent:g}", channel, "" if np.isnan(value) else repr(value))
                for take, moments in zip(self.takes, self.values.tolist(), strict=True)
                for percent, values in zip(self.percent.tolist(), moments, strict=True)
                for channel, value in zip(self.channels, values, strict=True)
            )
            write_csv(path, ("take", "percent", "channel", "value"), rows, error=DataError)
            return
        with atomic_write(path, error=DataError) as part:
            arrays: dict[str, Any] = vars(self) | {"mean": self.mean, "spread": self.spread}
            np.savez_compressed(part, **arrays)


@dataclass(frozen=True, eq=False)
class SignalTable:
    """One take's table: values (R, C) at these seconds (R,), or None for one row per frame of the file."""

    channels: tuple[str, ...]
    values: Table
    seconds: Seconds | None
    frames: Seconds | None


def read_table(file: Place) -> SignalTable:
    """Read a per-frame table.

    Parameters
    ----------
    file : str or Path
        `.npy` with one row per frame; or `.csv` with one row per frame, or with a column of times (`seconds`)
        or of frame numbers (`frame`).

    Raises
    ------
    DataError
        If it cannot be read, or a value is no number.
    """
    path = Location(file)
    try:
        if path.suffix.lower() == ".npy":
            values = np.atleast_2d(np.load(fetch(path), allow_pickle=False).astype(np.float64).T).T
            values = values.reshape(len(values), -1)
            return SignalTable(tuple(f"channel {n}" for n in range(values.shape[1])), values, None, None)
        with fetch(path).open(newline="", encoding="utf-8-sig") as opened:
            rows = [row for row in csv.reader(opened) if row]
    except (OSError, ValueError, csv.Error, EOFError) as error:
        raise DataError(f"{path}: cannot be read as a table ({error}); expected .csv or .npy") from error
    if len(rows) < 2:
        raise DataError(f"{path}: expected a row of names and at least one of numbers")
    names = [name.strip() for name in rows[0]]
    try:
        numbers = np.array([[float(value) if value else np.nan for value in row] for row in rows[1:]])
    except ValueError as error:
        raise DataError(f"{path}: every value below the names must be a number ({error})") from None
    seconds, frames = (
        next((numbers[:, names.index(name)] for name in known if name in names), None)
        for known in (TIME_COLUMNS, FRAME_COLUMNS)
    )
    kept = [n for n, name in enumerate(names) if name not in (*TIME_COLUMNS, *FRAME_COLUMNS)]
    return SignalTable(tuple(names[n] for n in kept), numbers[:, kept], seconds, frames)


def resample(group: Group, tables: Mapping[str, Place | SignalTable], *, points: int = POINTS) -> Resampled:
    """Bring per-frame tables to the group's clock.

    Parameters
    ----------
    group : Group
    tables : mapping of str to path
        The table of each take, by the take's name or file. Takes without a table are left out.
    points : int
        Moments of the common clock, from 0 to 100 % of the reference.

    Raises
    ------
    DataError
        If no take has a table, tables have different channels, or a table is longer or shorter than its take.
    """
    if points < 2:
        raise DataError(f"points: expected 2 or more, got {points}")
    first, last = group.seconds[0], group.seconds[-1]
    clock = np.linspace(first, last, points)
    first_take = group.takes[0].alignment
    placed = [(group.reference, clock, first_take.query_seconds, first_take.query_frames)]
    for take, row in zip(group.takes, group.at(clock), strict=True):
        placed.append((take.clip, row, take.alignment.match_seconds, take.alignment.match_frames))
    names: list[str] = []
    values: list[Table] = []
    channels: tuple[str, ...] | None = None
    for clip, moments, seconds, frames in placed:
        found = next((tables[name] for name in clip_names(clip) if name in tables), None)
        if found is None:
            continue
        table = found if isinstance(found, SignalTable) else read_table(found)
        if channels is not None and table.channels != channels:
            raise DataError(
                f"{take_name(clip)}: its table has the channels {', '.join(table.channels)}, the others "
                f"{', '.join(channels)}; all tables need the same"
            )
        channels = table.channels
        names.append(take_name(clip))
        values.append(_at(table, moments, seconds, frames, take_name(clip)))
    if channels is None:
        raise DataError("no table belongs to a take of this group; name each like its take, such as p01.csv")
    return Resampled(tuple(names), channels, np.linspace(0, 100, points), np.stack(values))


def _at(
    table: SignalTable, moments: Seconds, seconds: Seconds, frames: NDArray[np.int64], name: str
) -> Table:
    """The table's rows at moments of the take."""
    times = table.seconds
    if times is None:
        numbers = np.arange(len(table.values)) if table.frames is None else table.frames
        last = int(frames[-1])
        sampled = max(int(np.median(np.diff(frames))) if len(frames) > 1 else 1, 1)
        if table.frames is None and not last - sampled < len(table.values) <= last + 2 * sampled + 1:
            raise DataError(
                f"{name}: its table has {len(table.values)} rows, its clip about {last + 1} frames; expected "
                "a row per frame, or a column 'seconds'"
            )
        times = np.interp(numbers, frames, seconds)
    known = np.isfinite(moments)
    out = np.full((len(moments), table.values.shape[1]), np.nan)
    for channel in range(table.values.shape[1]):
        column = table.values[:, channel]
        there = np.isfinite(column)
        if there.any():
            values = np.interp(moments[known], times[there], column[there], left=np.nan, right=np.nan)
            out[known, channel] = values
    return out


def tables_in(folder: Place) -> dict[str, Place]:
    """The tables of a folder, by the names of their takes."""
    found: dict[str, Place] = {
        each.stem: each for each in files_in(folder) if each.suffix.lower() in (".csv", ".npy")
    }
    if not found:
        raise DataError(
            f"{folder}: a folder without tables; expected .csv or .npy files named like the takes"
        )
    return found
