"""Adding: once, in order, whatever happens."""

from __future__ import annotations

import shutil
import signal
import threading
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer

import seasync
import seasync.video.source
from seasync.cli.output import end_in_order, resumable
from seasync.clip import Clip
from seasync.encoders import encode_clip, get_encoder
from seasync.errors import EncoderError, FeatureError, RenderError, SeaError
from seasync.render.frames import clock_of
from seasync.sea.ingest import Added
from seasync.sea.sea import Sea
from tests.encoders.models import colour_grid
from tests.sea.footage import pictures, video, videos
from tests.sea.test_rows import assert_same
from tests.videos import write


def contents(sea: Sea) -> list[dict]:  # type: ignore[type-arg]
    """All rows, whole."""
    return sea.record.snapshot().dataset.to_table().to_pylist()


class Wrapped:
    """An encoder around another, to be made to misbehave."""

    def __init__(self, encoder: str) -> None:
        self._inner, self.count = get_encoder(encoder), 0
        shown = (name for name in dir(self._inner) if name[0] != "_" and not hasattr(self, name))
        vars(self).update({name: getattr(self._inner, name) for name in shown})


def test_adding_keeps_what_the_encoder_makes(tmp_path: Path, clips: Path, encoder: str) -> None:
    sea = Sea(tmp_path / "s.sea", encoder)
    added = sea.add(clips, labels="folder")
    assert (added.added, added.present, added.failed, added.done) == (9, 0, [], added.size)
    assert [clip.label for clip in sea.clips()] == ["bounce"] * 3 + ["circle"] * 3 + ["dive"] * 3
    snapshot = sea.record.snapshot()
    kept = snapshot.encodings(snapshot.table([])["_rowid"].to_numpy())
    for clip, encoding in zip(sea.clips(), kept, strict=True):
        assert_same(encode_clip(clip, encoder, cache=False), encoding)
    assert added.seconds == pytest.approx(9 * 32 / 15)
    assert snapshot.table(["duration"])["duration"].to_pylist() == pytest.approx([32 / 15] * 9)


@pytest.mark.parametrize("cores", [2, 8])
def test_frames_are_decoded_as_for_a_single_clip(
    tmp_path: Path, clips: Path, encoder: str, monkeypatch: pytest.MonkeyPatch, cores: int
) -> None:
    """Frame threads take an eighth more CPU time, which the encoder lacks where there are few cores."""
    ways: list[bool] = []
    inner = seasync.video.source.open_picture

    def watched(file: str, *, frame_threads: bool = True) -> AbstractContextManager[tuple[Any, Any]]:
        ways.append(frame_threads)
        return inner(file, frame_threads=frame_threads)

    monkeypatch.setattr("seasync.video.decode.open_picture", watched)
    monkeypatch.setattr("os.cpu_count", lambda: cores)
    encode_clip(clips / "dive/001.mp4", encoder, cache=False)
    alone = set(ways)
    ways.clear()
    Sea(tmp_path / "s.sea", encoder).add(clips / "dive")
    assert set(ways) == alone == {cores == 8}


@pytest.mark.parametrize("split", ["none", 0.5])
def test_a_large_sea_is_asked_for_each_content_and_the_same_comes_of_it(
    tmp_path: Path, clips: Path, encoder: str, monkeypatch: pytest.MonkeyPatch, split: str | float
) -> None:
    monkeypatch.setattr("seasync.sea.ingest.EXACT_UP_TO", 2)
    sea = Sea(tmp_path / "s.sea", encoder)
    first = sea.add(clips / "dive", split=split)
    shutil.copy(video(tmp_path / "new.mp4", look=77), tmp_path / "twin.mp4")
    again = sea.add(clips / "dive", tmp_path / "new.mp4", tmp_path / "twin.mp4", split=split)
    assert again.added * 3 == first.added
    assert again.present == first.added + again.added
    assert sea.info()["files"] == 4
    assert sea.verify() == []


def test_the_same_content_comes_once_whatever_its_name(tmp_path: Path, clips: Path, encoder: str) -> None:
    sea = Sea(tmp_path / "s.sea", encoder)
    sea.add(clips)
    before = sea.record.snapshot().version
    shutil.copy(clips / "dive/001.mp4", tmp_path / "again.mp4")
    added = sea.add(clips, tmp_path / "again.mp4")
    assert (added.added, added.present, len(sea)) == (0, 10, 9)
    assert sea.record.snapshot().version == before
    shutil.copy(video(tmp_path / "new.mp4", look=77), tmp_path / "twin.mp4")
    added = sea.add(tmp_path / "new.mp4", tmp_path / "twin.mp4")
    assert (added.added, added.present) == (1, 1)


def test_bad_files_are_reported_and_the_good_ones_are_in(tmp_path: Path, encoder: str) -> None:
    video(tmp_path / "f/a.mp4")
    (tmp_path / "f/b.mp4").write_bytes(b"not a video")
    (tmp_path / "f/c.mp4").touch()
    video(tmp_path / "f/d.mp4", look=1)
    (tmp_path / "f/list.csv").write_text("file,start\na.mp4,99\ngone.mp4,\n")
    added = Sea(tmp_path / "s.sea", encoder).add(tmp_path / "f", tmp_path / "f/list.csv")
    assert added.added == 2
    reasons = [failure.reason for failure in added.failed]
    assert [Path(failure.file).name for failure in added.failed] == ["b.mp4", "c.mp4", "a.mp4", "gone.mp4"]
    assert all(failure.file in failure.reason for failure in added.failed), reasons


def test_a_damaged_file_is_in_as_far_as_it_goes(tmp_path: Path, encoder: str) -> None:
    whole = video(tmp_path / "whole.mkv", frames=60).read_bytes()
    (tmp_path / "cut.mkv").write_bytes(whole[: len(whole) // 2])
    added = Sea(tmp_path / "s.sea", encoder).add(tmp_path / "cut.mkv")
    assert added.added == 1
    assert not added.damaged or "cut.mkv" in added.damaged[0]


def damaged_video(file: Path, look: int) -> Path:
    """A video of which the second half is missing."""
    whole = video(file.with_suffix(".whole.mkv"), look=look, frames=120)
    file.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
    whole.unlink()
    return file


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_damaged_clip_stays_marked(tmp_path: Path, encoder: str, jobs: int) -> None:
    broken = damaged_video(tmp_path / "broken.mkv", 1)
    sea = Sea(tmp_path / "s.sea", encoder)
    added = sea.add(broken, video(tmp_path / "good.mp4", look=2), jobs=jobs)
    assert (added.added, len(added.damaged)) == (2, 1)
    damage = {Path(entry.clip.file).name: entry.damage for entry in sea.entries()}
    assert damage["good.mp4"] is None
    assert "frames could be read whole" in str(damage["broken.mkv"])
    assert added.damaged == [damage["broken.mkv"]]
    assert sea.info()["damaged"] == 1


def test_adds_at_the_same_time_keep_their_damage_and_others_their_warnings(
    tmp_path: Path, encoder: str
) -> None:
    files = [damaged_video(tmp_path / f"{n}.mkv", n) for n in range(4)]

    def add(n: int) -> list[str]:
        return Sea(tmp_path / f"{n}.sea", encoder).add(files[n]).damaged

    with warnings.catch_warnings(record=True) as caught, ThreadPoolExecutor(5) as pool:
        warnings.simplefilter("always")
        adding = [pool.submit(add, n) for n in range(4)]
        while not all(each.done() for each in adding):
            warnings.warn("something else", stacklevel=1)
        damaged = [each.result() for each in adding]
    assert [len(each) for each in damaged] == [1] * 4
    assert all(file.name in texts[0] for file, texts in zip(files, damaged, strict=True))
    assert {str(each.message) for each in caught} == {"something else"}


def test_adding_again_updates_labels_and_tags(tmp_path: Path, encoder: str) -> None:
    first, second = (video(tmp_path / f"clips/{n}.mp4", look=n) for n in range(2))
    sea = Sea(tmp_path / "s.sea", encoder)
    assert sea.add(first, second, labels="folder", tags=["old"]).updated == 0
    (tmp_path / "list.csv").write_text("file,label,tags\nclips/0.mp4,dive,new;best\n")
    added = sea.add(tmp_path / "list.csv")
    assert (added.added, added.present, added.updated) == (0, 1, 1)
    found = {entry.clip.file: (entry.clip.label, entry.tags) for entry in sea.entries()}
    assert found == {str(first): ("dive", ("new", "best")), str(second): ("clips", ("old",))}
    assert sea.add(tmp_path / "list.csv").updated == 0
    assert sea.add(first, second).updated == 0  # neither label nor tags given: both stay
    assert sea.verify() == []
    assert len(sea.search(second, k=1)) == 1


def test_a_copy_in_another_folder_does_not_take_the_label(tmp_path: Path, encoder: str) -> None:
    video(tmp_path / "a/0.mp4")
    (tmp_path / "b").mkdir()
    shutil.copy(tmp_path / "a/0.mp4", tmp_path / "b/0.mp4")
    sea = Sea(tmp_path / "s.sea", encoder)
    for _ in range(2):
        assert sea.add(tmp_path / "a", tmp_path / "b", labels="folder").updated == 0
    assert [clip.label for clip in sea.clips()] == ["a"]


def test_windows_cut_a_film_and_removed_ones_come_back(tmp_path: Path, encoder: str) -> None:
    film = video(tmp_path / "film.mp4", frames=75)
    sea = Sea(tmp_path / "s.sea", encoder)
    assert sea.add(film, split=1).added == 5
    assert [(clip.start, clip.end) for clip in sea.clips()] == [(float(n), n + 1.0) for n in range(5)]
    assert (added := sea.add(film, split="1.0")).added == 0
    assert added.present == 5
    assert sea.remove(clips=[str(sea.clips()[2].id)]) == 1
    assert (added := sea.add(film, split=1)).added == 1
    assert added.present == 4
    assert sea.add(film, split=2.5).added == 2


def test_shots_become_clips(tmp_path: Path, encoder: str) -> None:
    from tests.sea.footage import pictures
    from tests.videos import write

    scenes = [*pictures("circle", 3, 45), *[255 - image for image in pictures("dive", 4, 45)]]
    write(tmp_path / "film.mp4", iter(scenes), fps=15)
    sea = Sea(tmp_path / "s.sea", encoder)
    sea.add(tmp_path / "film.mp4", split="shots")
    assert [(clip.start, clip.end) for clip in sea.clips()] == [(0.0, 3.0), (3.0, 6.0)]


def test_a_span_out_of_a_list_does_not_stand_for_the_whole_film(tmp_path: Path, encoder: str) -> None:
    film = video(tmp_path / "film.mp4", frames=60)
    listing = tmp_path / "list.csv"
    listing.write_text("file,start,end,label\nfilm.mp4,0,2,a\nfilm.mp4,0,2,b\nfilm.mp4,0,2,c\n")
    sea = Sea(tmp_path / "s.sea", encoder)
    added = sea.add(listing, split=1)
    assert (added.added, added.present) == (1, 2)
    assert sea.add(film, split=1).added == 4


def test_several_processes_give_the_same_rows(tmp_path: Path, clips: Path, encoder: str) -> None:
    one, two = Sea(tmp_path / "1.sea", encoder), Sea(tmp_path / "2.sea", encoder)
    one.add(clips, labels="folder")
    (tmp_path / "bad.mp4").write_bytes(b"not a video")
    assert len(two.add(clips, tmp_path / "bad.mp4", labels="folder", jobs=2).failed) == 1
    assert contents(one) == contents(two)


def test_one_sea_one_encoder_one_rate(tmp_path: Path, clips: Path, encoder: str) -> None:
    Sea(tmp_path / "s.sea", encoder).add(clips / "dive")
    other = f"onnx:{colour_grid(tmp_path / 'other.onnx', cells=2)}"
    with pytest.raises(EncoderError, match="a sea has one encoder"):
        Sea(tmp_path / "s.sea", other)
    with pytest.raises(SeaError, match=r"sampled at 7\.5 fps, not 15"):
        Sea(tmp_path / "s.sea").add(clips, fps=15)
    renamed = shutil.copy(encoder.removeprefix("onnx:"), tmp_path / "renamed.onnx")
    assert Sea(tmp_path / "s.sea", f"onnx:{renamed}").add(clips).added == 6


def test_nonsense_is_refused_before_anything_is_written(tmp_path: Path, clips: Path, encoder: str) -> None:
    for split in ("shot", 0, -1, "nan"):
        with pytest.raises(SeaError, match="expected none, shots, reps, or a number of seconds"):
            Sea(tmp_path / "s.sea", encoder).add(clips, split=split)
    with pytest.raises(SeaError, match="no sea here; make one with"):
        Sea(tmp_path / "s.sea", create=False)
    assert not (tmp_path / "s.sea").exists()


@pytest.mark.timeout(60)
def test_frames_spread_over_days_are_refused_in_one_line(tmp_path: Path, clips: Path, encoder: str) -> None:
    day = 86_400_000  # milliseconds
    days = write(
        tmp_path / "days.mkv",
        pictures("circle", 0, 24),
        pts=[n * day for n in range(24)],
        time_base=Fraction(1, 1000),
        fps=1,
    )
    whole = sorted(clips.rglob("*.mp4"))[0]
    for pair in ((days, days), (days, whole), (whole, days)):
        with pytest.raises(FeatureError, match="24 frames are spread over so long a time"):
            seasync.align(*pair, encoder=encoder)
    sea = Sea(tmp_path / "s.sea", encoder)
    (failure,) = sea.add(days, whole).failed
    assert (failure.file, len(sea)) == (str(days), 1)
    with pytest.raises(FeatureError, match="24 frames are spread"):
        sea.search(days)
    assert "windows of 1 s" in sea.add(days, split=1).failed[0].reason
    with pytest.raises(RenderError, match="frames per second are"):
        clock_of(Clip(str(days)), fps=30)


def test_an_interruption_keeps_what_is_done(tmp_path: Path, clips: Path, encoder: str) -> None:
    sea = Sea(tmp_path / "s.sea", encoder)

    def interrupt(added: Added) -> None:
        if added.added == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sea.add(clips, progress=interrupt)
    assert len(sea) == 4
    assert not sea.verify()
    assert not [thread for thread in threading.enumerate() if thread.name == "seasync-ahead"]
    assert sea.add(clips).added == 5
    whole = Sea(tmp_path / "whole.sea", encoder)
    whole.add(clips)
    assert contents(sea) == contents(whole)


def test_an_add_that_is_terminated_keeps_what_is_encoded(tmp_path: Path, clips: Path, encoder: str) -> None:
    class Ends(Wrapped):
        def encode(self, batches):  # type: ignore[no-untyped-def]
            self.count += 1
            if self.count == 4:
                signal.raise_signal(signal.SIGTERM)
            return self._inner.encode(batches)

    before = signal.getsignal(signal.SIGTERM)
    try:
        end_in_order()
        with pytest.raises(typer.Exit) as ended, resumable():
            Sea(tmp_path / "s.sea", Ends(encoder)).add(clips)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert ended.value.exit_code == 143
    sea = Sea(tmp_path / "s.sea", encoder)
    assert len(sea) == 3
    assert sea.verify() == []


def test_what_is_encoded_is_kept_when_the_encoder_breaks(tmp_path: Path, clips: Path, encoder: str) -> None:
    class Breaks(Wrapped):
        def encode(self, batches):  # type: ignore[no-untyped-def]
            self.count += 1
            if self.count == 4:
                raise ZeroDivisionError
            return self._inner.encode(batches)

    with pytest.raises(ZeroDivisionError):
        Sea(tmp_path / "s.sea", Breaks(encoder)).add(clips)
    sea = Sea(tmp_path / "s.sea", encoder)
    assert len(sea) == 3
    assert sea.add(clips).added == 6


def test_two_adds_at_once_double_nothing(tmp_path: Path, encoder: str) -> None:
    folder = videos(tmp_path / "clips", 12, frames=10)
    waited, results = [], []

    def add() -> None:
        sea = Sea(tmp_path / "s.sea", encoder)
        results.append(sea.add(folder, waiting=lambda: waited.append(1), commit_seconds=0))

    threads = [threading.Thread(target=add) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(added.added for added in results) == [0, 0, 12]
    sea = Sea(tmp_path / "s.sea", encoder)
    assert len(sea) == len({clip.id for clip in sea.clips()}) == 12


@pytest.mark.parametrize("finished", [False, True])
def test_a_sea_that_another_begins_while_we_look_is_no_strange_folder(
    finished: bool, tmp_path: Path, clips: Path, encoder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, listed = tmp_path / "s.sea", Path.iterdir
    other = Sea(place, encoder)
    place.mkdir()

    with ExitStack() as held:

        def begin(folder: Path) -> Iterator[Path]:
            monkeypatch.setattr(Path, "iterdir", listed)
            if finished:
                other.add(clips)
            else:
                held.enter_context(other.record.writing())
            return folder.iterdir()

        monkeypatch.setattr(Path, "iterdir", begin)
        sea = Sea(place, encoder)
    assert len(sea) == (9 if finished else 0)
    assert sea.add(clips).added == (0 if finished else 9)


def test_a_second_writer_can_refuse_to_wait(tmp_path: Path, clips: Path, encoder: str) -> None:
    sea = Sea(tmp_path / "s.sea", encoder)
    with sea.record.writing(), pytest.raises(SeaError, match="another process is writing to this sea"):
        Sea(tmp_path / "s.sea", encoder).add(clips, wait=False)


def test_many_small_commits_are_joined_in_order(tmp_path: Path, encoder: str) -> None:
    folder = videos(tmp_path / "clips", 12, frames=6)
    many, one = Sea(tmp_path / "many.sea", encoder), Sea(tmp_path / "one.sea", encoder)
    many.add(folder, commit_seconds=0)
    one.add(folder)
    assert len(many.record.snapshot().dataset.get_fragments()) == 1
    assert contents(many) == contents(one)


def test_a_folder_of_images_is_a_video(tmp_path: Path, encoder: str) -> None:
    from PIL import Image

    from tests.sea.footage import pictures

    (tmp_path / "frames").mkdir()
    for n, image in enumerate(pictures("dive", 2, 24)):
        Image.fromarray(image).save(tmp_path / f"frames/{n:03d}.png")
    sea = Sea(tmp_path / "s.sea", encoder)
    assert sea.add(tmp_path / "frames").added == 1
    assert not sea.verify()


def test_features_beyond_half_precision_are_refused(tmp_path: Path, clips: Path, encoder: str) -> None:
    class Loud(Wrapped):
        def encode(self, batches):  # type: ignore[no-untyped-def]
            quiet = self._inner.encode(batches)
            loud = replace(quiet.streams[0], features=np.full_like(quiet.features, 1e5))
            return replace(quiet, streams=(loud,))

    added = Sea(tmp_path / "s.sea", Loud(encoder)).add(clips / "dive")
    assert added.added == 0
    assert "half precision" in added.failed[0].reason


def test_a_film_becomes_a_clip_per_repetition(tmp_path: Path, encoder: str) -> None:
    film = write(
        tmp_path / "five.mp4", (each for _ in range(5) for each in pictures("circle", 1, 30)), fps=15
    )
    once = video(tmp_path / "once.mp4", "dive", 2)
    sea = Sea(tmp_path / "s.sea", encoder)
    added = sea.add(film, once, split="reps")
    clips = [clip for clip in sea.clips() if clip.file == str(film)]
    assert len(clips) in (4, 5)
    assert added.added == len(clips) + 1
    assert all(1 < (clip.end or 0) - clip.start < 3 for clip in clips)
    assert sea.add(film, once, split="reps").added == 0
    assert sea.search(Clip(str(film), 2.0, 4.0), k=1)[0].clip.file == str(film)
