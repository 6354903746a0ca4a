"""The paper's encoders: checkpoints in their published layouts against plain forward passes written here."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seasync.encoders import encode_clip, get_encoder
from seasync.encoders.temporal import sliding
from seasync.errors import EncoderError
from seasync.video import Frames, read
from tests.videos import numbered

torch = pytest.importorskip("torch", reason="needs the extra 'models'")
nn, functional = torch.nn, torch.nn.functional


class Bottleneck(nn.Module):
    def __init__(self, width: int, inner: int, outer: int, stride: int) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(width, inner, 1, bias=False), nn.BatchNorm2d(inner)
        self.conv2 = nn.Conv2d(inner, inner, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(inner)
        self.conv3, self.bn3 = nn.Conv2d(inner, outer, 1, bias=False), nn.BatchNorm2d(outer)
        if stride > 1 or width != outer:
            self.downsample = nn.Sequential(
                nn.Conv2d(width, outer, 1, stride, bias=False), nn.BatchNorm2d(outer)
            )

    def forward(self, x: Any) -> Any:
        y = torch.relu(self.bn1(self.conv1(x)))
        y = torch.relu(self.bn2(self.conv2(y)))
        return torch.relu(
            self.bn3(self.conv3(y)) + (self.downsample(x) if hasattr(self, "downsample") else x)
        )


class ResNet(nn.Module):
    """A narrow ResNet-50: 2, 1, 1, 1 blocks."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 4, 7, 2, 3, bias=False), nn.BatchNorm2d(4)
        self.relu, self.maxpool = nn.ReLU(), nn.MaxPool2d(3, 2, 1)
        self.layer1 = nn.Sequential(Bottleneck(4, 4, 8, 1), Bottleneck(8, 4, 8, 1))
        self.layer2 = nn.Sequential(Bottleneck(8, 4, 12, 2))
        self.layer3 = nn.Sequential(Bottleneck(12, 4, 16, 2))
        self.layer4 = nn.Sequential(Bottleneck(16, 8, 24, 2))
        self.avgpool, self.fc = nn.AdaptiveAvgPool2d(1), nn.Linear(24, 10)

    def maps(self, x: Any) -> Any:
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        return self.layer4(self.layer3(self.layer2(self.layer1(x))))


def seeded(make: Any) -> Any:
    """A module with random weights and batch statistics, in use."""
    torch.manual_seed(0)
    module = make()
    for part in module.modules():
        if isinstance(part, nn.BatchNorm1d | nn.BatchNorm2d):
            nn.init.uniform_(part.running_mean, -0.3, 0.3)
            nn.init.uniform_(part.running_var, 0.5, 2.0)
            nn.init.uniform_(part.weight, 0.5, 1.5)
            nn.init.uniform_(part.bias, -0.3, 0.3)
    return module.eval()


def pictures(frames: Frames) -> Any:
    mean, std = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])
    return torch.from_numpy(((frames.data / 255 - mean) / std).transpose(0, 3, 1, 2).astype(np.float32))


@pytest.fixture
def clip() -> Frames:
    data = np.random.default_rng(0).integers(0, 256, (2, 224, 224, 3), np.uint8)
    return Frames(data, np.arange(2) / 7.5, np.arange(2))


def layouts(net: Any) -> dict[str, Any]:
    state = net.state_dict()
    children = nn.Sequential(*list(net.children())[:-1])
    return {
        "bare": state,
        "wrapped": {"state_dict": {f"module.encoder.{name}": t for name, t in state.items()}, "epoch": 3},
        "byol-pytorch": {"online_backbone": {f"module.{name}": t for name, t in state.items()}},
        "mmselfsup": {"state_dict": {f"backbone.{name}": t for name, t in state.items()}, "meta": {}},
        "lightly": {"state_dict": {f"backbone.{name}": t for name, t in children.state_dict().items()}},
    }


@pytest.mark.parametrize("layout", ["bare", "wrapped", "byol-pytorch", "mmselfsup", "lightly"])
def test_byol_checkpoints_of_every_layout_give_the_mean_of_the_map(
    tmp_path: Path, layout: str, clip: Frames
) -> None:
    net = seeded(ResNet)
    torch.save(layouts(net)[layout], tmp_path / "byol.pth")
    with torch.no_grad():
        expected = net.maps(pictures(clip)).mean((2, 3)).numpy()
    encoder = get_encoder(f"byol:{tmp_path / 'byol.pth'}")
    assert encoder.dimension == 24
    np.testing.assert_allclose(encoder.encode([clip]).features, expected, atol=2e-3)


def test_checkpoints_of_other_things_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "other.pth"
    torch.save({"patch_embed.weight": torch.zeros(8, 3, 16, 16)}, file)
    with pytest.raises(EncoderError, match="no ResNet in this checkpoint"):
        get_encoder(f"byol:{file}")
    state = seeded(ResNet).state_dict()
    del state["layer3.0.bn2.running_var"]
    torch.save(state, file)
    with pytest.raises(EncoderError, match=r"layer3\.0\.bn2\.running_var: not in the checkpoint"):
        get_encoder(f"byol:{file}")
    torch.save(seeded(ResNet).state_dict(), file)
    with pytest.raises(EncoderError, match="no temporal transformer of CARL's"):
        get_encoder(f"carl:{file}")


class Carl(nn.Module):
    """CARL as published, module by module, with a forward pass that takes the pictures of one clip."""

    TRAIN_FRAMES, HEADS = 20, 4

    def __init__(self) -> None:
        super().__init__()
        net = ResNet()
        children = list(net.children())
        self.backbone = nn.Sequential(*children[:-3])
        self.res_finetune = children[-3]
        self.embed = nn.Module()
        self.embed.fc_layers = nn.Sequential(
            *(nn.Dropout(), nn.Linear(24, 32), nn.BatchNorm1d(32), nn.ReLU()),
            *(nn.Dropout(), nn.Linear(32, 32), nn.BatchNorm1d(32), nn.ReLU()),
        )
        self.embed.video_emb = nn.Linear(32, 16)
        self.embed.video_encoder = nn.Module()
        self.embed.video_encoder.enc_layers = nn.ModuleList(self.layer() for _ in range(3))
        self.embed.embedding_layer = nn.Linear(16, 12)
        self.ssl_projection = nn.Linear(12, 12)

    @staticmethod
    def layer() -> Any:
        layer = nn.Module()
        for name in ("res_layer0", "res_layer1"):
            setattr(layer, name, nn.Module())
            getattr(layer, name).norm = nn.LayerNorm(16)
        layer.self_att, layer.feed_forward = nn.Module(), nn.Module()
        for name in ("Q2d", "K2d", "V2d", "d2Q"):
            setattr(layer.self_att, f"linear_{name}", nn.Linear(16, 16))
        layer.feed_forward.fc1, layer.feed_forward.fc2 = nn.Linear(16, 40), nn.Linear(40, 16)
        return layer

    def forward(self, x: Any) -> Any:
        x = self.res_finetune(self.backbone(x)).amax((2, 3))
        x = self.embed.video_emb(self.embed.fc_layers(x))
        x = x + self.places(len(x))
        for layer in self.embed.video_encoder.enc_layers:
            y = layer.res_layer0.norm(x)
            attention, heads = layer.self_att, []
            q, k, v = (getattr(attention, f"linear_{name}2d")(y) for name in "QKV")
            for q1, k1, v1 in zip(
                q.chunk(self.HEADS, -1), k.chunk(self.HEADS, -1), v.chunk(self.HEADS, -1), strict=True
            ):
                heads.append(torch.softmax(q1 @ k1.T / math.sqrt(q1.shape[-1]), -1) @ v1)
            x = x + attention.linear_d2Q(torch.cat(heads, -1))
            x = x + layer.feed_forward.fc2(torch.relu(layer.feed_forward.fc1(layer.res_layer1.norm(x))))
        return functional.normalize(self.embed.embedding_layer(x), dim=-1)

    def places(self, length: int) -> Any:
        table = np.zeros((length, 16))
        for row, place in enumerate(np.linspace(0, self.TRAIN_FRAMES - 1, length)):
            for channel in range(16):
                angle = place / 10000 ** (channel / 16)
                table[row, channel] = math.cos(angle) if channel % 2 else math.sin(angle)
        return torch.from_numpy(table.astype(np.float32))

    def save(self, file: Path) -> Path:
        settings = {
            "MODEL": {"EMBEDDER_MODEL": {"NUM_HEADS": self.HEADS}, "L2_NORMALIZE": True},
            "TRAIN": {"NUM_FRAMES": self.TRAIN_FRAMES},
        }
        torch.save({"epoch": 299, "model_state": self.state_dict(), "cfg": settings}, file)
        return file


def test_a_carl_checkpoint_gives_what_its_own_forward_pass_gives(tmp_path: Path) -> None:
    net = seeded(Carl)
    video = numbered(tmp_path / "v.mp4")
    encoder = get_encoder(f"carl:{net.save(tmp_path / 'carl.pth')}")
    encoding = encode_clip(video, encoder)
    with torch.no_grad():
        expected = net(pictures(next(read(video, fps=7.5, size=(224, 224), batch=64)))).numpy()
    assert expected.shape == (12, 12)
    np.testing.assert_allclose(encoding.features, expected, atol=2e-3)
    assert (encoder.name, encoder.dimension) == (f"carl:{tmp_path / 'carl.pth'}", 12)


def test_a_sliding_window_sees_only_its_own_frames(tmp_path: Path) -> None:
    """CARL-SW with windows that do not overlap is CARL on each piece."""
    net = seeded(Carl)
    file, video = net.save(tmp_path / "carl.pth"), numbered(tmp_path / "v.mp4")
    features = encode_clip(video, get_encoder(f"carl:{file}@4/4")).features
    frames = pictures(next(read(video, fps=7.5, size=(224, 224), batch=64)))
    with torch.no_grad():
        expected = np.concatenate([net(part).numpy() for part in frames.split(4)])
    np.testing.assert_allclose(features, expected, atol=2e-3)


def test_windows_are_read_off_the_name() -> None:
    assert sliding("a@b.onnx") == ("a@b.onnx", 0, 0)
    assert sliding("m.onnx@32") == ("m.onnx", 32, 0)
    assert sliding("m.onnx@32/8") == ("m.onnx", 32, 8)
    with pytest.raises(EncoderError, match="stride up to the window"):
        sliding("m.onnx@4/8")
