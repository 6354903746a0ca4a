"""Fit the curves of "the same movement" that are shipped: `python -m benchmarks.calibrations DIR [--write]`.

DIR is the folder of sets that `benchmarks.world` takes. A curve belongs to an encoder and to the values of a
recipe (its fingerprint), so there is one for each grid that commands use: 15 points a second in a sea, 30 for
two clips that are aligned alone. Pairs are drawn at even odds: half show the same movement; of the others,
half are of the same set where it has several movements. The error is that of all pairs together, each rated
by a curve that was fitted to the other sets.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.goals import Goals, parser
from benchmarks.world_sets import Doubles, FootageSet, drawn_at_even_odds, load_sets
from seasync.alignment import MOTION, Recipe, judge, score_many
from seasync.alignment.judge import Calibration, pair_similarity
from seasync.clip import Clip
from seasync.encoders import encode_clip, get_encoder
from seasync.encoding import Encoding
from seasync.pair import end_of, pair_fps
from seasync.sea.calibration import calibration_error, fit_curve

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
        encoder = get_encoder(name)
        for alone in (False, True):
            recipe = replace(MOTION, grid_fps=30.0) if alone else MOTION
            encoded = {
                each.name: [
                    encode_clip(
                        file, encoder, fps=pair_fps(encoder, end_of(Clip.of(file))) if alone else encoder.fps
                    )
                    for file in each.files
                ]
                for each in sets
            }
            pairs = dict(draw(sets, encoded, recipe))
            curve = fit(pairs)
            row = {"encoder": encoder.fingerprint, "recipe": recipe.fingerprint, "grid_fps": recipe.grid_fps}
            curves.append(
                row | {key: round(value, 3) for key, value in vars(curve).items() if value is not None}
            )
            print(f"{name}, {recipe.grid_fps:g} points a second: {curves[-1]}", flush=True)
            goals.at_most(f"{name} at {recipe.grid_fps:g}: error", curve.error or 0.0, ERROR)
    if options.write:
        write(curves)
    return goals.finish({"curves": curves})


def draw(
    sets: Sequence[FootageSet], encoded: dict[str, list[Encoding]], recipe: Recipe
) -> Iterator[tuple[str, tuple[Doubles, NDArray[np.bool_]]]]:
    """Each set's name, with the products of its clips' pairs and whether they show the same movement."""
    rng = np.random.default_rng(0)
    clips = [clip for each in sets for clip in encoded[each.name]]
    labels = np.array([label for each in sets for label in each.labels])
    own = np.array([each.name for each in sets for _ in each.files])
    products: dict[str, list[Doubles]] = {each.name: [] for each in sets}
    same: dict[str, list[NDArray[np.bool_]]] = {each.name: [] for each in sets}
    for at, clip in enumerate(clips):
        chosen = drawn_at_even_odds(rng, labels, own, at, PAIRS)
        scores = score_many(clip, [clips[n] for n in chosen], recipe=recipe, partial="auto")
        apart = [1 - pair_similarity(clip, clips[n]) for n in chosen]
        products[own[at]].append(apart * scores.best_score)
        same[own[at]].append(labels[chosen] == labels[at])
    for name in products:
        yield name, (np.concatenate(products[name]), np.concatenate(same[name]))


def fit(pairs: dict[str, tuple[Doubles, NDArray[np.bool_]]]) -> Calibration:
    """The curve of all pairs, with its error on sets that it was not fitted to."""
    rated = []
    for name, (products, _) in pairs.items():
        others = [pair for other, pair in pairs.items() if other != name]
        rated.append(
            Calibration(*fit_curve(*map(np.concatenate, zip(*others, strict=True)))).probability(products)
        )
    products, same = map(np.concatenate, zip(*pairs.values(), strict=True))
    return Calibration(*fit_curve(products, same), calibration_error(np.concatenate(rated), same), len(same))


def write(curves: Sequence[dict[str, object]]) -> None:
    """Put these curves into the file, in place of those of the same encoder and grid."""
    kept = json.loads(FILE.read_text(encoding="utf-8"))
    fitted = {(curve["encoder"], curve["grid_fps"]) for curve in curves}
    others = [curve for curve in kept["curves"] if (curve["encoder"], curve["grid_fps"]) not in fitted]
    rows = ",\n".join(f"  {json.dumps(curve)}" for curve in [*curves, *others])
    FILE.write_text(f'{{"curves": [\n{rows}\n]}}\n', encoding="utf-8")


if __name__ == "__main__":
    raise SystemExit(main())
