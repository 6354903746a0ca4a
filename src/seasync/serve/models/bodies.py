"""Models of bodies (joints and their angles) and of drawings on the pictures."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from seasync.options import Side
from seasync.serve.models.alignments import AlignmentRequest
from seasync.serve.models.fields import Model, Moment, Ref

Degrees = float | None
Share = Annotated[float, Field(ge=-1, le=2, allow_inf_nan=False)]
POINTS = {"line": 2, "angle": 3, "circle": 2}


class Body(Model):
    """The joints of the person who moves most in a video, frame by frame."""

    ref: Ref
    found: float = Field(description="Share of the frames in which a person was found. 0: nobody.")
    note: str | None = Field(description="What to know about the result, in words.")
    names: list[str] = Field(description="Names of the joints.")
    seconds: list[float]
    joints: list[list[tuple[float, float, float]] | None] = Field(
        description="For each frame and joint: x and y as shares of the picture's width and height, and how "
        "surely it is in sight (0 to 1). Null where nobody was found."
    )


class AnglesRequest(AlignmentRequest):
    """An alignment whose bodies are compared."""

    mirror: bool = Field(
        default=False, description="Compare the left side of the query with the right side of the match."
    )
    raw: bool = Field(
        default=False,
        description="Give the angles as they were found in each frame. Otherwise a short filter (a Gaussian "
        "of 50 ms) takes out their jitter.",
    )


class JointAngle(Model):
    """One angle of both bodies, in degrees in the plane of the picture. Null where it is not known."""

    name: str = Field(examples=["left knee"])
    query: list[Degrees]
    match: list[Degrees]
    difference: list[Degrees] = Field(description="Match minus query.")


class Angles(Model):
    """The angles of both bodies over synced time."""

    seconds: dict[Side, list[float]] = Field(description="The moments, in seconds of each video.")
    angles: list[JointAngle]
    notes: list[str] = Field(description="What to know about the result, such as a video without a person.")


class Drawing(Model):
    """A shape that somebody drew on the pictures of a synced frame."""

    kind: Literal["line", "angle", "circle"]
    seconds: Moment = Field(description="The moment it belongs to, in seconds of the query.")
    points: list[tuple[Share, Share]] = Field(
        min_length=2,
        max_length=3,
        description="Shares of the picture's width and height: both ends of a line; the ends of both legs of "
        "an angle with its vertex between them; the center of a circle and a point on it.",
        examples=[[(0.2, 0.5), (0.8, 0.5)]],
    )
    always: bool = Field(default=False, description="Whether it is shown at every moment.")

    @model_validator(mode="after")
    def _has_its_points(self) -> Self:
        if len(self.points) != POINTS[self.kind]:
            raise ValueError(f"{self.kind}: expected {POINTS[self.kind]} points, got {len(self.points)}")
        return self


class Drawings(Model):
    """The drawings on two videos."""

    query: Ref
    match: Ref
    drawings: list[Drawing] = Field(default=[], max_length=200)
