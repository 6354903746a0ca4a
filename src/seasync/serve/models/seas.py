"""Models of the server, its seas and their clips."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from seasync.options import CHOICES, Split
from seasync.serve.models.fields import Id, Model, Name, Ref

SeaName = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,59}$"),
    Field(description="Letters, digits, dots, hyphens and underscores.", examples=["my-takes"]),
]
ClipOrder = Literal["added", "name", "label", "length"]
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
    deletable: bool = Field(default=False, description="Whether it was made here and can be deleted here.")


class Clip(Model):
    """A clip of a sea. Seconds count from the first frame of the file."""

    ref: Ref
    id: Id
    name: str = Field(description="The name that somebody gave it, else the name of the file.")
    file: str
    start: float
    end: float
    label: str | None = None
    tags: list[str] = Field(default=[])
    viewable: bool = Field(description="Whether the file exists inside the served folders.")


class ClipUpdate(Model):
    """Changes of a clip. What is missing stays as it is; an empty name or label removes it."""

    name: Annotated[str, StringConstraints(max_length=120, strip_whitespace=True)] | None = Field(
        default=None,
        description="Name to show. Empty: the name of the file again.",
        examples=["My best take"],
    )
    label: Annotated[str, StringConstraints(max_length=120, strip_whitespace=True)] | None = Field(
        default=None, description="Empty: no label.", examples=["squat"]
    )
    tags: list[Name] | None = Field(default=None, max_length=32, examples=[["side view", "2026"]])


class SeaRequest(Model):
    """A sea to make in the server's own folder."""

    name: SeaName


class Phone(Model):
    """How a phone on the same network opens the page."""

    address: str = Field(description="Address of the page, with the access token.")
    qr: str = Field(description="The address as a QR code: an SVG picture.")


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
