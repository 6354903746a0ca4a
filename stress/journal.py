"""What a stress run has done so far: one line of JSON for each round, so that the next run continues."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Finding:
    """Something that went wrong: of which sort, what was seen, and the file that caused it, if one did."""

    measure: str
    what: str
    file: Path | None = None


@dataclass
class Round:
    """One round: what was done, and what went wrong."""

    name: str
    findings: list[Finding] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)

    def expect(self, holds: bool, measure: str, what: str) -> None:
        """Note a finding unless `holds`."""
        if not holds:
            self.findings.append(Finding(measure, what))


class Journal:
    """The rounds of one kind, in `FOLDER/KIND.jsonl`; the files of findings lie in `FOLDER/KIND/`."""

    def __init__(self, folder: Path, kind: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._file, self._kept = folder / f"{kind}.jsonl", folder / kind
        text = self._file.read_text() if self._file.exists() else ""
        self.lines = [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("}\n")]
        if not text.endswith("\n"):  # killed in the middle of a line
            self._write()

    def missing(self, first: int, count: int) -> list[int]:
        """The seeds from `first` to below `count` that have not been played."""
        played = {line["seed"] for line in self.lines}
        return [seed for seed in range(first, count) if seed not in played]

    def drop_findings(self) -> None:
        """Forget the rounds with findings, so that they are played again."""
        self.lines = [line for line in self.lines if not line["findings"]]
        self._write()

    def _write(self) -> None:
        self._file.write_text("".join(json.dumps(line) + "\n" for line in self.lines))

    @property
    def count(self) -> int:
        return len(self.lines)

    @property
    def findings(self) -> list[dict[str, str]]:
        return [finding for line in self.lines for finding in line["findings"]]

    def add(self, seed: int, played: Round) -> None:
        """Write a round down, and keep the files of its findings."""
        found = [self._keep(seed, number, each) for number, each in enumerate(played.findings)]
        line = {"seed": seed, "round": played.name, "findings": found, **played.facts}
        with self._file.open("a") as out:
            out.write(json.dumps(line) + "\n")
        self.lines.append(line)

    def _keep(self, seed: int, number: int, finding: Finding) -> dict[str, str]:
        kept = {"measure": finding.measure, "what": finding.what}
        if finding.file is not None and finding.file.exists():
            self._kept.mkdir(exist_ok=True)
            place = self._kept / f"{seed}-{number}-{finding.file.name}"
            shutil.copyfile(finding.file, place)
            kept["file"] = place.name
        return kept

    def tally(self) -> Counter[str]:
        """How many findings there are of each sort."""
        return Counter(finding["measure"] for finding in self.findings)
