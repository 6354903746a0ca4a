"""What paths, lists and labels name."""

from __future__ import annotations

from pathlib import Path

import pytest

from seasync.errors import SeaError
from seasync.sea.sources import SourceVideo, find_videos


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in ("b/2.mp4", "a/1.MOV", "a/deep/3.mkv", "a/notes.txt", ".hidden/4.mp4", "old.sea/5.mp4"):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    for n in range(3):
        (tmp_path / "frames").mkdir(exist_ok=True)
        (tmp_path / f"frames/{n:06d}.jpg").touch()
    return tmp_path


def names(sources: list[SourceVideo], root: Path) -> list[str]:
    return [source.file.relative_to(root).as_posix() for source in sources]


def test_folders_are_searched_to_the_bottom_in_order(tree: Path) -> None:
    expected = ["a/1.MOV", "a/deep/3.mkv", "b/2.mp4", "frames"]
    assert names(find_videos([tree]), tree) == expected


def test_what_is_named_twice_comes_once(tree: Path) -> None:
    found = find_videos([tree / "b", tree / "b/2.mp4", str(tree / "*/2.mp4")])
    assert names(found, tree) == ["b/2.mp4"]


def test_patterns_reach_into_folders(tree: Path) -> None:
    assert names(find_videos([str(tree / "[ab]/**/*.[mM]*")]), tree) == ["a/1.MOV", "a/deep/3.mkv", "b/2.mp4"]


def test_labels_come_from_folders(tree: Path) -> None:
    assert [source.label for source in find_videos([tree / "a"], labels="folder")] == ["a", "deep"]


def test_labels_come_from_a_list_by_path_or_by_name(tree: Path) -> None:
    listing = tree / "labels.csv"
    listing.write_text("file,label\na/1.MOV,run\nelsewhere/2.mp4,jump\n")
    assert [s.label for s in find_videos([tree / "a", tree / "b"], labels=listing)] == ["run", None, "jump"]


def test_lists_give_spans_labels_and_tags(tree: Path) -> None:
    listing = tree / "list.tsv"
    listing.write_text(
        "file\tstart\tend\tlabel\ttags\nb/2.mp4\t1.5\t3\tserve\twide; night\na/1.MOV\t\t\t\t\n"
    )
    assert find_videos([listing], tags=["all"]) == [
        SourceVideo(tree / "b/2.mp4", "serve", ("wide", "night", "all"), 1.5, 3.0),
        SourceVideo(tree / "a/1.MOV", None, ("all",)),
    ]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("path,label\nx,y\n", "column 'file'"),
        ("file,start\nx.mp4,soon\n", "line 2: start and end must be seconds"),
    ],
)
def test_a_list_that_is_not_one_is_refused(tmp_path: Path, content: str, says: str) -> None:
    (tmp_path / "list.csv").write_text(content)
    with pytest.raises(SeaError, match=says):
        find_videos([tmp_path / "list.csv"])


def test_nothing_found_is_an_error(tree: Path) -> None:
    with pytest.raises(SeaError, match=r"nope\.mp4: no such file or folder"):
        find_videos([tree / "nope.mp4"])
    (tree / "empty").mkdir()
    with pytest.raises(SeaError, match="folder without videos"):
        find_videos([tree / "empty"])
    with pytest.raises(SeaError, match="expected 'folder' or a list"):
        find_videos([tree], labels="folders")
