"""Files that others made: read as data, never run."""

from __future__ import annotations

import base64
import os
import pickle
import re
import struct
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.io import savemat

from seasync.errors import DataError
from seasync.evaluate.data import open_dataset
from seasync.evaluate.untrusted import read_mat, read_npy, read_pickle
from tests import videos

# pickle.dumps of CARL's structure with a torch 2.13 LongTensor [0, 0, 1, 1, 2, -1] in it.
CARL_PICKLE = base64.b64decode(
    "gASVQAIAAAAAAABdlH2UKIwCaWSUSwCMCnZpZGVvX2ZpbGWUjB12aWRlb3MvMDAwMWJhc2ViYWxsX3BpdGNoLm1wNJSMC2Zy"
    "YW1lX2xhYmVslIwMdG9yY2guX3V0aWxzlIwSX3JlYnVpbGRfdGVuc29yX3YylJOUKIwNdG9yY2guc3RvcmFnZZSMEF9sb2Fk"
    "X2Zyb21fYnl0ZXOUk5RCKgEAAIACigps/JxG+SBqqFAZLoACTekDLoACfXEAKFgQAAAAcHJvdG9jb2xfdmVyc2lvbnEBTekD"
    "WA0AAABsaXR0bGVfZW5kaWFucQKIWAoAAAB0eXBlX3NpemVzcQN9cQQoWAUAAABzaG9ydHEFSwJYAwAAAGludHEGSwRYBAAA"
    "AGxvbmdxB0sEdXUugAIoWAcAAABzdG9yYWdlcQBjdG9yY2gKTG9uZ1N0b3JhZ2UKcQFYDgAAADk0Njc3ODQ1MTQ1MjgwcQJY"
    "AwAAAGNwdXEDSwZOdHEEUS6AAl1xAFgOAAAAOTQ2Nzc4NDUxNDUyODBxAWEuBgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAQAA"
    "AAAAAAABAAAAAAAAAAIAAAAAAAAA//////////+UhZRSlEsASwaFlEsBhZSJjAtjb2xsZWN0aW9uc5SMC09yZGVyZWREaWN0"
    "lJOUKVKUdJRSlIwHc2VxX2xlbpRLBowEbmFtZZSMEjAwMDFiYXNlYmFsbF9waXRjaJSMDGFjdGlvbl9sYWJlbJRLAHVhXZQo"
    "XZRLAGFdlGWGlC4="
)


def test_carls_pickle_is_read_without_torch(tmp_path):
    (tmp_path / "train.pkl").write_bytes(CARL_PICKLE)
    (clip,), indices = read_pickle(tmp_path / "train.pkl")
    assert clip["frame_label"].tolist() == [0, 0, 1, 1, 2, -1]
    assert clip["name"] == "0001baseball_pitch"
    assert indices == [[0], []]


def test_carls_processed_set_loads(tmp_path):
    for name in ("train", "val"):
        (tmp_path / f"{name}.pkl").write_bytes(
            CARL_PICKLE.replace(b"0001baseball", b"0002baseball", 2 * (name == "val"))
        )
    (tmp_path / "videos").mkdir()
    for number in ("0001", "0002"):
        videos.numbered(tmp_path / "videos" / f"{number}baseball_pitch.mp4", 6)
    dataset = open_dataset(tmp_path)
    assert [(i.label, i.split) for i in dataset.items] == [
        ("baseball_pitch", "train"),
        ("baseball_pitch", "test"),
    ]
    assert dataset.items[0].phases.at(np.arange(6)).tolist() == [0, 0, 1, 1, 2, -1]


@pytest.mark.parametrize(
    "content", [[1, "a", 2.5, None, {"x": (True,)}], np.arange(6).reshape(2, 3), np.float32(3)]
)
@pytest.mark.parametrize("protocol", [2, 4, 5])
def test_plain_data_and_arrays_are_read(tmp_path, content, protocol):
    (tmp_path / "x.pkl").write_bytes(pickle.dumps(content, protocol=protocol))
    np.testing.assert_equal(read_pickle(tmp_path / "x.pkl"), content)


class _Attack:
    def __init__(self, *call):
        self.call = call

    def __reduce__(self):
        return self.call


@pytest.mark.parametrize(
    "attack",
    [
        _Attack(os.mkdir, ("OWNED",)),
        _Attack(eval, ("__import__('os').mkdir('OWNED')",)),
        [1, {"frame_label": _Attack(os.system, ("mkdir OWNED",))}],
        _Attack(open, ("OWNED", "w")),
    ],
)
def test_a_pickle_that_would_run_code_is_refused(tmp_path, monkeypatch, attack):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.pkl").write_bytes(pickle.dumps(attack))
    with pytest.raises(DataError, match="only plain data and arrays are read"):
        read_pickle(tmp_path / "x.pkl")
    assert not (tmp_path / "OWNED").exists()


def test_code_inside_a_tensors_own_bytes_is_refused(tmp_path, monkeypatch):
    """torch reads the bytes within with a full unpickler of its own; ours must not."""
    monkeypatch.chdir(tmp_path)
    inner = pickle.dumps(_Attack(os.mkdir, ("OWNED",)), protocol=2)
    outer = (
        b"\x80\x04\x8c\x0dtorch.storage\x8c\x10_load_from_bytes\x93B"
        + len(inner).to_bytes(4, "little")
        + inner
    )
    outer += b"\x85R."
    (tmp_path / "x.pkl").write_bytes(outer)
    with pytest.raises(DataError, match=r"refused \(it asks for \w+\.mkdir"):
        read_pickle(tmp_path / "x.pkl")
    assert not (tmp_path / "OWNED").exists()


def test_a_tensor_that_reaches_beyond_its_storage_is_refused(tmp_path):
    sized = CARL_PICKLE.replace(b"K\x06\x85\x94K\x01\x85\x94", b"K\xf6\x85\x94K\x01\x85\x94")
    assert sized != CARL_PICKLE
    (tmp_path / "x.pkl").write_bytes(sized)
    with pytest.raises(DataError, match="larger than its storage"):
        read_pickle(tmp_path / "x.pkl")


def test_damaged_pickles_raise_nothing_but_data_errors(tmp_path):
    random = np.random.default_rng(0)
    for _ in range(300):
        damaged = bytearray(CARL_PICKLE)
        for at in random.integers(0, len(damaged), 3):
            damaged[at] = random.integers(0, 256)
        (tmp_path / "x.pkl").write_bytes(bytes(damaged))
        with suppress(DataError):
            read_pickle(tmp_path / "x.pkl")


def test_a_mat_file_gives_arrays_and_nothing_else(tmp_path):
    savemat(tmp_path / "x.mat", {"x": np.arange(6.0).reshape(2, 3), "name": "bowl", "s": {"a": 1}})
    content = read_mat(tmp_path / "x.mat", ("x", "name"))
    assert content["x"].shape == (2, 3)
    assert content["name"][0] == "bowl"
    with pytest.raises(DataError, match="s is not an array of numbers or text"):
        read_mat(tmp_path / "x.mat", ("s",))
    with pytest.raises(DataError, match="no variable visibility"):
        read_mat(tmp_path / "x.mat", ("visibility",))


def test_damaged_mat_files_raise_nothing_but_data_errors(tmp_path):
    savemat(tmp_path / "x.mat", {"x": np.arange(60.0).reshape(20, 3), "action": "bowl"}, do_compression=True)
    whole = (tmp_path / "x.mat").read_bytes()
    random = np.random.default_rng(1)
    for _ in range(200):
        damaged = bytearray(whole[: random.integers(1, len(whole) + 1)])
        for at in random.integers(0, len(damaged), 3):
            damaged[at] = random.integers(0, 256)
        (tmp_path / "y.mat").write_bytes(bytes(damaged))
        with suppress(DataError):
            read_mat(tmp_path / "y.mat", ("x", "action"))


@pytest.mark.parametrize("kind", [0, 3, 5, 16, 18, 200])
def test_mat_arrays_of_kinds_that_scipy_does_not_know(tmp_path, kind):
    savemat(tmp_path / "x.mat", {"x": np.arange(6.0)}, do_compression=False)
    content = bytearray((tmp_path / "x.mat").read_bytes())
    content[144] = kind  # the class in the flags of the first array
    (tmp_path / "x.mat").write_bytes(bytes(content))
    with pytest.raises(DataError, match=r"not a readable|no variable|not an array"):
        read_mat(tmp_path / "x.mat", ("x",))


@pytest.mark.parametrize("header", ["{'descr': (20\u00d7,", "{'a': '''", "\\\n", "(" * 110])
def test_npy_headers_that_are_no_python(tmp_path, header):
    text = header.encode("latin1")
    (tmp_path / "x.npy").write_bytes(
        b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(64)
    )
    with pytest.raises(DataError, match="not a readable"):
        read_npy(tmp_path / "x.npy")


def test_a_pickle_that_gives_a_numpy_type_a_state_it_cannot_have(tmp_path):
    int64 = b"\x8c\x05numpy\x8c\x05dtype\x93\x8c\x02i8\x89\x88\x87R"
    (tmp_path / "x.pkl").write_bytes(b"\x80\x04" + int64 + b"K\x09\x85b.")
    with pytest.raises(DataError, match="not a readable pickle"):
        read_pickle(tmp_path / "x.pkl")


def test_an_npy_file_with_objects_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save(tmp_path / "x.npy", np.array([_Attack(os.mkdir, ("OWNED",))], dtype=object), allow_pickle=True)
    with pytest.raises(DataError, match="not a readable"):
        read_npy(tmp_path / "x.npy")
    assert not (tmp_path / "OWNED").exists()


@pytest.mark.parametrize(
    "state", [(3, "<", None, None, None, -1, -1, 0), (3, "?", None, None, None, -1, -1, 0)]
)
def test_types_that_would_crash_numpy_are_refused(tmp_path: Path, state: tuple[Any, ...]) -> None:
    """A pickled type of time whose state has no unit ends the process inside numpy."""

    class Type:
        def __reduce__(self) -> Any:
            return np.dtype, ("m8" if state[1] == "<" else "f8", False, True), state

    class Array:
        def __reduce__(self) -> Any:
            return (
                np._core.multiarray._reconstruct,
                (np.ndarray, (0,), b"b"),
                (1, (2,), Type(), False, bytes(16)),
            )

    file = tmp_path / "train.pkl"
    file.write_bytes(pickle.dumps(Array()))
    with pytest.raises(DataError, match=re.escape(str(file))):
        read_pickle(file)


@pytest.mark.parametrize("shape", [(3,), (-2,), (2.0,)])
def test_arrays_whose_shape_does_not_fit_their_bytes_are_refused(tmp_path: Path, shape: Any) -> None:
    class Array:
        def __reduce__(self) -> Any:
            state = (1, shape, np.dtype("f8"), False, bytes(16))
            return np._core.multiarray._reconstruct, (np.ndarray, (0,), b"b"), state

    file = tmp_path / "train.pkl"
    file.write_bytes(pickle.dumps(Array()))
    with pytest.raises(DataError, match="refused"):
        read_pickle(file)


@pytest.mark.parametrize("compressed", [False, True])
def test_an_unknown_type_in_a_matlab_file_is_refused(tmp_path: Path, compressed: bool) -> None:
    """scipy's reader ends the process at such a tag."""
    file = tmp_path / "0001.mat"
    savemat(file, {"x": np.arange(12.0).reshape(3, 4) / 7})
    assert read_mat(file, ["x"])["x"].shape == (3, 4)
    content = bytearray(file.read_bytes())
    at = content.index(b"\x09\x00\x00\x00", 128)  # the tag of the values: doubles
    content[at] = 0
    if compressed:
        packed = zlib.compress(bytes(content[128:]))
        content = content[:128] + struct.pack("<II", 15, len(packed)) + packed
    file.write_bytes(content)
    with pytest.raises(DataError, match="not a readable MATLAB 5 file"):
        read_mat(file, ["x"])
