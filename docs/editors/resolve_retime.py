"""Retime the clip under Resolve's playhead along a frame map of `seasync export … --to frames.csv`.

Put the match on a timeline of the query's frame rate, where the query begins, and the playhead on it. Run
`python resolve_retime.py frames.csv`, or paste the script into Workspace > Console (Py3) and call `retime`.

It adds a Fusion composition with a TimeStretcher whose source time has a key for each change of speed. It
uses only what Blackmagic documents (Help > Documentation > Developer; Fusion Scripting Guide). It has not
been run in Resolve.
"""

import csv
import sys


def keys(file):
    """{frame of the kept clip: frame of the other clip} where the speed changes, and at both ends."""
    with open(file, newline="", encoding="utf-8") as opened:
        lines = [line for line in list(csv.reader(opened))[1:] if line[2]]
    pairs = [(int(line[0]), int(line[2])) for line in lines]
    steps = zip(pairs, pairs[1:], pairs[2:])  # noqa: B905  Resolve may run a Python older than 3.10
    inner = [here for before, here, after in steps if here[1] - before[1] != after[1] - here[1]]
    return dict([pairs[0], *inner, pairs[-1]])


def retime(item, frames):
    """Let a timeline item show `frames[n]` of its file at frame n."""
    composition = item.AddFusionComp()
    stretcher = composition.AddTool("TimeStretcher", 1, 1)
    stretcher.Input = composition.FindTool("MediaIn1").Output
    composition.FindTool("MediaOut1").Input = stretcher.Output
    stretcher.InterpolateBetweenFrames = 0
    stretcher.SourceTime = composition.BezierSpline()
    spline = stretcher.SourceTime.GetConnectedOutput().GetTool()
    first = int(composition.GetAttrs()["COMPN_GlobalStart"])
    linear = {"Linear": True}
    spline.SetKeyFrames(
        {first + at: {1: first + shown, "Flags": linear} for at, shown in frames.items()}, True
    )


def main():
    import DaVinciResolveScript

    resolve = DaVinciResolveScript.scriptapp("Resolve")
    timeline = resolve.GetProjectManager().GetCurrentProject().GetCurrentTimeline()
    retime(timeline.GetCurrentVideoItem(), keys(sys.argv[1]))


if __name__ == "__main__":
    main()
