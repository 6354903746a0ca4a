"""Which videos to add: files, folders, patterns and lists resolved to single videos with their labels."""

import csv
import glob
import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any

from seasync.errors import SeaError
from seasync.files import Location, Place, fetch, is_uri, store

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


VIDEOS = frozenset(
    {".3gp", ".avi", ".flv", ".gif", ".m2ts", ".m4v", ".mkv", ".mov", ".mp4", ".mpeg", ".mpg", ".mts"}
    | {".mxf", ".ogv", ".ts", ".webm", ".wmv"}
)
LISTS = {".csv": ",", ".tsv": "\t"}


@dataclass(frozen=True)
class SourceVideo:
    """A video file (or a folder of images) to add; with a span if its list gives one.

    Attributes
    ----------
    file
        A path, or a URI as text.
    size
        Bytes, where a listing of the store gives them.
    """

    file: Path | str
    label: str | None = None
    tags: tuple[str, ...] = ()
    start: float | None = None
    end: float | None = None
    size: int | None = field(default=None, compare=False)

    @property
    def has_span(self) -> bool:
        return self.start is not None or self.end is not None


def find_videos(
    paths: Sequence[Place], *, labels: Place | None = None, tags: Sequence[str] = ()
) -> list[SourceVideo]:
    """The videos that `paths` name, each once, folders in the order of their names.

    Parameters
    ----------
    paths
        Video files, folders with all that is below them (a folder of nothing but images is one video),
        patterns such as ``clips/*.mp4``, and lists: .csv or .tsv with the column ``file`` (relative to the
        list) and optionally ``label``, ``start``, ``end``, ``tags`` (separated by semicolons). Any of these
        may be at a URI. ``lerobot:DIR#CAMERA`` names the episodes of a LeRobot data set; their task is the
        label, and their name (such as episode_000012) a tag.
    labels
        ``"folder"``: the name of the folder that contains a video; or a list with the columns ``file`` and
        ``label``.
    tags
        Tags for all of these videos.
    """
    label_of = _labeller(labels)
    sources: dict[SourceVideo, None] = {}
    for path in paths:
        for source in _listed(path) if Location(path).suffix.lower() in LISTS else _videos(path):
            label = source.label or label_of(source.file)
            sources[replace(source, label=label, tags=source.tags + tuple(tags))] = None
    return list(sources)


def _videos(path: Place) -> Iterator[SourceVideo]:
    if str(path).startswith(PREFIX):
        root, _, camera = str(path).removeprefix(PREFIX).partition("#")
        for episode in episodes(root, camera or None):
            yield SourceVideo(
                episode.file.absolute(), episode.task, (episode.name,), episode.start, episode.end
            )
        return
    if is_uri(path):
        yield from _stored(str(path))
        return
    found = Path(path).absolute()
    if found.is_dir():
        videos = list(_walk(found))
        if not videos:
            raise SeaError(f"{path}: a folder without videos; expected files such as .mp4, .mov or .mkv")
        yield from map(SourceVideo, videos)
    elif found.exists():
        yield SourceVideo(found)
    else:
        matches = sorted(glob.glob(os.path.expanduser(str(path)), recursive=True))
        if not matches:
            raise SeaError(f"{path}: no such file or folder, and nothing matches it as a pattern")
        for match in matches:
            yield from _videos(match)


def _stored(uri: str) -> Iterator[SourceVideo]:
    """The videos at a URI, below it, or that match it as a pattern."""
    found = store.matching(uri) if set(uri) & set("*?") else store.objects(uri)
    videos = [each for each in found if each.uri == uri or _shown(each.uri)]
    if not videos:
        raise SeaError(f"{uri}: no videos there; expected files such as .mp4, .mov or .mkv")
    yield from (SourceVideo(each.uri, size=each.size) for each in videos)


def _shown(uri: str) -> bool:
    """Whether this is a video that is not hidden, nor part of a sea."""
    *folders, name = uri.split("/")
    hidden = name.startswith(".") or any(part.startswith(".") or part.endswith(".sea") for part in folders)
    return PurePosixPath(name).suffix.lower() in VIDEOS and not hidden


def _walk(folder: Path) -> Iterator[Path]:
    from seasync.video.source import IMAGES

    for where, folders, names in os.walk(folder):
        folders[:] = sorted(
            name for name in folders if not name.startswith(".") and not name.endswith(".sea")
        )
        kinds = {name: Path(name).suffix.lower() for name in sorted(names) if not name.startswith(".")}
        videos = [name for name, kind in kinds.items() if kind in VIDEOS]
        yield from (Path(where, name) for name in videos)
        if not videos and sum(kind in IMAGES for kind in kinds.values()) > 1:
            yield Path(where)


def _listed(path: Place) -> Iterator[SourceVideo]:
    for number, row in _rows(path):
        try:
            start, end = (float(row[name]) if row.get(name) else None for name in ("start", "end"))
        except ValueError:
            raise SeaError(f"{path}, line {number}: start and end must be seconds, such as 12.5") from None
        tags = tuple(tag.strip() for tag in (row.get("tags") or "").split(";") if tag.strip())
        yield SourceVideo(_beside(path, row["file"]), row.get("label") or None, tags, start, end)


def _beside(listing: Place, file: str) -> Path | str:
    """A file that a list names, relative to the list."""
    if is_uri(file):
        return file
    if is_uri(listing):
        return f"{str(listing).rpartition('/')[0]}/{file}"
    return Path(listing).absolute().parent / file


def _rows(path: Place) -> Iterator[tuple[int, dict[str, str]]]:
    """The lines of a list, by the names of its columns."""
    try:
        with fetch(path).open(newline="", encoding="utf-8-sig") as opened:
            reader = csv.DictReader(opened, delimiter=LISTS.get(Location(path).suffix.lower(), ","))
            if "file" not in (reader.fieldnames or ()):
                raise SeaError(f"{path}: expected a list with the column 'file', got {reader.fieldnames}")
            for row in reader:
                if row["file"]:
                    yield reader.line_num, row
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise SeaError(f"{path}: cannot be read as a list ({error})") from error


def _labeller(labels: Place | None) -> Callable[[Path | str], str | None]:
    if labels is None:
        return lambda file: None
    if str(labels) == "folder":
        return lambda file: PurePosixPath(_named(file)).parent.name
    if not is_uri(labels) and not Path(labels).is_file():
        raise SeaError(
            f"labels {labels}: no such file; expected 'folder' or a list with the columns file and label"
        )
    by_file = {_named(_beside(labels, row["file"])): row.get("label") for _, row in _rows(labels)}
    by_name = {PurePosixPath(file).name: label for file, label in by_file.items()}
    return lambda file: by_file.get(_named(file), by_name.get(PurePosixPath(_named(file)).name))


def _named(file: Path | str) -> str:
    """A file's whole name, with slashes."""
    return file if isinstance(file, str) else file.absolute().as_posix()
