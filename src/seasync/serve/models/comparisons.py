"""Models of comparisons: pairs of videos that people keep, name and reopen."""

from __future__ import annotations

from pydantic import Field

from seasync.options import Side
from seasync.serve.models.alignments import AlignmentRequest
from seasync.serve.models.fields import Id, Model, Name

NO_SEA = "-"  # the name under which uploads are compared without any sea


class ComparisonRequest(Model):
    """A comparison to keep."""

    name: Name | None = Field(default=None, description="Default: the names of the two videos.")
    sea: str = Field(
        default=NO_SEA,
        max_length=100,
        description="The sea whose clips are compared. `-`: uploads only, without a sea.",
        examples=[NO_SEA, "footage"],
    )
    alignment: AlignmentRequest
    grid: bool = Field(
        default=False,
        description="Whether it is a grid: the query leads, the match and `takes` of the alignment follow.",
    )


class ComparisonUpdate(Model):
    """Changes of a comparison. What is missing stays as it is."""

    name: Name | None = None
    alignment: AlignmentRequest | None = None


class Comparison(Model):
    """Two videos that somebody compares, or several in a grid. Uploads stay as long as it needs them."""

    id: Id
    name: str
    sea: str
    alignment: AlignmentRequest
    grid: bool = Field(default=False, description="Whether it opens as a grid of several videos.")
    videos: dict[Side, str] = Field(description="Names of the files of query and match.")
    created: float = Field(description="Seconds since 1970.")
    changed: float
