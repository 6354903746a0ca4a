"""Models of the server, its seas and their clips."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from seasync.options import CHOICES, Split
from seasync.serve.models.fields import Id, Model, Name, Ref

FilePath = Annotated[str, StringConstraints(min_length=1, max_length=4096)]


class ServerInfo(Model):
    """What the server is, what it has, and which choices its requests offer."""

    version: str
    seas: list[str] = Field(description="Names of the seas. The page opens with the first.")
    roots: list[str] = Field(description="Folders whose files may be added by path.")
    upload_bytes: int = Field(description="Largest upload.")
    video_seconds: float = Field(description="Longest video.")
    span_seconds: float = Field(description="Longest span that a request may ask to encode.")
    choices: dict[str, list[str]] = Field(
        default_factory=lambda: {name: list(values) for name, values in CHOICES.items()},
        description="The allowed values of each choice, by the name of the request's field.",
    )


class SeaInfo(Model):
    """A sea and its statistics."""

    name: str
    uri: str
    clips: int
    files: int = 0
    hours: float = 0.0
    labels: dict[str, int] = Field(default={}, description="Number of clips per label.")
    encoder: str | None = None
    fps: float | None = Field(default=None, description="Sampled frames per second.")
    index: str | None = None
    bytes: int = 0
    version: int = 0


class Clip(Model):
    """A clip of a sea. Seconds count from the first frame of the file."""

    ref: Ref
    id: Id
    name: str = Field(description="Name of the file.")
    file: str
    start: float
    end: float
    label: str | None = None
    tags: list[str] = Field(default=[])
    viewable: bool = Field(description="Whether the file exists inside the served folders.")


class ClipPage(Model):
    """Some of the clips that match a filter."""

    total: int = Field(description="Number of all clips that match.")
    offset: int
    clips: list[Clip]


class AddRequest(Model):
    """Videos to add to a sea: files by their paths on the server, uploads by their ids, or both."""

    paths: list[FilePath] = Field(default=[], max_length=1000)
    uploads: list[Id] = Field(default=[], max_length=1000)
    split: Split | Annotated[float, Field(ge=0.2, le=3600, allow_inf_nan=False)] = Field(
        default="none", description="How to split long videos: `none`, `shots`, or a length in seconds."
    )
    label: Name | None = Field(default=None, description="Label of all clips.")
    labels: Literal["folder"] | None = Field(
        default=None, description="`folder`: each clip gets the name of its folder as its label."
    )
    tags: list[Name] = Field(default=[], max_length=32)
