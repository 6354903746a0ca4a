"""The repetitions of one film as takes of a group: on one clock, timed, and the odd ones out."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from statistics import median

import numpy as np

from seasync.alignment import MOTION, Recipe, score_many
from seasync.alignment.spans import Span
from seasync.clip import Clip
from seasync.encoders import DEFAULT, Encoder, encode_clip, get_encoder
from seasync.encoders.encoder import cut
from seasync.encoding import Encoding, Seconds
from seasync.errors import DataError, FeatureError
from seasync.files import Place
from seasync.forms import RepetitionForm, RepetitionsForm
from seasync.group.clock import Group, Take, group_of, medoid
from seasync.marks import Mark, MarkedClips, frame_seconds, mark_key, read_marks_of, take_name, write_marks
from seasync.pair import end_of, reading
from seasync.repetitions import Movement, find_movements

ODD = 3.5  # robust deviations from the others, the usual limit for outliers
FEWEST = 5  # with fewer repetitions, nobody can say which one is odd
# Repetitions of one person differ at least so much: in DRAQ with the others, and in the logarithm of seconds.
USUAL_DRAQ, USUAL_LENGTH = 0.05, 0.1
NOTABLE = 0.1  # a change of tempo from the first third to the last that is worth a sentence


@dataclass(frozen=True, eq=False)
class RepeatedMovement:
    """A movement that a film repeats.

    Attributes
    ----------
    film : Clip
    movement : Movement
        Where the repetitions are.
    encoding : Encoding
        The film's.
    end : float
        When the film's last frame ends, in seconds.
    recipe : Recipe

    Examples
    --------
    >>> [squats, *others] = seasync.find_repetitions("squats.mp4")    # doctest: +SKIP
    >>> len(squats), squats.odd()                                     # doctest: +SKIP
    (12, [4])
    """

    film: Clip
    movement: Movement
    encoding: Encoding = field(repr=False)
    end: float = field(repr=False)
    recipe: Recipe = field(default=MOTION, repr=False)

    def __len__(self) -> int:
        return len(self.movement.repetitions)

    def __repr__(self) -> str:
        return f"RepeatedMovement({self.film.name!r}, {len(self)} repetitions)"

    @cached_property
    def takes(self) -> tuple[Take, ...]:
        """Each repetition as a take of its own, in order."""
        found = []
        for each in self.movement.repetitions:
            end = min(each.end, self.end)
            clip = Clip(self.film.file, each.start, end, label=self.film.label)
            found.append(Take(clip, cut(self.encoding, each.start, end), end))
        return tuple(found)

    @cached_property
    def reference(self) -> int:
        """Number of the repetition that is most like the others, from 0."""
        return medoid(self.takes, recipe=self.recipe)

    @cached_property
    def group(self) -> Group:
        """All repetitions on the clock of the one that is most like the others.

        Raises
        ------
        FeatureError
            If there is only one repetition, or none aligns with it.
        """
        others = [take for n, take in enumerate(self.takes) if n != self.reference]
        return group_of(self.takes[self.reference], others, recipe=self.recipe)

    @cached_property
    def seconds(self) -> Seconds:
        """How long each repetition lasts."""
        return np.array([each.end - each.start for each in self.movement.repetitions])

    @cached_property
    def tempo(self) -> Seconds:
        """How fast each repetition is beside the median one: 2 is twice as fast."""
        return np.asarray(np.median(self.seconds) / self.seconds)

    @cached_property
    def oddness(self) -> Seconds:
        """How far each repetition is from the others in usual deviations, by the larger of two measures.

        These are how well it aligns with the others (the median DRAQ), and how long it lasts. All are 0 for
        fewer than five repetitions.
        """
        if len(self) < FEWEST:
            return np.zeros(len(self))
        encodings = [take.encoding for take in self.takes]
        draq = np.zeros(len(self))
        for n, own in enumerate(encodings):
            others = encodings[:n] + encodings[n + 1 :]
            draq[n] = np.median(score_many(own, others, recipe=self.recipe).score)
        misfit = _deviations(draq, USUAL_DRAQ)
        return np.maximum(misfit, np.abs(_deviations(np.log(self.seconds), USUAL_LENGTH)))

    def odd(self) -> list[int]:
        """Numbers of the repetitions that differ from the others, from 1, the oddest first."""
        order = np.argsort(-self.oddness, kind="stable")
        return [int(n) + 1 for n in order if self.oddness[n] > ODD]

    def words(self) -> list[str]:
        """How many there are, how the tempo changes, and which ones differ, in sentences."""
        least, most = self.movement.bounds
        sure = "" if least == most == len(self) else f" (at least {least}, at most {most})"
        found = [f"{len(self)} repetition{'' if len(self) == 1 else 's'}{sure}."]
        third = len(self) // 3
        if third > 1:
            change = median(self.tempo[-third:]) / median(self.tempo[:third]) - 1
            if abs(change) >= NOTABLE:
                faster = "faster" if change > 0 else "slower"
                found.append(f"The last {third} are {abs(change):.0%} {faster} than the first {third}.")
        if odd := self.odd():
            found.append(f"Not like the others: {', '.join(map(str, sorted(odd)))}.")
        return found

    def carry_marks(self, marks: MarkedClips | Place, to: Place | None = None) -> MarkedClips:
        """Carry the marks of one or more repetitions to all others.

        Parameters
        ----------
        marks : mapping or path
            Marks of the film, in its seconds, as `seasync.marks.read_marks` reads them.
        to : str or Path, optional
            A marks file to write.

        Returns
        -------
        mapping of str to sequence of Mark
            Those of the film: each mark once per repetition, named "bottom 1", "bottom 2" and so on.

        Raises
        ------
        DataError
            If no mark lies within a repetition.
        """
        if not isinstance(marks, dict):
            times = frame_seconds([self.film], lambda numbers: [self.encoding for _ in numbers])
            marks = {self.film.file: read_marks_of(self.film, marks, times)}  # type: ignore[arg-type]
        known = [mark for each in marks.values() for mark in each]
        by_take: dict[str, list[Mark]] = {}
        for take in self.group.members:
            clip = take.clip
            inside = [mark for mark in known if clip.start <= mark.seconds < (clip.end or take.end)]
            if inside:
                by_take[take_name(clip)] = [
                    Mark(mark.name, mark.seconds, mark.end and min(mark.end, take.end)) for mark in inside
                ]
        if not by_take:
            raise DataError(f"{self.film.name}: no mark lies within a repetition")
        carried = self.group.carry_marks(by_take)
        numbers = {take_name(take.clip): n for n, take in enumerate(self.takes, 1)}
        placed = [
            Mark(f"{mark.name} {numbers[name]}", mark.seconds, mark.end, mark.confidence)
            for name, each in carried.items()
            for mark in each
        ]
        found = {mark_key(self.film): sorted(placed, key=lambda mark: mark.seconds)}
        if to is not None:
            write_marks(to, found)
        return found

    def save(self, file: Place) -> None:
        """Write the repetitions as marks with starts and ends: .csv, .srt, .vtt or .eaf."""
        each = enumerate(self.movement.repetitions, 1)
        write_marks(file, {self.film.file: [Mark(f"repetition {n}", one.start, one.end) for n, one in each]})

    def form(self) -> RepetitionsForm:
        """The movement in the form that JSON has."""
        least, most = self.movement.bounds
        template, odd = self.movement.template, self.odd()
        rows = zip(self.movement.repetitions, self.tempo.tolist(), self.oddness.tolist(), strict=True)
        return RepetitionsForm(
            film=self.film.form(end=self.end),
            count=len(self),
            at_least=least,
            at_most=most,
            template=None if template is None else (template.start, template.end),
            reference=self.reference + 1,
            repetitions=[
                RepetitionForm(
                    number=n,
                    start=round(one.start, 4),
                    end=round(one.end, 4),
                    fit=round(one.fit, 4),
                    tempo=round(tempo, 4),
                    oddness=round(oddness, 2),
                    odd=n in odd,
                )
                for n, (one, tempo, oddness) in enumerate(rows, 1)
            ],
            summary=self.words(),
        )

    def to_json(self) -> dict[str, object]:
        """Plain values for JSON, as `seasync.forms.RepetitionsForm` describes them."""
        return asdict(self.form())


def _deviations(values: Seconds, usual: float) -> Seconds:
    """How far each value is above the median, in robust standard deviations that are at least `usual`."""
    apart = values - np.median(values)
    return np.asarray(apart / max(1.4826 * float(np.median(np.abs(apart))), usual))


def find_repetitions(
    film: Clip | Place,
    *,
    like: Clip | Place | None = None,
    encoder: Encoder | str = DEFAULT,
    recipe: Recipe = MOTION,
    fps: float | None = None,
    cache: bool = True,
    progress: Callable[[str, float, float], None] | None = None,
) -> list[RepeatedMovement]:
    """Find the movements that a film repeats, and every repetition of each.

    Parameters
    ----------
    film : Clip, path or URI
    like : Clip, path or URI, optional
        One repetition: a clip of the same film, or another video. Default: it is found in the film.
    encoder : Encoder or str
    recipe : Recipe
    fps : float, optional
        Sampled frames per second. Default: the encoder's own.
    cache : bool
        Keep encodings in the cache folder and use those that are there.
    progress : callable, optional
        Called as ``progress(what, done, total)`` with the seconds of footage that are encoded.

    Returns
    -------
    list of RepeatedMovement
        The one that explains most of the film first; empty if nothing repeats.

    Examples
    --------
    >>> for movement in seasync.find_repetitions("squats.mp4"):    # doctest: +SKIP
    ...     print(movement.words())
    """
    model = get_encoder(encoder) if isinstance(encoder, str) else encoder
    asked = Clip.of(film)
    end = end_of(asked)
    encoding = encode_clip(asked, model, fps=fps, cache=cache, progress=reading(asked, progress))
    template = None if like is None else _template(Clip.of(like), asked, end, model, fps, cache, progress)
    if progress is not None:
        progress("looking for repetitions", 0, 0)
    movements = find_movements(encoding, recipe=recipe, template=template)
    return [RepeatedMovement(asked, movement, encoding, end, recipe) for movement in movements]


def _template(
    like: Clip,
    film: Clip,
    end: float,
    model: Encoder,
    fps: float | None,
    cache: bool,
    progress: Callable[[str, float, float], None] | None,
) -> Encoding | Span:
    if like.file != film.file:
        return encode_clip(like, model, fps=fps, cache=cache, progress=reading(like, progress))
    span = Span(like.start, end if like.end is None else like.end)
    if not film.start <= span.start < span.end <= end:
        raise FeatureError(f"{like.name}: expected one repetition within {film.start:g}–{end:g} s")
    return span


def repeated(movements: Sequence[RepeatedMovement], number: int) -> RepeatedMovement:
    """One of the movements, counted from 1.

    Raises
    ------
    FeatureError
        If nothing repeats, or there are fewer.
    """
    if not movements:
        raise FeatureError("nothing repeats in this film; give one repetition as a template (like)")
    if not 1 <= number <= len(movements):
        raise FeatureError(f"movement {number}: the film repeats {len(movements)}; expected 1 to that")
    return movements[number - 1]
