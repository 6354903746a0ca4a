"""The library of kernels: how it is called, how it is found, and whether it keeps to defined behavior."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from seasync.alignment import kernels

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src/seasync/alignment/kernels"
CHECKED = "dtw costs half partial spans stored warp"
ADDRESSED = "dtw half spans"  # watched, the others take minutes
in_a_checkout = pytest.mark.skipif(
    not Path(kernels.__file__).with_name("path.c").exists(), reason="the installed package has no sources"
)


def test_functions_are_called_with_the_types_that_c_declares() -> None:
    declared = {}
    code = "".join(file.read_text(encoding="utf-8") for file in SOURCES.glob("*.c"))
    for result, name, arguments in re.findall(r"^EXPORT (\w+) (\w+)\(([^)]*)\)", code, re.MULTILINE):
        types = [each.split()[0] if "*" not in each else "*" for each in arguments.split(",")]
        kinds = [{"*": "p", "double": "d", "float": "f"}.get(each, "i") for each in types]
        declared[name] = "".join(kinds), {"void": "", "double": "d"}.get(result, "?")
    assert {name: declared[name] for name in kernels._FUNCTIONS} == kernels._FUNCTIONS


@pytest.mark.parametrize(
    "costs",
    [np.zeros((4, 4)), np.zeros((4, 8), np.float32)[:, ::2], np.zeros((2, 8), np.float32).T[:4]],
    ids=["double", "strided", "transposed"],
)
def test_arrays_of_another_layout_are_refused(costs: np.ndarray) -> None:
    with pytest.raises(ValueError, match="expected"):
        kernels.dots(np.zeros(costs.shape[1], np.float32), costs, np.zeros(len(costs), np.float32))


def copy_of_the_package(place: Path) -> Path:
    """A checkout's package whose kernels may be broken."""
    shutil.copytree(ROOT / "src/seasync", place / "seasync", ignore=shutil.ignore_patterns("__pycache__"))
    return place / "seasync/alignment/kernels"


def importing(place: Path) -> str:
    """The last line of what Python says that imports the kernels of a package in that place."""
    run = [sys.executable, "-c", "import seasync.alignment.kernels"]
    environment = os.environ | {"PYTHONPATH": str(place), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(run, env=environment, cwd=place, capture_output=True, text=True, check=False)
    return (done.stderr.splitlines() or [""])[-1]


@in_a_checkout
def test_libraries_that_are_old_missing_or_broken_are_one_clear_line(tmp_path: Path) -> None:
    place = copy_of_the_package(tmp_path)
    assert importing(tmp_path) == ""
    (place / "path.c").write_text("/* changed */", encoding="utf-8")
    assert importing(tmp_path).endswith(
        "older than their sources: run `python hatch_build.py` in the checkout"
    )
    libraries = [*place.glob("*.so"), *place.glob("*.dylib"), *place.glob("*.dll")]
    for library in libraries:
        library.write_bytes(b"broken")
    assert "the compiled kernels do not load" in importing(tmp_path)
    for library in libraries:
        library.unlink()
    (place / "path.c").unlink()
    assert importing(tmp_path).endswith("reinstall with `pip install --force-reinstall --no-deps seasync`")


def pass_their_tests(place: Path, flags: list[str], cc: str | None, tests: str, **environment: str) -> None:
    """Compile the kernels of a copy of the package with these flags, and run tests with them."""
    program = (
        "import hatch_build, pathlib\n"
        f"hatch_build.FLAGS[:] = ['-std=gnu11', '-O1', '-Wall', '-Wextra', *{flags!r}]\n"
        f"hatch_build.compile_kernels(hatch_build.native_platform(), pathlib.Path({str(place)!r}))"
    )
    compiling = {name: value for name, value in os.environ.items() if name != "SEASYNC_CC"}
    compiling |= {"SEASYNC_CC": cc} if cc else {}
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, env=compiling, check=True)
    run = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"]
    run += [f"tests/alignment/test_{name}.py" for name in tests.split()]
    package = place.parents[2]
    environment |= os.environ | {"PYTHONPATH": os.pathsep.join((str(package), str(ROOT)))}
    done = subprocess.run(run, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]


@in_a_checkout
@pytest.mark.timeout(1200)
@pytest.mark.skipif(find_spec("ziglang") is None, reason="needs ziglang, which is in the extra dev")
def test_kernels_keep_to_defined_behavior(tmp_path: Path) -> None:
    """Compiled without a warning, and so that undefined behavior ends the process, they pass their tests."""
    flags = ["-Werror", "-fsanitize=undefined", "-fsanitize-trap=undefined"]
    pass_their_tests(copy_of_the_package(tmp_path), flags, None, CHECKED)


def address_sanitizer() -> str | None:
    """The runtime of the system's compiler that watches addresses."""
    for compiler in ("gcc", "clang"):
        if shutil.which(compiler):
            name = "libasan.so" if compiler == "gcc" else "libclang_rt.asan-x86_64.so"
            said = subprocess.run(
                [compiler, f"-print-file-name={name}"], capture_output=True, text=True, check=False
            )
            if os.path.isabs(said.stdout.strip()):
                return f"{compiler} {said.stdout.strip()}"
    return None


@in_a_checkout
@pytest.mark.timeout(1200)
@pytest.mark.skipif(address_sanitizer() is None, reason="needs gcc or clang with its address sanitizer")
def test_kernels_stay_inside_their_arrays(tmp_path: Path) -> None:
    """With every address watched, they pass the tests of all shapes of matrices."""
    compiler, runtime = (address_sanitizer() or "").split()
    flags = ["-g", "-fsanitize=address", "-fno-omit-frame-pointer"]
    watched = {"LD_PRELOAD": runtime, "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=1"}
    pass_their_tests(copy_of_the_package(tmp_path), flags, compiler, ADDRESSED, **watched)
