"""Compiled kernels. Arrays in, arrays out; no checks: their callers have made them.

numba keeps compiled code beside each file and renews it when that file changes, not when another does whose
functions it calls: after changing `vectors.py` or `lanes.py`, delete the `__pycache__` here.
"""
