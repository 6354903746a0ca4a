"""A generated sea with known truth: a figure that performs, filmed many times over.

    sample = make("sample/")                      # sixty clips of four actions, <action>/<clip>.mp4
    query, match, *_ = (clip for clip in sample.clips if clip.action == "squat")
    true_warp(query, match)                       # the second of the match for each frame of the query

Every clip has its own performer, clothes, place, camera, pace, length and frame rate, still ends, holds, and
a click at each key moment. Some mislead on purpose (`SampleClip.distractor`). A seed makes one sea, always.
"""

from seasync.sample.generate import Sample, SampleClip, alignment_error, make, true_warp

__all__ = ["Sample", "SampleClip", "alignment_error", "make", "true_warp"]
