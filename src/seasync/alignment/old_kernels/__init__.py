"""Compiled kernels. Arrays in, arrays out; no checks: their callers have made them.

Kernels that take long let go of Python's lock. Those of a few microseconds keep it: to get it back while
another thread computes would take longer than their work.

numba keeps compiled code beside each file and renews it when that file changes, not when another does whose
functions it calls: after changing `vectors.py` or `lanes.py`, delete the `__pycache__` here.
"""

from __future__ import annotations
