"""A group of real pictures with known truth: the squats of the sample sea."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import seasync
from seasync.sample import make


@pytest.mark.usefixtures("real_weights")
def test_squats_of_the_sample_share_a_clock_and_other_actions_are_left_out(tmp_path: Path) -> None:
    sample = make(tmp_path / "sample", clips=17, seconds=(3, 4), size=(160, 120))
    reference, *takes = (clip for clip in sample.clips if clip.action == "squat")
    others = [next(clip.file for clip in sample.clips if clip.action == "throw")]
    group = seasync.align_group(
        reference.file, [*(clip.file for clip in takes), *others], encoder="dinov2-small@112"
    )
    assert [Path(out.clip.file) for out in group.left_out] == others
    assert [Path(take.clip.file) for take in group.takes] == [clip.file for clip in takes]
    truth = np.stack([clip.key_seconds for clip in takes])
    apart = np.abs(group.at(reference.key_seconds) - truth)
    assert np.nanmedian(apart) <= 1.5 / 7.5  # sampled frames
    assert np.isfinite(apart).mean() > 0.8
