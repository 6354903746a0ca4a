"""From the options of `seasync evaluate` to its tables, and the tables to the terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from seasync.cli.progress import shows_bars
from seasync.files import Location
from seasync.options import DatasetKind

if TYPE_CHECKING:
    from seasync.evaluate.dataset import Dataset
    from seasync.evaluate.results import Table


@dataclass(frozen=True)
class TableCommand:
    """What `seasync evaluate NAME` measures, and the options that only some tables have."""

    help: str
    options: tuple[str, ...] = ()


TABLES = {
    "avr": TableCommand(
        "Measure the cycle consistency of the whole pipeline: FPE and CPE (Table 1 and supplementary).",
        ("k",),
    ),
    "apa": TableCommand("Measure aligned phase agreement and key-event error (Table 2).", ("k", "partial")),
    "agreement": TableCommand(
        "Measure how much clips disagree about which moments are the same. Needs no marked moments.", ("k",)
    ),
    "phases": TableCommand(
        "Measure phase classification, progression, frame retrieval and Kendall's τ (Table 3).", ("protocol",)
    ),
    "rerank": TableCommand("Measure R@1 and R@10 with and without re-ranking (Table 4).", ("k",)),
    "indicators": TableCommand(
        "Measure agreement against the percentile of DRAQ, DTW cost and −τ (Figure 5).", ("per_query",)
    ),
    "cost": TableCommand("Measure the time of each stage, DRAQ's share of it, and bytes stored.", ("clips",)),
    "planted": TableCommand(
        "Align real videos with copies that have another look and a known warp: error in ms, and retrieval.",
        ("films",),
    ),
    "all": TableCommand("Make every table that the data allow."),
}


@dataclass(frozen=True)
class Evaluation:
    """A data set, and how to measure on it."""

    data: str
    gallery: str | None
    kind: DatasetKind | None
    encoders: list[str] | None
    limit: int | None
    fps: float
    jobs: int
    seed: int

    def tables(self, name: str, given: Mapping[str, Any]) -> list[Table]:
        """The table of this name (`all`: every one) with the options given; all encoders' rows in one."""
        from seasync.evaluate.results import merge_tables

        if name == "all":
            from seasync.evaluate.all_tables import all_tables

            other = self._open(self.gallery) if self.gallery else None
            return all_tables(
                self._open(self.data, self.kind),
                other,
                encoders=self.encoders,
                seed=self.seed,
                jobs=self.jobs,
                progress=progress,
            )
        if name == "planted":
            return [merge_tables(self._planted(given.get("films")))]
        options = dict(given)
        if name == "phases":
            from seasync.evaluate.proxies import PROTOCOLS

            options["protocol"] = PROTOCOLS[options.get("protocol", "carl")]
        home = "time_and_storage" if name == "cost" else name
        table: Callable[..., Table] = getattr(import_module(f"seasync.evaluate.tables.{home}"), name)
        make = partial(table, seed=self.seed, **options)
        return [merge_tables(self._each(make, split=name == "phases"))]

    def _each(self, make: Callable[..., Table], *, split: bool) -> list[Table]:
        """The table of every encoder; with `split`, a set without one is halved."""
        from seasync.evaluate.study import Study

        dataset, other = self._open(self.data, self.kind), self._open(self.gallery) if self.gallery else None
        dataset = dataset.halved() if split else dataset
        return [
            make(Study.of(dataset, other, encoder=name, jobs=self.jobs, progress=progress))
            for name in self.encoders or [dataset.encoder]
        ]

    def _planted(self, films: Path | None) -> list[Table]:
        import tempfile

        from seasync.evaluate.tables.planted import planted

        dataset = self._open(self.data, self.kind)
        with tempfile.TemporaryDirectory() as made:
            plant = partial(planted, dataset, films or Path(made), seed=self.seed, jobs=self.jobs)
            names = self.encoders or ["dinov2-small"]
            return [plant(encoder=name, progress=progress) for name in names]

    def _open(self, data: str, kind: DatasetKind | None = None) -> Dataset:
        from seasync.evaluate.data import open_dataset

        return open_dataset(data, kind=kind, fps=self.fps).limited(self.limit, seed=self.seed)

    def show(
        self, tables: list[Table], *, form: Literal["json", "csv", "latex"] | None, report: Location | None
    ) -> None:
        """Print the tables in the format asked for; write the report."""
        from seasync.evaluate import table_text
        from seasync.evaluate.report_file import write_report

        progress("", 0, 0)
        if report:
            write_report(tables, report, title=f"Seasync on {Path(self.data).absolute().name}")
        if form == "json" and len(tables) > 1:
            print(table_text.all_as_json(tables))
            return
        for table in tables:
            if form == "json":
                print(table_text.as_json(table))
            elif form is not None:
                print((table_text.as_csv if form == "csv" else table_text.as_latex)(table), end="")
            else:
                table_text.print_table(table)
        if report:
            print(f"report: {report}", file=sys.stderr)


def progress(what: str, done: int, total: int) -> None:
    """Show on a terminal, in one line, what is under way."""
    if shows_bars():
        text = f"{what} {done + 1}/{total}" if total else ""
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
