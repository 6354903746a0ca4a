"""Numbered migrations of the on-disk format."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from seasync.errors import SeaError
from seasync.sea.rows import ABOUT, FORMAT, About

if TYPE_CHECKING:
    import lance

Migration = Callable[["lance.LanceDataset"], None]

MIGRATIONS: Mapping[int, Migration] = {}
"""Format number → what brings a sea of that format to the next. Formats are never skipped."""


def migrate(
    dataset: lance.LanceDataset, *, to: int = FORMAT, migrations: Mapping[int, Migration] = MIGRATIONS
) -> None:
    """Bring a sea to format `to`, step by step; each step is committed before the next.

    Raises
    ------
    SeaError
        If the sea was made by a newer Seasync.
    """
    about = About.from_json(dataset.schema.metadata[ABOUT.encode()].decode())
    if about.format > to:
        raise SeaError(
            f"{dataset.uri}: made by a newer Seasync (format {about.format}, this one reads up to {to}); "
            "upgrade with `pip install -U seasync`"
        )
    for number in range(about.format, to):
        migrations[number](dataset)
        dataset.update_schema_metadata({ABOUT: replace(about, format=number + 1).to_json()})
