"""What a release promises about itself: extras, versions, workflows and checklist agree."""

from __future__ import annotations

import importlib.metadata
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

import seasync
from tests.videos import numbered

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]


def texts(*patterns: str) -> str:
    files = [file for pattern in patterns for file in ROOT.glob(pattern)]
    assert files
    return "\n".join(file.read_text(encoding="utf-8") for file in files)


def test_every_extra_that_is_named_exists() -> None:
    said = texts(".github/workflows/*.yml", "Dockerfile", "Makefile", "docs/**/*.[my]*", "pyproject.toml")
    lists = re.findall(r"(?:\bseasync|whl\)\"?|'?\.)\[([a-z][a-z,]*)\]", said)
    lists += re.findall(r"EXTRAS ?\??= ?([a-z][a-z,]*)", said + texts(".ci/run"))
    code = texts("src/**/*.py")
    lists += re.findall(r'(?:MissingExtra\(|torch\([^)]*extra=)"(\w+)"', code)
    named = {name for each in lists for name in each.split(",")}
    assert {"serve", "pose", "evaluate", "ray", "train", "test", "dev"} <= named
    assert not named - set(EXTRAS)


def test_all_brings_what_users_may_want_except_what_conflicts() -> None:
    """`gpu` replaces onnxruntime and exists for some machines only; `fiftyone` brings a database."""
    (everything,) = EXTRAS["all"]
    listed = set(re.findall(r"\w+", everything)) - {"seasync"}
    assert listed == set(EXTRAS) - {"all", "gpu", "fiftyone", "docs", "test", "dev"}


@pytest.mark.parametrize(
    ("missing", "command", "extra"),
    [
        ("fastapi", ["serve", "--sea", "a.sea"], "serve"),
        ("ray", ["add", "a.mp4", "--sea", "a.sea", "--on", "ray"], "ray"),
        ("mcp", ["mcp", "--root", "."], "mcp"),
        ("torch", ["train", "nms", "a.mp4", "--out", "m.onnx"], "train"),
        ("torch", ["align", "a.mp4", "b.mp4", "--encoder", "hf:some/model"], "models"),
        ("torch", ["align", "a.mp4", "b.mp4", "--encoder", "timm:resnet50"], "timm"),
    ],
)
def test_a_missing_extra_is_one_line_that_names_it(
    missing: str, command: list[str], extra: str, tmp_path: Path
) -> None:
    for name in ("a.mp4", "b.mp4"):
        numbered(tmp_path / name, 3)
    without = f"import sys; sys.modules[{missing!r}] = None; from seasync.cli import main; main()"
    run = [sys.executable, "-c", without, *command]
    done = subprocess.run(run, capture_output=True, text=True, check=False, timeout=120, cwd=tmp_path)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.endswith(f"needs the extra '{extra}': pip install 'seasync[{extra}]'")


def test_the_version_has_one_source() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["version"]
    assert cited == PROJECT["version"] == seasync.__version__


def test_links_of_the_installed_readme_work_outside_the_repository() -> None:
    text = importlib.metadata.metadata("seasync").get_payload()
    links = re.findall(r"\]\(([^)]+)\)", str(text))
    assert len(links) > 10
    assert all(link.startswith("https://") for link in links)
    address = PROJECT["urls"]["Source"]
    inside = [re.sub(r"^(raw|blob)/main/", "", link.removeprefix(f"{address}/")) for link in links]
    assert all(path.startswith("https:") or (ROOT / path).exists() for path in inside)


def test_the_lock_has_every_dependency() -> None:
    """Each is pinned, and by name alone: no address of an index or of a file."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()[1:]
    assert all(re.match(r"[a-z0-9][a-z0-9.-]*==[\w.+!]+( ; .*)?$", line) for line in lines)
    pinned = {line.partition("==")[0] for line in lines}
    locked = re.search(r"foreach extra,([a-z ]+),", (ROOT / "Makefile").read_text(encoding="utf-8"))
    assert locked
    wanted = [*PROJECT["dependencies"], *(each for name in locked[1].split() for each in EXTRAS[name])]
    names = {re.split(r"[^\w.-]", each)[0].lower() for each in wanted} - {"seasync"}
    assert names <= pinned


def test_ci_runs_every_python_that_is_promised() -> None:
    jobs = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))["jobs"]
    classified = [found[1] for each in PROJECT["classifiers"] if (found := re.search(r":: (3\.\d+)$", each))]
    matrix = jobs["platforms"]["strategy"]["matrix"]
    assert matrix["python"] == classified
    assert classified[0] == PROJECT["requires-python"].removeprefix(">=")
    assert len(matrix["os"]) == 3


def test_what_the_checklist_names_is_there() -> None:
    text = (ROOT / "RELEASE.md").read_text(encoding="utf-8")
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert set(re.findall(r"`make ([a-z-]+)", text)) <= set(targets)
    files = re.findall(r"`(?:python )?([\w./]+\.(?:py|toml|md|cff|yml|txt|json))\b", text)
    assert files
    assert not [file for file in files if not (ROOT / file).exists()]
