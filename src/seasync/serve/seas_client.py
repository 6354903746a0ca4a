"""The part of the client for seas and their clips, uploads and adding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

from seasync.files import Location, Place, fetch
from seasync.options import Split
from seasync.serve import models
from seasync.serve.jobs_client import JobsClient
from seasync.serve.models import Clip, Job, SeaInfo, Upload


class SeasClient(JobsClient):
    """Seas of a server. `Client` inherits these calls."""

    def server(self) -> models.ServerInfo:
        """Describe the server: its seas, its limits, and the choices that requests offer."""
        return self._http.model(models.ServerInfo, "GET", "")

    def seas(self) -> list[SeaInfo]:
        """All seas with their statistics."""
        return [SeaInfo(**one) for one in self._http.ask("GET", "/seas").json()]

    def sea(self, sea: str) -> SeaInfo:
        """One sea with its statistics."""
        return self._http.model(SeaInfo, "GET", f"/seas/{sea}")

    def make_sea(self, name: str) -> SeaInfo:
        """Make an empty sea in the server's own folder."""
        return self._http.model(SeaInfo, "POST", "/seas", json={"name": name})

    def delete_sea(self, sea: str) -> None:
        """Delete a sea that `make_sea` has made."""
        self._http.ask("DELETE", f"/seas/{sea}")

    def phone(self) -> models.Phone:
        """The address for a phone on the same network, with the token, also as a QR code."""
        return self._http.model(models.Phone, "GET", "/phone")

    def clips(
        self,
        sea: str,
        *,
        text: str = "",
        label: str | None = None,
        order: models.ClipOrder = "added",
        reverse: bool = False,
    ) -> Iterator[Clip]:
        """All clips with this text in their path, name, label or tags, and with this label; page by page."""
        asked: dict[str, Any] = {"text": text, "limit": 500, "order": order, "reverse": reverse}
        asked |= {} if label is None else {"label": label}
        offset = 0
        while True:
            asked["offset"] = offset
            page = self._http.model(models.ClipPage, "GET", f"/seas/{sea}/clips", params=asked)
            yield from page.clips
            offset += len(page.clips)
            if offset >= page.total or not page.clips:
                return

    def clip(self, sea: str, clip: str) -> Clip:
        """The clip with this id."""
        return self._http.model(Clip, "GET", f"/seas/{sea}/clips/{clip}")

    def change(
        self,
        sea: str,
        clip: str,
        *,
        name: str | None = None,
        label: str | None = None,
        tags: Sequence[str] | None = None,
    ) -> Clip:
        """Change the name, the label or the tags of the clip with this id. "" removes a name or label."""
        asked = models.ClipUpdate(name=name, label=label, tags=None if tags is None else list(tags))
        body = asked.model_dump(exclude_none=True)
        return self._http.model(Clip, "PATCH", f"/seas/{sea}/clips/{clip}", json=body)

    def remove(self, sea: str, clip: str) -> None:
        """Remove the clip with this id from the sea."""
        self._http.ask("DELETE", f"/seas/{sea}/clips/{clip}")

    def upload(self, file: Place, *, compare: bool = False) -> Upload:
        """Upload a video. With `compare`, the server starts to encode it at once, for a comparison."""
        path = fetch(file)
        params = {"name": Location(file).name, "compare": str(compare).lower()}
        length = {"Content-Length": str(path.stat().st_size)}
        with path.open("rb") as opened:
            answer = self._http.ask("POST", "/uploads", params=params, content=opened, headers=length)
        return Upload(**answer.json())

    def uploads(self) -> list[Upload]:
        """All uploads, the most recently used first."""
        return [Upload(**one) for one in self._http.ask("GET", "/uploads").json()]

    def uploaded(self, upload: str) -> Upload:
        """The upload with this id."""
        return self._http.model(Upload, "GET", f"/uploads/{upload}")

    def delete_upload(self, upload: str) -> None:
        """Delete an upload that is part of no sea and no comparison."""
        self._http.ask("DELETE", f"/uploads/{upload}")

    def add(
        self,
        sea: str,
        *,
        paths: Sequence[str] = (),
        uploads: Sequence[str] = (),
        split: Split | float = "none",
        label: str | None = None,
        labels: Literal["folder"] | None = None,
        tags: Sequence[str] = (),
    ) -> Job:
        """Start to add videos in the background; `AddRequest` has the arguments. See `wait`."""
        asked = models.AddRequest(
            paths=list(paths),
            uploads=list(uploads),
            split=split,
            label=label,
            labels=labels,
            tags=list(tags),
        )
        return self._http.model(Job, "POST", f"/seas/{sea}/add", json=asked.model_dump())
