"""Search: retrieve, re-rank, align."""
# ruff: noqa: F811  fixtures are imported

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seasync.alignment import MOTION, PAPER, align_encodings
from seasync.alignment.consensus import apply_consensus
from seasync.clip import Clip
from seasync.encoders import content_hash, encode_clip
from seasync.encoding import Encoding
from seasync.errors import EncoderError, SeaError, VideoError
from seasync.sea import search
from seasync.sea.sea import Sea
from tests.encoders.models import colour_grid
from tests.sea.conftest import clips, encoder  # noqa: F401
from tests.sea.footage import encoding, facts, row, video
from tests.sea.test_index import fill


@pytest.fixture(scope="module")
def uri(tmp_path_factory: pytest.TempPathFactory, clips: Path, encoder: str) -> Path:
    """Nine clips of three actions, labelled. Not to be changed."""
    sea = Sea(tmp_path_factory.mktemp("sea") / "s.sea", encoder)
    sea.add(clips, labels="folder")
    return Path(sea.uri)


@pytest.fixture
def sea(uri: Path, encoder: str) -> Sea:
    return Sea(uri, encoder)


@pytest.mark.parametrize("action", ["circle", "dive", "bounce"])
def test_the_same_movement_comes_first(sea: Sea, tmp_path: Path, action: str) -> None:
    matches = sea.search(video(tmp_path / "query.mp4", action, look=50, frames=40))
    assert [match.clip.label for match in matches[:3]] == [action] * 3
    assert len(matches) == matches.candidates == 9
    assert matches[0].alignable
    assert "align" in matches.verdict


def test_a_match_carries_its_alignment(sea: Sea, clips: Path, encoder: str) -> None:
    query = clips / "dive/001.mp4"
    match = sea.search(query, k=1)[0]
    direct = align_encodings(encode_clip(query, encoder), encode_clip(match.clip.file, encoder))
    np.testing.assert_array_equal(match.alignment.path, direct.path)
    assert match.alignment.draq == pytest.approx(match.draq, rel=1e-5)
    assert match.alignment.match == match.clip
    assert match.alignment.query is not None
    assert match.alignment.query.file == str(query)
    assert match.end == pytest.approx(32 / 15)


def test_matches_agree_on_request_and_keep_their_order(sea: Sea, clips: Path) -> None:
    query = clips / "dive/001.mp4"
    alone, together = sea.search(query, consensus=False), sea.search(query, consensus=True)
    assert [m.alignment.path.tolist() for m in sea.search(query)] == [
        m.alignment.path.tolist() for m in together
    ]  # the clips are short
    encodings = [encode_clip(match.clip.file, sea.encoder()) for match in alone]
    expected = apply_consensus([match.alignment for match in alone], encodings)
    assert [m.clip.id for m in together] == [m.clip.id for m in alone]
    assert [m.draq for m in together] == [m.draq for m in alone]
    assert any(
        a.alignment.path.tolist() != b.alignment.path.tolist() for a, b in zip(alone, together, strict=True)
    )
    for match, alignment in zip(together, expected, strict=True):
        np.testing.assert_array_equal(match.alignment.path, alignment.path)


def test_matches_of_long_clips_correct_each_other_only_on_request(
    sea: Sea, clips: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def paths(consensus: bool | None) -> list[list[list[int]]]:
        return [m.alignment.path.tolist() for m in sea.search(clips / "dive/001.mp4", consensus=consensus)]

    together, alone = paths(None), paths(consensus=False)
    lengths = sum(len(m.alignment.match_seconds) for m in sea.search(clips / "dive/001.mp4"))
    monkeypatch.setattr(search, "CONSENSUS_CELLS", lengths**2 - 1)
    assert paths(None) == alone != together
    assert paths(consensus=True) == together


def test_own_footage_is_no_answer(tmp_path: Path, encoder: str) -> None:
    film = video(tmp_path / "film.mp4", "bounce", look=1, frames=60)
    sea = Sea(tmp_path / "s.sea", encoder)
    sea.add(film, split=1)
    sea.add(film, split=2)

    def spans(query: object, **span: float) -> list[tuple[float, float | None]]:
        return sorted((m.clip.start, m.clip.end) for m in sea.search(query, partial="never", **span))

    clip = next(clip for clip in sea.clips() if (clip.start, clip.end) == (1.0, 2.0))
    others = [(0.0, 1.0), (2.0, 3.0), (2.0, 4.0), (3.0, 4.0)]
    assert spans(clip) == others
    assert spans(str(clip.id)[:9]) == others
    assert spans(film, start=1, end=2) == others
    assert spans(shutil.copy(film, tmp_path / "copy.mp4"), start=1.5, end=1.9) == others
    assert spans(film) == []
    assert sea.search(film).best_draq is None


def test_a_span_of_a_clip_of_the_sea_is_searched_for_by_its_id(sea: Sea, clips: Path) -> None:
    clip = sea.clips(label="dive")[0]
    whole, part = Clip.of(clip.file), Clip.of(clip.file, 0.5, 1.5)
    for name in (str(clip.id), str(clip.id)[:9]):
        by_id = sea.search(name, start=0.5, end=1.5)
        assert by_id.query == replace(part, label=clip.label)
        assert [m.draq for m in by_id] == [m.draq for m in sea.search(part)]
        assert clip.id not in ids(by_id)
    assert ids(sea.search_many([str(clip.id)], start=0)[0]) == ids(sea.search(whole))


def test_ranking_follows_its_key(sea: Sea, clips: Path) -> None:
    query = clips / "circle/000.mp4"
    keys = {
        "product": lambda m: (1 - m.similarity) * m.alignment.score,
        "draq": lambda m: m.alignment.score,
        "dtw": lambda m: m.dtw_cost,
        "none": lambda m: -m.similarity,
    }
    for name, key in keys.items():
        # The cost of a path is that of both clips as a whole.
        partial = "never" if name == "dtw" else None
        values = [key(match) for match in sea.search(query, rerank=name, partial=partial)]
        assert values == sorted(values), name
    assert ids(sea.search(query)) == ids(sea.search(query, rerank="order"))
    paper = sea.search(query, recipe=PAPER)
    assert ids(paper) == ids(sea.search(query, recipe=PAPER, rerank="draq"))
    with pytest.raises(SeaError, match="expected one of order, product, draq, dtw, none"):
        sea.search(query, rerank="best")


def ids(matches: list) -> list[str]:  # type: ignore[type-arg]
    return [match.clip.id for match in matches]


def test_the_paper_recipe_retrieves_by_the_mean_alone(sea: Sea, clips: Path, encoder: str) -> None:
    encodings = {clip.id: encode_clip(clip, encoder) for clip in sea.clips()}
    means = np.stack([encoding.mean for encoding in encodings.values()])
    standard = {name: (e.mean - means.mean(0)) / means.std(0) for name, e in encodings.items()}
    query = sea.clips()[0]
    a = standard[query.id]
    for match in sea.search(query, recipe=PAPER):
        b = standard[match.clip.id]
        assert match.similarity == pytest.approx(a @ b / np.linalg.norm(a) / np.linalg.norm(b), abs=1e-4)


def test_candidates_conditions_and_limits(sea: Sea, clips: Path) -> None:
    query = clips / "circle/000.mp4"
    assert sea.search(query, k=2, candidates=4).candidates == 4
    assert {match.clip.label for match in sea.search(query, label="dive")} == {"dive"}
    assert len(sea.search(query, where="label <> 'dive' AND frames > 3")) == 5
    bar = sorted(match.draq for match in sea.search(query))[2]
    below = sea.search(query, max_draq=bar)
    assert len(below) == 3
    assert all(match.draq <= bar for match in below)
    with pytest.raises(SeaError, match="nonsense"):
        sea.search(query, where="nonsense = 1")


def test_nothing_aligns_is_an_answer(tmp_path: Path) -> None:
    sea = Sea(tmp_path / "s.sea")
    sea.record.append([row(n, kind=n) for n in range(5)], facts())
    matches = sea.search(encoding(99, still=True))
    best = min(match.draq for match in matches)
    assert matches.best_draq == best > MOTION.threshold
    assert matches.verdict.startswith(f"Nothing here aligns: the best DRAQ of 5 candidates is {best:.3f}")
    assert not sea.search(encoding(99, still=True), max_draq=0.1)
    assert "no other clip of the sea" in sea.search(encoding(1), label="none").verdict


def test_many_queries_give_what_each_gives_alone(sea: Sea) -> None:
    queries = sea.clips()
    together = sea.search_many(queries, k=4)
    for query, matches in zip(queries, together, strict=True):
        alone = sea.search(query, k=4)
        assert ids(alone) == ids(matches)
        assert [match.draq for match in alone] == [match.draq for match in matches]
    assert sea.search_many([]) == []


def test_clip_vectors_alone_give_the_same_matches(
    sea: Sea, tmp_path: Path, clips: Path, encoder: str
) -> None:
    moved = shutil.copytree(clips, tmp_path / "clips")
    small = Sea(tmp_path / "small.sea", encoder)
    small.add(moved, labels="folder", frame_features=False)
    assert small.info()["with_frame_features"] == 0
    assert small.info()["bytes"] < sea.info()["bytes"]
    query = clips / "bounce/002.mp4"
    whole, found = sea.search(query), small.search(query)
    assert ids(found) == ids(whole)
    assert [match.draq for match in found] == [match.draq for match in whole]
    assert found[0].better_than is None
    gone = Path(found[0].clip.file)
    gone.unlink()
    with pytest.warns(UserWarning, match=f"a candidate is left out: .*{gone.name}"):
        assert sorted(ids(small.search(query))) == sorted(ids(found)[1:])


def test_the_oracle_draws_from_the_querys_own_label(sea: Sea) -> None:
    query = sea.clips(label="dive")[0]
    found = sea.oracle(query, k=2)
    assert {match.clip.label for match in found} == {"dive"}
    assert query.id not in ids(found)
    assert ids(found) == ids(sea.oracle(query, k=2))
    assert len({tuple(sorted(ids(sea.oracle(query, k=1, seed=seed)))) for seed in range(20)}) == 2
    with pytest.raises(SeaError, match="the query has no label"):
        sea.oracle(encode_clip(query, sea.encoder()))


def test_without_calibration_a_match_is_compared_with_random_pairs(sea: Sea, clips: Path) -> None:
    shares = [match.better_than for match in sea.search(clips / "dive/001.mp4", rerank="product")]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] > 0.5 > shares[-1]
    assert all(match.alignability is None for match in sea.search(clips / "dive/001.mp4"))


def test_queries_that_cannot_be_searched_say_why(sea: Sea, tmp_path: Path) -> None:
    with pytest.raises(VideoError, match="no such file, nor a clip of this sea"):
        sea.search(tmp_path / "nope.mp4")
    with pytest.raises(VideoError, match="no such file, nor a clip of this sea"):
        sea.search("0123456789abcdef")
    with pytest.raises(SeaError, match="no clip has the id"):
        sea.search(Clip("x.mp4", id="0" * 32))
    with pytest.raises(EncoderError, match="query is encoded by made/1"):
        sea.search(encoding(1))
    with pytest.raises(SeaError, match="an encoding is searched for whole"):
        sea.search(encoding(1), start=1)


def test_changed_weights_are_noticed(tmp_path: Path, clips: Path) -> None:
    model = tmp_path / "model.onnx"
    Sea(tmp_path / "s.sea", f"onnx:{colour_grid(model)}").add(clips / "dive")
    colour_grid(model, cells=2)
    with pytest.raises(EncoderError, match="a sea has one encoder"):
        Sea(tmp_path / "s.sea").search(clips / "circle/000.mp4")


def test_plain_values_for_json(sea: Sea, clips: Path) -> None:
    plain = json.loads(json.dumps(sea.search(clips / "dive/001.mp4", k=2).to_json()))
    assert plain["candidates"] == 8
    assert plain["query"]["file"].endswith("001.mp4")
    assert [match["rank"] for match in plain["matches"]] == [1, 2]
    wanted = "rank clip similarity draq dtw_cost alignability alignable"
    assert set(wanted.split()) <= set(plain["matches"][0])
    assert {"id", "file", "start", "end", "label"} <= set(plain["matches"][0]["clip"])


def test_an_indexed_sea_gives_the_matches_of_exact_search(tmp_path: Path) -> None:
    sea = Sea(tmp_path / "s.sea")
    fill(sea, 0, 300)
    queries = [encoding(n, kind=n % 12, frames=4) for n in range(1000, 1006)]
    exact = [set(ids(matches)) for matches in sea.search_many(queries)]
    sea.rebuild("ivf_rq")
    indexed = [set(ids(matches)) for matches in sea.search_many(queries)]
    assert np.mean([len(a & b) for a, b in zip(exact, indexed, strict=True)]) > 9


def test_a_sea_shows_what_users_need_and_no_more() -> None:
    assert {name for name in dir(Sea) if not name.startswith("_")} == {
        *(
            "add",
            "calibrate",
            "clips",
            "confirm",
            "encoder",
            "entries",
            "exists",
            "fps",
            "info",
            "oracle",
            "query",
        ),
        *("rebuild", "relocate", "remove", "search", "search_many", "sweep", "uri", "verify"),
    }


def test_a_query_is_hashed_once(
    tmp_path: Path, clips: Path, encoder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sea = Sea(tmp_path / "s.sea", encoder)
    sea.add(clips)
    query, digest, hashed = video(tmp_path / "query.mp4", look=77), hashlib.file_digest, []

    def counted(file: Any, *given: Any) -> Any:
        hashed.append(file.name)
        return digest(file, *given)

    monkeypatch.setattr(hashlib, "file_digest", counted)
    assert len(sea.search(query, k=3)) == 3
    assert hashed == [str(query)]


def test_a_sea_encodes_with_the_function_it_is_given(tmp_path: Path, clips: Path, encoder: str) -> None:
    Sea(tmp_path / "s.sea", encoder).add(clips)
    asked = []

    def encode(clip: Clip, *, content: str | None = None) -> tuple[Encoding, float]:
        asked.append((clip.file, content))
        return encode_clip(clip, encoder), 1.25

    query = video(tmp_path / "query.mp4", look=77)
    found = Sea(tmp_path / "s.sea", encode=encode).query(query)
    assert (asked, found.end) == ([(str(query), content_hash(query))], 1.25)


def test_a_query_that_was_resolved_before_is_searched_for_in_the_sea_as_it_is_now(
    tmp_path: Path, clips: Path, encoder: str
) -> None:
    sea = Sea(tmp_path / "s.sea", encoder)
    sea.add(clips)
    query = video(tmp_path / "query.mp4", look=77)
    resolved = sea.query(query)
    before = sea.search(query)
    assert ids(sea.search(resolved)) == ids(before)
    sea.add(query)
    assert ids(sea.search(resolved)) == ids(before)  # its own footage is left out, as of any query
    present = sea.query(query)
    sea.remove(files=[query])
    assert ids(sea.search(present)) == ids(before)


def test_a_resolved_query_is_neither_hashed_nor_encoded_again(
    tmp_path: Path, clips: Path, encoder: str
) -> None:
    Sea(tmp_path / "s.sea", encoder).add(clips)
    query, asked = video(tmp_path / "query.mp4", look=77), []

    def encode(clip: Clip, *, content: str | None = None) -> tuple[Encoding, float]:
        asked.append(clip.file)
        return encode_clip(clip, encoder), 1.25

    sea = Sea(tmp_path / "s.sea", encode=encode)
    resolved = sea.query(query)
    query.unlink()
    assert len(sea.search(resolved, k=3)) == 3
    assert asked == [str(query)]
