"""Pin what CI and the image are built from: each action to its commit, the base image to its digest.

`python .github/pin.py` writes the pins; it needs git, docker and a network. The tag stays behind each pin, so
that running it again moves the pins to what the tags name by then. `--check` writes nothing and needs no
network; it fails if something is not pinned.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

ACTION = re.compile(r"(uses: +)([\w.-]+/[\w.-]+)([\w./-]*)@([\w.-]+)(?: +# (\S+))?$", re.MULTILINE)
IMAGE = re.compile(r"^(FROM +)([\w./:-]+)(@sha256:[0-9a-f]{64})?", re.MULTILINE)
COMMIT = re.compile(r"[0-9a-f]{40}")
DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
ACTIONS_FROM = "https://github.com"


def main() -> int:
    parser = argparse.ArgumentParser(prog="pin.py", description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail if something is not pinned")
    parser.add_argument("--root", type=Path, default=Path(__file__).parents[1], help="the repository")
    parser.add_argument("--actions-from", default=ACTIONS_FROM, help="where the repositories of actions are")
    given = parser.parse_args()
    workflows = sorted((given.root / ".github/workflows").glob("*.yml"))
    images = [given.root / "Dockerfile"]
    if given.check:
        loose = [f"{file.name}: {what}" for file in [*workflows, *images] for what in unpinned(file)]
        for each in loose:
            print(f"{each} is not pinned; run `make pin`", file=sys.stderr)
        return 1 if loose else 0
    pins: dict[str, str] = {}
    for file in [*workflows, *images]:
        file.write_text(pinned(file.read_text(encoding="utf-8"), given.actions_from, pins), encoding="utf-8")
    for name, pin in pins.items():
        print(f"{name} {pin}")
    return 0


def unpinned(file: Path) -> list[str]:
    """The actions and images of a file that a tag names, which may name something else tomorrow."""
    text = file.read_text(encoding="utf-8")
    actions = [
        f"{repo}{path}@{at}" for _, repo, path, at, _ in ACTION.findall(text) if not COMMIT.fullmatch(at)
    ]
    return actions + [
        image for _, image, digest in IMAGE.findall(text) if not digest and _is_fetched(image, text)
    ]


def pinned(text: str, actions_from: str, pins: dict[str, str]) -> str:
    """The text with all its pins; `pins` holds those that are known already."""

    def action(found: re.Match[str]) -> str:
        lead, repo, path, at, tag = found.groups()
        tag = tag or at
        name = f"{repo}@{tag}"
        if name not in pins:
            pins[name] = commit_of(f"{actions_from}/{repo}", tag)
        return f"{lead}{repo}{path}@{pins[name]}  # {tag}"

    def image(found: re.Match[str]) -> str:
        lead, name, _ = found.groups()
        if not _is_fetched(name, text):
            return found.group()
        if name not in pins:
            pins[name] = digest_of(name)
        return f"{lead}{name}@{pins[name]}"

    return IMAGE.sub(image, ACTION.sub(action, text))


def _is_fetched(image: str, text: str) -> bool:
    """Whether an image comes from elsewhere: it is not an earlier stage of the same file."""
    return not re.search(rf"^FROM .* AS {re.escape(image)}$", text, re.MULTILINE)


def commit_of(repository: str, tag: str) -> str:
    """The commit that a tag of a repository names."""
    lines = _said("git", "ls-remote", repository, f"refs/tags/{tag}", f"refs/tags/{tag}^{{}}").splitlines()
    names = {name: commit for commit, _, name in (line.partition("\t") for line in lines)}
    commit = names.get(f"refs/tags/{tag}^{{}}") or names.get(f"refs/tags/{tag}", "")
    if not COMMIT.fullmatch(commit):
        sys.exit(f"{repository}: has no tag {tag}")
    return commit


def digest_of(image: str) -> str:
    """The digest of an image, for all its platforms."""
    said = _said(
        "docker", "buildx", "imagetools", "inspect", image, "--format", "{{.Manifest.Digest}}"
    ).strip()
    if not DIGEST.fullmatch(said):
        sys.exit(f"{image}: expected a digest, got {said[:100]!r}")
    return said


def _said(*command: str) -> str:
    try:
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout
    except FileNotFoundError:
        sys.exit(f"{command[0]}: is not installed; it tells what is behind a tag")
    except subprocess.CalledProcessError as error:
        sys.exit(f"{' '.join(command)}: {error.stderr.strip().splitlines()[-1:]}")


if __name__ == "__main__":
    sys.exit(main())
