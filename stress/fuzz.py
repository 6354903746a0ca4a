"""`python -m stress.fuzz [FILE…] --seconds N`: coverage-guided fuzzing of our own parsers, with atheris.

Each parser gets N seconds on one core, in a process of its own, with a good file to begin with. It may read
what it gets or raise a SeasyncError of one line. Anything else ends the run, and the file that caused it is
kept in the folder `stress-state/fuzz`.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

FOUND = Path("stress-state") / "fuzz"
CORPUS = Path(__file__).parents[1] / "tests/corpus"
LIMITS = ("-timeout=20", "-rss_limit_mb=3000", "-max_len=4096")
# Only these are instrumented: compiled kernels must stay as they are.
OURS = (
    "seasync.marks",
    "seasync.render.timelines",
    "seasync.encoders.weights",
    "seasync.evaluate.untrusted",
    "seasync.evaluate.dataset",
    "seasync.sea.sources",
)


FILES = (
    *(
        "edit.edl",
        "edit.fcpxml",
        "edit.otio",
        "marks.srt",
        "marks.vtt",
        "marks.eaf",
        "marks.csv",
        "events.csv",
    ),
    *("events.csv", "list.csv", "features.npy", "labels.mat", "train.pkl", "weights.safetensors"),
)


def parsers() -> dict[str, Callable[[Path], object]]:
    """What reads each file, by the name of the good one."""
    from seasync.encoders.weights import read_tensors
    from seasync.evaluate.dataset import read_events
    from seasync.evaluate.untrusted import read_mat, read_npy, read_pickle
    from seasync.files import Location
    from seasync.marks import MarkTable, read_marks
    from seasync.render.timelines.edl import EdlFile
    from seasync.render.timelines.otio import OtioFile
    from seasync.render.timelines.xml_formats import FcpxmlFile
    from seasync.sea.sources import find_videos

    def edit(kind: type[EdlFile | FcpxmlFile | OtioFile]) -> Callable[[Path], object]:
        return lambda file: [slot() for _, slot in kind(Location(file), None).slots()]

    def labels(file: Path) -> None:
        table = MarkTable.read(file)
        for number in range(len(table.rows)):
            for name in ("start", "end") if table.has_spans else ("seconds",):
                table.moment(number, name, lambda clip, frame: frame / 30)

    return {
        "edit.edl": edit(EdlFile),
        "edit.fcpxml": edit(FcpxmlFile),
        "edit.otio": edit(OtioFile),
        "marks.srt": read_marks,
        "marks.vtt": read_marks,
        "marks.eaf": read_marks,
        "marks.csv": lambda file: read_marks(file, lambda clip, frame: frame / 30),
        "labels.csv": labels,
        "events.csv": read_events,
        "list.csv": lambda file: list(find_videos([file])),
        "features.npy": read_npy,
        "labels.mat": lambda file: read_mat(file, ["x", "y", "visibility", "action"]),
        "train.pkl": read_pickle,
        "weights.safetensors": read_tensors,
    }


def fuzz(name: str, seconds: int) -> None:
    """Fuzz one parser in this process, which ends with it."""
    import atheris

    with atheris.instrument_imports(include=list(OURS)):
        read = parsers()[name]
    from seasync.errors import SeasyncError
    from stress.good_files import write_good_files

    work = Path(tempfile.mkdtemp(prefix="fuzz", dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
    write_good_files(work)
    (work / "labels.csv").write_text("start,end,start_frame,phase\n0.1,0.5,,up\n0.5,0.9,15,down\n")
    (work / "events.csv").write_text("clip,up,down\nquery.mp4,3,9\n")
    corpus = work / "corpus"
    corpus.mkdir()
    (corpus / name).write_bytes((work / name).read_bytes())
    for known in (CORPUS / name).glob("*"):
        shutil.copy(known, corpus)
    file = work / f"fuzzed {name}"

    def once(data: bytes) -> None:
        file.write_bytes(data)
        try:
            read(file)
        except SeasyncError as error:
            if set("\n\r") & set(str(error)):
                raise RuntimeError(f"more than one line: {error}") from error

    FOUND.mkdir(parents=True, exist_ok=True)
    prefix = f"-artifact_prefix={FOUND}/{name}."
    atheris.Setup([sys.argv[0], *LIMITS, f"-max_total_time={seconds}", prefix, str(corpus)], once)
    atheris.Fuzz()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m stress.fuzz", description=__doc__)
    parser.add_argument("files", nargs="*", metavar="FILE", help=f"of {', '.join(FILES)}; default: all")
    parser.add_argument("--seconds", type=int, default=20, help="for each parser")
    parser.add_argument("--here", action="store_true", help="one parser, in this process")
    given = parser.parse_args()
    if find_spec("atheris") is None:
        parser.error("atheris is not installed: pip install atheris (Linux)")
    if given.here:
        fuzz(given.files[0], given.seconds)  # does not return
    bad = 0
    for name in given.files or FILES:
        command = [sys.executable, "-m", "stress.fuzz", name, "--here", "--seconds", str(given.seconds)]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        bad += bool(done.returncode)
        ended = re.findall("^Done.*", done.stderr, re.MULTILINE) or ["stopped"]
        raised = (done.stdout + done.stderr).partition("Uncaught Python exception")[2].splitlines()
        print(
            f"{name}: {'FOUND: ' + ' '.join(raised[:12])[:700] if done.returncode else ended[0]}", flush=True
        )
    print(f"fuzz: {len(given.files or FILES)} parsers, {bad} with findings")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
