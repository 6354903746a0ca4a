"""FiftyOne: the videos of a dataset in a sea, and what a search finds as fields and views of the dataset.

    import fiftyone as fo
    from seasync.integrations import fiftyone as in_step

    dataset = fo.load_dataset("swings")
    in_step.add_samples(dataset, sea, label_field="ground_truth")
    in_step.write_matches(dataset, sea)                        # seasync_draq, seasync_match, seasync_warp, …
    session = fo.launch_app(in_step.similar_samples(dataset, dataset.first(), sea))

Needs the extra `fiftyone`. Only what FiftyOne documents of datasets and views is used: `media_type`,
`values`, `set_values` and `select`.
"""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seasync.errors import DataError
from seasync.files import is_uri
from seasync.integrations import moments_in_step

if TYPE_CHECKING:
    from seasync.sea.ingest import Added
    from seasync.sea.sea import Sea
    from seasync.sea.search import Match

WARP_POINTS = 25


def add_samples(
    samples: Any,
    sea: Sea,
    *,
    label_field: str | None = None,
    split: str | float = "none",
    progress: Callable[[Added], None] | None = None,
) -> Added:
    """Add the videos of a dataset or view to a sea. Videos that it already has cost nothing.

    Parameters
    ----------
    samples : fiftyone.Dataset or fiftyone.DatasetView
        Samples with videos.
    sea : Sea
    label_field : str, optional
        A field with a `Classification` or a string, which becomes the label of the clip.
    split, progress
        As in `Sea.add`.

    Returns
    -------
    Added
        The counts. Videos that cannot be read are in its `failed`.

    Raises
    ------
    DataError
        If these are not videos.
    """
    columns = {"file": list(_files(samples).values())}
    if label_field is not None:
        columns["label"] = [_label(value) for value in samples.values(label_field)]
    with tempfile.TemporaryDirectory() as folder:
        listed = Path(folder, "samples.csv")
        with listed.open("w", newline="", encoding="utf-8", errors="surrogateescape") as opened:
            csv.writer(opened).writerows([columns, *zip(*columns.values(), strict=True)])
        return sea.add(listed, split=split, progress=progress)


def write_matches(samples: Any, sea: Sea, *, prefix: str = "seasync", label: str | None = None) -> int:
    """Search the sea for every sample and write the best match into fields of the samples.

    The fields are `PREFIX_match` (id of the sample that was found, if it is one of these), `PREFIX_file`,
    `PREFIX_draq`, `PREFIX_similarity`, `PREFIX_alignable`, and `PREFIX_warp`: pairs of seconds, of the sample
    and of the match, that belong together.

    Parameters
    ----------
    samples : fiftyone.Dataset or fiftyone.DatasetView
        Samples with videos; those that are not in the sea are encoded.
    sea : Sea
    prefix : str
        How the names of the fields begin.
    label : str, optional
        Only find clips with this label.

    Returns
    -------
    int
        For how many samples something was found.
    """
    files = _files(samples)
    ids = {file: sample for sample, file in files.items()}
    found = {sample: sea.search(file, k=1, label=label) for sample, file in files.items()}
    best = {sample: matches[0] for sample, matches in found.items() if matches}
    values: dict[str, Callable[[Match], Any]] = {
        "match": lambda match: ids.get(match.clip.file),
        "file": lambda match: match.clip.file,
        "draq": lambda match: float(match.draq),
        "similarity": lambda match: float(match.similarity),
        "alignable": lambda match: bool(match.alignable),
        "warp": _warp,
    }
    for name, value in values.items():
        column = {sample: value(match) for sample, match in best.items()}
        samples.set_values(f"{prefix}_{name}", column, key_field="id")
    return len(best)


def similar_samples(samples: Any, sample: Any, sea: Sea, *, k: int = 10) -> Any:
    """A view of the samples that move in step with one of them, best first.

    Parameters
    ----------
    samples : fiftyone.Dataset or fiftyone.DatasetView
        Where to look. Clips of the sea that are not among them are left out.
    sample : fiftyone.Sample or str
        The sample, or the path or URI of any video.
    sea : Sea
    k : int
        How many clips of the sea to look at.

    Returns
    -------
    fiftyone.DatasetView
        In the order of the search.
    """
    ids = {file: each for each, file in _files(samples).items()}
    query = _absolute(getattr(sample, "filepath", sample))
    found = [ids[match.clip.file] for match in sea.search(query, k=k) if match.clip.file in ids]
    return samples.select(list(dict.fromkeys(found)), ordered=True)


def _files(samples: Any) -> dict[str, str]:
    """The video of each sample, by the sample's id."""
    if samples.media_type != "video":
        raise DataError(
            f"expected a FiftyOne dataset of videos, got one of media type {samples.media_type!r}"
        )
    pairs = zip(samples.values("id"), samples.values("filepath"), strict=True)
    return {str(sample): _absolute(file) for sample, file in pairs}


def _absolute(file: str) -> str:
    """As a sea names its files."""
    return file if is_uri(file) else str(Path(file).resolve())


def _label(value: Any) -> str:
    """The label of a `Classification`, or the text itself; none is empty."""
    return str(getattr(value, "label", value) or "")


def _warp(match: Match) -> list[list[float]]:
    pieces = match.alignment.warp(keep="query").stretches
    pairs = moments_in_step(pieces, max(2, WARP_POINTS // len(pieces)))
    return [[round(at, 4), round(shown, 4)] for at, shown in pairs]
