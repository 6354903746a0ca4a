"""Models of anchors and marks."""

from __future__ import annotations

from pydantic import Field

from seasync.options import MarkKind
from seasync.serve.models.fields import Model, Moment, Name, Ref


class Anchor(Model):
    """Two moments that correspond, in seconds of query and match."""

    query: Moment
    match: Moment


class Anchors(Model):
    """The anchors that people set between two videos."""

    query: Ref
    match: Ref
    anchors: list[Anchor] = Field(default=[], max_length=64)


class Mark(Model):
    """A key moment, or the start of a phase that lasts until the next one."""

    kind: MarkKind
    name: Name
    frame: int = Field(ge=0, le=10**9)
    seconds: Moment


class Marks(Model):
    """The marks of one video."""

    ref: Ref
    marks: list[Mark] = Field(default=[], max_length=1000)
