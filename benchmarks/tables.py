"""The paper's tables, by the command that users have: `python -m benchmarks.tables DIR`.

DIR holds `penn_action/labels` (joints), `golf` (key events) and `actions` (classes). What is missing is left
out.
"""

from __future__ import annotations

import json
import subprocess
import sys

from benchmarks.goals import Goals, parser

JOINTS, GOLF, ACTIONS = "penn_action", "golf", "actions"
TABLES: dict[str, tuple[str, ...]] = {
    "rerank, joints": ("rerank", JOINTS),
    "rerank, actions": ("rerank", ACTIONS),
    "avr, joints": ("avr", JOINTS),
    "apa, golf": ("apa", GOLF, "dinov2-small", "dinov2-small-cls"),
    "agreement, golf": ("agreement", GOLF, "dinov2-small+pose", "pose", "dinov2-small", "dinov2-small-cls"),
    "indicators, joints": ("indicators", JOINTS),
    "indicators, actions": ("indicators", ACTIONS),
    "indicators, golf": ("indicators", GOLF),
    "phases, golf": ("phases", GOLF),
    "planted, actions": ("planted", ACTIONS),
    "cost, golf": ("cost", GOLF),
}


def main() -> int:
    arguments = parser(__doc__, "data")
    arguments.add_argument("--only", nargs="+", choices=TABLES, help="only these tables")
    options = arguments.parse_args()
    figures = {}
    for name in options.only or TABLES:
        kind, folder, *encoders = TABLES[name]
        if not (options.data / folder).is_dir():
            continue
        print(name, flush=True)
        command = [sys.executable, "-m", "seasync", "evaluate", kind, str(options.data / folder), "--json"]
        command += [word for encoder in encoders for word in ("--encoder", encoder)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            print(f"{' '.join(command[2:])}: {done.stderr.strip()}", file=sys.stderr)
            continue
        figures[name] = {"rows": json.loads(done.stdout)["rows"]}
    return Goals(options).finish(figures)


if __name__ == "__main__":
    sys.exit(main())
