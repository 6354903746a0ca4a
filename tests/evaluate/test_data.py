"""Loaders on small data sets in the official layouts, and on bad ones: one clear line each."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
from PIL import Image

from seasync.errors import DataError, PartlyDecoded, VideoError
from seasync.evaluate.data import fit_length, open_dataset, recognize
from seasync.evaluate.dataset import Dataset, IncompleteData, Item, Phases
from seasync.sea.sea import Sea
from tests import videos
from tests.encoders.models import colour_grid
from tests.evaluate import datasets
from tests.sea.footage import facts, row


def by_name(dataset):
    return {item.name: item for item in dataset.items}


def fails(path, text, **how):
    """Opening the data set fails with one line that contains `text`."""
    with pytest.raises(DataError) as caught:
        open_dataset(path, **how)
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)


def test_penn_reads_joints_actions_splits_and_phases(tmp_path):
    root = datasets.penn(tmp_path / "Penn_Action")
    dataset = open_dataset(root)
    assert dataset.labels == ("bowl", "squat")  # jump_rope is left out, TCC's spelling understood
    assert [len(dataset.only(s)) for s in ("train", "test")] == [4, 4]
    assert dataset.encoder == "joints"
    item = by_name(dataset)["0001"]
    encoding = item.encode("joints")
    assert encoding.features.shape == (18, 26)
    assert item.phases.at(encoding.frames).tolist() == (np.arange(18) * 3 // 18).tolist()


def test_penn_without_phase_labels_takes_the_official_split(tmp_path):
    dataset = open_dataset(datasets.penn(tmp_path, phases=False))
    assert [len(dataset.only(s)) for s in ("train", "test")] == [4, 4]
    assert all(item.phases is None for item in dataset.items)


def test_penn_phase_labels_may_lie_beside_the_folder(tmp_path):
    root = datasets.penn(tmp_path / "Penn_Action")
    shutil.move(root / "penn_action_labels", tmp_path / "penn_action_labels")
    assert all(item.phases is not None for item in open_dataset(root).items)


def test_penn_with_pictures_is_a_video_data_set(tmp_path):
    root = datasets.penn(tmp_path, phases=False)
    for item in open_dataset(root).items:
        (root / "frames" / item.name).mkdir(parents=True)
    dataset = open_dataset(root)
    assert dataset.encoder == "dinov2-small"
    assert by_name(dataset)["0002"].clip.file.endswith("frames/0002")


def test_penns_pictures_are_encoded_and_a_corrupt_one_is_named(tmp_path):
    root = datasets.penn(tmp_path / "penn", phases=False)
    for item in open_dataset(root).items:
        for at in range(18):
            file = root / "frames" / item.name / f"{at + 1:06d}.jpg"
            file.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(videos.picture(at)).save(file)
    encoder = f"onnx:{colour_grid(tmp_path / 'grid.onnx')}"
    dataset = open_dataset(root)
    assert by_name(dataset)["0001"].encode(encoder).frames[-1] < 18
    for file in (root / "frames" / "0002").iterdir():
        file.write_bytes(b"not a picture")
    with pytest.raises(VideoError, match="0002") as caught:
        by_name(dataset)["0002"].encode(encoder)
    assert "\n" not in str(caught.value)
    (root / "frames" / "0003" / "000005.jpg").write_bytes(b"not a picture")
    with pytest.warns(PartlyDecoded, match="0003"):
        by_name(dataset)["0003"].encode(encoder)


@pytest.mark.parametrize(
    ("labels", "length", "expected"),
    [
        ([0, 0, 1, 1, 2, 2], 3, [0, 1, 2]),
        ([0, 1, 2, 3, 4], 3, [0, 1, 3]),
        ([0, 1, 2], 6, [0, 0, 1, 1, 2, 2]),
        ([0, 1], 2, [0, 1]),
    ],
)
def test_phases_of_another_length_are_thinned_as_the_literature_does(labels, length, expected):
    assert fit_length(np.array(labels), length, where="x").tolist() == expected


def test_bad_penn_sets_say_what_is_wrong(tmp_path):
    fails(tmp_path, "labels folder is missing", kind="penn")
    (tmp_path / "labels").mkdir()
    fails(tmp_path, "no 0001.mat", kind="penn")

    root = datasets.penn(tmp_path / "a")
    datasets.penn_label(root / "labels" / "0001.mat", action="knitting")
    fails(root, "unknown action 'knitting'")

    root = datasets.penn(tmp_path / "b")
    np.save(root / "penn_action_labels" / "train" / "squats" / "0001.npy", np.zeros(500, int))
    fails(root, "500 labels for a clip of 18 frames")

    root = datasets.penn(tmp_path / "c")
    shutil.rmtree(root / "penn_action_labels" / "val")
    fails(root, "the val half of the phase labels is missing")

    root = datasets.penn(tmp_path / "d")
    datasets.penn_label(root / "labels" / "0001.mat", x=np.zeros((20, 12)))
    with pytest.raises(DataError, match=r"0001\.mat: expected x, y, visibility \(T, 13\)"):
        by_name(open_dataset(root))["0001"].encode("joints")

    with pytest.raises(DataError, match="no video to encode with tinyvit-5m; usable without one: joints"):
        by_name(open_dataset(root))["0002"].encode("tinyvit-5m")


def test_ucf_reads_the_official_lists(tmp_path):
    dataset = open_dataset(datasets.ucf(tmp_path))
    assert dataset.labels == ("Archery", "Bowling")
    assert {item.name for item in dataset.only("test")} == {"v_Archery_g01_c01", "v_Bowling_g01_c01"}
    assert len(dataset.only("train")) == 2


def test_ucf_lists_may_lie_beside_the_videos(tmp_path):
    datasets.ucf(tmp_path)
    assert len(open_dataset(tmp_path / "UCF-101").items) == 4


def test_ucf_counts_missing_videos(tmp_path):
    with pytest.warns(IncompleteData, match="2 of 4 listed videos are missing"):
        assert len(open_dataset(datasets.ucf(tmp_path, present=("Archery",))).items) == 2


def test_clips_of_a_sea_without_a_label_are_left_out_and_counted(tmp_path):
    rows = [row(n, label=label) for n, label in enumerate(("wave", "wave", None))]
    Sea(tmp_path / "s.sea").record.append(rows, facts())
    with pytest.warns(IncompleteData, match="1 of 3 clips have no label or no frame features"):
        assert len(open_dataset(tmp_path / "s.sea").items) == 2


def test_bad_ucf_sets_say_what_is_wrong(tmp_path):
    fails(datasets.ucf(tmp_path / "a", present=()), "none of the 4 listed videos is there")
    root = datasets.ucf(tmp_path / "b")
    (root / "ucfTrainTestlist" / "testlist01.txt").unlink()
    fails(root, "the test list of split 1 is missing")
    root = datasets.ucf(tmp_path / "c")
    (root / "ucfTrainTestlist" / "trainlist01.txt").write_text("Knitting/v_Knitting_g01_c01.avi 3\n")
    fails(root, "'Knitting', which classInd.txt does not list")
    (root / "ucfTrainTestlist" / "trainlist01.txt").write_text("Archery/holiday.avi 1\n")
    fails(root, "expected names such as v_Archery_g01_c01.avi")


def test_kinetics_reads_lists_clips_and_key_frames(tmp_path):
    with pytest.warns(IncompleteData, match="1 of 3 listed clips are missing"):
        dataset = open_dataset(datasets.kinetics(tmp_path / "k"))
    assert [item.label for item in dataset.items] == ["kicking ball", "kicking ball"]
    (query,) = dataset.only("test")
    assert query.events.tolist() == [3, 7]
    assert query.phases.at(np.arange(10)).tolist() == [0, 0, 0, 1, 1, 1, 1, 2, 2, 2]


def test_bad_kinetics_sets_say_what_is_wrong(tmp_path):
    (tmp_path / "e").mkdir()
    fails(tmp_path / "e", "no CSV list with the columns label, youtube_id", kind="kinetics")
    root = datasets.kinetics(tmp_path / "k")
    (root / "train.csv").write_text("label,youtube_id,time_start\nx,y,0\n")
    fails(root, "no column time_end, split")
    (root / "train.csv").write_text("label,youtube_id,time_start,time_end,split\nx,y,soon,10,train\n")
    fails(root, "must be seconds, got 'soon'")
    (root / "train.csv").unlink()
    shutil.rmtree(root / "val")
    fails(root, "none of the 1 listed clips is there")


def test_events_give_phases(tmp_path):
    dataset = open_dataset(datasets.events(tmp_path / "golf"))
    item = by_name(dataset)["swing_1.mp4"]
    assert item.events.tolist() == [3, 7, 10]
    assert item.label == "golf"
    assert item.group == "p0"
    assert item.phases.at(np.array([0, 2, 3, 7, 15])).tolist() == [0, 0, 1, 2, 3]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("clip,frames,top\ngone.mp4,9,3\n", "gone.mp4: named in events.csv but not there"),
        ("clip,frames,top\nswing_0.mp4,16,soon\n", "expected whole numbers"),
        ("clip,frames,a,b\nswing_0.mp4,16,9,3\n", "frame numbers in order"),
        ("clip,frames,a,b\nswing_0.mp4,16,9,\n", "1 of 2 events"),
        ("clip,frames,a\nswing_0.mp4,16,16\n", "an event at frame 16 of a clip of 16 frames"),
        ("clip,frames\nswing_0.mp4,16\n", "no column of events"),
        ("file,a\nswing_0.mp4,3\n", "no column clip"),
        ("clip,a\n", "no rows"),
        ("clip,events\nswing_0.mp4,\n", "no events"),
    ],
)
def test_bad_event_files_say_what_is_wrong(tmp_path, content, text):
    root = datasets.events(tmp_path / "golf")
    (root / "events.csv").write_text(content)
    fails(root, text)


def test_features_of_another_system_are_a_data_set(tmp_path):
    dataset = open_dataset(datasets.features(tmp_path), fps=10)
    assert dataset.encoder == "features"
    item = by_name(dataset)["class0/clip1.npy"]
    encoding = item.encode("features")
    assert encoding.features.shape[1] == 6
    assert encoding.seconds[1] == pytest.approx(0.1)
    assert set(item.phases.at(encoding.frames)) == {0, 1, 2}


@pytest.mark.parametrize(
    ("array", "text"),
    [
        (np.zeros(5), "expected features (T, d)"),
        (np.array([{}]), "not a readable .npy"),
        (np.array(["a"]), "array of numbers"),
    ],
)
def test_bad_feature_files_say_what_is_wrong(tmp_path, array, text):
    (tmp_path / "a").mkdir()
    np.save(tmp_path / "a" / "x.npy", array, allow_pickle=True)
    (item,) = open_dataset(tmp_path).items
    with pytest.raises(DataError) as caught:
        item.encode("features")
    assert text in str(caught.value)


def test_any_folder_is_labelled_by_its_folders_and_split_by_train_and_val(tmp_path):
    for name in ("train/wave/a.mp4", "val/wave/b.mp4", "val/bow/c.mp4"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "phases.csv").write_text("clip,frame,phase\ntrain/wave/a.mp4,4,1\ntrain/wave/a.mp4,2,0\n")
    dataset = open_dataset(tmp_path)
    items = by_name(dataset)
    assert [(i.label, i.split) for i in items.values()] == [
        ("wave", "train"),
        ("bow", "test"),
        ("wave", "test"),
    ]
    assert items["train/wave/a.mp4"].phases.at(np.arange(6)).tolist() == [-1, -1, 0, 0, 1, 1]


def test_bad_folders_say_what_is_wrong(tmp_path):
    fails(tmp_path / "gone", "no such folder")
    fails(tmp_path, "no videos found")
    fails(tmp_path, "expected one of penn, ucf101", kind="imagenet")
    (tmp_path / "loose.mp4").touch()
    fails(tmp_path, "not in a class folder")
    (tmp_path / "a").mkdir()
    (tmp_path / "loose.mp4").rename(tmp_path / "a" / "x.mp4")
    (tmp_path / "phases.csv").write_text("clip,frame,phase\nb/x.mp4,0,1\n")
    fails(tmp_path, "names b/x.mp4, which is not there")


def test_layouts_are_recognized(tmp_path):
    assert recognize(datasets.penn(tmp_path / "p")) == "penn"
    assert recognize(datasets.ucf(tmp_path / "u")) == "ucf101"
    assert recognize(datasets.kinetics(tmp_path / "k")) == "kinetics"
    assert recognize(datasets.events(tmp_path / "e")) == "events"
    assert recognize(datasets.features(tmp_path / "f")) == "features"


def test_phases_beyond_the_labels_are_an_error():
    with pytest.raises(DataError, match="clip x: phases for 3 frames, but it has a frame 3"):
        Phases.per_frame(np.array([0, 1, 2]), clip="clip x").at(np.array([3]))


def items(count, labels):
    return tuple(Item(str(i), labels[i % len(labels)], group=str(i // 2)) for i in range(count))


def test_a_limited_set_keeps_every_label():
    dataset = Dataset("x", items(30, "abc"), "features").limited(7)
    assert len(dataset.items) == 7
    assert {item.label for item in dataset.items} == set("abc")


def test_halving_keeps_groups_together():
    halves = Dataset("x", items(20, "ab"), "features").halved()
    sides = {}
    for item in halves.items:
        sides.setdefault(item.group, set()).add(item.split)
    assert all(len(side) == 1 for side in sides.values())
    assert len(halves.only("train")) == len(halves.only("test")) == 10


def test_two_clips_of_one_name_are_an_error():
    with pytest.raises(DataError, match="two clips are called a"):
        Dataset("x", (Item("a", "x"), Item("a", "y")), "features")
