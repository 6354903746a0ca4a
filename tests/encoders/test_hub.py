"""Models of timm, transformers and torch files, all made here: nothing is fetched."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seasync.encoders import get_encoder
from seasync.errors import EncoderError
from seasync.video import Frames

torch = pytest.importorskip("torch", reason="needs the extra 'models'")


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def frames(size: tuple[int, int], count: int = 3) -> Frames:
    data = np.random.default_rng(0).integers(0, 256, (count, *size, 3), np.uint8)
    return Frames(data, np.arange(count) / 7.5, np.arange(count))


def weighed(patches: np.ndarray) -> np.ndarray:
    """(T, P, d) → (T, d): patches weighed by their squared variance over time."""
    weights = patches.var(0).sum(-1) ** 2
    return np.einsum("p,tpd->td", weights / weights.sum(), patches)


def prepared(batch: Frames, mean: list[float], std: list[float]) -> Any:
    return torch.from_numpy(((batch.data / 255 - mean) / std).transpose(0, 3, 1, 2).astype(np.float32))


class TestTransformers:
    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        """A DINOv2 with registers and 2 × 2 patches that wants 28 px, normalized its own way."""
        transformers = pytest.importorskip("transformers", reason="needs the extra 'models'")
        torch.manual_seed(0)
        config = transformers.Dinov2WithRegistersConfig(
            hidden_size=16,
            num_hidden_layers=1,
            num_attention_heads=2,
            image_size=28,
            patch_size=14,
            num_register_tokens=3,
        )
        transformers.Dinov2WithRegistersModel(config).save_pretrained(tmp_path)
        settings = {
            "do_center_crop": True,
            "crop_size": {"height": 28, "width": 28},
            "size": {"shortest_edge": 32},
            "image_mean": [0.1, 0.2, 0.3],
            "image_std": [0.5, 0.6, 0.7],
        }
        (tmp_path / "preprocessor_config.json").write_text(json.dumps(settings))
        return tmp_path

    def test_features_are_the_models_own_patches_under_its_own_preparation(self, folder: Path) -> None:
        from transformers import AutoModel

        encoder = get_encoder(f"hf:{folder}")
        assert encoder.input_size == (28, 28)
        batch = frames((28, 28))
        with torch.no_grad():
            model = AutoModel.from_pretrained(folder).eval()
            tokens = model(prepared(batch, [0.1, 0.2, 0.3], [0.5, 0.6, 0.7])).last_hidden_state.numpy()
        assert tokens.shape == (3, 1 + 3 + 4, 16)
        np.testing.assert_allclose(encoder.encode([batch]).features, weighed(tokens[:, 4:]), atol=2e-3)

    def test_the_vision_half_of_a_two_tower_model_is_taken(self, tmp_path: Path) -> None:
        transformers = pytest.importorskip("transformers", reason="needs the extra 'models'")
        small = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
        vision = {**small, "image_size": 32, "patch_size": 8}
        config = transformers.CLIPConfig(text_config=small | {"vocab_size": 30}, vision_config=vision)
        transformers.CLIPModel(config).save_pretrained(tmp_path)
        encoder = get_encoder(f"hf:{tmp_path}")
        assert (encoder.input_size, encoder.dimension) == ((32, 32), 16)

    def test_other_models_are_refused(self, tmp_path: Path) -> None:
        transformers = pytest.importorskip("transformers", reason="needs the extra 'models'")
        config = transformers.BertConfig(
            hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8, vocab_size=9
        )
        transformers.BertModel(config).save_pretrained(tmp_path)
        with pytest.raises(EncoderError, match="does not take pictures"):
            get_encoder(f"hf:{tmp_path}")
        with pytest.raises(EncoderError, match="cannot be loaded") as caught:
            get_encoder(f"hf:{tmp_path}/nothing")
        assert "\n" not in str(caught.value)


class TestTimm:
    @pytest.fixture
    def timm(self) -> Any:
        return pytest.importorskip("timm", reason="needs the extra 'timm'")

    @staticmethod
    def saved(timm: Any, name: str, folder: Path) -> Any:
        """A small random model saved as timm saves models; its config asks for half grey as mean."""
        from safetensors.torch import save_file

        torch.manual_seed(0)
        model = timm.create_model(name).eval()
        save_file(model.state_dict(), folder / "model.safetensors")
        config = {"architecture": name, "num_classes": 1000, "pretrained_cfg": model.pretrained_cfg}
        (folder / "config.json").write_text(json.dumps(config))
        return model

    def test_patches_of_a_transformer_under_its_own_preparation(self, timm: Any, tmp_path: Path) -> None:
        model = self.saved(timm, "test_vit", tmp_path)
        encoder = get_encoder(f"timm:local-dir:{tmp_path}")
        assert (encoder.input_size, encoder.dimension) == ((160, 160), 64)
        batch = frames((160, 160))
        with torch.no_grad():
            tokens = model.forward_features(prepared(batch, [0.5] * 3, [0.5] * 3)).numpy()
        np.testing.assert_allclose(encoder.encode([batch]).features, weighed(tokens[:, 1:]), atol=2e-3)

    def test_places_of_a_convolutional_map_are_patches(self, timm: Any, tmp_path: Path) -> None:
        model = self.saved(timm, "test_resnet", tmp_path)
        batch = frames((160, 160))
        with torch.no_grad():
            maps = model.forward_features(prepared(batch, [0.5] * 3, [0.5] * 3)).numpy()
        expected = weighed(maps.reshape(3, 96, -1).swapaxes(1, 2))
        features = get_encoder(f"timm:local-dir:{tmp_path}").encode([batch]).features
        np.testing.assert_allclose(features, expected, atol=2e-3)

    def test_unknown_model_is_one_clear_line(self, timm: Any) -> None:
        with pytest.raises(EncoderError, match="timm:no_such_model: cannot be loaded") as caught:
            get_encoder("timm:no_such_model")
        assert "\n" not in str(caught.value)


def test_a_torchvision_that_does_not_fit_is_one_clear_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "timm.py").write_text("raise RuntimeError('operator torchvision::nms does not exist')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "timm", raising=False)
    with pytest.raises(EncoderError, match=r"nms does not exist.*pip install 'seasync\[timm\]'"):
        get_encoder("timm:resnet50")


class Grid(torch.nn.Module):
    """The mean colour of 2 × 2 cells, as a map."""

    def forward(self, pictures: Any) -> Any:
        return torch.nn.functional.avg_pool2d(pictures, pictures.shape[-1] // 2)


@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")
class TestFiles:
    def test_torchscript_and_exported_programs_agree(self, tmp_path: Path) -> None:
        example = torch.zeros(2, 3, 16, 16)
        torch.jit.trace(Grid(), example).save(tmp_path / "a.pt")
        batch = torch.export.Dim("batch", min=1, max=64)
        torch.export.save(
            torch.export.export(Grid(), (example,), dynamic_shapes=({0: batch},)), tmp_path / "b.pt2"
        )
        for name in ("a.pt", "b.pt2"):
            settings = {"size": [16, 16], "mean": [0, 0, 0], "std": [1, 1, 1]}
            (tmp_path / f"{name}.json").write_text(json.dumps(settings))
        clip = frames((16, 16))
        cells = (clip.data / 255).reshape(3, 2, 8, 2, 8, 3).mean((2, 4)).reshape(3, 4, 3)
        for name in ("a.pt", "b.pt2"):
            features = get_encoder(f"torch:{tmp_path / name}").encode([clip]).features
            np.testing.assert_allclose(features, weighed(cells), atol=1e-3)

    def test_files_of_other_kinds_are_refused(self, tmp_path: Path) -> None:
        torch.save({"conv1.weight": torch.zeros(1)}, tmp_path / "weights.pt")
        (tmp_path / "text.pt").write_text("hello")
        for name in ("weights.pt", "text.pt"):
            with pytest.raises(EncoderError, match="neither TorchScript nor"):
                get_encoder(f"torch:{tmp_path / name}")
        with pytest.raises(EncoderError, match="no such file"):
            get_encoder("torch:nowhere.pt")

    def test_a_model_that_does_not_take_its_stated_pictures_is_refused(self, tmp_path: Path) -> None:
        torch.jit.script(torch.nn.Linear(5, 5)).save(tmp_path / "linear.pt")
        with pytest.raises(EncoderError, match="does not take pictures of 224 × 224"):
            get_encoder(f"torch:{tmp_path / 'linear.pt'}")
