"""Several takes of one movement, from files, folders or a sea, on the clock of one of them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from html import escape
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from seasync.alignment import MOTION, Alignment, Recipe, Warp, align_many, score_many
from seasync.alignment.consensus import apply_consensus
from seasync.alignment.judge import LIKELY
from seasync.clip import Clip
from seasync.encoders import DEFAULT, Encoder, encode_clip, get_encoder
from seasync.encoding import Encoding, Floats, Indices, Seconds
from seasync.errors import FeatureError, RenderError, SeasyncError
from seasync.files import Place, is_uri
from seasync.marks import Mark, MarkedClips, frame_seconds, read_marks, write_marks
from seasync.options import Side, expect
from seasync.pair import end_of
from seasync.sea.calibration import judged
from seasync.sea.snapshot import StoredClips
from seasync.sea.sources import find_videos
from seasync.svg import Svg

if TYPE_CHECKING:
    from seasync.group.resample import Resampled
    from seasync.group.timing import Timing
    from seasync.sea.sea import Sea

# An alignment with the verdict that a sea gives it.
Judge = Callable[[Alignment], Alignment]
# Tempo is the slope over this much time before and after a moment: shorter, and it shows the grid's steps.
TEMPO_SECONDS = 0.15
# A take's clock starts while the movement begins: when these shares of all motion are over.
STARTED, UNDER_WAY = 0.03, 0.25
UNUSUAL_SPREADS, UNUSUAL_SECONDS = 2.0, 0.1  # a take so far from the group is unusual at that moment


@dataclass(frozen=True, eq=False)
class Take:
    """One performance: its clip, its frame features, and where its last frame ends.

    Attributes
    ----------
    clip : Clip
    encoding : Encoding
    end : float
        When the last frame ends, in seconds of the file.
    """

    clip: Clip
    encoding: Encoding
    end: float


@dataclass(frozen=True, eq=False)
class AlignedTake:
    """A take and its alignment; the reference is the alignment's query."""

    clip: Clip
    alignment: Alignment

    @cached_property
    def warp(self) -> Warp:
        """The smoothed map from the reference's seconds to the take's."""
        return self.alignment.warp(keep="query").smooth()


@dataclass(frozen=True)
class LeftOut:
    """A take that is not part of the group, and why."""

    clip: Clip
    reason: str


@dataclass(frozen=True, eq=False)
class Group:
    """Takes of one movement on one clock: the reference's.

    Attributes
    ----------
    reference : Clip
        The take whose clock the group uses.
    takes : tuple of AlignedTake
        The takes that align with the reference, in the order given.
    left_out : tuple of LeftOut
        The takes that do not, and those that cannot be read.
    seconds : ndarray [shape=(N,)]
        The moments of the common clock, in seconds of the reference's file.
    frame_seconds : float
        How long one frame of the reference is shown, in seconds.
    members : tuple of Take
        The reference and the aligned takes with their features.
    recipe : Recipe
        What aligned the takes; it also carries marks between them.
    judge : callable or None
        Gives an alignment the verdict of the calibrated sea that the takes come from.

    Examples
    --------
    >>> len(seasync.align_group("model.mp4", "pupils/").takes)
    3
    """

    reference: Clip
    takes: tuple[AlignedTake, ...]
    left_out: tuple[LeftOut, ...]
    seconds: Seconds
    frame_seconds: float
    members: tuple[Take, ...] = field(repr=False)
    recipe: Recipe = MOTION
    judge: Judge | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        return f"Group({self.reference.name!r}, {len(self.takes)} takes, {len(self.left_out)} left out)"

    def __len__(self) -> int:
        return len(self.takes)

    @property
    def motion(self) -> Floats:
        """How much moves at each moment of the reference, 1 on average. [shape=(N,)]"""
        return self.takes[0].alignment.query_motion

    @property
    def percent(self) -> Seconds:
        """Normalized time: 0 at the start of the reference, 100 at its end. [shape=(N,)]"""
        first, last = self.seconds[0], self.seconds[-1]
        return np.asarray(100 * (self.seconds - first) / max(last - first, 1e-9))

    def at(self, seconds: Seconds | Sequence[float]) -> Seconds:
        """When moments of the reference happen in each take.

        Parameters
        ----------
        seconds : array_like [shape=(M,)]
            Moments, in seconds of the reference's file.

        Returns
        -------
        ndarray [shape=(K, M)]
            Seconds of each take's file; NaN where the take shows nothing of that moment.
        """
        moments = np.asarray(seconds, np.float64)
        rows = [np.where(take.warp.covers(moments), take.warp.at(moments), np.nan) for take in self.takes]
        return np.array(rows).reshape(len(rows), len(moments))

    @cached_property
    def tempo(self) -> Seconds:
        """How fast each take moves beside the reference: 2 is twice as fast. [shape=(K, N)]"""
        before = np.maximum(self.seconds - TEMPO_SECONDS, self.seconds[0])
        after = np.minimum(self.seconds + TEMPO_SECONDS, self.seconds[-1])
        passed = self.at(after) - self.at(before)
        with np.errstate(divide="ignore", invalid="ignore"):
            tempo = (after - before) / np.maximum(passed, self.frame_seconds / 4)
        return np.where(np.isfinite(passed) & (after > before), tempo, np.nan)

    @cached_property
    def tempo_mean(self) -> Seconds:
        """Geometric mean of the takes' tempo at each moment. [shape=(N,)]"""
        return np.exp(over_takes(np.nanmean, np.log(self.tempo)))

    @cached_property
    def tempo_spread(self) -> Seconds:
        """Standard deviation of the takes' tempo at each moment, as a factor: 1.1 is ± 10 %. [shape=(N,)]"""
        return np.exp(over_takes(np.nanstd, np.log(self.tempo)))

    @cached_property
    def ahead(self) -> Seconds:
        """How far each take is ahead of the group, in seconds; below 0 is behind. [shape=(K, N)]

        A take's own clock starts while the movement begins: at the median of its delays there, weighted by
        motion. So takes that are cut differently, or wait before they begin, can be compared.
        """
        delays = self.at(self.seconds) - self.seconds
        share = np.cumsum(self.motion) / max(float(self.motion.sum()), 1e-12)
        early = (share >= STARTED) & (share <= UNDER_WAY)
        for row in delays:
            known = np.isfinite(row)
            first = known & early if (known & early).any() else known
            if first.any():
                row -= weighted_median(row[first], self.motion[first] + 1e-9)
        return np.asarray(over_takes(np.nanmean, delays) - delays)

    def unusual(self) -> NDArray[np.bool_]:
        """Where each take is far ahead of the group, or far behind. [shape=(K, N)]"""
        spread = over_takes(np.nanstd, self.ahead)
        return np.asarray(np.abs(self.ahead) > np.maximum(UNUSUAL_SPREADS * spread, UNUSUAL_SECONDS))

    def outliers(self) -> list[tuple[AlignedTake, float]]:
        """The takes with their root-mean-square distance from the group in seconds, the farthest first.

        Moments in which much moves count more.
        """
        known = np.isfinite(self.ahead)
        weights = np.where(known, self.motion, 0.0)
        squares = np.where(known, self.ahead, 0.0) ** 2
        distances = np.sqrt((weights * squares).sum(1) / np.maximum(weights.sum(1), 1e-12))
        order = np.argsort(-distances, kind="stable").tolist()
        return [(self.takes[n], float(distances[n])) for n in order]

    def timing(self, marks: MarkedClips | Place) -> "Timing":
        """When each mark happens in each take, and how long each phase lasts.

        Parameters
        ----------
        marks : mapping or path
            Marks of the reference, or of any takes: a marks file (see `seasync.marks.read_marks`), or marks
            by clip.

        Raises
        ------
        DataError
            If no clip of the group has marks, or a mark lies outside its clip.
        """
        from seasync.group.timing import timing_of

        return timing_of(self, self._marks(marks))

    def carry_marks(
        self, marks: MarkedClips | Place, to: Place | None = None, *, tolerance_seconds: float = 0.1
    ) -> dict[str, tuple[Mark, ...]]:
        """Carry the marks of the labeled takes to all others.

        Parameters
        ----------
        marks : mapping or path
            Marks of some takes, as in `timing`.
        to : str or Path, optional
            A marks file to write.
        tolerance_seconds : float
            Confidence is how likely a mark is this near to the truth.

        Returns
        -------
        dict of str to tuple of Mark
            By take; marks that were carried over have a confidence.
        """
        from seasync.group.carry import carry_in_group

        found = carry_in_group(self, self._marks(marks), tolerance_seconds=tolerance_seconds)
        if to is not None:
            write_marks(to, found)
        return found

    def resample(self, tables: Mapping[str, Place] | Place, *, points: int = 101) -> "Resampled":
        """Bring per-frame tables of the takes (angles, forces, sensors) to the common clock.

        Parameters
        ----------
        tables : mapping of str to path, or a folder
            The table of each take by the take's name; in a folder, .csv and .npy files named like the takes.
        points : int
            Moments from 0 to 100 % of the reference.

        Raises
        ------
        DataError
            If no take has a table, or a table does not fit its take.
        """
        from seasync.group.resample import resample, tables_in

        return resample(
            self, tables_in(tables) if isinstance(tables, str | PathLike) else tables, points=points
        )

    def _marks(self, marks: MarkedClips | Place) -> MarkedClips:
        if isinstance(marks, str | PathLike):
            clips = [take.clip for take in self.members]
            times = frame_seconds(clips, lambda numbers: [self.members[n].encoding for n in numbers])
            return read_marks(marks, times)
        return marks

    def _repr_html_(self) -> str:
        """The tempo of all takes with its mean, a table of the takes, and who was left out."""
        rows = "".join(
            f"<tr><td>{escape(take.clip.name)}</td><td>{take.alignment.draq:.3f}</td>"
            f"<td>{distance:.2f} s</td></tr>"
            for take, distance in self.outliers()
        )
        left_out = "".join(f"<li>{escape(out.clip.name)}: {escape(out.reason)}</li>" for out in self.left_out)
        return (
            f"<p>{len(self.takes)} takes on the clock of <b>{escape(self.reference.name)}</b></p>"
            f"{_tempo_picture(self)}"
            f"<table><tr><th>take</th><th>DRAQ</th><th>distance from the group</th></tr>{rows}</table>"
            + (f"<p>Not in the group:</p><ul>{left_out}</ul>" if left_out else "")
        )

    def to_json(self) -> dict[str, object]:
        """Plain values for JSON."""
        tempo = zip(self.tempo_mean.tolist(), self.tempo_spread.tolist(), strict=True) if self.takes else ()
        return {
            "reference": _clip_json(self.reference),
            "takes": [
                _clip_json(take.clip) | {"draq": take.alignment.draq, "verdict": take.alignment.verdict}
                for take in self.takes
            ],
            "left_out": [_clip_json(out.clip) | {"reason": out.reason} for out in self.left_out],
            "seconds": self.seconds.round(6).tolist(),
            "percent": self.percent.round(3).tolist(),
            "tempo": [{"mean": _number(mean), "spread": _number(spread)} for mean, spread in tempo],
            "moments": [[_number(moment) for moment in row] for row in self.at(self.seconds).tolist()],
            "ahead": [[_number(moment) for moment in row] for row in self.ahead.tolist()],
        }


def weighted_median(values: Seconds, weights: Seconds) -> float:
    """Where the weights on both sides are equal, between values in proportion."""
    order = np.argsort(values, kind="stable")
    sums = np.cumsum(weights[order])
    return float(np.interp(sums[-1] / 2, sums - weights[order] / 2, values[order]))


def clips_of(alignment: Alignment, keep: Side) -> tuple[Clip, Clip]:
    """The kept clip and the other one; an error if the alignment does not know its files."""
    expect("keep", keep, Side, RenderError)
    if alignment.query is None or alignment.match is None:
        raise RenderError(
            "the alignment does not know its files: align videos with seasync.align, or set query and match "
            "with dataclasses.replace"
        )
    clips = (alignment.query, alignment.match)
    return clips if keep == "query" else (clips[1], clips[0])


def has_partner(warp: Warp, seconds: Seconds) -> NDArray[np.bool_]:
    """Whether the frames shown at `seconds` have one; a frame that begins as a span ends has none."""
    return warp.covers(seconds + 1e-4)


def nearest(sorted_seconds: Seconds, seconds: Seconds) -> NDArray[np.int64]:
    """For each of `seconds` the index of the nearest of `sorted_seconds`."""
    middles = (sorted_seconds[1:] + sorted_seconds[:-1]) / 2
    return np.searchsorted(middles, seconds, side="right").astype(np.int64)


def frame_length(seconds: Seconds, frames: Indices) -> float:
    """The time between two frames of a file, from some frames' times and numbers."""
    return float((seconds[-1] - seconds[0]) / max(frames[-1] - frames[0], 1)) or 1 / 30


def over_takes(average: Callable[..., Seconds], values: Floats | Seconds) -> Seconds:
    """`average` over the takes, the first axis; NaN where no take is, without a warning."""
    some = np.isfinite(values).any(0)
    result = np.full(values.shape[1:], np.nan)
    result[some] = average(values[:, some], axis=0)
    return result


def _number(value: float) -> float | None:
    return round(value, 6) if np.isfinite(value) else None


def _clip_json(clip: Clip) -> dict[str, object]:
    return {"file": clip.file, "start": clip.start, "end": clip.end, "label": clip.label, "clip": clip.id}


# The part of a group's time in which the reference moves.


def while_moving(group: Group, values: Seconds) -> Seconds:
    """Values at the moments of the common clock, with NaN before the movement begins and after it ends.

    Where all stand still, tempo and who is ahead mean nothing.

    Parameters
    ----------
    group : Group
    values : ndarray [shape=(..., N)]
    """
    share = np.cumsum(group.motion) / max(float(group.motion.sum()), 1e-12)
    moving = (share >= STARTED) & (share <= 1 - STARTED)
    return np.where(moving, values, np.nan)


# The picture that notebooks show of a group.


WIDTH, HEIGHT, MARGIN = 420, 130, 8
SLOWEST, FASTEST = 0.4, 2.5  # beyond, a curve leaves the picture


def _tempo_picture(group: Group) -> Svg:
    """Tempo beside the reference over its time: each take thin, the mean thick, the same tempo dashed."""
    label = "Tempo beside the reference; above the dashed line, takes are faster"
    picture = Svg(WIDTH, HEIGHT, label=label, width=WIDTH, height=HEIGHT)
    picture.add("title", label)
    across = MARGIN + (WIDTH - 2 * MARGIN) * group.percent / 100

    def draw(tempo: Seconds, **style: float | str) -> None:
        share = np.log(np.clip(tempo, SLOWEST, FASTEST) / SLOWEST) / np.log(FASTEST / SLOWEST)
        picture.line(across, HEIGHT - MARGIN - (HEIGHT - 2 * MARGIN) * share, fill="none", **style)

    draw(np.ones(len(across)), stroke="#888", stroke_dasharray="4 4")
    for row in group.tempo:
        draw(row, stroke="#3366cc", stroke_opacity=0.3)
    draw(group.tempo_mean, stroke="#e8441f", stroke_width=2.5)
    return picture


Progress = Callable[[str, int, int], None]
Asked = Clip | Place
PairProgress = Callable[[int, int], None]
# Takes are aligned this many at a time: enough to be solved together, few enough to bound the memory.
BATCH = 64
# A medoid is judged by its scores with this many other takes, so that its cost grows with the takes, not
# with their square.
PROBES = 12
# A take that fits the reference must also fit those takes that fit it best, if there are enough of them.
WITNESSES, FEWEST_WITNESSES = 9, 3
# DRAQ may be so much higher than among the witnesses; those that are all but copies of each other count as
# this tight. Chosen on the sample sea, gestures, actions, robots and falls: no take of the same movement is
# lost by it there.
MUCH_WORSE, TIGHT_DRAQ = 0.15, 0.35


def align_group(
    reference: Asked | None,
    takes: "Asked | Sequence[Asked] | Sea",
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
        judge = partial(judged, takes.record.snapshot())
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


def clips_in(path: Place) -> list[Clip]:
    """The videos of a file, folder, pattern or list, as clips."""
    return [
        Clip(str(source.file), source.start or 0.0, source.end, label=source.label)
        for source in find_videos([path])
    ]


def _of_sea(
    sea: "Sea", reference: Asked | None, label: str | None
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


def group_of(
    reference: Take,
    takes: Sequence[Take],
    *,
    recipe: Recipe = MOTION,
    consensus: bool = True,
    left_out: Sequence[LeftOut] = (),
    judge: Judge | None = None,
    progress: PairProgress | None = None,
) -> Group:
    """Put encoded takes on the reference's clock.

    Parameters
    ----------
    reference : Take
    takes : sequence of Take
        All but the reference.
    recipe : Recipe
    consensus : bool
        Let the takes correct each other's alignment, and leave out those that fit the reference alone. The
        cost grows with the takes times twenty.
    left_out : sequence of LeftOut
        Takes that could not be read, to be reported with those that do not align.
    judge : callable, optional
        Gives an alignment the verdict of a sea that is calibrated. Default: the verdict of the pair alone.
    progress : callable, optional
        Called with the takes done and their number.

    Raises
    ------
    FeatureError
        If there are no takes, or none aligns with the reference.
    """
    if not takes:
        reasons = f" ({left_out[0].clip.name}: {left_out[0].reason})" if left_out else ""
        raise FeatureError(f"an empty group: expected at least one take beside the reference{reasons}")
    encodings = [take.encoding for take in takes]
    alignments = align_judged(reference.encoding, encodings, recipe, judge, progress)
    fitting = [n for n, alignment in enumerate(alignments) if alignment.alignable]
    alone = _fit_alone(encodings, alignments, fitting, recipe, judge) if consensus else set()
    refused = [
        LeftOut(take.clip, "does not align with the other takes" if n in alone else alignment.verdict)
        for n, (take, alignment) in enumerate(zip(takes, alignments, strict=True))
        if n in alone or not alignment.alignable
    ]
    fitting = [n for n in fitting if n not in alone]
    if not fitting:
        raise FeatureError(
            f"{reference.clip.name}: none of {len(takes)} takes aligns with this reference; "
            "choose another reference, or takes of the same movement"
        )
    chosen = [alignments[n] for n in fitting]
    if consensus:
        chosen = apply_consensus(chosen, [encodings[n] for n in fitting])
    aligned = tuple(
        AlignedTake(takes[n].clip, each.of(reference.clip, takes[n].clip, ends=(reference.end, takes[n].end)))
        for n, each in zip(fitting, chosen, strict=True)
    )
    return Group(
        reference.clip,
        aligned,
        (*left_out, *refused),
        chosen[0].query_seconds,
        frame_length(reference.encoding.seconds, reference.encoding.frames),
        (reference, *(takes[n] for n in fitting)),
        recipe,
        judge,
    )


def align_judged(
    query: Encoding,
    others: Sequence[Encoding],
    recipe: Recipe,
    judge: Judge | None,
    progress: PairProgress | None = None,
) -> list[Alignment]:
    """One encoding aligned with others, a batch at a time, each with its verdict."""
    alignments: list[Alignment] = []
    for first in range(0, len(others), BATCH):
        batch = others[first : first + BATCH]
        found = align_many(query, batch, recipe=recipe)
        if judge is not None:
            found = [judge(alignment) for alignment in found]
        alignments += found
        if progress:
            progress(len(alignments), len(others))
    return alignments


def _fit_alone(
    encodings: Sequence[Encoding],
    alignments: Sequence[Alignment],
    fitting: Sequence[int],
    recipe: Recipe,
    judge: Judge | None,
) -> set[int]:
    """The takes that fit the reference but not its company: the takes that fit it best.

    One pair is judged by little evidence. A take must be likely the same movement as its witnesses too, and
    must not fit them much worse than they fit each other.
    """
    witnesses = sorted(fitting, key=lambda n: -_likelihood(alignments[n]))[:WITNESSES]
    heard: dict[int, list[Alignment]] = {n: [] for n in fitting}
    among: list[float] = []  # DRAQ of the witnesses with each other
    for witness in witnesses:
        others = [n for n in fitting if n != witness]
        found = align_judged(encodings[witness], [encodings[n] for n in others], recipe, judge)
        for n, alignment in zip(others, found, strict=True):
            heard[n].append(alignment)
            among += [alignment.draq] if n in witnesses else []
    if len(among) < FEWEST_WITNESSES:
        return set()
    limit = max(float(np.median(among)), TIGHT_DRAQ) + MUCH_WORSE

    def fits(said: Sequence[Alignment]) -> bool:
        likely = np.mean([_likelihood(alignment) for alignment in said]) >= LIKELY
        return bool(likely and np.median([alignment.draq for alignment in said]) <= limit)

    return {n for n, said in heard.items() if len(said) >= FEWEST_WITNESSES and not fits(said)}


def _likelihood(alignment: Alignment) -> float:
    """How likely both show the same movement; where that is not known, whether they align."""
    return float(alignment.alignable) if alignment.likelihood is None else alignment.likelihood


def medoid(takes: Sequence[Take], *, recipe: Recipe = MOTION) -> int:
    """The number of the take that fits the others best: the lowest mean score with some of them."""
    if len(takes) < 2:
        return 0
    probes = np.sort(np.random.default_rng(0).permutation(len(takes))[:PROBES])
    total, count = np.zeros(len(takes)), np.zeros(len(takes))
    for probe in probes.tolist():
        others = [n for n in range(len(takes)) if n != probe]
        for first in range(0, len(others), BATCH):
            batch = others[first : first + BATCH]
            encodings = [takes[n].encoding for n in batch]
            total[batch] += score_many(takes[probe].encoding, encodings, recipe=recipe, partial=None).score
            count[batch] += 1
    return int(np.argmin(total / np.maximum(count, 1)))
