"""What CI and the image are built from is pinned, and locked with hashes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PIN = ROOT / ".github/pin.py"
DIGEST = f"sha256:{'5' * 64}"
WORKFLOW = """\
jobs:
  one:
    steps:
      - uses: made/up@v1
        with: {a: b}
      - uses: made/up/part@v1
      - uses: made/up@1111111111111111111111111111111111111111  # v2
"""
DOCKERFILE = "FROM python:3.12-slim AS build\nRUN true\nFROM python:3.12-slim\nFROM build\n"


def git(folder: Path, *words: str) -> str:
    command = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@b", *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path, list[str]]:
    """A repository to pin, stand-ins for where actions and images come from, and the commits of two tags."""
    root, actions = tmp_path / "root", tmp_path / "actions"
    (root / ".github/workflows").mkdir(parents=True)
    (root / ".github/workflows/ci.yml").write_text(WORKFLOW)
    (root / "Dockerfile").write_text(DOCKERFILE)
    (actions / "made/up").mkdir(parents=True)
    git(actions / "made/up", "init", "-q")
    commits = []
    for tag, how in (("v1", ["-a", "-m", "with a message"]), ("v2", [])):
        git(actions / "made/up", "commit", "-q", "--allow-empty", "-m", tag)
        git(actions / "made/up", "tag", tag, *how)
        commits.append(git(actions / "made/up", "rev-parse", "HEAD"))
    docker = tmp_path / "bin/docker"
    docker.parent.mkdir()
    docker.write_text(f'#!/bin/sh\n[ "$4" = python:3.12-slim ] && echo {DIGEST}\n')
    docker.chmod(0o755)
    monkeypatch.setenv("PATH", f"{docker.parent}{os.pathsep}{os.environ['PATH']}")
    return root, actions, commits


def pin(root: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(PIN), "--root", str(root), *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.skipif(os.name != "posix", reason="the stand-in is a shell script")
def test_actions_and_images_are_pinned_to_what_their_tags_name(places: tuple[Path, Path, list[str]]) -> None:
    root, actions, (first, second) = places
    loose = pin(root, "--check")
    assert loose.returncode == 1
    assert loose.stderr.splitlines() == [
        f"{what} is not pinned; run `make pin`"
        for what in ("ci.yml: made/up@v1", "ci.yml: made/up/part@v1", *2 * ["Dockerfile: python:3.12-slim"])
    ]
    for _ in range(2):  # the second time nothing changes
        assert pin(root, "--actions-from", actions).returncode == 0
        lines = (root / ".github/workflows/ci.yml").read_text().splitlines()
        assert lines[3::2] == [
            f"      - uses: made/up@{first}  # v1",
            f"      - uses: made/up/part@{first}  # v1",
        ]
        assert lines[6] == f"      - uses: made/up@{second}  # v2"
        assert (root / "Dockerfile").read_text() == DOCKERFILE.replace("-slim", f"-slim@{DIGEST}")
        assert pin(root, "--check").returncode == 0


@pytest.mark.skipif(os.name != "posix", reason="the stand-in is a shell script")
def test_a_tag_that_is_not_there_is_told(places: tuple[Path, Path, list[str]]) -> None:
    root, actions, _ = places
    git(actions / "made/up", "tag", "-d", "v1")
    told = pin(root, "--actions-from", actions)
    assert (told.returncode, "has no tag v1" in told.stderr) == (1, True)


def locked(name: str) -> dict[str, str]:
    """The versions in a lock file; each has hashes."""
    text = (ROOT / "requirements" / name).read_text(encoding="utf-8")
    entries = re.split(r"\n(?=\S)", text.strip())
    assert all("--hash=sha256:" in entry for entry in entries if not entry.startswith("#"))
    found = (re.match(r"([\w.-]+)==([\w.+-]+)", entry) for entry in entries)
    return {each[1]: each[2] for each in found if each}


def test_the_image_is_locked_with_hashes_to_the_versions_that_are_tested() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = project["project"]["optional-dependencies"]
    image, build = locked("image.txt"), locked("build.txt")
    constraints = re.findall(r"^([\w.-]+)==([\w.+-]+)", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
    tested: dict[str, set[str]] = {}
    for name, version in constraints:
        tested.setdefault(name, set()).add(version)
    for name, version in image.items():
        assert version in tested[name], name

    def names(requirements: list[str]) -> set[str]:
        return {
            re.match(r"[\w.-]+", each)[0].lower() for each in requirements if "python_version" not in each
        }

    assert names([*project["project"]["dependencies"], *extras["serve"], *extras["pose"]]) <= image.keys()
    assert names([*project["build-system"]["requires"], "ziglang"]) <= build.keys()
    said = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    shown = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", said, re.MULTILINE)
    assert {f"!{name}" for line in copied for name in line.split()} <= set(shown)
    assert said.count("--require-hashes") == 2
    assert "--no-deps" in said
