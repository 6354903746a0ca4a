"""Images per CPU second of the default encoder, of whole frames, and of transformers on the same frames.

Part of `python -m benchmarks.extract --data DIR`, where DIR holds the sets golf, actions, falls and robots.
One clip is filmed by hand: shake is planted on it, so that everything moves and no patch can be left out.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.goals import Goals
from seasync.encoders import Encoder, get_encoder
from seasync.encoders.dinov2 import Dinov2, patches_of
from seasync.encoders.dinov2_tensors import plain_name
from seasync.encoders.moving import Window
from seasync.encoders.weights import dinov2_tensors
from seasync.video import Frames, read

SETS = ("golf", "actions", "falls", "robots")
MOVING, WHOLE, PEER = "dinov2-small", "dinov2-small-whole", "transformers, fp32"
Encode = Callable[[list[Frames]], object]


def compare(data: Path, goals: Goals, *, clips: int, rounds: int) -> dict[str, float]:
    """Print a row per set: images per CPU second of each way, and the share of patches that were encoded."""
    ways = {name: _encode(get_encoder(name)) for name in (MOVING, WHOLE)} | {PEER: _transformers()}
    model, spent, images = Dinov2(), dict.fromkeys(ways, 0.0), 0
    print("images per CPU second".ljust(24) + "".join(f"{name:>22}" for name in ways) + f"{'patches':>10}")
    for name in SETS:
        films = sorted(Path(data, name).rglob("*.mp4"))
        chosen = [read_all(film) for film in films[:: max(1, len(films) // clips)][:clips]]
        seconds = {way: measure(encode, chosen, rounds) for way, encode in ways.items()}
        count = sum(len(batch.data) for batches in chosen for batch in batches)
        _print(name, count, seconds, share_of_patches(model, chosen))
        spent, images = {way: spent[way] + seconds[way] for way in ways}, images + count
    _print("together", images, spent, None)
    goals.at_least("images per CPU second, times whole frames", spent[WHOLE] / spent[MOVING], 3)
    goals.at_least("images per CPU second, times transformers", spent[PEER] / spent[MOVING], 3)
    by_hand = [shaken(read_all(sorted(Path(data, "actions").rglob("*.mp4"))[0]))]
    seconds = {way: measure(encode, by_hand, rounds) for way, encode in list(ways.items())[:2]}
    _print("filmed by hand", sum(len(b.data) for b in by_hand[0]), seconds, share_of_patches(model, by_hand))
    goals.at_most("filmed by hand, CPU over whole frames", seconds[MOVING] / seconds[WHOLE], 1.1, "×")
    return {way: images / each for way, each in spent.items()}


def _print(name: str, count: int, seconds: dict[str, float], share: float | None) -> None:
    speeds = "".join(f"{count / spent:22.1f}" for spent in seconds.values())
    print(f"{name + f' ({count} frames)':24}{speeds}" + ("" if share is None else f"{share:10.0%}"))


def read_all(film: Path) -> list[Frames]:
    """The frames of a film as the encoder samples them, in batches of eight."""
    return list(read(film, fps=7.5, size=(224, 224), batch=8))


def measure(encode: Encode, clips: Sequence[list[Frames]], rounds: int) -> float:
    """CPU seconds of encoding all clips, the least of several rounds."""
    encode(clips[0][:1])
    spent = []
    for _ in range(rounds):
        begin = time.process_time()
        for batches in clips:
            encode(batches)
        spent.append(time.process_time() - begin)
    return min(spent)


def share_of_patches(model: Dinov2, clips: Sequence[list[Frames]]) -> float:
    """How many of all patches pass through the network, reference frames included."""
    encoded = frames = 0
    for batches in clips:
        window = Window(model)
        for batch in batches:
            for pixels in patches_of(batch.data):
                list(window.push(pixels))
        list(window.end())
        encoded, frames = encoded + window.encoded, frames + window.frames
    return encoded / (frames * model.patches)


def shaken(batches: list[Frames]) -> list[Frames]:
    """The clip as an unsteady hand would film it: shifted by up to 12 pixels, a smooth random walk."""
    rng, count = np.random.default_rng(0), sum(len(batch.data) for batch in batches)
    walk = np.cumsum(rng.normal(0, 3, (count, 2)), axis=0)
    places = np.clip(walk - walk.mean(0), -12, 12).round().astype(int)
    out, at = [], 0
    for batch in batches:
        moved = [np.roll(frame, tuple(places[at + n]), (0, 1)) for n, frame in enumerate(batch.data)]
        at += len(moved)
        out.append(Frames(np.stack(moved), batch.seconds, batch.numbers))
    return out


def _encode(encoder: Encoder) -> Encode:
    return lambda batches: encoder.encode(batches)  # type: ignore[attr-defined]


def _transformers() -> Encode:
    """`transformers`' own DINOv2 with the same weights, on all cores."""
    import torch
    from transformers import Dinov2Config, Dinov2Model

    config = Dinov2Config(hidden_size=384, num_attention_heads=6, image_size=518, patch_size=14)
    model: Any = Dinov2Model(config).eval()
    ours, state = dinov2_tensors(), model.state_dict()
    for name in state:
        plain = plain_name(name)
        if plain in ours:
            state[name] = torch.from_numpy(ours[plain].copy())
        elif ".attn." in plain:  # query, key and value are one tensor in ours
            part = "qkv".index(plain.split(".attn.")[1][0])
            both = plain.replace(f".attn.{'qkv'[part]}.", ".attn.qkv.")
            state[name] = torch.from_numpy(np.split(ours[both], 3)[part].copy())
    model.load_state_dict(state)
    mean, std = (torch.tensor(v).view(3, 1, 1) for v in ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)))

    def encode(batches: list[Frames]) -> object:
        with torch.inference_mode():
            for batch in batches:
                pixels = torch.from_numpy(batch.data).permute(0, 3, 1, 2).float() / 255
                model((pixels - mean) / std)
        return None

    return encode
