"""Types of fields that several models share."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

HEX = "[0-9a-f]{32}"
LATEST = 1e6  # seconds; no video is longer

Id = Annotated[
    str, StringConstraints(pattern=f"^{HEX}$"), Field(examples=["5f0c3a1e9b7d4c2e8a6f1b3d5e7c9a0b"])
]
Ref = Annotated[
    str,
    StringConstraints(pattern=f"^(clip|upload):{HEX}$"),
    Field(
        description="A video: `clip:ID` for a clip of the sea, `upload:ID` for an upload.",
        examples=["clip:5f0c3a1e9b7d4c2e8a6f1b3d5e7c9a0b"],
    ),
]
Moment = Annotated[float, Field(ge=0, le=LATEST, allow_inf_nan=False)]
Name = Annotated[str, StringConstraints(min_length=1, max_length=120, strip_whitespace=True)]
Pixels = Annotated[int, Field(ge=16, le=4096)]


def _anchor(text: str) -> str:
    if not re.fullmatch(r"\d{1,6}(\.\d{1,9})?=\d{1,6}(\.\d{1,9})?", text):
        raise ValueError("expected QUERY_S=MATCH_S, such as 1.2=3.4")
    return text


AnchorText = Annotated[str, AfterValidator(_anchor), Field(max_length=40, examples=["1.2=3.4"])]


class Model(BaseModel):
    """A model that refuses unknown fields."""

    model_config = ConfigDict(extra="forbid")


class Problem(Model):
    """Why a request failed."""

    detail: str = Field(description="One line: what is wrong, and what to do.", examples=["Not found."])
