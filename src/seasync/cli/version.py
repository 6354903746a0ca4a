"""`seasync version`: what is installed here, and everything a bug report needs."""

from __future__ import annotations

from typing import Annotated

import typer

from seasync.cli.parameters import Json

EXAMPLES = "seasync version --all"


def version(
    everything: Annotated[
        bool, typer.Option("--all", help="Also print the dependencies and the machine, for a bug report.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Print the version of Seasync."""
    import seasync

    facts = _facts() if everything else {"seasync": seasync.__version__}
    if as_json:
        import json

        print(json.dumps(facts, indent=2))
    else:
        width = max(map(len, facts))
        print("\n".join(f"{name:{width}}  {value}" for name, value in facts.items()))


_PARTS = (
    "seasync numpy av onnxruntime protobuf pylance pyarrow python-stretch "
    "pysubs2 pillow typer rich torch timm transformers ai-edge-litert fastapi uvicorn ray lance-ray"
)


def _facts() -> dict[str, str]:
    import os
    import platform
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as version_of

    import av

    from seasync.encoders import cache_folder
    from seasync.encoders.device import active_device
    from seasync.plugins import described

    facts = {}
    for part in _PARTS.split():
        try:
            facts[part] = version_of(part)
        except PackageNotFoundError:
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
