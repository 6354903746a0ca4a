"""Put two videos in step into Blender's video editor, from a frame map of `seasync export … --to frames.csv`.

blender --background --python blender_retime.py -- frames.csv query.mp4 match.mp4 project.blend

The query lies on channel 1. The match lies on channel 2 with a speed effect above it, whose frame number has
a key for each frame. Nothing but Blender is needed. Tried with Blender 3.4 and 5.2.
"""

import csv
import os
import sys

import bpy

FIRST = 1  # Blender counts frames from 1


def rows(file):
    """(frame of the kept clip, its seconds, frame of the other clip or None) for each line."""
    with open(file, newline="", encoding="utf-8") as opened:
        lines = list(csv.reader(opened))[1:]
    return [(int(line[0]), float(line[1]), int(line[2]) if line[2] else None) for line in lines]


def curves(animation):
    """The animated values of a scene."""
    if hasattr(animation.action, "fcurves"):
        return animation.action.fcurves
    return animation.action.layers[0].strips[0].channelbag(animation.action_slot).fcurves  # Blender 5


def build(frames, kept_file, other_file):
    """Make the strips; frames of the kept clip without a partner show the kept clip alone."""
    scene = bpy.context.scene
    editor = scene.sequence_editor_create()
    strips = editor.strips if hasattr(editor, "strips") else editor.sequences  # renamed in Blender 4.4
    seconds = (frames[-1][1] - frames[0][1]) / max(1, len(frames) - 1)
    rate = 1 / seconds if seconds else 30.0
    scene.render.fps = max(1, round(rate))
    scene.render.fps_base = scene.render.fps / rate
    kept = strips.new_movie("kept", kept_file, 1, FIRST)
    other = strips.new_movie("other", other_file, 2, FIRST)
    for strip in (kept, other):
        scene.render.resolution_x, scene.render.resolution_y = (
            strip.elements[0].orig_width,
            strip.elements[0].orig_height,
        )
    scene.frame_start, scene.frame_end = FIRST, FIRST + len(frames) - 1
    end = "right_handle" if hasattr(other, "right_handle") else "frame_final_end"  # renamed in Blender 5
    setattr(other, end, max(getattr(other, end), scene.frame_end + 1))
    try:
        speed = strips.new_effect("in step", "SPEED", 3, frame_start=FIRST, frame_end=FIRST + 1, seq1=other)
    except TypeError:  # Blender 5
        speed = strips.new_effect("in step", "SPEED", 3, frame_start=FIRST, length=1, input1=other)
    speed.speed_control = "FRAME_NUMBER"
    for at, (_, _, shown) in enumerate(frames, FIRST):
        if shown is not None:
            speed.speed_frame_number = shown
            speed.keyframe_insert("speed_frame_number", frame=at)
        speed.blend_alpha = 0.0 if shown is None else 1.0
        speed.keyframe_insert("blend_alpha", frame=at)
        other.blend_alpha = 0.0
    for curve in curves(scene.animation_data):
        for key in curve.keyframe_points:
            key.interpolation = "CONSTANT"


if __name__ == "__main__":
    # A project that is saved by a relative name would look for its videos in the wrong folder.
    table, first, second, project = map(os.path.abspath, sys.argv[sys.argv.index("--") + 1 :])
    build(rows(table), first, second)
    bpy.ops.wm.save_as_mainfile(filepath=project)
