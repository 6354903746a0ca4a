"""A place keeps its text: nothing turns a URI into a path, or a path of Windows into a URI."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath, PureWindowsPath

import pytest
from hypothesis import given, strategies as st

from seasync.errors import StoreError
from seasync.files import Location, is_uri, location

# What object names may hold: anything but a slash; a part is never empty.
parts = st.text(st.characters(blacklist_characters="/\0", blacklist_categories=["Cs"]), min_size=1)
uris = st.builds(
    lambda scheme, bucket, names: f"{scheme}://{'/'.join([bucket, *names])}",
    st.sampled_from(["s3", "gs", "az"]),
    parts,
    st.lists(parts, min_size=1, max_size=4),
)


@given(uris)
def test_a_uri_stays_as_it_was_given(uri: str) -> None:
    place = Location(uri)
    assert is_uri(uri)
    assert str(place) == place.uri == uri
    assert Location(place) == Location(str(place)) == place
    assert not place.is_local


@given(uris)
def test_parent_and_name_give_the_place_again(uri: str) -> None:
    place = Location(uri)
    assert place.parent.join(place.name) == place
    assert place.with_name(place.name) == place
    assert place.stem + place.suffix == place.name
    assert place.scheme == place.parent.scheme


@given(uris, st.lists(parts, min_size=1, max_size=3))
def test_what_is_joined_lies_below(uri: str, names: list[str]) -> None:
    below = Location(uri).join(*names)
    assert str(below).startswith(f"{uri}/")
    assert below.name == names[-1]
    for _ in names:
        below = below.parent
    assert below == Location(uri)


@given(st.lists(parts.filter(lambda part: part not in (".", "..")), min_size=1, max_size=4))
def test_a_path_and_its_file_uri_are_the_same_file(names: list[str]) -> None:
    path = Path(os.path.abspath(os.sep)).joinpath(*names)
    place = Location(path)
    assert (place.path, place.name, place.suffix) == (path, path.name, path.suffix)
    again = Location(place.uri)
    assert again.scheme == "file"
    assert (again.path, again.name, again.suffix) == (path, path.name, path.suffix)
    assert again.join("b c%.mp4").path == path / "b c%.mp4"
    assert again.parent.path == path.parent


def test_a_uri_cannot_pass_for_a_path() -> None:
    place = Location("s3://bucket/clips/a.mp4")
    for use in (Path, os.fspath, open, lambda place: place.path):
        with pytest.raises(StoreError, match=r"s3://bucket/clips/a\.mp4: a URI, not a path"):
            use(place)
    assert Path(Location("clips/a.mp4")) == Path("clips/a.mp4")


def test_a_path_that_was_a_uri_is_refused() -> None:
    with pytest.raises(StoreError, match="lost a slash; give the URI as a string"):
        Location(PurePosixPath("s3://bucket/a.mp4"))
    assert Location("s3:/bucket/a.mp4").is_local  # as text, it is what it says


@pytest.mark.parametrize("text", ["", "a\0b"])
def test_nothing_is_no_place(text: str) -> None:
    with pytest.raises(StoreError, match="expected a path, or a URI"):
        Location(text)


def test_buckets_are_their_own_parents() -> None:
    assert Location("s3://bucket").parent == Location("s3://bucket")
    assert Location("s3://bucket").join("a.mp4") == Location("s3://bucket/a.mp4")
    assert Location("s3://bucket/a//b.mp4").parent == Location("s3://bucket/a/")
    assert Location("file:///a.mp4").parent.path == Path("/")


def test_folders_may_end_in_a_slash() -> None:
    assert Location("s3://bucket/clips/").name == "clips"
    assert Location("s3://bucket/clips/").join("a.mp4") == Location("s3://bucket/clips/a.mp4")


def test_file_uris_of_other_machines_are_refused() -> None:
    assert Location("file://localhost/a%20b.mp4").path == Path("/a b.mp4")
    with pytest.raises(StoreError, match="expected file:///PATH"):
        _ = Location("file://elsewhere/a.mp4").path


@pytest.mark.parametrize(
    ("text", "name", "parent"),
    [
        (r"C:\clips\a.mp4", "a.mp4", r"C:\clips"),
        ("C:/clips/a.mp4", "a.mp4", r"C:\clips"),
        ("C://clips/a.mp4", "a.mp4", r"C:\clips"),
        (r"\\server\share\clips\a.mp4", "a.mp4", r"\\server\share\clips"),
        ("//server/share/clips/a.mp4", "a.mp4", r"\\server\share\clips"),
        (r"clips\a.mp4", "a.mp4", "clips"),
    ],
)
def test_paths_of_windows_are_paths(
    text: str, name: str, parent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(location, "PurePath", PureWindowsPath)
    place = Location(text)
    assert (place.scheme, place.is_local) == (None, True)
    assert (place.name, place.suffix, str(place.parent)) == (name, ".mp4", parent)
    assert PureWindowsPath(str(place.parent.join("b.mp4"))) == PureWindowsPath(text).with_name("b.mp4")


@pytest.mark.parametrize(
    ("files", "names"),
    [
        (["/f/a/1.mp4", "/f/b/2.mp4"], ["a/1.mp4", "b/2.mp4"]),
        (["/f/a/1.mp4"], ["1.mp4"]),
        (["s3://b/a/1.mp4", "s3://b/2.mp4"], ["a/1.mp4", "2.mp4"]),
        (["/f/1.mp4", "s3://b/f/1.mp4"], ["/f/1.mp4", "s3://b/f/1.mp4"]),
        ([], []),
    ],
)
def test_names_below_the_folder_that_files_share(files: list[str], names: list[str]) -> None:
    assert list(location.below_common_folder(files).values()) == names


def test_file_uris_of_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    class System:
        name = "nt"
        fspath = staticmethod(os.fspath)

    monkeypatch.setattr(location, "os", System)
    monkeypatch.setattr(location, "Path", PureWindowsPath)
    assert Location("file:///C:/a%20b.mp4").path == PureWindowsPath(r"C:\a b.mp4")
    assert Location("file://server/share/a.mp4").path == PureWindowsPath(r"\\server\share\a.mp4")
