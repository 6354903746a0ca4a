"""`seasync demo`, `doctor`, `models` and `version`: Seasync itself, and how it does on this machine."""

import os
import platform
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import seasync
from seasync.cli import output, parameters
from seasync.cli.output import print

if TYPE_CHECKING:
    from seasync.demo import Result

_PARTS = (
    "seasync numpy av onnxruntime protobuf pylance pyarrow python-stretch "
    "pysubs2 pillow typer rich torch timm transformers ai-edge-litert fastapi uvicorn ray lance-ray"
)


def demo(
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder for the results.")] = Path("demo"),
    clips: Annotated[int, typer.Option(min=16, help="Number of clips in the sample sea.")] = 60,
    serve: Annotated[bool, typer.Option("--serve", help="Then serve the sample sea as a web page.")] = False,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port of the page. 0 takes any free one.")
    ] = 8080,
    as_json: parameters.Json = False,
) -> None:
    """Try everything on a sea of generated clips.

    Makes the clips, searches the sea, syncs the best match, and compares the results with the truth.

    Examples:

    seasync demo

    seasync demo --out try --clips 24 --serve
    """
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from seasync.demo import run

    console = Console(stderr=True, highlight=False, soft_wrap=True)
    began = time.monotonic()
    columns = (TextColumn("       "), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not output.shows_bars()) as bar:
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


def _print(result: "Result", out: Path) -> None:
    query, match = result.query.file, result.match.file
    print()
    output.print_bold(f"{query.name} moves in step with {match.name}")
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
    output.print_table(
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


def _print_json(result: "Result") -> None:
    clips = {"query": str(result.query.file), "match": str(result.match.file)}
    scores = {"by_vector": asdict(result.by_vector), "reranked": asdict(result.reranked)}
    made = {"made": [str(file) for file in result.made]}
    output.print_json(vars(result) | clips | scores | made, indent=2)


def doctor(as_json: parameters.Json = False) -> None:
    """Check FFmpeg, devices, weights, folders, disk space, extras and plugins.

    Exits with 1 if something that every user needs does not work. Nothing is downloaded.

    Examples:

    seasync doctor

    seasync doctor --json
    """
    from seasync.doctor import examine

    checks = examine()
    if as_json:
        output.print_json([asdict(check) for check in checks], indent=2)
    else:
        width = max(len(check.name) for check in checks)
        for check in checks:
            print(f"{check.state:5}  {check.name:{width}}  {check.found}")
            if check.advice:
                print(f"{'':5}  {'':{width}}  → {check.advice}")
    if any(check.state == "fails" for check in checks):
        raise typer.Exit(1)


models = typer.Typer(help="List and download the weights of the built-in encoders.", no_args_is_help=True)


@models.command("list", epilog="Examples:\n\nseasync models list")
def list_models(as_json: parameters.Json = False) -> None:
    """List the built-in weights: license, origin, size, file on this machine, and the source it came from."""
    from seasync.encoders.weights import BUILT_IN, locate, source_of

    rows = []
    for weights in BUILT_IN:
        file = locate(weights)
        row = {
            "weights": weights.name,
            "origin": weights.origin,
            "license": weights.license,
            "bytes": weights.size_bytes,
            "encoders": weights.encoders,
            "sources": [source.label for source in weights.sources],
            "file": str(file) if file else None,
            "source": source_of(file) if file else None,
        }
        rows.append(row)
    if as_json:
        output.print_json(rows, indent=2)
        return
    for row, weights in zip(rows, BUILT_IN, strict=True):
        missing = f"not downloaded yet: seasync models pull {weights.encoders[0]}"
        print(f"{weights.name}  {weights.size_bytes / 1e6:.1f} MB  {weights.license}  {weights.origin}")
        print(f"  encoders  {', '.join(weights.encoders)}")
        print(f"  file      {row['file'] or missing}")
        print(f"  source    {row['source'] or 'first tried: ' + weights.sources[0].label}")


@models.command(epilog="Examples:\n\nseasync models pull dinov2-small pose")
def pull(
    encoders: Annotated[
        list[str] | None,
        typer.Argument(show_default="the default encoder", help="Encoders to download weights for."),
    ] = None,
) -> None:
    """Download weights, check them, and prepare them for use."""
    from seasync.encoders import DEFAULT, get_encoder

    for name in encoders or [DEFAULT]:
        encoder = get_encoder(name)
        print(f"{name}: ready ({encoder.dimension} values per frame, {encoder.fps:g} frames per second)")


def version(
    everything: Annotated[
        bool, typer.Option("--all", help="Also print the dependencies and the machine, for a bug report.")
    ] = False,
    as_json: parameters.Json = False,
) -> None:
    """Print the version of Seasync.

    Examples:

    seasync version --all
    """
    facts = _facts() if everything else {"seasync": seasync.__version__}
    if as_json:
        output.print_json(facts, indent=2)
    else:
        width = max(map(len, facts))
        print("\n".join(f"{name:{width}}  {value}" for name, value in facts.items()))


def _facts() -> dict[str, str]:
    from importlib import metadata

    import av

    from seasync.encoders import cache_folder
    from seasync.encoders.onnx import active_device
    from seasync.plugins import described

    facts = {}
    for part in _PARTS.split():
        try:
            facts[part] = metadata.version(part)
        except metadata.PackageNotFoundError:
            facts[part] = "not installed"
    libraries = ", ".join(f"{name} {'.'.join(map(str, v))}" for name, v in av.library_versions.items())
    return facts | {
        "FFmpeg": f"{av.ffmpeg_version_info} ({libraries})",
        "device": str(active_device()),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cores": str(os.cpu_count()),
        "cache folder": str(cache_folder()),
        "plugins": ", ".join(described()) or "none",
        "models folder": os.environ.get("SEASYNC_MODELS", "not set (SEASYNC_MODELS)"),
    }
