"""Repetitions in one film: features that repeat a planted cycle, at changing tempo, among other movements."""

from itertools import combinations

import numpy as np
import pytest

from seasync.alignment.spans import Span
from seasync.encoders import clip_vector_parts
from seasync.encoding import Encoding, Stream
from seasync.repetitions import _schedule, _trace, find_movements

RATE, WIDTH = 7.5, 12


def encoding(features: np.ndarray) -> Encoding:
    stream = Stream(
        "f", np.arange(len(features)) / RATE, np.arange(len(features)) * 4, features.astype(np.float32)
    )
    return Encoding("e", (stream,), *clip_vector_parts(stream.features, stream.seconds))


def cycle(samples: int, seed: int = 0) -> np.ndarray:
    """Once around a closed curve in feature space, from a pose of rest and back."""
    rng, phase = np.random.default_rng(seed), np.arange(samples)[:, None] / samples
    waves = (
        rng.normal(size=WIDTH) * np.cos(2 * np.pi * k * phase + rng.uniform(0, 6, WIDTH)) / k
        for k in (1, 2, 3)
    )
    return sum(waves) * np.sin(np.pi * phase)


def other(samples: int, seed: int) -> np.ndarray:
    """A movement that does not repeat."""
    return np.cumsum(np.random.default_rng(seed).normal(size=(samples, WIDTH)) * 0.15, axis=0)


def starts_of(parts: list[tuple[bool, np.ndarray]]) -> list[float]:
    begins = np.cumsum([0, *(len(part) for _, part in parts)]) / RATE
    return [float(begin) for begin, (counted, _) in zip(begins, parts, strict=False) if counted]


@pytest.mark.parametrize("seed", range(4))
def test_repetitions_at_changing_tempo_are_found_and_counted(seed: int) -> None:
    lengths = np.random.default_rng(seed).integers(16, 25, 9)
    parts = [(True, cycle(int(length), seed)) for length in lengths]
    first, *_ = find_movements(encoding(np.concatenate([part for _, part in parts])))
    assert len(first.repetitions) == len(parts)
    assert first.bounds[0] <= len(parts) <= first.bounds[1]
    apart = np.array([each.start for each in first.repetitions]) - starts_of(parts)
    assert np.abs(apart - np.median(apart)).max() < 0.6


def test_pauses_and_other_movements_stay_out() -> None:
    rest = np.zeros((12, WIDTH))
    once = (True, cycle(20))
    parts = [(False, other(30, 1)), once, once, (False, rest), once, (False, other(25, 2)), once, once]
    parts.append((False, other(20, 3)))
    first, *_ = find_movements(encoding(np.concatenate([part for _, part in parts])))
    assert len(first.repetitions) == 5
    apart = np.array([each.start for each in first.repetitions]) - starts_of(parts)
    assert np.sort(np.abs(apart - np.median(apart)))[-2] < 0.4  # one may begin before the pause


def test_two_movements_in_one_film_are_told_apart() -> None:
    parts = [cycle(20, 1)] * 5 + [cycle(26, 2)] * 4
    found = find_movements(encoding(np.concatenate(parts)))
    first, second = (movement.repetitions for movement in found)
    assert (len(first), len(second)) in ((5, 4), (5, 3))  # the one beside the other movement may be lost
    assert max(each.start for each in first) < 100 / RATE < min(each.end for each in second)


@pytest.mark.parametrize("seed", range(3))
def test_a_movement_that_is_shown_once_is_no_repetition(seed: int) -> None:
    assert find_movements(encoding(other(60, seed))) == []
    assert find_movements(encoding(np.ones((60, WIDTH)))) == []
    assert find_movements(encoding(other(3, seed))) == []


def test_one_repetition_of_another_film_or_of_the_film_itself_is_a_template() -> None:
    film = encoding(np.concatenate([cycle(18, 1), cycle(22, 1), cycle(20, 2), cycle(20, 2), cycle(24, 1)]))
    [found] = find_movements(film, template=encoding(cycle(20, 1)))
    assert found.template is None
    assert len(found.repetitions) == 3
    [own] = find_movements(film, template=Span(40 / RATE, 60 / RATE))
    assert len(own.repetitions) == 2
    assert find_movements(film, template=encoding(np.ones((9, WIDTH)))) == []


def test_a_long_film_is_searched_in_windows() -> None:
    parts = [other(560, 1), *[cycle(20, 1)] * 6, other(300, 2), *[cycle(26, 2)] * 5, other(100, 3)]
    found = find_movements(encoding(np.concatenate(parts)))
    assert len(found) == 2
    for movement, first, after in zip(found, (980, 560), (1110, 680), strict=True):
        inside = [each for each in movement.repetitions if first <= each.start * RATE <= after]
        assert len(inside) == {980: 5, 560: 6}[first]
        assert len(movement.repetitions) <= len(inside) + 1  # chance fits too


@pytest.mark.parametrize("seed", range(20))
def test_schedule_is_the_best_of_all_sets_of_stretches(seed: int) -> None:
    rng = np.random.default_rng(seed)
    gains = rng.uniform(-0.5, 1, 8).clip(0)
    starts = np.array([rng.integers(0, end + 1) for end in range(8)])
    [total], chosen = _schedule(gains[None], starts[None])
    spans = _trace(chosen[0], starts)

    def apart(ends: tuple[int, ...]) -> bool:
        return all(starts[later] > earlier for earlier, later in combinations(ends, 2))

    sets = [ends for size in range(9) for ends in combinations(range(8), size) if apart(ends)]
    assert total == pytest.approx(max(gains[list(ends)].sum() for ends in sets))
    assert total == pytest.approx(sum(gains[end] for _, end in spans))
    assert all(start == starts[end] for start, end in spans)
