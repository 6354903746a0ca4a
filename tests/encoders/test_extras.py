"""What needs an extra says which."""

from __future__ import annotations

import sys

import pytest
from typer.testing import CliRunner

from seasync.cli import app
from seasync.encoders import get_encoder
from seasync.errors import MissingExtra


@pytest.mark.parametrize(
    ("name", "extra"), [("timm:resnet50", "timm"), ("hf:some/model", "models"), ("torch:file.pt", "models")]
)
def test_without_torch_the_extra_is_named(name: str, extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The extra is the one that brings all that this encoder needs: `timm` brings torch too."""
    monkeypatch.setitem(sys.modules, "torch", None)
    said = rf"needs the extra '{extra}': pip install 'seasync\[{extra}\]'"
    with pytest.raises(MissingExtra, match=said):
        get_encoder(name)


def test_training_without_torch_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtra, match=r"seasync train needs the extra 'train'"):
        CliRunner().invoke(app, ["train", "nms", "a.mp4", "--out", "m.onnx"], catch_exceptions=False)
    with pytest.raises(MissingExtra, match=r"seasync sea adapt needs the extra 'train'"):
        CliRunner().invoke(app, ["sea", "adapt", "--to", "new.sea"], catch_exceptions=False)
