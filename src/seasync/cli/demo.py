"""`seasync demo`: the whole job on a sea it makes itself."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from seasync.cli.options import Json

if TYPE_CHECKING:
    from seasync.demo import Result


def demo(
    out: Path = typer.Option(Path("demo"), help="Folder for what it makes."),
    clips: int = typer.Option(60, min=16, help="How many clips the sample sea has."),
    serve: bool = typer.Option(False, "--serve", help="Then open the sample sea in the web page."),
    port: int = typer.Option(8080, help="Port of the page; 0 takes any that is free.", min=0, max=65535),
    as_json: Json = False,
) -> None:
    """Make a sea of sample clips and search it. The best match is synced; all is scored against the truth."""
    import time

    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from seasync.demo import run

    console = Console(stderr=True, highlight=False, soft_wrap=True)
    began = time.monotonic()
    columns = (TextColumn("       "), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=None, visible=False)

        def step(text: str) -> None:
            console.print(f"[dim]{time.monotonic() - began:4.0f} s[/]  {text}")
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
            ready=lambda address: print(f"\n{address}\nCtrl-C ends it.", flush=True),
        )


def _print(result: Result, out: Path) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False, soft_wrap=True)
    query, match = result.query.file, result.match.file
    console.print(
        f"\n[bold]{query.name}[/] moves in step with [bold]{match.name}[/]: DRAQ {result.draq:.2f}; "
        f"half of its moments are within {result.median_error:.2f} sampled frames of the truth\n"
    )
    table = Table("each clip as the query", "by clip vector", "re-ranked", box=None, header_style="dim")
    rows = (
        ("best match performs the same action", "first", "{:.1%}"),
        ("ten best perform the same action", "of_ten", "{:.1%}"),
        ("fooled by a look-alike", "fooled", "{:.1%}"),
        ("median alignment error, sampled frames", "median_error", "{:.2f}"),
    )
    for words, field, form in rows:
        table.add_row(words, *(form.format(getattr(s, field)) for s in (result.by_vector, result.reranked)))
    console.print(table)
    console.print("\nLook at")
    for file, words in zip(
        result.made,
        ("both in step", "which moment goes with which", "the eight best in step", "the same as numbers"),
        strict=True,
    ):
        console.print(f"  {file}  [dim]{words}[/]")
    console.print(f"""
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
