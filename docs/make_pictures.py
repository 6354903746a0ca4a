"""Make the moving picture of the README from the sample: `python docs/make_pictures.py`."""

from __future__ import annotations

import tempfile
from pathlib import Path

import seasync

OUT = Path(__file__).parent / "_static" / "in-step.webp"


def main() -> None:
    """Two clips of one action in step, as a small animation."""
    OUT.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        sample = seasync.sample.make(Path(folder), clips=24)
        first, *others = (clip for clip in sample.clips if clip.action == "throw")
        unlike = [other for other in others if other.look != first.look]
        found = [seasync.align(first.file, other.file) for other in unlike]
        best = min(found, key=lambda alignment: alignment.draq)
        seasync.render.compare(best, OUT, size=(400, 150))
    print(OUT, f"{OUT.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
