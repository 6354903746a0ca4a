"""Make the pictures of the docs from the sample sea: `python docs/make_pictures.py [FOLDER]`, a few minutes.

Terminal output becomes SVG, a film some of its frames. `make_screenshots.py` photographs the web page. Both
make the sample sea in FOLDER (docs/_build/sample by default), or use the one that is there.
"""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import av
from PIL import Image
from rich.console import Console
from rich.text import Text

import seasync

OUT = Path(__file__).parent / "_static"
WIDTH = 900  # pixels of a picture
COLUMNS = 112  # of a terminal


def sample_sea(folder: Path) -> Path:
    """Make clips/ and footage.sea in a folder, as far as they are not there yet."""
    if not (folder / "clips").exists():
        seasync.sample.make(folder / "clips", clips=24)
    seasync.Sea(folder / "footage.sea").add(folder / "clips", labels="folder")
    return folder


def main(folder: Path) -> None:
    first, *others = sorted((sample_sea(folder) / "clips" / "throw").glob("*.mp4"))
    found = [seasync.align(first, other) for other in others]
    best = min(found, key=lambda alignment: alignment.draq)
    with tempfile.TemporaryDirectory() as made:
        _pictures(best, found, Path(made))
    assert best.match is not None
    _terminals(first, Path(best.match.file), folder)
    for file in sorted(OUT.iterdir()):
        print(f"{file.name} {file.stat().st_size / 1e3:.0f} kB")


def _pictures(best: seasync.Alignment, found: list[seasync.Alignment], folder: Path) -> None:
    seasync.render.compare(best, folder / "in-step.webp", size=(400, 150))
    _shrink(folder / "in-step.webp", OUT / "in-step.webp")
    seasync.render.alignment_picture(best, folder / "both.png")
    seasync.render.warp_picture(best, folder / "curve.png")
    seasync.render.contact_sheet(found, folder / "sheet.png")
    for name in ("both", "curve", "sheet"):
        _save(Image.open(folder / f"{name}.png"), name)
    seasync.render.compare(best, folder / "side.mp4", size=(640, 240))
    _save(_frames(folder / "side.mp4", rows=3), "side")


def _shrink(animation: Path, target: Path) -> None:
    """Every second frame of an animation, in a few kilobytes each."""
    with Image.open(animation) as opened:
        frames = []
        for number in range(0, opened.n_frames, 2):
            opened.seek(number)
            frames.append(opened.convert("RGB"))
    frames[0].save(target, save_all=True, append_images=frames[1:], duration=66, loop=0, quality=45, method=6)


def _frames(film: Path, rows: int) -> Image.Image:
    """Frames of a film below each other, from its first to its last third."""
    with av.open(str(film)) as container:
        frames = [frame.to_image() for frame in container.decode(video=0)]
    chosen = [frames[round(len(frames) * (row + 0.5) / rows)] for row in range(rows)]
    whole = Image.new("RGB", (chosen[0].width, sum(frame.height for frame in chosen)))
    for row, frame in enumerate(chosen):
        whole.paste(frame, (0, row * frame.height))
    return whole


def _save(picture: Image.Image, name: str) -> None:
    picture = picture.convert("RGB")
    if picture.width > WIDTH:
        picture = picture.resize(
            (WIDTH, round(picture.height * WIDTH / picture.width)), Image.Resampling.LANCZOS
        )
    picture.save(OUT / f"{name}.webp", quality=80, method=6)


def _terminals(query: Path, match: Path, folder: Path) -> None:
    for name, file in (("mine.mp4", query), ("reference.mp4", match), ("query.mp4", query)):
        (folder / name).write_bytes(file.read_bytes())
    for name, command in {
        "align": "align mine.mp4 reference.mp4",
        "info": "sea info --sea footage.sea",
        "search": "search query.mp4 --sea footage.sea",
    }.items():
        _draw(name, command, _run(folder, command))


def _run(folder: Path, command: str) -> str:
    """What a command prints on a terminal, colors included."""
    terminal = os.environ | {"FORCE_COLOR": "1", "COLUMNS": str(COLUMNS), "TERM": "xterm-256color"}
    words = [sys.executable, "-m", "seasync", *command.split()]
    done = subprocess.run(words, cwd=folder, env=terminal, capture_output=True, text=True, check=True)
    return done.stdout.replace(f"{folder.resolve()}{os.sep}", "").replace(f"{folder}{os.sep}", "")


def _draw(name: str, command: str, output: str) -> None:
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
    console.print(f"[bold green]$[/] seasync {command}")
    console.print(Text.from_ansi(output.rstrip()))
    svg = console.export_svg(title="", unique_id=name)
    svg = re.sub(r"@font-face \{.*?\}", "", svg, flags=re.S)  # no fonts from elsewhere
    (OUT / f"{name}.svg").write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1] if sys.argv[1:] else Path(__file__).parent / "_build" / "sample").resolve())
