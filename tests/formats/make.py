"""Make the archives of `test_formats` with earlier code: run this in a worktree of its commit.

    git worktree add ../before COMMIT
    cd ../before && PYTHONPATH=src:. python ../seasync/tests/formats/make.py ../seasync/tests/formats

The archives here are of commit c411fd8, whose recipes had other fingerprints. When a format changes, make new
ones under other names before the change, and keep these.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import lance

import seasync
from seasync.sea.rows import FACTS
from tests.encoders.models import colour_grid
from tests.serve.films import film, footage, pace

API = "/api/v1"
SAMPLE = {"clips": 22, "seed": 3, "seconds": (1.2, 1.8), "size": (160, 120)}


def pack(folder: Path, archive: Path) -> None:
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as out:
        for file in sorted(folder.rglob("*")):
            if file.is_file():
                out.write(file, file.relative_to(folder))


def answers(place: Path, count: int) -> dict[str, list[list[Any]]]:
    """Clip id → its matches: id, label, DRAQ, likelihood."""
    sea = seasync.Sea(place)
    return {
        str(clip.id): [
            [str(match.clip.id), match.clip.label, match.draq, match.alignability]
            for match in sea.search(str(clip.id), k=5)
        ]
        for clip in sea.clips()[:count]
    }


def make_calibrated_sea(work: Path, out: Path) -> None:
    """Format 2, the default encoder, calibrated by the command, with marks that were set on the page."""
    from fastapi.testclient import TestClient

    from seasync.serve import create_app

    seasync.sample.make(work / "sample", **SAMPLE)
    place = out / "footage.sea"
    seasync.Sea(place).add(work / "sample", labels="folder")
    expected: dict[str, Any] = {"shipped": answers(place, 6)}
    command = [sys.executable, "-m", "seasync", "calibrate", "--sea", str(place), "--json"]
    expected["calibration"] = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    expected["calibrated"] = answers(place, 6)
    ref = f"clip:{next(iter(expected['shipped']))}"
    marks = [
        {"kind": "moment", "name": "start", "seconds": 0.2, "frame": 6},
        {"kind": "phase", "name": "swing", "seconds": 0.4, "frame": 12},
    ]
    app = create_app({"footage": place}, state=work / "marks", warm=False)
    with TestClient(app, base_url="http://127.0.0.1:8080") as client:
        answer = client.put(f"{API}/seas/footage/marks/{ref}", json=marks)
        if answer.is_error:
            sys.exit(answer.text)
        expected["marks"] = client.get(f"{API}/seas/footage/marks/{ref}").json()
    (out / "expected.json").write_text(json.dumps(expected, indent=1))


def make_first_format(work: Path, out: Path) -> None:
    """Format 1, before clips had a note of damage: of format 2 without what its migration adds."""
    os.environ["SEASYNC_CACHE"] = str(work / "cache")
    place = out / "first.sea"
    sea = seasync.Sea(place, f"onnx:{out / 'tiny.onnx'}")
    sea.add(footage(work / "footage"), labels="folder")
    expected = answers(place, 6)
    facts = replace(sea.record.snapshot().facts, format=1)
    dataset = lance.dataset(sea.uri)
    dataset.drop_columns(["damage"])
    dataset.update_schema_metadata({FACTS: facts.to_json()})
    (out / "expected.json").write_text(json.dumps(expected, indent=1))


def make_state(work: Path, out: Path) -> None:
    """A server's folder with uploads, a film, a comparison, marks, anchors and drawings; `.seasync` files."""
    from tests.serve.conftest import running

    os.environ["SEASYNC_CACHE"] = str(work / "cache")
    takes = [film(work / f"take {n}.mp4", pace(30 + 8 * n, bend=0.4 * n), action="right") for n in (1, 2)]
    expected: dict[str, Any] = {}
    with running(work / "none.sea", out / "state", f"onnx:{out / 'tiny.onnx'}") as server:
        query, match = (server.upload(take).json()["ref"] for take in takes)
        pair, sea = {"query": query, "match": match}, f"{API}/seas/-"
        kept = server.client.post(f"{API}/comparisons", json={"alignment": pair, "name": "Two takes"}).json()
        server.client.put(f"{sea}/anchors/{query}/{match}", json=[{"query": 0.5, "match": 0.6}])
        marks = [{"kind": "moment", "name": "start", "seconds": 0.4, "frame": 12}]
        server.client.put(f"{sea}/marks/{query}", json=marks)
        line = {"kind": "line", "seconds": 0.5, "points": [[0.1, 0.2], [0.3, 0.4]], "always": True}
        server.client.put(f"{sea}/drawings/{query}/{match}", json=[line])
        job = server.wait(
            server.client.post(f"{sea}/alignment/film", json={"alignment": pair, "size": [160, 120]}).json()
        )
        for name, path in {
            "uploads": f"{API}/uploads",
            "comparison": f"{API}/comparisons/{kept['id']}",
            "job": f"{API}/jobs/{job['id']}",
            "anchors": f"{sea}/anchors/{query}/{match}",
            "marks": f"{sea}/marks/{query}",
            "drawings": f"{sea}/drawings/{query}/{match}",
        }.items():
            answer = server.client.get(path)
            if answer.is_error:
                sys.exit(answer.text)
            expected[name] = {"path": path, "json": answer.json()}
        aligned = server.client.get(f"{sea}/alignment", params=pair).json()
        scores = {name: value for name, value in aligned.items() if isinstance(value, bool | float | str)}
        expected["alignment"] = {"pair": pair, "scores": scores}
        for name, videos in (("with-videos", True), ("without-videos", False)):
            file = server.client.get(f"{API}/comparisons/{kept['id']}/file", params={"embed": videos})
            (out / f"{name}.seasync").write_bytes(file.content)
    (out / "expected.json").write_text(json.dumps(expected, indent=1))


def make_encoding(work: Path, out: Path) -> None:
    """An encoding in the cache, and the key of one by the default encoder."""
    from seasync.encoders.cache import content_hash, encoding_key

    default = seasync.get_encoder("dinov2-small").fingerprint
    video = film(out / "a.mp4", pace(40), action="arc")
    encoder = seasync.get_encoder(f"onnx:{out / 'tiny.onnx'}")
    os.environ["SEASYNC_CACHE"] = str(out / "cache")
    seasync.encode_clip(video, encoder)
    key = encoding_key(content_hash(video), 0.5, 1.0, default, 7.5)
    (out / "expected.json").write_text(json.dumps({"fingerprint": default, "key": key}))


def main(archives: Path) -> None:
    parts = {
        "sea": make_calibrated_sea,
        "encoding": make_encoding,
        "first_format": make_first_format,
        "state": make_state,
    }
    for name, make in parts.items():
        with tempfile.TemporaryDirectory() as work, tempfile.TemporaryDirectory() as out:
            if make is not make_calibrated_sea:
                colour_grid(Path(out, "tiny.onnx"))
            make(Path(work), Path(out))
            pack(Path(out), archives / f"{name}.zip")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
