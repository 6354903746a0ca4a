"""Models of labeling a collection: marks of a few clips carried to all others."""

from __future__ import annotations

from pydantic import Field

from seasync.options import MarkKind
from seasync.serve.models.fields import Model, Moment, Name
from seasync.serve.models.marks import Marks
from seasync.serve.models.seas import Clip


class LabelingRequest(Model):
    """Which marks are carried to which clips."""

    marks: list[Marks] | None = Field(
        default=None,
        max_length=10_000,
        description="Marks of the labeled clips. Default: all marks that people set on clips of this sea.",
    )
    label: Name | None = Field(default=None, description="Only clips with this label.")
    tolerance: float = Field(
        default=0.1,
        ge=0.001,
        le=60,
        allow_inf_nan=False,
        description="Confidence is how likely a mark is this near to the truth, in seconds.",
    )


class CarriedMark(Model):
    """A mark that was carried to a clip."""

    kind: MarkKind
    name: Name
    seconds: Moment
    confidence: float = Field(ge=0, le=1, description="How likely it is within the tolerance.")


class CarriedClip(Model):
    """A clip and the marks that were carried to it."""

    clip: Clip
    confidence: float = Field(description="Of the most doubtful mark; 0 if nothing aligns with this clip.")
    sure: bool = Field(description="Whether nobody needs to check it.")
    sources: int = Field(description="How many clips the marks come from.")
    marks: list[CarriedMark]


class CarriedPage(Model):
    """Clips with carried marks, the most doubtful first. Clips that people marked since are left out."""

    labeled: int = Field(description="Clips whose marks were carried.")
    total: int = Field(description="Clips that the marks were carried to.")
    doubtful: int = Field(description="Those of them that a person should check.")
    outdated: bool = Field(
        description="Whether the marks that people set differ from those that were carried: carry again."
    )
    label: str | None = Field(description="The clips' label, if only clips with one were asked for.")
    tolerance: float
    offset: int
    clips: list[CarriedClip]
