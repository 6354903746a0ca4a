"""Stress: kills, hostile files, a busy server, and faults, at the scale of what we promise.

Run `python -m stress --help`. It is no part of the package or of the daily tests.
"""
