"""Google's storage on loopback: an emulator, which has the JSON API that single files go by, and on its
storage the part of the XML API that Lance speaks, written for these tests.
"""

from __future__ import annotations

import hashlib
import re
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from email.utils import formatdate
from functools import partial
from http.server import HTTPServer
from typing import Any, ClassVar
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

from gcp_storage_emulator.exceptions import NotFound
from gcp_storage_emulator.handlers.buckets import create_bucket
from gcp_storage_emulator.handlers.objects import _checksums, _make_object_resource
from gcp_storage_emulator.server import RequestHandler
from gcp_storage_emulator.storage import Storage

JSON = re.compile(r"^/(storage|upload|download|batch|b)(/|\?|$)")


class _Both(RequestHandler):  # type: ignore[misc]
    """One request, by whichever API; requests come one after the other, so each is whole."""

    parts: ClassVar[dict[str, dict[int, bytes]]] = {}

    def do_HEAD(self) -> None:
        self._xml("HEAD")

    def do_GET(self) -> None:
        self._xml("GET") if not JSON.match(self.path) else super().do_GET()

    def do_PUT(self) -> None:
        self._xml("PUT") if not JSON.match(self.path) else super().do_PUT()

    def do_POST(self) -> None:
        self._xml("POST") if not JSON.match(self.path) else super().do_POST()

    def do_DELETE(self) -> None:
        self._xml("DELETE") if not JSON.match(self.path) else super().do_DELETE()

    def _xml(self, method: str) -> None:
        url = urlsplit(self.path)
        bucket, _, name = unquote(url.path).lstrip("/").partition("/")
        query = {key: values[0] for key, values in parse_qs(url.query, keep_blank_values=True).items()}
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            if not name:
                self._list(bucket, query)
            elif "uploads" in query or "uploadId" in query:
                self._multipart(method, bucket, name, query, body)
            elif method == "PUT":
                self._put(bucket, name, body)
            elif method == "DELETE":
                self.storage.delete_file(bucket, name)
                self._answer(204)
            else:
                self._get(method, bucket, name)
        except NotFound:
            code = "NoSuchKey" if bucket in self.storage.buckets else "NoSuchBucket"
            self._answer(404, f"<Error><Code>{code}</Code></Error>".encode())

    def _list(self, bucket: str, query: dict[str, str]) -> None:
        found, folders = self.storage.get_file_list(bucket, query.get("prefix"), query.get("delimiter"))
        inside = "".join(
            f"<Contents><Key>{escape(each['name'])}</Key><Size>{each['size']}</Size>"
            f"<LastModified>{each['updated']}</LastModified><ETag>{each['etag']}</ETag></Contents>"
            for each in found
        )
        above = "".join(
            f"<CommonPrefixes><Prefix>{escape(each)}</Prefix></CommonPrefixes>" for each in folders
        )
        self._answer(200, f"<ListBucketResult>{inside}{above}</ListBucketResult>".encode())

    def _get(self, method: str, bucket: str, name: str) -> None:
        about = self.storage.get_file_obj(bucket, name)
        content = self.storage.get_file(bucket, name)
        headers = {"ETag": about["etag"], "x-goog-generation": about["generation"]}
        headers["Last-Modified"] = formatdate(int(about["generation"]) / 1e9, usegmt=True)
        if asked := re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range") or ""):
            first = int(asked[1]) if asked[1] else max(0, len(content) - int(asked[2]))
            last = min(int(asked[2]), len(content) - 1) if asked[1] and asked[2] else len(content) - 1
            headers["Content-Range"] = f"bytes {first}-{last}/{len(content)}"
            self._answer(206, content[first : last + 1], headers)
        else:
            self._answer(200, content, headers, bare=method == "HEAD")

    def _put(self, bucket: str, name: str, content: bytes) -> None:
        new = self.headers.get("x-goog-if-generation-match") == "0"
        if new and name in self.storage.objects.get(bucket, {}):
            self._answer(412, b"<Error><Code>PreconditionFailed</Code></Error>")
            return
        about = _make_object_resource("", bucket, name, "application/octet-stream", str(len(content)))
        self.storage.create_file(bucket, name, content, _checksums(content, about))
        self._answer(200, headers={"ETag": about["etag"], "x-goog-generation": about["generation"]})

    def _multipart(self, method: str, bucket: str, name: str, query: dict[str, str], body: bytes) -> None:
        upload = query.get("uploadId") or uuid.uuid4().hex
        parts = self.parts.setdefault(upload, {})
        if "uploads" in query:
            begun = f"<UploadId>{upload}</UploadId>"
            self._answer(
                200, f"<InitiateMultipartUploadResult>{begun}</InitiateMultipartUploadResult>".encode()
            )
        elif method == "PUT":
            parts[int(query["partNumber"])] = body
            self._answer(200, headers={"ETag": hashlib.md5(body).hexdigest()})
        elif method == "POST":
            content = b"".join(parts[number] for number in sorted(parts))
            about = _make_object_resource("", bucket, name, "application/octet-stream", str(len(content)))
            self.storage.create_file(bucket, name, content, _checksums(content, about))
            said = f"<ETag>{about['etag']}</ETag>"
            self._answer(
                200, f"<CompleteMultipartUploadResult>{said}</CompleteMultipartUploadResult>".encode()
            )
        else:
            del self.parts[upload]
            self._answer(204)

    def _answer(
        self, status: int, content: bytes = b"", headers: dict[str, Any] | None = None, *, bare: bool = False
    ) -> None:
        self.send_response(status)
        for key, value in (headers or {}).items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if not bare:
            self.wfile.write(content)


@contextmanager
def google() -> Iterator[dict[str, str]]:
    """The options to reach it by; it has a bucket `tests`."""
    storage = Storage(use_memory_fs=True)
    create_bucket("tests", storage)
    server = HTTPServer(("127.0.0.1", 0), partial(_Both, storage))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield {
            "google_base_url": f"http://127.0.0.1:{server.server_port}",
            "google_storage_token": "any",
            "allow_http": "true",
            "client_max_retries": "2",
            "client_retry_timeout": "3",
        }
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
