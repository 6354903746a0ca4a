"""What a film costs: `side` and `retime` at 720p against the same job done by ffmpeg's own program.

    python -m benchmarks.render [--quick]

CPU seconds, ours and ffmpeg's in turns; the median of the ratios counts. Both decode the same H.264 files,
encode H.264 at the same quality and preset, and lay frames side by side in YUV; ours also writes labels and
picks frames along a warp. Of ours the rendering counts, not what Python loads; ffmpeg is counted whole.
"""

from __future__ import annotations

import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from fractions import Fraction
from pathlib import Path

import av
import numpy as np

from benchmarks.goals import Goals, parser

SIZE = (1280, 720)
OURS = """
import resource, sys
from dataclasses import replace
from pathlib import Path
from seasync.clip import Clip
from seasync.render import compare, retime
from tests.render.aligned import bent, whole
def cpu():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
kind, query, match, film, seconds = sys.argv[1:]
seconds = float(seconds)
warp = bent((0.0, 0.4 * seconds, seconds), (0.0, 0.5 * seconds, 0.95 * seconds))
aligned = whole(Path(query), Path(match), warp)
retime(replace(aligned, query=Clip(query, 0.0, 0.3)), film, audio="none")  # loads what is loaded once
before = cpu()
if kind == "side":
    compare(aligned, film, audio="none")
else:
    retime(aligned, film, audio="none")
print(cpu() - before)
"""


def moving_picture(file: Path, frames: int, seed: int) -> None:
    """Noise that drifts behind a moving block: neither trivial nor impossible to encode."""
    rng = np.random.default_rng(seed)
    width, height = SIZE
    coarse = rng.integers(0, 255, (height // 8 + 2, width // 8 + frames + 2, 3), dtype=np.uint8)
    back = np.repeat(np.repeat(coarse, 8, 0), 8, 1)
    with av.open(str(file), "w") as out:
        stream = out.add_stream("libx264", rate=Fraction(30), options={"crf": "18", "preset": "veryfast"})
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        for tag in ("color_primaries", "color_trc", "colorspace"):  # BT.709, as cameras write it
            setattr(stream.codec_context, tag, 1)
        for number in range(frames):
            image = back[:height, 2 * number : 2 * number + width] // 2 + 60
            at = round((0.5 + 0.4 * np.sin(number / 9)) * (width - 200))
            image[200:500, at : at + 200] = (250, 200, 40)
            frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(image), "rgb24")
            out.mux(stream.encode(frame))
        out.mux(stream.encode(None))


def ours(kind: str, *arguments: str) -> float:
    done = subprocess.run(
        [sys.executable, "-c", OURS, kind, *arguments], check=True, capture_output=True, text=True
    )
    return float(done.stdout)


def theirs(command: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> int:
    options = parser(__doc__, quick="shorter films, fewer rounds").parse_args()
    ffmpeg = shutil.which("ffmpeg")
    if ffmpeg is None:
        sys.exit("benchmarks.render: ffmpeg is needed as the peer: apt-get install ffmpeg")
    frames, rounds = (90, 2) if options.quick else (240, 3)
    encode = ["-c:v", "libx264", "-crf", "18", "-pix_fmt", "yuv420p", "-an"]
    goals, figures = Goals(options), {}
    with tempfile.TemporaryDirectory() as folder:
        query, match, film = (str(Path(folder) / name) for name in ("query.mp4", "match.mp4", "film.mp4"))
        moving_picture(Path(query), frames, 0)
        moving_picture(Path(match), frames, 1)
        peers = {
            "side": [ffmpeg, "-y", "-i", query, "-i", match, "-filter_complex", "hstack", *encode, film],
            "retime": [ffmpeg, "-y", "-i", match, *encode, film],
        }
        print(f"{frames} frames of 1280×720, CPU seconds\n{'':8}{'seasync':>10}{'ffmpeg':>10}{'ratio':>8}")
        for kind, peer in peers.items():
            pairs = [(ours(kind, query, match, film, str(frames / 30)), theirs(peer)) for _ in range(rounds)]
            ratio = statistics.median(mine / other for mine, other in pairs)
            mine, other = (statistics.median(column) for column in zip(*pairs, strict=True))
            print(f"{kind:8}{mine:10.1f}{other:10.1f}{ratio:8.2f}")
            goals.at_most(f"render {kind} over ffmpeg", ratio, 1.25)
            figures[kind] = {"CPU seconds, ours and ffmpeg's": pairs}
    return goals.finish(figures)


if __name__ == "__main__":
    raise SystemExit(main())
