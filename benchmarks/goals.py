"""Goals: measured against their target, one line each, and an exit code."""

from __future__ import annotations


class Goals:
    """Collects `goal NAME: MEASURED (target TARGET) ok|SHORT` lines; `exit_code` is 1 if any is short."""

    def __init__(self) -> None:
        self.short = 0

    def at_least(self, name: str, measured: float, target: float, unit: str = "") -> None:
        self._line(name, measured, f"≥ {target:g}{unit}", measured >= target, unit)

    def at_most(self, name: str, measured: float, target: float, unit: str = "") -> None:
        self._line(name, measured, f"≤ {target:g}{unit}", measured <= target, unit)

    def _line(self, name: str, measured: float, target: str, ok: bool, unit: str) -> None:
        self.short += not ok
        print(f"goal {name}: {measured:.4g}{unit} (target {target}) {'ok' if ok else 'SHORT'}", flush=True)

    @property
    def exit_code(self) -> int:
        return int(self.short > 0)
