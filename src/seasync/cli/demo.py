"""`seasync demo`: the whole job on a sea it makes itself."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seasync.cli.output import print_bold, print_table, shows_bars
from seasync.cli.parameters import Json

if TYPE_CHECKING:
    from seasync.demo import Result

EXAMPLES = """\
seasync demo

seasync demo --out try --clips 24 --serve"""


def demo(
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder for the results.")] = Path("demo"),
    clips: Annotated[int, typer.Option(min=16, help="Number of clips in the sample sea.")] = 60,
    serve: Annotated[bool, typer.Option("--serve", help="Then serve the sample sea as a web page.")] = False,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port of the page. 0 takes any free one.")
    ] = 8080,
    as_json: Json = False,
) -> None:
    """Try everything on a sea of generated clips.

    Makes the clips, searches the sea, syncs the best match, and compares the results with the truth.
    """
    import time

    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from seasync.demo import run

    console = Console(stderr=True, highlight=False, soft_wrap=True)
    began = time.monotonic()
    columns = (TextColumn("       "), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not shows_bars()) as bar:
        task = bar.add_task("", total=None, visible=False)

        def step(text: str) -> None:
            console.print(f"[dim]{time.monotonic() - began:4.0f} s[/]  {escape(text)}")
            bar.reset(task, visible=False)

        def progress(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total, visible=True)

        result = run(out, clips=clips, step=step, progress=progress)
    if as_json:
        _print_json(result)
    else:
        _print(result, out)
    if serve:
        from seasync.serve import serve as run_server

        run_server(
            out / "sample.sea",
            port=port,
            ready=lambda address: print(f"\n{address}\nPress Ctrl-C to stop.", flush=True),
        )


def _print(result: Result, out: Path) -> None:
    query, match = result.query.file, result.match.file
    print()
    print_bold(f"{query.name} moves in step with {match.name}")
    print(
        f"DRAQ {result.draq:.2f}; half of its moments are within {result.median_error:.2f} sampled frames of "
        "the truth\n"
    )
    rows = (
        ("best match performs the same action", "first", "{:.1%}"),
        ("ten best perform the same action", "of_ten", "{:.1%}"),
        ("fooled by a look-alike", "fooled", "{:.1%}"),
        ("median alignment error, sampled frames", "median_error", "{:.2f}"),
    )
    print_table(
        ("each clip as the query", "by clip vector", "re-ranked"),
        [
            (words, *(form.format(getattr(scores, field)) for scores in (result.by_vector, result.reranked)))
            for words, field, form in rows
        ],
    )
    print("\nResults")
    contents = (
        "both videos in step",
        "which moments belong together",
        "the eight best in step",
        "the same as numbers",
    )
    for file, words in zip(result.made, contents, strict=True):
        print(f"  {file}  {words}")
    print(f"""
Try
  seasync search {query} --sea {out / "sample.sea"}
  seasync render {query} {match} --to retimed.mp4 --layout retime
  seasync export {query} {match} --to edit.otio
  seasync serve --sea {out / "sample.sea"}
and with your own videos
  seasync add VIDEOS --sea footage.sea
  seasync search CLIP --sea footage.sea""")


def _print_json(result: Result) -> None:
    import json
    from dataclasses import asdict

    plain = {
        "query": str(result.query.file),
        "match": str(result.match.file),
        "draq": result.draq,
        "median_error": result.median_error,
        "by_vector": asdict(result.by_vector),
        "reranked": asdict(result.reranked),
        "made": [str(file) for file in result.made],
    }
    print(json.dumps(plain, indent=2))
