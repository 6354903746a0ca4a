"""Checkpoints are read without running anything in them."""

from __future__ import annotations

import argparse
import os
import pickle
import sys
import types
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seasync.encoders.torch_models import read_checkpoint, tensors
from seasync.errors import EncoderError

torch = pytest.importorskip("torch", reason="needs the extra 'models'")


@pytest.mark.parametrize("zipped", [True, False], ids=["zip", "legacy"])
def test_every_tensor_comes_out_as_torch_wrote_it(tmp_path: Path, zipped: bool) -> None:
    rows = torch.arange(24.0).reshape(4, 6)
    written = {
        "epoch": 7,
        "model": {
            "turned": rows.T,
            "part": rows[1:3, ::2],
            "half": rows.half(),
            "brain": rows.bfloat16(),
            "whole": torch.tensor(3),
            "parameter": torch.nn.Parameter(rows),
        },
    }
    torch.save(written, tmp_path / "c.pth", _use_new_zipfile_serialization=zipped)
    read = dict(tensors(read_checkpoint(tmp_path / "c.pth")))
    for name, tensor in written["model"].items():  # type: ignore[attr-defined]
        np.testing.assert_array_equal(read[f"model.{name}"], tensor.detach().float().numpy())


def test_settings_saved_beside_the_weights_are_plain_values(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CARL's checkpoints hold their config as an EasyDict, a class that need not be installed here."""
    module = types.ModuleType("easydict")

    class EasyDict(dict[str, Any]):
        def __setattr__(self, name: str, value: Any) -> None:
            super().__setattr__(name, value)
            super().__setitem__(name, value)

    EasyDict.__module__, EasyDict.__qualname__ = "easydict", "EasyDict"
    module.EasyDict = EasyDict  # type: ignore[attr-defined]
    with monkeypatch.context() as installed:
        installed.setitem(sys.modules, "easydict", module)
        settings = EasyDict()
        settings.LR, settings.INNER, settings.args = 0.1, EasyDict(A=[1, 2]), argparse.Namespace(rank=0)
        torch.save({"cfg": settings, "model_state": {"w": torch.ones(2)}}, tmp_path / "c.pth")
    read = read_checkpoint(tmp_path / "c.pth")
    np.testing.assert_array_equal(read["model_state"]["w"], [1, 1])
    assert read["cfg"] == {"LR": 0.1, "INNER": {"A": [1, 2]}, "args": {}}


class Trap:
    """Makes a folder when it is unpickled by a reader that trusts it."""

    def __init__(self, folder: Path) -> None:
        self.folder = str(folder)

    def __reduce__(self) -> Any:
        return os.mkdir, (self.folder,)


def test_code_in_a_checkpoint_is_refused_and_not_run(tmp_path: Path) -> None:
    for name, zipped in (("new.pth", True), ("old.pth", False)):
        torch.save({"w": Trap(tmp_path / "sprung")}, tmp_path / name, _use_new_zipfile_serialization=zipped)
        with pytest.raises(EncoderError, match=rf"{name}: refused as a checkpoint: it asks for \w+\.mkdir"):
            read_checkpoint(tmp_path / name)
    assert not (tmp_path / "sprung").exists()


def test_a_tensor_larger_than_its_storage_is_refused(tmp_path: Path) -> None:
    torch.save({"w": torch.zeros(100)}, tmp_path / "c.pth")
    with zipfile.ZipFile(tmp_path / "c.pth") as whole, zipfile.ZipFile(tmp_path / "short.pth", "w") as short:
        for name in whole.namelist():
            content = whole.read(name)
            short.writestr(
                name, content.replace(b"Kd\x85", b"Kz\x85") if name.endswith("data.pkl") else content
            )
    with pytest.raises(EncoderError, match="not a torch checkpoint"):
        read_checkpoint(tmp_path / "short.pth")


@pytest.mark.parametrize("content", [b"", b"hello", pickle.dumps(5), pickle.dumps(os.getcwd)])
def test_other_files_are_refused_in_one_line(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "c.pth").write_bytes(content)
    with pytest.raises(EncoderError, match=r"c\.pth") as caught:
        read_checkpoint(tmp_path / "c.pth")
    assert "\n" not in str(caught.value)
