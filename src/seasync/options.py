"""The vocabulary: every choice that users meet, defined once.

The command line, the HTTP API, the page, the Python API and the docs take their allowed values from here.
Import a type for annotations; `values` lists what it allows, `expect` checks an argument against it.

>>> values(Partial)
('auto', 'never', 'always')
"""

from collections.abc import Mapping
from typing import Any, Literal, get_args

# Alignment
RecipeName = Literal["motion", "paper"]
Partial = Literal["auto", "never", "always"]
Order = Literal["same", "any"]
Readout = Literal["first", "mean"]
Grade = Literal["fits best", "fits", "doubtful"]
Side = Literal["query", "match"]

# What encoders run on
DeviceName = Literal["auto", "cpu", "cuda", "coreml", "directml", "openvino"]

# Search and seas
Rerank = Literal["order", "product", "draq", "dtw", "none", "evidence"]
Split = Literal["none", "shots", "reps"]  # or a number of seconds
IndexKind = Literal["auto", "exact", "ivf_rq", "ivf_pq"]
MarkKind = Literal["moment", "phase"]

# Films, pictures and timelines
PairLayout = Literal["side", "stack", "overlay"]  # both clips in one film
FilmLayout = Literal[PairLayout, "retime"]
Layout = Literal[FilmLayout, "grid", "curve"]
Audio = Literal["query", "match", "mix", "none"]
Smooth = Literal["nearest", "blend", "pieces"]
Gaps = Literal["dim", "skip", "alone"]
VideoFormat = Literal["mp4", "mov", "mkv", "webm", "m4v"]
AnimationFormat = Literal["webp", "gif"]
FilmFormat = Literal["mp4", "mov", "mkv", "webm", AnimationFormat]
PictureFormat = Literal["png", "svg"]
TimelineFormat = Literal["csv", "json", "otio", "fcpxml", "edl", "mlt", "xml"]

# Training and evaluation
TrainKind = Literal["taught", "nms", "carl", "tcc", "tcn", "sal", "lav", "gta"]
DatasetKind = Literal["penn", "ucf101", "kinetics", "events", "features", "folder", "sea"]
PhaseProtocol = Literal["carl", "tcc"]


def values(kind: Any) -> tuple[str, ...]:
    """The allowed values of one of the types above, in their order."""
    return get_args(kind)


def suffixes(kind: Any) -> tuple[str, ...]:
    """The file name endings of a format type, such as `.mp4`."""
    return tuple(f".{value}" for value in values(kind))


def expect(name: str, value: str | None, kind: Any, error: type[Exception] = ValueError) -> None:
    """Raise `error` unless `value` is allowed by `kind`; `name` is the argument's name in the message."""
    if value not in values(kind):
        raise error(f"{name}={value!r}: expected one of {', '.join(values(kind))}")


CHOICES: Mapping[str, tuple[str, ...]] = {
    "recipe": values(RecipeName),
    "partial": values(Partial),
    "order": values(Order),
    "keep": values(Side),
    "rerank": values(Rerank),
    "split": values(Split),
    "mark": values(MarkKind),
    "layout": values(FilmLayout),
    "audio": values(Audio),
    "smooth": values(Smooth),
    "gaps": values(Gaps),
    "film": values(FilmFormat),
    "animation": values(AnimationFormat),
    "timeline": values(TimelineFormat),
}
"""What the HTTP API offers a page, by the name of the request's field."""
