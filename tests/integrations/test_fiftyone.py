"""FiftyOne: samples into a sea, matches back as fields and views.

FiftyOne keeps datasets in MongoDB, which its package downloads when it is built. Where that is impossible, no
dataset can be made, so `Collection` stands in for one. If the real package is installed, what the stand-in
offers is compared with it; with a database as well (its own, or the one at FIFTYONE_DATABASE_URI), a real
dataset goes the same way.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from seasync import Sea
from seasync.errors import DataError
from seasync.integrations.fiftyone import add_samples, similar_samples, write_matches
from tests.encoders.models import colour_grid
from tests.sea.footage import videos


@dataclass
class Collection:
    """The documented methods of a dataset that the integration calls, over plain samples."""

    samples: list[dict[str, Any]]
    media_type: str = "video"
    views: list[list[str]] = field(default_factory=list)

    def values(self, field_or_expr: str) -> list[Any]:
        return [sample.get(field_or_expr) for sample in self.samples]

    def set_values(self, field_name: str, values: Mapping[str, Any], *, key_field: str | None = None) -> None:
        assert key_field == "id"
        for sample in self.samples:
            if sample["id"] in values:
                sample[field_name] = values[sample["id"]]

    def select(self, sample_ids: Any, ordered: bool = False) -> list[dict[str, Any]]:
        assert ordered
        by_id = {sample["id"]: sample for sample in self.samples}
        return [by_id[each] for each in sample_ids]


@pytest.fixture
def dataset(tmp_path: Path) -> Collection:
    files = sorted(videos(tmp_path / "clips", 9).glob("*/*.mp4"))
    return Collection(
        [
            {"id": f"{n:024x}", "filepath": str(file), "truth": SimpleNamespace(label=file.parent.name)}
            for n, file in enumerate(files)
        ]
    )


@pytest.fixture
def sea(tmp_path: Path) -> Sea:
    return Sea(tmp_path / "a.sea", f"onnx:{colour_grid(tmp_path / 'grid.onnx', cells=8)}")


def test_samples_become_clips_and_matches_become_fields(dataset: Collection, sea: Sea) -> None:
    assert add_samples(dataset, sea, label_field="truth").added == 9
    assert add_samples(dataset, sea, label_field="truth").added == 0
    labels = {clip.label for clip in sea.record.snapshot().clips()}
    assert labels == {sample["truth"].label for sample in dataset.samples}
    assert write_matches(dataset, sea) == 9
    by_id = {sample["id"]: sample for sample in dataset.samples}
    for sample in dataset.samples:
        other = by_id[sample["seasync_match"]]
        assert other is not sample
        assert other["filepath"] == sample["seasync_file"]
        assert 0 <= sample["seasync_draq"] < 2
        assert isinstance(sample["seasync_alignable"], bool)
        moments = sample["seasync_warp"]
        assert moments == sorted(moments)
        assert all(len(pair) == 2 for pair in moments)
    same = [
        sample["truth"].label == by_id[sample["seasync_match"]]["truth"].label for sample in dataset.samples
    ]
    assert sum(same) >= 7


def test_similar_samples_are_in_the_order_of_the_search(dataset: Collection, sea: Sea) -> None:
    add_samples(dataset, sea)
    first = SimpleNamespace(filepath=dataset.samples[0]["filepath"])
    view = similar_samples(dataset, first, sea, k=5)
    expected = [match.clip.file for match in sea.search(first.filepath, k=5)]
    assert [sample["filepath"] for sample in view] == expected


def test_pictures_are_refused(sea: Sea) -> None:
    with pytest.raises(DataError, match="media type 'image'"):
        add_samples(Collection([], media_type="image"), sea)


def test_the_stand_in_has_the_signatures_of_the_real_package() -> None:
    collections = pytest.importorskip("fiftyone.core.collections", reason="needs the extra 'fiftyone'")
    real = collections.SampleCollection
    assert isinstance(inspect.getattr_static(real, "media_type"), property)
    for name in ("values", "set_values", "select"):
        ours = set(inspect.signature(getattr(Collection, name)).parameters)
        assert ours <= set(inspect.signature(getattr(real, name)).parameters)
    document = " ".join(real.set_values.__doc__.split())
    assert "key_field" in document
    assert "ordered" in real.select.__doc__


@pytest.fixture
def real_dataset(dataset: Collection) -> Iterator[Any]:
    fiftyone = pytest.importorskip("fiftyone", reason="needs the extra 'fiftyone'")
    try:
        real = fiftyone.Dataset()
    except Exception as error:  # noqa: BLE001  whatever the package raises without its database
        pytest.skip(f"FiftyOne has no database here: {error}")
    real.add_samples(
        [
            fiftyone.Sample(
                filepath=sample["filepath"], truth=fiftyone.Classification(label=sample["truth"].label)
            )
            for sample in dataset.samples
        ],
        progress=False,
    )
    yield real
    real.delete()


def test_a_real_dataset_is_searched_sorted_and_viewed(real_dataset: Any, sea: Sea) -> None:
    assert add_samples(real_dataset, sea, label_field="truth").added == 9
    assert {clip.label for clip in sea.clips()} == set(real_dataset.distinct("truth.label"))
    assert write_matches(real_dataset, sea) == 9
    for sample in real_dataset:
        other = real_dataset[sample["seasync_match"]]
        assert other.id != sample.id
        assert other.filepath == sample["seasync_file"]
        assert isinstance(sample["seasync_alignable"], bool)
        assert all(len(pair) == 2 for pair in sample["seasync_warp"])
    draq = real_dataset.sort_by("seasync_draq").values("seasync_draq")
    assert draq == sorted(draq)
    first = real_dataset.first()
    view = similar_samples(real_dataset, first, sea, k=5)
    expected = [match.clip.file for match in sea.search(first.filepath, k=5)]
    assert view.values("filepath") == expected
    assert write_matches(real_dataset.match_tags("none"), sea) == 0  # a view, here an empty one
