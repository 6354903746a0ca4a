"""Same-action retrieval on real clips, with and without re-ranking: `python -m benchmarks.retrieval DIR...`

Each DIR holds `ACTION/*.mp4`, or `clips/*.mp4` of one action that is called like the DIR. All clips of all
folders are one sea; each is the query once. Printed for the paper's recipe and for motion, in the order of
the clip vectors and re-ranked: R@1, P@10 and R@10 of the same action, and of the first match FPE (cycle error
in sampled frames, squared): mean and median.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.goals import Goals, parser
from seasync.alignment import MOTION, PAPER, Recipe, align_encodings
from seasync.clip import Clip
from seasync.encoders import content_hash, encode_clip, get_encoder
from seasync.encoding import Encoding
from seasync.evaluate.metrics import fpe, partners, precision_at, recall_at
from seasync.sea.rows import ClipEntry, Row, SeaFacts, clip_id
from seasync.sea.sea import Sea
from seasync.sea.sources import find_videos

RANKINGS = {"motion": ("none", "product", "draq"), "paper": ("none", "draq", "dtw")}


def main() -> int:
    arguments = parser(__doc__)
    arguments.add_argument("folders", type=Path, nargs="+")
    arguments.add_argument("--encoder", default="dinov2-small", help="for the motion recipe")
    arguments.add_argument("--baseline", default="dinov2-small-cls", help="for the paper's recipe")
    options = arguments.parse_args()
    clips = [Clip(str(source.file), label=action_of(source.file)) for source in find_videos(options.folders)]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for recipe, encoder in (
            (PAPER, options.baseline),
            (PAPER, options.encoder),
            (MOTION, options.encoder),
        ):
            sea = Sea(Path(folder) / f"{encoder}.sea", encoder)
            if not len(sea):
                fill(sea, clips)
            rows += [measure(sea, recipe, encoder, rerank) for rerank in RANKINGS[recipe.name]]
    print(f"\n{len(clips)} clips of {len({clip.label for clip in clips})} actions")
    names = ("R@1", "P@10", "R@10", "FPE", "median")
    print(f"{'recipe':8}{'encoder':18}{'re-ranked by':14}" + "".join(f"{name:>8}" for name in names))
    for row in rows:
        print(
            "{recipe:8}{encoder:18}{rerank:14}{r1:8.3f}{p10:8.3f}{r10:8.3f}{fpe:8.2f}{fpe_median:8.2f}".format(
                **row
            )
        )
    motion = next(row for row in rows if (row["recipe"], row["rerank"]) == ("motion", "none"))
    goals = Goals(options)
    goals.at_least("R@1 of motion before re-ranking", float(motion["r1"]), 0.99)
    goals.at_least("P@10 of motion before re-ranking", float(motion["p10"]), 0.96)
    return goals.finish(rows)


def action_of(file: Path) -> str:
    return file.parent.parent.name if file.parent.name == "clips" else file.parent.name


def fill(sea: Sea, clips: list[Clip]) -> None:
    """Add clips by way of the cache of encodings, so that a second run need not encode again."""
    encoder = get_encoder(sea.encoder().name)
    rows = []
    for at, clip in enumerate(clips, 1):
        encoding, content = encode_clip(clip, encoder), content_hash(clip.file)
        named = Clip(clip.file, label=clip.label, id=clip_id(content, 0.0, None))
        duration = float(encoding.seconds[-1]) + 1 / encoder.fps
        rows.append(Row(ClipEntry(named, content, duration), encoding))
        print(f"\r{encoder.name}: {at}/{len(clips)} clips", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    sea.record.append(rows, SeaFacts.of(encoder.name, encoder.fps, rows[0].encoding))


def measure(sea: Sea, recipe: Recipe, encoder: str, rerank: str) -> dict[str, str | float]:
    queries = sea.clips()
    found = sea.search_many(queries, k=10, recipe=recipe, rerank=rerank)
    same = [
        [match.clip.label == query.label for match in matches]
        for query, matches in zip(queries, found, strict=True)
    ]
    snapshot = sea.record.snapshot()
    kept = snapshot.encodings(snapshot.table([])["_rowid"].to_numpy())
    encodings = {clip.id: encoding for clip, encoding in zip(queries, kept, strict=True) if encoding}
    errors = [
        cycle_error(encodings[query.id], encodings[matches[0].clip.id], recipe)
        for query, matches in zip(queries, found, strict=True)
    ]
    return {
        "recipe": recipe.name,
        "encoder": encoder,
        "rerank": rerank,
        "r1": float(recall_at(same, 1).mean()),
        "p10": float(precision_at(same, 10).mean()),
        "r10": float(recall_at(same, 10).mean()),
        "fpe": float(np.mean(errors)),
        "fpe_median": float(np.median(errors)),
    }


def cycle_error(one: Encoding, other: Encoding, recipe: Recipe) -> float:
    """FPE of a pair, whole to whole, in sampled frames whatever the recipe's grid."""
    ways = ((one, other), (other, one))
    there, back = (align_encodings(*pair, recipe=recipe, partial="never") for pair in ways)
    forward, backward = (
        partners(way.path, len(way.match_seconds), keep="match", readout=recipe.readout)
        for way in (there, back)
    )
    finer = len(there.query_seconds) / len(one.seconds)
    return fpe(forward, backward) / finer**2


if __name__ == "__main__":
    sys.exit(main())
