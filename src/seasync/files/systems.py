"""The file systems of the stores, made of the options that Lance takes: rows and files have the same."""

from __future__ import annotations

import hashlib
import os
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from seasync import plugins

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem

PREFIXES = {"s3": "aws_", "gs": "google_", "az": "azure_", "file": ""}
CONNECT_SECONDS, REQUEST_SECONDS, ATTEMPTS = 5, 60, 4
AZURITE = (  # the emulator's account, which is the same everywhere
    "devstoreaccount1",
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==",
    "http://127.0.0.1:10000",
)

KEPT = 16  # file systems, with their connections

Option = Callable[..., str | None]
_kept: OrderedDict[tuple[str, bytes], FileSystem] = OrderedDict()


def is_known(scheme: str | None) -> bool:
    """Whether there is a file system for this scheme, here or in an installed package."""
    return scheme in PREFIXES or plugins.find("storage", scheme or "") is not None


def file_system(scheme: str, options: Mapping[str, str]) -> FileSystem:
    """That of a scheme, by options of Lance and, beneath them, the store's own environment variables."""
    if scheme not in PREFIXES and (plugin := plugins.find("storage", scheme)):
        return plugin.run(lambda make: make(options))
    if scheme == "file":
        from pyarrow.fs import LocalFileSystem

        return LocalFileSystem()
    prefix = PREFIXES[scheme]
    known = {name.lower(): value for name, value in os.environ.items() if name.lower().startswith(prefix)}
    known |= options
    # A digest: what is secret among the options is not held here any longer than it is needed.
    key = scheme, hashlib.sha256(repr(sorted(known.items())).encode()).digest()
    if key not in _kept:

        def option(*names: str) -> str | None:
            """The first of these that is known, with the scheme's prefix or without."""
            spelled = [f"{start}{name}" for name in names for start in (prefix, "")]
            return next((known[name] for name in spelled if known.get(name)), None)

        _kept[key] = {"s3": _s3, "gs": _gs, "az": _az}[scheme](option)
        while len(_kept) > KEPT:
            _kept.popitem(last=False)
    return _kept[key]


def _s3(option: Option) -> FileSystem:
    from pyarrow import fs

    return fs.S3FileSystem(
        access_key=option("access_key_id"),
        secret_key=option("secret_access_key"),
        session_token=option("session_token", "token"),
        region=option("region", "default_region") or "us-east-1",
        endpoint_override=option("endpoint", "endpoint_url"),
        anonymous=option("skip_signature") == "true",
        force_virtual_addressing=option("virtual_hosted_style_request") == "true",
        allow_delayed_open=True,  # small objects in one request
        connect_timeout=CONNECT_SECONDS,
        request_timeout=REQUEST_SECONDS,
        retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=ATTEMPTS),
    )


def _gs(option: Option) -> FileSystem:
    from datetime import UTC, datetime, timedelta

    from pyarrow import fs

    if service := option("service_account", "service_account_path", "application_credentials"):
        os.environ["GOOGLE_APPLICATION_CREDENTIALS"] = service  # the only way this library takes it
    base, token = urlsplit(option("base_url") or ""), option("storage_token", "bearer_token")
    return fs.GcsFileSystem(
        anonymous=option("skip_signature") == "true",
        access_token=token,
        credential_token_expiration=datetime.now(UTC) + timedelta(hours=1) if token else None,
        scheme=base.scheme or "https",
        endpoint_override=base.netloc or None,
        retry_time_limit=timedelta(seconds=REQUEST_SECONDS),
    )


def _az(option: Option) -> FileSystem:
    from pyarrow import fs

    emulator = AZURITE if option("storage_use_emulator", "use_emulator") == "true" else ("", None, "")
    account = option("storage_account_name", "account_name") or emulator[0]
    endpoint = urlsplit(option("storage_endpoint", "endpoint") or emulator[2])
    # The account is part of the host's name, or else of the path, as emulators have it.
    blobs = endpoint.netloc.removeprefix(account) or None
    return fs.AzureFileSystem(
        account,
        account_key=option("storage_account_key", "storage_access_key", "account_key", "access_key")
        or emulator[1],
        sas_token=option("storage_sas_token", "storage_sas_key", "sas_token", "sas_key"),
        client_id=option("storage_client_id", "client_id"),
        client_secret=option("storage_client_secret", "client_secret"),
        tenant_id=option("storage_tenant_id", "tenant_id", "storage_authority_id", "authority_id"),
        blob_storage_authority=blobs,
        blob_storage_scheme=endpoint.scheme or None,
        dfs_storage_authority=blobs and blobs.replace(".blob.", ".dfs."),
        dfs_storage_scheme=endpoint.scheme or None,
    )
