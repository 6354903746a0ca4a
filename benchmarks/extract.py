"""File → features against the encoder alone; memory on long files; the encoder against others.

`python -m benchmarks.extract [--quick] [--data DIR] [--part speed|memory|encoder]`

The encoder alone is fed frames that lie in memory already; the whole path decodes, resizes and encodes.
Both run in turn, so that a noisy machine disturbs them alike. Memory is the peak of a process of its own that
reads and encodes a 1080p file of one minute, then of one hour, with a model small enough to wait for.
With a folder of real clips, the default encoder is compared with whole frames and with `transformers`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from argparse import SUPPRESS
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.goals import Goals, parser
from seasync.encoders import Encoder, encode_clip, get_encoder
from seasync.encoders.dinov2 import Dinov2, Window, patches_of
from seasync.encoders.encode import BATCH, FEW_CORES
from seasync.encoders.encoder import TakesFrames
from seasync.encoders.weights import DINOV2_SMALL, fetch, plain_name, read_tensors
from seasync.video import Frames, Writer, read

SIZES = {"256 px": (454, 256), "1080p": (1920, 1080)}


def main() -> int:
    arguments = parser(__doc__, quick="shorter films; memory at ten minutes")
    arguments.add_argument("--encoder", default="dinov2-small")
    arguments.add_argument("--data", type=Path, help="folder with golf, actions, falls and robots")
    arguments.add_argument("--part", choices=("speed", "memory", "encoder"), help="only this part")
    arguments.add_argument("--clips", type=int, default=6, help="clips of each set, for the encoder")
    arguments.add_argument("--peak-memory-of", type=Path, help=SUPPRESS)
    options = arguments.parse_args()
    if options.peak_memory_of:
        return _print_peak(options.peak_memory_of)
    figures: dict[str, dict[str, float]] = {}
    goals, parts = Goals(options), [options.part] if options.part else ["speed", "memory", "encoder"]
    if "encoder" in parts and options.data:
        figures["images per CPU second"] = compare(
            options.data, goals, clips=options.clips, rounds=1 if options.quick else 2
        )
    with tempfile.TemporaryDirectory() as folder:
        for name, (width, height) in SIZES.items():
            if not {"speed", "memory"} & set(parts):
                break
            film = make_film(Path(folder, f"{height}.mp4"), width, height, 8 if options.quick else 20)
            if "speed" in parts:
                figures[f"speed, {name}"] = from_file(
                    film, name, options.encoder, goals, rounds=2 if options.quick else 4
                )
        if "memory" in parts:
            figures["memory"] = memory(film, Path(folder), 10 if options.quick else 60, goals)
    return goals.finish(figures)


def from_file(film: Path, name: str, encoder: str, goals: Goals, *, rounds: int) -> dict[str, float]:
    """The whole path against the encoder alone."""
    share, bound = speed(film, encoder, rounds=rounds)
    target = 0.9 if name == "256 px" else 0.75  # decoding 1080p takes its part of the same cores
    goals.at_least(f"file → features, {name}, share of the encoder's speed", share, target)
    goals.at_least(f"file → features, {name}, of what both could reach on these cores", share / bound, 0.95)
    return {"share": share, "bound": bound}


def memory(film: Path, folder: Path, minutes: int, goals: Goals) -> dict[str, float]:
    """Peak memory of a long film over that of one minute."""
    short = peak_memory(repeat(film, folder / "minute.mp4", 60))
    long = peak_memory(repeat(film, folder / "long.mp4", 60 * minutes))
    print(f"peak memory: one minute {short:.0f} MB, {minutes} minutes {long:.0f} MB")
    goals.at_most(f"memory, {minutes} minutes over one minute at 1080p", long - short, 50, " MB")
    return {"one minute, MB": short, f"{minutes} minutes, MB": long}


def make_film(file: Path, width: int, height: int, seconds: int) -> Path:
    """A textured scene that pans under a moving block, with film grain: as hard to decode as good footage."""
    rng = np.random.default_rng(0)
    coarse = rng.integers(0, 256, (height // 24 + 8, width // 24 + 8, 3), np.uint8)
    scene = np.kron(coarse, np.ones((24, 24, 1), np.uint8))
    grain = rng.integers(-2, 3, (8, height, width, 1), np.int16)
    with Writer(file, fps=Fraction(30), size=(width, height), crf=23) as film:
        for number in range(seconds * 30):
            shift = int(60 + 50 * np.sin(number / 20))
            frame = scene[shift : shift + height, shift : shift + width].astype(np.int16)
            x = int((width - 200) * (0.5 + 0.5 * np.sin(number / 15)))
            frame[height // 3 : height // 3 * 2, x : x + 120] = (220, 180, 40)
            film.write(np.clip(frame + grain[number % 8], 0, 255).astype(np.uint8))
    print(f"{file.name}: {file.stat().st_size * 8 / seconds / 1e6:.1f} Mbit/s")
    return file


def speed(film: Path, name: str, *, rounds: int) -> tuple[float, float]:
    """How fast the whole path is, as a share of the encoder's own speed, and the share left to it when
    the encoder keeps all cores busy and decoding takes its part of them (medians over rounds)."""
    encoder = get_encoder(name)
    assert isinstance(encoder, TakesFrames)
    batches = list(read_for(encoder, film))
    count = sum(len(batch.data) for batch in batches)
    encoder.encode(batches[:1])
    shares, bounds = [], []
    for _ in range(rounds):
        alone, encoding = timed(lambda: encoder.encode(batches))
        _, decoding = timed(lambda: deque(read_for(encoder, film), 0))
        whole, _ = timed(lambda: encode_clip(film, encoder, cache=False))
        shares.append(alone / whole)
        bounds.append(encoding / (encoding + decoding))
        print(
            f"{film.name}: encoder alone {count / alone:.1f} frames/s, {1e3 * encoding / count:.0f} ms of "
            f"a core each; decoding {1e3 * decoding / count:.1f} ms; whole {count / whole:.1f} frames/s"
        )
    return float(np.median(shares)), float(np.median(bounds))


def read_for(encoder: TakesFrames, film: Path) -> Iterator[Frames]:
    """The frames of a film, read as `encode_clip` reads them."""
    threads = (os.cpu_count() or 1) > FEW_CORES
    return read(film, fps=encoder.fps, size=encoder.input_size, batch=BATCH, frame_threads=threads)


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds that `work` takes, and seconds of a core."""
    begin, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - begin, time.process_time() - cpu


def repeat(film: Path, target: Path, seconds: int) -> Path:
    """`film` over and over, its packets copied, until it is this long."""
    import av

    with av.open(film) as source, av.open(target, "w") as copy:
        stream = source.streams.video[0]
        out = copy.add_stream_from_template(stream)
        length = int(stream.duration or 0)
        packets = [packet for packet in source.demux(stream) if packet.dts is not None]
        times = [(packet.pts, packet.dts) for packet in packets]
        for turn in range(int(seconds / float(length * stream.time_base))):
            for packet, (pts, dts) in zip(packets, times, strict=True):
                packet.pts, packet.dts = pts + turn * length, dts + turn * length
                packet.stream = out
                packet.time_base = stream.time_base
                copy.mux(packet)
    return target


def peak_memory(film: Path) -> float:
    """Peak resident memory in MB of a process that encodes this film."""
    command = [sys.executable, "-m", "benchmarks.extract", "--peak-memory-of", str(film)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return float(json.loads(done.stdout)["megabytes"])


def _print_peak(film: Path) -> int:
    from tests.encoders.models import colour_grid

    with tempfile.TemporaryDirectory() as folder:
        model = colour_grid(Path(folder, "grid.onnx"), size=224, cells=8)
        encode_clip(film, get_encoder(f"onnx:{model}"), cache=False)
    print(json.dumps({"megabytes": _peak()}))
    return 0


def _peak() -> float:
    """Peak resident memory of this process in MB."""
    status = Path("/proc/self/status")
    if status.exists():  # rusage would count the parent's memory, which a child begins with
        return int(status.read_text().split("VmHWM:")[1].split()[0]) / 1e3
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


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
    ours, state = read_tensors(fetch(DINOV2_SMALL)), model.state_dict()
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


if __name__ == "__main__":
    raise SystemExit(main())
