"""Runs the command line as a user does, in a process of its own."""

from __future__ import annotations

import subprocess
import sys


def seasync(*arguments: object) -> subprocess.CompletedProcess[str]:
    """The finished process of `seasync ARGUMENTS…`."""
    command = [sys.executable, "-m", "seasync", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
