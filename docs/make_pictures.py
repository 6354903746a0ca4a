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
COLUMNS = 112  # of a terminal, at most
MARKS = {"leg up": 1.35, "release": 2.7, "stand": 4.5}  # seconds of the first throw


def sample_sea(folder: Path) -> Path:
    """Make clips/ and footage.sea in a folder, as far as they are not there yet."""
    if not (folder / "clips").exists():
        seasync.sample.make(folder / "clips", clips=24)
    sea = seasync.Sea(folder / "footage.sea")
    sea.add(folder / "clips", labels="folder")
    sea.calibrate()  # as the demo does: drawn figures all look alike to the scale for filmed ones
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
    seasync.render.alignment_picture(best, folder / "both.png")
    seasync.render.warp_picture(best, folder / "curve.png")
    seasync.render.contact_sheet(found, folder / "sheet.png")
    for name in ("both", "curve", "sheet"):
        _save(Image.open(folder / f"{name}.png"), name)
    seasync.render.compare(best, folder / "side.mp4", size=(640, 240))
    with av.open(str(folder / "side.mp4")) as film:
        rate = film.streams.video[0].average_rate
        frames = [frame.to_image() for frame in film.decode(video=0)]
    _save(_stacked(frames, rows=3), "side")
    _animate(frames[::2], OUT / "in-step.webp", milliseconds=round(2000 / rate))


def _animate(frames: list[Image.Image], target: Path, milliseconds: int) -> None:
    """An animation in a few kilobytes per frame."""
    first, *others = [frame.resize((480, 180), Image.Resampling.LANCZOS) for frame in frames]
    how = {"quality": 20, "method": 6, "minimize_size": True}
    first.save(target, save_all=True, append_images=others, duration=milliseconds, loop=0, **how)


def _stacked(frames: list[Image.Image], rows: int) -> Image.Image:
    """Some of the frames below each other, from the first to the last third."""
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
    for name, file in {"mine": query, "reference": match, "query": query, "model": query}.items():
        (folder / f"{name}.mp4").write_bytes(file.read_bytes())
    (folder / "pupils").mkdir(exist_ok=True)
    for other in query.parent.glob("*.mp4"):
        if other != query:
            (folder / "pupils" / other.name).write_bytes(other.read_bytes())
    for name, clip in {"model": "model.mp4", "marks": query.name}.items():
        rows = [f"{clip},{mark},{seconds}" for mark, seconds in MARKS.items()]
        (folder / f"{name}.csv").write_text("\n".join(["clip,name,seconds", *rows]) + "\n", encoding="utf-8")
    _join([*sorted((folder / "clips" / "kick").glob("*.mp4")), match], folder / "film.mp4")
    for name, command in {
        "align": "align mine.mp4 reference.mp4",
        "find": "find query.mp4 film.mp4 -k 3",
        "group": "group model.mp4 pupils/ --marks model.csv",
        "info": "sea info --sea footage.sea",
        "search": "search query.mp4 --sea footage.sea",
        "transfer": "transfer marks.csv --sea footage.sea --label throw --to all.csv",
    }.items():
        _draw(name, command, _run(folder, command))


def _join(files: list[Path], film: Path) -> None:
    """Put clips of one size one after the other."""
    with av.open(str(film), "w") as target:
        stream = target.add_stream("libx264", rate=30)
        for file in files:
            with av.open(str(file)) as source:
                if not stream.codec_context.is_open:
                    stream.width, stream.height = (
                        source.streams.video[0].width,
                        source.streams.video[0].height,
                    )
                for frame in source.decode(video=0):
                    picture = av.VideoFrame.from_image(frame.to_image())
                    target.mux(stream.encode(picture))
        target.mux(stream.encode(None))


def _run(folder: Path, command: str) -> str:
    """What a command prints on a terminal, colors included."""
    terminal = os.environ | {"FORCE_COLOR": "1", "COLUMNS": str(COLUMNS), "TERM": "xterm-256color"}
    words = [sys.executable, "-m", "seasync", *command.split()]
    done = subprocess.run(words, cwd=folder, env=terminal, capture_output=True, text=True, check=True)
    return done.stdout.replace(f"{folder.resolve()}{os.sep}", "").replace(f"{folder}{os.sep}", "")


def _draw(name: str, command: str, output: str) -> None:
    longest = max(map(len, Text.from_ansi(output).plain.splitlines()))
    console = Console(
        record=True, width=max(longest, len(command) + 10) + 1, file=io.StringIO(), force_terminal=True
    )
    console.print(f"[bold green]$[/] seasync {command}", highlight=False)
    console.print(Text.from_ansi(output.rstrip()))
    svg = console.export_svg(title="", unique_id=name)
    svg = re.sub(r"@font-face \{.*?\}", "", svg, flags=re.S)  # no fonts from elsewhere
    (OUT / f"{name}.svg").write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1] if sys.argv[1:] else Path(__file__).parent / "_build" / "sample").resolve())
