"""`seasync demo`: the whole job on a sea it makes itself."""

from __future__ import annotations

from pathlib import Path

import typer

from seasync.cli.options import Json


def demo(
    out: Path = typer.Option(Path("demo"), help="Folder for what it makes."),
    clips: int = typer.Option(60, min=16, help="How many clips the sample sea has."),
    as_json: Json = False,
) -> None:
    """Make a sea of sample clips, search it, sync the best match, and score all of it against the truth."""
    import time

    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from seasync import demo as job
    from seasync.encoders import get_encoder
    from seasync.search import Sea

    console = Console(stderr=True, highlight=False)
    began = time.monotonic()

    def step(text: str) -> None:
        console.print(f"[dim]{time.monotonic() - began:4.0f} s[/]  {text}")

    columns = (
        TextColumn("        {task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        step(f"filming {clips} clips of eight actions, each performed, dressed, paced and filmed otherwise")
        filming = bar.add_task("filming", total=clips)
        sample = job.prepare(out / "sample", clips=clips, note=lambda name: bar.advance(filming))
        bar.remove_task(filming)
        step("fetching the encoder, DINOv2 ViT-S (once: about 85 MB)")
        encoder = get_encoder()
        sea = Sea(out / "sample.sea", encoder)
        step("adding the clips to a sea: decoding, encoding, storing")
        adding = bar.add_task("adding", total=None)
        sea.add(
            out / "sample",
            labels="folder",
            progress=lambda added: bar.update(
                adding, total=added.files, completed=added.added + added.present + len(added.failed)
            ),
        )
        bar.remove_task(adding)
        step("searching: who moves in step with each of them?")
        truth = {str(clip.file.resolve()): clip for clip in sample.clips}
        query = next(clip for clip in sample.clips if clip.action == "throw")
        matches = sea.search(query.file)
        step("filming the best match in step with the query")
        made = job.show(matches, out)
        step("scoring against the truth")
        plain = job.score(sea, sample, rerank="none")
        whole = job.score(sea, sample)
    best = truth[matches[0].clip.file]
    error = job.median_error(matches[0].alignment, query, best, encoder.fps)
    if as_json:
        import json
        from dataclasses import asdict

        print(json.dumps({"query": str(query.file), "match": str(best.file), "draq": matches[0].draq,
                          "error_sampled_frames": error, "retrieval": asdict(plain), "reranked": asdict(whole),
                          "made": [str(file) for file in made]}, indent=2))  # fmt: skip
        return
    _print(out, query, best, matches[0], error, plain, whole, made)


def _print(out, query, best, match, error, plain, whole, made) -> None:  # type: ignore[no-untyped-def]
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    console.print(f"\n[bold]{query.file.name}[/] moves in step with [bold]{best.file.name}[/]: "
                  f"DRAQ {match.draq:.2f}, off the truth by {error:.2f} sampled frames in the median")  # fmt: skip
    table = Table(
        "each clip as the query", "clip vectors alone", "re-ranked by DRAQ", box=None, header_style="dim"
    )
    rows = (
        ("best match performs the same action", "first", "{:.1%}"),
        ("ten best perform the same action", "of_ten", "{:.1%}"),
        ("fooled by a look-alike", "fooled", "{:.1%}"),
        ("median alignment error, sampled frames", "median_error", "{:.2f}"),
    )
    for words, field, form in rows:
        table.add_row(words, *(form.format(getattr(score, field)) for score in (plain, whole)))
    console.print(table)
    console.print("\nLook at")
    for file in made:
        console.print(f"  {file}")
    console.print(f"""
Try
  seasync search {query.file} --sea {out / "sample.sea"}
  seasync align {query.file} {best.file} --picture both.png
  seasync add YOUR/VIDEOS --sea footage.sea       and then       seasync search CLIP --sea footage.sea""")
