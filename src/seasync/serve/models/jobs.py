"""Models of background jobs."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from seasync.serve.models.fields import Id, Model


class Job(Model):
    """A background job and its progress."""

    id: Id
    kind: Literal["add", "ahead", "body", "carry", "film", "grid", "proxy"] = Field(
        description="`ahead`: a film that is made before anybody asks for it."
    )
    sea: str
    title: str
    state: Literal["queued", "running", "done", "failed", "cancelled"]
    attempts: int = Field(description="Above 1 if the server stopped during the job and started it again.")
    progress: float = Field(description="From 0 to 1.")
    message: str
    error: str | None
    result: dict[str, Any] | None
    created: float
    started: float | None
    ended: float | None

    @property
    def is_over(self) -> bool:
        """Whether the job has ended, well or not."""
        return self.state in ("done", "failed", "cancelled")
