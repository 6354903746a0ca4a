"""Models of videos as the page shows them."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from seasync.serve.models.fields import Id, Model, Ref


class Footage(Model):
    """A video or a part of one, and when each of its frames is shown."""

    ref: Ref
    name: str
    file: str
    label: str | None
    start: float
    end: float
    width: int
    height: int
    fps: float | None
    length: float = Field(description="Length of the whole file in seconds.")
    audio: bool
    codec: str
    plays: Literal["direct", "proxy", "needs proxy"] = Field(
        description="How a browser plays it: as it is, through its proxy, or only once a proxy is made."
    )
    first: int = Field(description="Number, in its file, of the first frame of this span.")
    seconds: list[float] = Field(description="When each frame of this span is shown.")


class Upload(Model):
    """An uploaded video. It expires unless it becomes part of a sea."""

    id: Id
    ref: Ref
    name: str
    bytes: int
    width: int
    height: int
    seconds: float
    kept: bool = Field(description="Whether it is part of a sea, and stays.")
