"""The HTTP API through all phases of schemathesis: examples, coverage, fuzzing, sequences of requests."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from seasync.sea.sea import Sea
from stress.journal import Round
from stress.kind import Kind, Play
from tests.encoders.models import colour_grid
from tests.serve.films import footage
from tests.serve.live import live

PHASES = ("examples", "coverage", "fuzzing", "stateful")
CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
SECONDS = 120  # for a round
ENDLESS = "/api/v1/jobs/events"
FAILED, OTHER = "failed checks", "other errors"


@contextmanager
def opened(work: Path) -> Iterator[Play]:
    os.environ |= {"SEASYNC_CACHE": str(work / "cache"), "SEASYNC_OFFLINE": "1"}
    films = footage(work / "films")
    encoder = f"onnx:{colour_grid(work / 'grid.onnx')}"
    sea = Sea(work / "served.sea", encoder)
    sea.add(films, labels="folder")
    with live(Path(sea.uri), work / "state", encoder, roots=[films]) as address:

        def play(seed: int) -> Round:
            phase = PHASES[seed % len(PHASES)]
            program = "import sys; from schemathesis.cli import schemathesis; sys.exit(schemathesis())"
            command = [sys.executable, "-c", program, "run", f"{address}/api/v1/openapi.json"]
            command += ["--phases", phase, "--seed", str(seed), "--checks", CHECKS, "--exclude-path", ENDLESS]
            command += [
                "--max-time",
                str(SECONDS),
                "--request-timeout",
                "60",
                "--no-color",
                "--max-examples",
                "50",
            ]
            try:
                done = subprocess.run(
                    command, cwd=work, capture_output=True, text=True, check=False, timeout=5 * SECONDS
                )
            except subprocess.TimeoutExpired:
                played = Round(f"schema, {phase}")
                played.expect(False, OTHER, f"{phase}: did not end in {5 * SECONDS} s")
                return played
            cases = re.search(r"(\d[\d,]*) generated", done.stdout)
            played = Round(f"schema, {phase}", facts={"cases": cases[1] if cases else None})
            failed = re.findall(r"^- (.+)$", done.stdout, re.MULTILINE)
            played.expect(done.returncode in (0, 1), OTHER, done.stdout[-800:] + done.stderr[-800:])
            played.expect(
                done.returncode != 1, FAILED, f"{phase}: {'; '.join(failed)[:600]} {done.stdout[-900:]}"
            )
            return played

        yield play


KIND = Kind("schema", (FAILED, OTHER), 16, opened, " rounds")
