"""Small good files of every format that Seasync reads, to be mutated."""

from __future__ import annotations

import json
import pickle
import zipfile
from fractions import Fraction
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

from seasync.render import export
from stress.mutate import Mutation, blocks, boxes, chunks, elements, packets, structured
from stress.mutate_text import (
    TEXT,
    change_header,
    change_json,
    change_onnx,
    change_xml,
    change_zip,
    evil_pickle,
)
from tests.encoders.models import colour_grid
from tests.render.aligned import bent, whole
from tests.sea.footage import pictures
from tests.videos import numbered, write

FRAMES = 12
MP4, MATROSKA = structured(boxes, "big"), structured(elements, "big")
VIDEOS: dict[str, tuple[dict[str, object], tuple[Mutation, ...]]] = {
    "a.mp4": ({}, MP4),
    "fragments.mp4": ({"container": {"movflags": "frag_keyframe+empty_moov"}}, MP4),
    "a.mov": ({"codec": "mjpeg", "pix_fmt": "yuvj420p"}, MP4),
    "a.mkv": ({}, MATROSKA),
    "a.webm": ({"codec": "libvpx", "pix_fmt": "yuv420p"}, MATROSKA),
    "a.avi": ({"codec": "mpeg4"}, structured(chunks, "little")),
    "a.gif": ({"codec": "gif", "pix_fmt": "rgb8"}, structured(blocks, "little")),
    "a.ts": ({}, structured(packets, "big")),
}
XML: tuple[Mutation, ...] = (change_xml, change_xml, change_xml, *TEXT)
JSON: tuple[Mutation, ...] = (change_json, change_json, change_json, *TEXT)
ZIP: tuple[Mutation, ...] = (change_zip,)
OTHERS: dict[str, tuple[Mutation, ...]] = {
    "edit.edl": TEXT,
    "edit.otio": JSON,
    "edit.fcpxml": XML,
    "marks.srt": TEXT,
    "marks.vtt": TEXT,
    "marks.eaf": XML,
    "marks.csv": TEXT,
    "list.csv": TEXT,
    "features.npy": (change_header,),
    "labels.mat": (),
    "train.pkl": (evil_pickle,),
    "grid.onnx": (change_onnx,),
    "weights.safetensors": (change_header, change_json),
    "weights.pth": (change_zip, evil_pickle),
    "pair.seasync": ZIP,
}


def mutations_of(name: str) -> tuple[Mutation, ...]:
    """The format's own mutations."""
    from stress.mutate import PLAIN

    return (VIDEOS[name][1] if name in VIDEOS else OTHERS[name]) or PLAIN


def write_good_files(folder: Path) -> list[str]:
    """Write one file of each format to the folder; gives their names."""
    folder.mkdir(exist_ok=True)
    for name, (how, _) in VIDEOS.items():
        frames = [picture[::2, ::2] for picture in pictures("circle", 3, FRAMES)]
        write(folder / name, frames, fps=15, **how)  # type: ignore[arg-type]
    pair = _pair(folder)
    for suffix in (".edl", ".otio", ".fcpxml"):
        export(pair, folder / f"edit{suffix}")
    text = "1\n00:00:00,100 --> 00:00:00,300\nup\n\n2\n00:00:00,400 --> 00:00:00,600\ndown\n"
    (folder / "marks.srt").write_text(text)
    (folder / "marks.vtt").write_text("WEBVTT\n\n" + text.replace(",", "."))
    (folder / "marks.csv").write_text("clip,name,seconds\nquery.mp4,up,0.1\nquery.mp4,down,0.5\n")
    (folder / "marks.eaf").write_text(_elan())
    (folder / "list.csv").write_text(
        f"file,label,start,end\n{folder / 'query.mp4'},up,0,0.4\n{folder / 'match.mp4'},down,,\n"
    )
    np.save(folder / "features.npy", np.random.default_rng(0).normal(size=(20, 8)).astype(np.float32))
    _matlab(folder / "labels.mat")
    clips = [{"name": "0001bowl", "video_file": "query.mp4", "frame_label": np.arange(9)}]
    (folder / "train.pkl").write_bytes(pickle.dumps((clips, {"bowl": [0]})))
    colour_grid(folder / "grid.onnx")
    tensors = {"a": np.ones((2, 3), np.float32), "b": np.zeros(5, np.float32)}
    save_file(tensors, folder / "weights.safetensors", {"about": "stress"})
    _checkpoint(folder / "weights.pth")
    _comparison(folder / "pair.seasync", folder)
    return [*VIDEOS, *OTHERS]


def _pair(folder: Path):  # type: ignore[no-untyped-def]
    query = numbered(folder / "query.mp4", 20, width=48, height=32)
    match = numbered(folder / "match.mp4", 24, width=48, height=32, fps=Fraction(25))
    return whole(query, match, bent((0.0, 0.6), (0.05, 0.65)))


def _elan() -> str:
    return (
        '<ANNOTATION_DOCUMENT><HEADER><MEDIA_DESCRIPTOR MEDIA_URL="file:///query.mp4"/></HEADER><TIME_ORDER>'
        '<TIME_SLOT TIME_SLOT_ID="a" TIME_VALUE="100"/><TIME_SLOT TIME_SLOT_ID="b" TIME_VALUE="400"/>'
        '</TIME_ORDER><TIER TIER_ID="t"><ANNOTATION>'
        '<ALIGNABLE_ANNOTATION ANNOTATION_ID="x" TIME_SLOT_REF1="a" TIME_SLOT_REF2="b">'
        "<ANNOTATION_VALUE>up</ANNOTATION_VALUE></ALIGNABLE_ANNOTATION></ANNOTATION></TIER>"
        "</ANNOTATION_DOCUMENT>"
    )


def _matlab(file: Path) -> None:
    from scipy.io import savemat

    joints = np.random.default_rng(0).uniform(0, 99, (9, 13))
    content = {"x": joints, "y": joints, "visibility": joints > 9, "action": "bowl", "train": 1}
    savemat(file, content, do_compression=False)


def _checkpoint(file: Path) -> None:
    """What torch.save writes, made without torch: a tensor of four numbers."""
    pickled = (
        b"\x80\x02}q\x00X\x01\x00\x00\x00aq\x01ctorch._utils\n_rebuild_tensor_v2\nq\x02((X\x07\x00\x00\x00storageq\x03"
        b"ctorch\nFloatStorage\nq\x04X\x01\x00\x00\x000q\x05X\x03\x00\x00\x00cpuq\x06K\x04tq\x07QK\x00K\x04\x85q\x08"
        b"K\x01\x85q\t\x89ccollections\nOrderedDict\nq\n)Rq\x0btq\x0cRq\rs."
    )
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("archive/data.pkl", pickled)
        archive.writestr("archive/data/0", np.ones(4, np.float32).tobytes())


def _comparison(file: Path, folder: Path) -> None:
    from seasync.serve.stores import content_hash

    videos = {
        side: {
            "name": f"{side}.mp4",
            "content": content_hash(folder / f"{side}.mp4"),
            "entry": f"videos/{side}.mp4",
        }
        for side in ("query", "match")
    }
    manifest = {
        "format": 1, "name": "pair", "request": {"recipe": "motion", "partial": "auto", "order": "same"},
        "videos": videos, "anchors": [{"query": 0.1, "match": 0.2}],
        "marks": {"query": [{"name": "up", "seconds": 0.1, "frame": 3, "kind": "moment"}], "match": []},
    }  # fmt: skip
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("comparison.json", json.dumps(manifest))
        for side in ("query", "match"):
            archive.write(folder / f"{side}.mp4", f"videos/{side}.mp4")
