"""Fit the curves of "the same movement" that are shipped: `python -m benchmarks.calibrations DIR [--write]`.

DIR is the folder of sets that `benchmarks.world` takes. A curve belongs to an encoder and to the values of a
recipe (its fingerprint), so there is one for each grid that commands use: 15 points a second in a sea, 30 for
two clips that are aligned alone. Pairs are drawn at even odds: half show the same movement; of the others,
half are of the same set where it has several movements. Another curve is fitted to the first matches of
searches, half of them among clips that do not show the query's movement. The error is that of all together,
each rated by a curve that was fitted to the other sets.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.goals import Goals, parser
from benchmarks.world_sets import CachedEncoder, Doubles, FootageSet, drawn_at_even_odds, fill, load_sets
from seasync import Sea
from seasync.alignment import MOTION, Recipe, judge, score_many
from seasync.alignment.judge import Calibration, pair_similarity
from seasync.clip import Clip
from seasync.encoding import Encoding
from seasync.pair import end_of, pair_fps
from seasync.sea.calibration import Rated, first_matches, fit_curve, measured
from seasync.sea.search import Matches

PAIRS = 4  # of each clip: twice as many of the same movement, as many of each kind of others
ENCODERS = ("dinov2-small", "dinov2-small-whole")
FILE = Path(judge.__file__).with_name("calibrations.json")
ERROR = 0.05


def main() -> int:
    arguments = parser(__doc__, "folder")
    arguments.add_argument("--encoders", nargs="+", default=ENCODERS, help="fit only these")
    arguments.add_argument("--clips", type=int, default=1000, help="at most so many of each set")
    arguments.add_argument("--write", action="store_true", help="put the curves into the package")
    options = arguments.parse_args()
    sets, goals, curves = [each.some(options.clips) for each in load_sets(options.folder)], Goals(options), []
    for name in options.encoders:
        encoder = CachedEncoder(name)
        for of, alone in (("pair", False), ("pair", True), ("search", False)):
            recipe = replace(MOTION, grid_fps=30.0) if alone else MOTION
            rated = rate_searches(sets, encoder) if of == "search" else rate_pairs(sets, encoder, recipe)
            curve = fit(rated)
            known = {key: round(value, 3) for key, value in vars(curve).items() if value is not None}
            names = {"of": of, "encoder": encoder.fingerprint, "recipe": recipe.fingerprint}
            curves.append({**names, "grid_fps": recipe.grid_fps, **known})
            what = f"{name}, {of} at {recipe.grid_fps:g} points a second"
            print(f"{what}: {curves[-1]}", flush=True)
            goals.at_most(f"{what}: error", curve.error or 0.0, ERROR)
    if options.write:
        write(curves)
    return goals.finish({"curves": curves})


def rate_pairs(sets: Sequence[FootageSet], encoder: CachedEncoder, recipe: Recipe) -> dict[str, Rated]:
    """Of each set, its clips with others of the same and of another movement."""
    rng = np.random.default_rng(0)
    encoded = [_encode(encoder, file, recipe) for each in sets for file in each.files]
    labels = np.array([label for each in sets for label in each.labels])
    own = np.array([each.name for each in sets for _ in each.files])
    rated: dict[str, list[Rated]] = {each.name: [] for each in sets}
    for at, clip in enumerate(encoded):
        chosen = drawn_at_even_odds(rng, labels, own, at, PAIRS)
        scores = score_many(clip, [encoded[n] for n in chosen], recipe=recipe, partial="auto")
        apart = np.array([1 - pair_similarity(clip, encoded[n]) for n in chosen])
        same = labels[chosen] == labels[at]
        rated[own[at]].append(Rated(apart * scores.best_score, same, np.zeros(len(chosen), bool)))
    return {name: Rated.joined(parts) for name, parts in rated.items()}


def _encode(encoder: CachedEncoder, file: Path, recipe: Recipe) -> Encoding:
    alone = recipe.grid_fps != MOTION.grid_fps
    fps = pair_fps(encoder, end_of(Clip.of(file))) if alone else encoder.fps
    return encoder.encode_clip(Clip.of(file), fps=fps, cache=True)


def rate_searches(sets: Sequence[FootageSet], encoder: CachedEncoder) -> dict[str, Rated]:
    """Of each set, the first matches of its clips, with and without the movement in the sea.

    Each clip is searched for in a sea of its own set, and in one sea of all sets.
    """
    found: dict[str, list[Rated]] = {each.name: [] for each in sets}
    with tempfile.TemporaryDirectory() as folder:
        every = fill(Path(folder, "every"), sets, encoder)
        for each in sets:
            for filled in (fill(Path(folder, each.name), [each], encoder), every):

                def search(ids: Sequence[str], where: str, sea: Sea = filled.sea) -> Sequence[Matches]:
                    return sea.search_many(ids, k=1, where=where)

                clips = [
                    (filled.id_of(file), label) for file, label in zip(each.files, each.labels, strict=True)
                ]
                found[each.name].append(first_matches(search, clips))
    return {name: Rated.joined(parts) for name, parts in found.items()}


def fit(rated: dict[str, Rated]) -> Calibration:
    """The curve of all, with its errors on sets that it was not fitted to."""
    return measured(Rated.joined(list(rated.values())), np.concatenate(list(left_out(rated).values())))


def left_out(rated: dict[str, Rated]) -> dict[str, Doubles]:
    """What a curve that was fitted to the other sets says of each set."""
    found = {}
    for name, own in rated.items():
        others = Rated.joined([each for other, each in rated.items() if other != name])
        found[name] = fit_curve(others.product, others.same).probability(own.product)
    return found


def write(curves: Sequence[dict[str, object]]) -> None:
    """Put these curves into the file, in place of those of the same encoder and grid."""
    kept = json.loads(FILE.read_text(encoding="utf-8"))
    keys = ("of", "encoder", "grid_fps")
    fitted = {tuple(curve[key] for key in keys) for curve in curves}
    others = [curve for curve in kept["curves"] if tuple(curve.get(key) for key in keys) not in fitted]
    rows = ",\n".join(f"  {json.dumps(curve)}" for curve in [*curves, *others])
    FILE.write_text(f'{{"curves": [\n{rows}\n]}}\n', encoding="utf-8")


if __name__ == "__main__":
    raise SystemExit(main())
