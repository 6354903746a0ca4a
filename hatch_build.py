"""Compile the kernels in C. A build hook for pip and hatch, and a program:

python hatch_build.py             compiles them for this machine, beside their sources: after a change in C
python hatch_build.py wheels DIR  makes the source distribution and a wheel for every platform

The compiler is zig, which comes as a Python package and compiles for all platforms on any; or the one that
SEASYNC_CC names, for this machine alone (`SEASYNC_CC="gcc"`).
"""

from __future__ import annotations

import hashlib
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).parent
SOURCES = ROOT / "src/seasync/alignment/kernels"
# zig keeps what it makes: here, and not in a home.
CACHE = ROOT / "build" / "zig"
# Wheel's platform: zig's target. The old glibc and macOS are those that Python's own wheels name.
TARGETS = {
    "manylinux_2_17_x86_64": "x86_64-linux-gnu.2.17",
    "manylinux_2_17_aarch64": "aarch64-linux-gnu.2.17",
    "musllinux_1_2_x86_64": "x86_64-linux-musl",
    "musllinux_1_2_aarch64": "aarch64-linux-musl",
    "macosx_11_0_x86_64": "x86_64-macos.11.0",
    "macosx_11_0_arm64": "aarch64-macos.11.0",
    "win_amd64": "x86_64-windows-gnu",
}
LEVELS = ("x86_64_v2", "x86_64_v3", "x86_64_v4")  # instruction sets: with SSE 4, AVX2, AVX-512
# Reductions may be reordered; infinities and NaN keep their meaning. -std=gnu11 is for vectors.
FLAGS = [
    "-std=gnu11", "-O3", "-Wall", "-Wextra", "-fvisibility=hidden",
    "-fno-math-errno", "-fno-trapping-math", "-fno-signed-zeros", "-fno-sanitize=all",
]  # fmt: skip


def sources_hash() -> str:
    """What tells one state of the sources from another; `seasync.alignment.kernels` compares it."""
    digest = hashlib.sha256()
    for file in sorted(SOURCES.glob("*.[ch]")):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def native_platform() -> str:
    """The platform of a wheel for this machine: one of TARGETS if zig compiles, and knows it."""
    from packaging.tags import sys_tags

    accepted = dict.fromkeys(tag.platform for tag in sys_tags())
    known = [] if "SEASYNC_CC" in os.environ else [name for name in TARGETS if name in accepted]
    return known[0] if known else next(iter(accepted))


def compile_kernels(platform: str, folder: Path, *flags: str) -> list[Path]:
    """Compile the kernels for a platform, a library for each instruction set; returns their files."""
    folder.mkdir(parents=True, exist_ok=True)
    machine = platform.rsplit("_", 1)[1] if platform.endswith(("aarch64", "arm64")) else "x86_64"
    if not platform.endswith(("aarch64", "arm64", "x86_64", "amd64")):
        levels: tuple[str, ...] = ("other",)
    else:
        levels = LEVELS if machine == "x86_64" else ("arm64",)
    kind = ".dll" if platform.startswith("win") else ".dylib" if platform.startswith("macosx") else ".so"
    made = [folder / (level + kind) for level in levels]
    for level, library in zip(levels, made, strict=True):
        new = library.with_suffix(".new")
        command = [
            *compiler(platform, level), *FLAGS, *flags, f'-DSOURCES="{sources_hash()}"',
            *map(str, sorted(SOURCES.glob("*.c"))), "-shared", "-o", str(new),
        ]  # fmt: skip
        cache = {"ZIG_GLOBAL_CACHE_DIR": str(CACHE), "ZIG_LOCAL_CACHE_DIR": str(CACHE)}
        done = subprocess.run(command, env=os.environ | cache, text=True, capture_output=True, check=False)
        if done.returncode:
            raise SystemExit(f"the kernels cannot be compiled:\n{shlex.join(command)}\n{done.stderr}")
        new.replace(library)  # at once: a running process may have the old one open
    return made


def compiler(platform: str, level: str) -> list[str]:
    """The command that compiles for an instruction set of a platform."""
    # Vectors of 512 bits are asked for: by default, the compiler halves them.
    wide = ["-mprefer-vector-width=512"] if level == LEVELS[-1] else []
    if own := os.environ.get("SEASYNC_CC"):
        code = [] if sys.platform == "win32" else ["-fPIC", "-lm"]
        instructions = [f"-march={level.replace('_', '-')}"] if level in LEVELS else []
        return [*shlex.split(own), "-fassociative-math", *code, *instructions, *wide]
    target = ["-target", TARGETS[platform]] if platform in TARGETS else []
    instructions = [f"-mcpu={level}"] if level in LEVELS else []
    return [sys.executable, "-m", "ziglang", "cc", *target, *instructions, *wide, "-s", "-fPIC"]


class KernelsHook(BuildHookInterface):  # type: ignore[type-arg]
    """Compiles the kernels when a wheel is built, or the package is installed to be edited."""

    def dependencies(self) -> list[str]:
        return [] if os.environ.get("SEASYNC_CC") else ["ziglang>=0.15"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel":
            return
        platform = os.environ.get("SEASYNC_PLATFORM") or native_platform()
        build_data["tag"] = f"py3-none-{platform}"
        build_data["pure_python"] = False
        if version == "editable":
            compile_kernels(platform, SOURCES)
            return
        made = compile_kernels(platform, ROOT / "build" / "kernels" / platform)
        for library in made:
            build_data["force_include"][str(library)] = f"seasync/alignment/kernels/{library.name}"


def make_wheels(folder: str) -> None:
    """The source distribution, and a wheel for each of TARGETS."""
    hatchling = [sys.executable, "-m", "hatchling", "build", "-d", folder]
    subprocess.run([*hatchling, "-t", "sdist"], cwd=ROOT, check=True)
    for platform in TARGETS:
        environment = os.environ | {"SEASYNC_PLATFORM": platform}
        subprocess.run([*hatchling, "-t", "wheel"], cwd=ROOT, env=environment, check=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["wheels"]:
        make_wheels(str(Path(*sys.argv[2:3] or ["dist"]).resolve()))
    else:
        for each in compile_kernels(native_platform(), SOURCES):
            print(each.relative_to(ROOT))
