"""Rows of the record: what is kept of a clip, and how it is laid out in columns.

For stream n of the encoding (0 leads) there are the columns seconds_n, numbers_n, shots_n, found_n and
features_n (half precision); they are null in a row that keeps its clip vector only.
"""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from seasync.clip import Clip
from seasync.encoding import Encoding, EncodingBatch, Floats, Indices, Stream

FORMAT = 3
FACTS = "seasync"
ID_DIGITS = 32
CLIP_COLUMNS = ["id", "file", "start", "end", "duration", "label"]
CHECKSUMS = "checksums"
SEALING = "checksums_next"  # what takes their place when a sea is sealed
LATER_COLUMNS = {"damage": pa.string(), CHECKSUMS: pa.binary()}  # missing in older seas: they read as null
SCORED_COLUMNS = ["seconds_0", "shots_0", "found_0", "features_0"]  # of clips with one stream
NUMBERS = "numbers_0"
ENTRY_COLUMNS = [*CLIP_COLUMNS, "content", "split", "part", "parts", "fps", "tags", "damage"]


@dataclass(frozen=True)
class SeaFacts:
    """What is the same for all clips of a sea, from its first row on.

    Attributes
    ----------
    streams
        Name and width of each stream of frame features.
    trajectory
        Length of the raw trajectory.
    """

    format: int
    encoder: str
    fingerprint: str
    fps: float
    streams: tuple[tuple[str, int], ...]
    trajectory: int

    @classmethod
    def of(cls, encoder: str, fps: float, encoding: Encoding) -> "SeaFacts":
        """The facts of a sea that holds such encodings; `encoder` is the encoder's name."""
        streams = tuple((stream.name, stream.features.shape[1]) for stream in encoding.streams)
        return cls(FORMAT, encoder, encoding.encoder, fps, streams, len(encoding.trajectory))

    @classmethod
    def from_json(cls, text: str) -> "SeaFacts":
        fields = json.loads(text)
        return cls(**fields | {"streams": tuple((name, width) for name, width in fields["streams"])})

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @property
    def dimension(self) -> int:
        return self.streams[0][1]


@dataclass(frozen=True)
class ClipEntry:
    """What the record keeps of a clip besides its encoding.

    Attributes
    ----------
    content
        Hash of the file's bytes.
    split
        How the file was split (``"none"``, ``"shots"``, ``"5.0"``); this clip is number `part` of `parts`.
    fps
        The file's own frame rate, where it is known.
    duration
        Length in seconds. It gives the end of a clip that runs to the end of its file.
    damage
        How much of the clip could be read, if not all of it.
    """

    clip: Clip
    content: str
    duration: float
    split: str = "none"
    part: int = 0
    parts: int = 1
    fps: float | None = None
    tags: tuple[str, ...] = ()
    damage: str | None = None


ENTRY_FIELDS = [each.name for each in fields(ClipEntry) if each.name != "clip"]


@dataclass(frozen=True, eq=False)
class Row:
    """One clip of the record, with its encoding."""

    entry: ClipEntry
    encoding: Encoding


def clip_id(content: str, start: float, end: float | None) -> str:
    """32 hex digits that name a span of a content, whatever its file is called."""
    text = f"{content} {float(start)!r} {None if end is None else float(end)!r}"
    return hashlib.sha256(text.encode()).hexdigest()[:ID_DIGITS]


def schema(facts: SeaFacts) -> pa.Schema:
    """The record's columns, with `facts` in the metadata."""
    text, whole, real = pa.string(), pa.int32(), pa.float64()
    columns = [
        pa.field("id", text, nullable=False),
        pa.field("file", text, nullable=False),
        pa.field("content", text, nullable=False),
        pa.field("start", real, nullable=False),
        pa.field("end", real),
        pa.field("duration", real, nullable=False),
        pa.field("fps", real),
        pa.field("frames", whole, nullable=False),
        pa.field("label", text),
        pa.field("tags", pa.list_(text)),
        pa.field("split", text, nullable=False),
        pa.field("part", whole, nullable=False),
        pa.field("parts", whole, nullable=False),
        pa.field("damage", text),
        pa.field("mean", pa.list_(pa.float32(), facts.dimension), nullable=False),
        pa.field("trajectory", pa.list_(pa.float32(), facts.trajectory), nullable=False),
    ]
    for n, (_, width) in enumerate(facts.streams):
        columns += [
            pa.field(f"seconds_{n}", pa.list_(real)),
            pa.field(f"numbers_{n}", pa.list_(pa.int64())),
            pa.field(f"shots_{n}", pa.list_(pa.int64())),
            pa.field(f"found_{n}", real),
            pa.field(f"features_{n}", pa.list_(pa.list_(pa.float16(), width))),
        ]
    columns.append(pa.field(CHECKSUMS, LATER_COLUMNS[CHECKSUMS]))
    return pa.schema(columns, metadata={FACTS: facts.to_json()})


def stream_columns(facts: SeaFacts) -> list[str]:
    """The columns that hold frame features."""
    parts = ("seconds", "numbers", "shots", "found", "features")
    return [f"{part}_{n}" for n in range(len(facts.streams)) for part in parts]


def to_table(rows: Sequence[Row], facts: SeaFacts, *, frame_features: bool = True) -> pa.Table:
    """Rows as columns, without frame features if so asked; the record adds their checksums."""
    entries = [row.entry for row in rows]
    columns: dict[str, Any] = {
        each.name: [getattr(entry.clip, each.name) for entry in entries] for each in fields(Clip)
    }
    columns |= {name: [getattr(entry, name) for entry in entries] for name in ENTRY_FIELDS}
    columns |= {
        "frames": [len(row.encoding.seconds) for row in rows],
        "mean": vectors_column(np.stack([row.encoding.mean for row in rows])),
        "trajectory": vectors_column(np.stack([row.encoding.trajectory for row in rows])),
    }
    if frame_features:
        for n in range(len(facts.streams)):
            streams = [row.encoding.streams[n] for row in rows]
            features = np.concatenate([stream.features for stream in streams]).astype(np.float16)
            columns[f"seconds_{n}"] = [stream.seconds for stream in streams]
            columns[f"numbers_{n}"] = [stream.frames for stream in streams]
            columns[f"shots_{n}"] = [stream.shots for stream in streams]
            columns[f"found_{n}"] = [stream.found for stream in streams]
            ends = np.cumsum([0] + [len(stream.seconds) for stream in streams], dtype=np.int32)
            columns[f"features_{n}"] = pa.ListArray.from_arrays(ends, vectors_column(features))
    wanted = schema(facts)
    missing = {name: pa.nulls(len(rows), wanted.field(name).type) for name in wanted.names}
    return pa.table(missing | columns, schema=wanted)


def vectors_column(matrix: NDArray[Any]) -> pa.Array:
    """(N, d) as a column of N vectors of fixed length."""
    return pa.FixedSizeListArray.from_arrays(pa.array(matrix.ravel()), matrix.shape[1])


def matrix(column: pa.ChunkedArray | pa.Array) -> Floats:
    """(N, d) out of a column of N vectors of fixed length, without a copy where that is possible."""
    array = one_array(column)
    flat = array.flatten().to_numpy(zero_copy_only=False)
    return np.asarray(flat.reshape(len(array), array.type.list_size))


def encodings(table: pa.Table, facts: SeaFacts, *, half: bool = False) -> list[Encoding | None]:
    """The encodings of rows read with `stream_columns`, and with mean and trajectory if these are wanted;
    None where there are no features. With `half`, features stay in half precision, as they are stored."""
    means, trajectories = (
        matrix(table[part]) if part in table.column_names else np.empty((len(table), 0), np.float32)
        for part in ("mean", "trajectory")
    )
    streams = [_streams(table, n, name, half) for n, (name, _) in enumerate(facts.streams)]
    found: list[Encoding | None] = []
    for at, of_row in enumerate(zip(*streams, strict=True)):
        there = tuple(stream for stream in of_row if stream is not None)
        found.append(
            Encoding(facts.fingerprint, there, means[at], trajectories[at])
            if len(there) == len(of_row)
            else None
        )
    return found


def encoding_batch(
    table: pa.Table, facts: SeaFacts, order: Indices, read_numbers: Callable[[], Indices]
) -> EncodingBatch | None:
    """The encodings of rows with one stream, read with `SCORED_COLUMNS`; None if one keeps no features.

    Encoding n is that of row order[n].
    """
    found = one_array(table["found_0"])
    if found.null_count:
        return None
    (seconds, of_frames), (features, _), (shots, of_shots) = (
        flat_lists(table[name]) for name in ("seconds_0", "features_0", "shots_0")
    )
    name, spans = facts.streams[0][0], (of_frames[order], of_shots[order])
    shares = found.to_numpy()[order]
    return EncodingBatch(facts.fingerprint, name, seconds, features, shots, *spans, shares, read_numbers)


def numbers_of(table: pa.Table) -> Indices:
    """The numbers of all frames of the leading stream, one clip after the other."""
    return np.asarray(flat_lists(table[NUMBERS])[0])


def _streams(table: pa.Table, n: int, name: str, half: bool) -> list[Stream | None]:
    from seasync.alignment.kernels import single

    seconds, numbers, shots = (lists(table[f"{part}_{n}"]) for part in ("seconds", "numbers", "shots"))
    features = lists(table[f"features_{n}"], np.asarray if half else single)
    found = table[f"found_{n}"].to_pylist()
    columns = zip(found, seconds, numbers, features, shots, strict=True)
    return [None if share is None else Stream(name, s, f, x, cuts, share) for share, s, f, x, cuts in columns]


def lists(column: pa.ChunkedArray, convert: Callable[[Any], Any] = np.asarray) -> list[Any]:
    """The lists of a column as arrays (an empty one for null), sliced out of one that is converted whole."""
    flat, spans = flat_lists(column)
    flat = convert(flat)
    return [flat[start:end] for start, end in spans.tolist()]


def flat_lists(column: pa.ChunkedArray) -> tuple[NDArray[Any], Indices]:
    """All values of a column of lists one after the other, and where each list begins and ends, (B, 2)."""
    array = one_array(column)
    ends = array.offsets.to_numpy().astype(np.int64)
    values = array.values[ends[0] : ends[-1]]
    flat = matrix(values) if hasattr(values.type, "list_size") else values.to_numpy()
    ends -= ends[0]
    return flat, np.stack([ends[:-1], ends[1:]], axis=1)


def one_array(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    return column.combine_chunks() if hasattr(column, "combine_chunks") else column
