"""Takes from files, folders or a sea, encoded; and the calls that users make with them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from seasync.alignment import MOTION, Recipe
from seasync.clip import Clip
from seasync.encoders import DEFAULT, Encoder, encode_clip, get_encoder
from seasync.errors import DataError, FeatureError, SeasyncError, UnknownClips
from seasync.files import Place, is_uri
from seasync.group.align_takes import group_of, medoid
from seasync.group.carry import TOLERANCE_SECONDS, CarriedMarks, Carrier, LabeledClip, expect_inside
from seasync.group.clock import Group, Judge, LeftOut, Take
from seasync.group.episodes import from_episodes
from seasync.group.timing import marks_of, take_name
from seasync.marks import (
    FrameSeconds,
    MarkedClips,
    clip_names,
    expect_some_checked,
    frame_seconds,
    is_checked,
    read_marks,
)
from seasync.pair import end_of
from seasync.sea.calibration import judged_pair
from seasync.sea.sources import find_videos
from seasync.sea.stored_clips import StoredClips

if TYPE_CHECKING:
    from seasync.sea.sea import Sea

Progress = Callable[[str, int, int], None]
Asked = Clip | Place


def align_group(
    reference: Asked | None,
    takes: Asked | Sequence[Asked] | Sea,
    *,
    label: str | None = None,
    encoder: Encoder | str = DEFAULT,
    recipe: Recipe = MOTION,
    fps: float | None = None,
    consensus: bool = True,
    cache: bool = True,
    progress: Progress | None = None,
) -> Group:
    """Put several takes of one movement on one clock.

    Parameters
    ----------
    reference : str, Path, Clip or None
        The take whose clock the group uses: a file, or in a sea also a clip's id. None: the take that fits
        the others best.
    takes : str, Path, Clip, sequence of these, or Sea
        Video files and folders; or a sea, whose stored features are used without opening the videos.
    label : str, optional
        Only clips of the sea with this label.
    encoder : str or Encoder
        What makes the frame features of files. A sea uses its own encoder.
    recipe : Recipe
    fps : float, optional
        Frames of files to sample per second. Default: the encoder's own.
    consensus : bool
        Let the takes correct each other's alignment.
    cache : bool
        Keep the encodings of files in the cache folder, and use those that are there.
    progress : callable, optional
        Called with what is being done, how much is done, and of how much.

    Returns
    -------
    Group
        Takes that do not align, or cannot be read, are listed in its `left_out`.

    Raises
    ------
    FeatureError
        If there are no takes, or none aligns with the reference.
    VideoError
        If the reference cannot be read.

    Examples
    --------
    >>> group = seasync.align_group("model.mp4", "pupils/")
    >>> tempo = group.tempo_mean  # at each moment, beside the reference
    """
    from seasync.sea.sea import Sea

    judge: Judge | None = None
    if isinstance(takes, Sea):
        found, left_out, own = _of_sea(takes, reference, label)
        judge = partial(judged_pair, takes.record.snapshot())
    else:
        model = get_encoder(encoder) if isinstance(encoder, str) else encoder
        found, left_out, own = _of_files(reference, takes, model, fps, cache, progress)
    if own is None and found:
        own = found.pop(medoid(found, recipe=recipe))
    if own is None:
        where = f" with the label {label!r}" if label else ""
        raise FeatureError(f"an empty group: expected at least two takes{where}")
    report = None if progress is None else (lambda done, total: progress("aligning", done, total))
    return group_of(
        own, found, recipe=recipe, consensus=consensus, left_out=left_out, judge=judge, progress=report
    )


def _of_files(
    reference: Asked | None,
    takes: Asked | Sequence[Asked],
    model: Encoder,
    fps: float | None,
    cache: bool,
    progress: Progress | None,
) -> tuple[list[Take], list[LeftOut], Take | None]:
    """The takes that can be read, those that cannot, and the reference."""

    def encoded(clip: Clip) -> Take:
        return Take(clip, encode_clip(clip, model, fps=fps, cache=cache), end_of(clip))

    own = None if reference is None else encoded(Clip.of(reference))
    asked = [takes] if isinstance(takes, Clip | str | PathLike) else list(takes)
    clips = [clip for each in asked for clip in ([each] if isinstance(each, Clip) else clips_in(each))]
    clips = [clip for clip in clips if own is None or not _same(clip, own.clip)]
    found: list[Take] = []
    left_out: list[LeftOut] = []
    for number, clip in enumerate(clips, 1):
        try:
            found.append(encoded(clip))
        except SeasyncError as error:
            left_out.append(LeftOut(clip, str(error)))
        if progress:
            progress("encoding", number, len(clips))
    return found, left_out, own


def carry_over_sea(
    sea: Sea,
    marks: MarkedClips | Place,
    *,
    label: str | None = None,
    where: str | None = None,
    recipe: Recipe = MOTION,
    tolerance_seconds: float = TOLERANCE_SECONDS,
    progress: Progress | None = None,
) -> tuple[list[LabeledClip], list[CarriedMarks]]:
    """Carry the marks of a sea's labeled clips to all its others.

    Parameters
    ----------
    sea : Sea
    marks : mapping or path
        Marks of some clips, by id, path or file name; or a marks file (see `seasync.marks.read_marks`). A
        clip counts as labeled if a mark of it has no confidence: then a person has set or checked it.
    label, where : str, optional
        Only clips with this label, or that fulfil this SQL condition.
    recipe : Recipe
    tolerance_seconds : float
        Confidence is how likely a mark is this near to the truth.
    progress : callable, optional
        Called with what is being done, how much is done, and of how much.

    Returns
    -------
    labeled : list of LabeledClip
    carried : list of CarriedMarks
        All other clips, in the order they were added.

    Raises
    ------
    DataError
        If no clip of the sea has marks, or a mark lies outside its clip.

    Warns
    -----
    UnknownClips
        If some marks are of clips that the sea does not have.
    """
    stored = StoredClips.of(sea.record.snapshot(), label=label, where=where)
    if isinstance(marks, str | PathLike):
        marks = read_marks(marks, _stored_frame_seconds(stored))
    marks = from_episodes(stored, marks)
    own = {n: found for n, clip in enumerate(stored.clips) if is_checked(found := marks_of(clip, marks))}
    if not own:
        expect_some_checked(marks)
        known = ", ".join(sorted(marks)[:3]) or "no clip"
        raise DataError(f"the marks are of {known}: expected clips of this sea, by id, path or file name")
    _warn_of_unknown(sea, marks, stored.clips)
    labeled = [
        LabeledClip(stored.clips[n], encoding, tuple(own[n]))
        for n, encoding in zip(own, stored.encodings(list(own)), strict=True)
    ]
    expect_inside(labeled, [float(stored.ends[n]) for n in own])
    rest = [n for n in range(len(stored)) if n not in own]
    judge = partial(judged_pair, stored.snapshot)
    carrier = Carrier(labeled, recipe=recipe, tolerance_seconds=tolerance_seconds, judge=judge)
    report = None if progress is None else (lambda done, total: progress("carrying marks", done, total))
    carried = carrier.carry(
        [stored.clips[n] for n in rest],
        lambda numbers: stored.encodings([rest[n] for n in numbers]),
        progress=report,
    )
    return labeled, carried


def _warn_of_unknown(sea: Sea, marks: MarkedClips, chosen: Sequence[Clip]) -> None:
    """Warn of marks that are of no clip of the sea, whether it was chosen or not."""
    if rest := marks.keys() - _names(chosen):
        rest -= _names(sea.record.snapshot().clips())
    if rest:
        some = ", ".join(sorted(rest)[:3]) + (", …" if len(rest) > 3 else "")
        warnings.warn(
            f"marks of {len(rest)} clips that are not in this sea are ignored: {some}",
            UnknownClips,
            stacklevel=3,
        )


def _names(clips: Sequence[Clip]) -> set[str]:
    return {name for clip in clips for name in (*clip_names(clip), take_name(clip))}


def _stored_frame_seconds(stored: StoredClips) -> FrameSeconds:
    """Frame times of stored clips, read when a mark asks for them."""
    places = {name: n for n, clip in enumerate(stored.clips) for name in clip_names(clip)}

    def seconds(clip: str, frame: float) -> float | None:
        if clip not in places:
            return None
        n = places[clip]
        (encoding,) = stored.encodings([n])
        return frame_seconds([(stored.clips[n], encoding)])(clip, frame)

    return seconds


def clips_in(path: Place) -> list[Clip]:
    """The videos of a file, folder, pattern or list, as clips."""
    return [
        Clip(str(source.file), source.start or 0.0, source.end, label=source.label)
        for source in find_videos([path])
    ]


def _of_sea(
    sea: Sea, reference: Asked | None, label: str | None
) -> tuple[list[Take], list[LeftOut], Take | None]:
    own = None
    if reference is not None:
        query = sea.query(reference if isinstance(reference, Clip) else str(reference))
        own = Take(query.clip or Clip(str(reference)), query.encoding, query.end)
    stored = StoredClips.of(sea.record.snapshot(), label=label)
    chosen = [n for n, clip in enumerate(stored.clips) if own is None or not _same(clip, own.clip)]
    takes = [
        Take(stored.clips[n], encoding, float(stored.ends[n]))
        for n, encoding in zip(chosen, stored.encodings(chosen) if chosen else (), strict=True)
    ]
    reason = "the sea keeps only its clip vector; add it again with frame features"
    return takes, [LeftOut(clip, reason) for clip in stored.without_features], own


def _same(one: Clip, other: Clip) -> bool:
    if one.id is not None and other.id is not None:
        return one.id == other.id
    first, second = (clip.file if is_uri(clip.file) else Path(clip.file).absolute() for clip in (one, other))
    return first == second and (one.start, one.end) == (other.start, other.end)
