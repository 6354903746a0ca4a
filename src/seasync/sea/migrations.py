"""Numbered migrations of the on-disk format.

Only a writer migrates, with exclusive access. A reader opens older formats as they are: columns that came
later read as null.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from seasync.errors import SeaError
from seasync.sea.rows import FACTS, FORMAT, SeaFacts

if TYPE_CHECKING:
    import lance

Migration = Callable[["lance.LanceDataset"], None]


def _add_damage(dataset: lance.LanceDataset) -> None:
    """2: how much of a damaged clip could be read."""
    import pyarrow as pa

    if "damage" not in dataset.schema.names:  # else an earlier try was interrupted after this step
        dataset.add_columns(pa.field("damage", pa.string()))


MIGRATIONS: Mapping[int, Migration] = {1: _add_damage}
"""Format number → what brings a sea of that format to the next. Formats are never skipped."""


def facts_of(dataset: lance.LanceDataset) -> SeaFacts:
    """The facts of the sea in a dataset.

    Raises
    ------
    SeaError
        If the dataset is not a sea, or was made by a newer Seasync.
    """
    text = (dataset.schema.metadata or {}).get(FACTS.encode())
    if text is None:
        raise SeaError(f"{dataset.uri}: a Lance dataset, but not a sea; expected one made by `seasync add`")
    facts = SeaFacts.from_json(text.decode())
    if facts.format > FORMAT:
        raise SeaError(
            f"{dataset.uri}: made by a newer Seasync (format {facts.format}, this one reads up to {FORMAT}); "
            "upgrade with `pip install -U seasync`"
        )
    return facts


def migrate(
    dataset: lance.LanceDataset, *, to: int = FORMAT, migrations: Mapping[int, Migration] = MIGRATIONS
) -> None:
    """Bring a sea to format `to`, step by step; each step is committed before the next.

    You must be the only writer. Interrupted, it continues with the step that was not finished.
    """
    facts = facts_of(dataset)
    for number in range(facts.format, to):
        migrations[number](dataset)
        dataset.update_schema_metadata({FACTS: replace(facts, format=number + 1).to_json()})
