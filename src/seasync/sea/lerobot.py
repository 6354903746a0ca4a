"""Episodes of LeRobot data sets as clips: layouts v2.1 (a video each) and v3.0 (many episodes per video)."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seasync.errors import SeaError

PREFIX = "lerobot:"


@dataclass(frozen=True)
class Episode:
    """One episode as one camera shows it.

    Attributes
    ----------
    index : int
    file : Path
        The video file.
    task : str or None
        What is done in it, in words.
    start, end : float or None
        Its span of the file in seconds; None for the whole file.
    """

    index: int
    file: Path
    task: str | None
    start: float | None = None
    end: float | None = None

    @property
    def name(self) -> str:
        """What marks of the episode go by, such as episode_000012."""
        return f"episode_{self.index:06d}"


def is_episode(name: str) -> bool:
    """Whether a name or tag is that of an episode."""
    return re.fullmatch(r"episode_\d{6,}", name) is not None


def episodes(root: str | Path, camera: str | None = None) -> list[Episode]:
    """The episodes of a data set, in order.

    Parameters
    ----------
    root : str or Path
        The data set's folder, with `meta/info.json`; the prefix `lerobot:` is ignored.
    camera : str, optional
        Which camera, such as `observation.images.top` or its last part, `top`. Needed if there are several.

    Raises
    ------
    SeaError
        If the folder is no LeRobot data set of a known layout, or the camera is unknown.
    """
    folder = Path(str(root).removeprefix(PREFIX))
    info = _info(folder)
    key = _camera(folder, info, camera)
    version = str(info.get("codebase_version", ""))
    if version.startswith("v3"):
        found = list(_from_tables(folder, info, key))
    elif version.startswith("v2"):
        found = list(_from_lines(folder, info, key))
    else:
        raise SeaError(f"{folder}: LeRobot layout {version or 'unknown'}; expected v2.1 or v3.0")
    if not found:
        raise SeaError(f"{folder}: a LeRobot data set without episodes")
    return sorted(found, key=lambda episode: episode.index)


def _info(folder: Path) -> dict[str, Any]:
    file = folder / "meta" / "info.json"
    try:
        info = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SeaError(
            f"{file}: cannot be read ({error}); expected the folder of a LeRobot data set"
        ) from error
    if not isinstance(info, dict) or "video_path" not in info or not isinstance(info.get("features"), dict):
        raise SeaError(f"{file}: no 'video_path' and 'features'; expected a LeRobot data set with videos")
    return info


def _camera(folder: Path, info: dict[str, Any], wanted: str | None) -> str:
    cameras = [name for name, feature in info["features"].items() if feature.get("dtype") == "video"]
    if not cameras:
        raise SeaError(f"{folder}: the data set has no videos")
    if wanted is None:
        if len(cameras) > 1:
            raise SeaError(f"{folder}: several cameras ({', '.join(cameras)}); choose one with --camera")
        return str(cameras[0])
    chosen = [name for name in cameras if wanted in (name, name.rpartition(".")[2])]
    if len(chosen) != 1:
        raise SeaError(f"{folder}: no camera {wanted!r}; expected one of {', '.join(cameras)}")
    return str(chosen[0])


def _from_lines(folder: Path, info: dict[str, Any], camera: str) -> Iterator[Episode]:
    file = folder / "meta" / "episodes.jsonl"
    try:
        rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]
        for row in rows:
            index = int(row["episode_index"])
            chunk = index // int(info.get("chunks_size", 1000))
            place = info["video_path"].format(episode_chunk=chunk, video_key=camera, episode_index=index)
            yield Episode(index, folder / place, _task(row.get("tasks")))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SeaError(f"{file}: cannot be read as LeRobot's list of episodes ({error!r})") from error


def _from_tables(folder: Path, info: dict[str, Any], camera: str) -> Iterator[Episode]:
    import pyarrow as pa
    import pyarrow.parquet as parquet

    parts = ("chunk_index", "file_index", "from_timestamp", "to_timestamp")
    columns = ["episode_index", "tasks", *(f"videos/{camera}/{part}" for part in parts)]
    for file in sorted((folder / "meta" / "episodes").rglob("*.parquet")):
        try:
            rows = parquet.read_table(file, columns=columns).to_pylist()
            for row in rows:
                chunk, number, start, end = (row[f"videos/{camera}/{part}"] for part in parts)
                place = info["video_path"].format(video_key=camera, chunk_index=chunk, file_index=number)
                yield Episode(
                    int(row["episode_index"]), folder / place, _task(row["tasks"]), float(start), float(end)
                )
        except (OSError, pa.ArrowException, KeyError, TypeError, ValueError) as error:
            raise SeaError(f"{file}: cannot be read as LeRobot's table of episodes ({error})") from error


def _task(tasks: Any) -> str | None:
    return str(tasks[0]) if tasks else None
