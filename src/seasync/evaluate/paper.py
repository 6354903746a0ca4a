"""The paper's own numbers, table by table, in the form of our rows.

"Sync from the Sea: Retrieving Alignable Videos from Large-Scale Datasets" (ECCV 2024). Its supplementary
table has the rows of Table 1 to more digits.
"""

from __future__ import annotations

from typing import Any

Row = dict[str, Any]

_SETS = ("PennAction", "Penn ⇄ UCF", "Kinetics")
_AVR = """
retrieved BYOL no  none | 125.4 3.98 | 124.5 519.87 | 564.5  5.06
retrieved BYOL no  dtw  | 333.7 7.95 | 259.8 978.77 | 1198.4 19.2
retrieved BYOL no  draq | 19.3  0.75 | 72.1  283.51 | 2.3    0.24
retrieved BYOL yes none | 0.54  0.4  | 121.1 105.01 | 13     1.03
retrieved BYOL yes dtw  | 0.78  0.78 | 206.6 407.08 | 16.8   2.11
retrieved BYOL yes draq | 0.24  0.13 | 50.6  11.03  | 0.32   0.09
retrieved CARL no  none | 99.8  2.34 | 19.2  24.35  | 40.3   0.68
retrieved CARL no  dtw  | 98.6  1.91 | 11.3  25.09  | 12.2   0.34
retrieved CARL no  draq | 21.1  0.71 | 21.7  10.62  | 16     1.12
retrieved CARL yes none | 90.3  2.38 | 18.7  28.49  | 23.5   0.45
retrieved CARL yes dtw  | 78.3  1.68 | 9.5   15.27  | 9.6    0.46
retrieved CARL yes draq | 24.3  0.74 | 5.2   5.87   | 2.3    0.08
retrieved NMS  no  none | 72.9  2.32 | 37.2  31.9   | 40     1.06
retrieved NMS  no  dtw  | 160.9 3.72 | 51.8  26     | 331.1  6.22
retrieved NMS  no  draq | 83.37 0.79 | 23.5  7.82   | 0.64   0.21
retrieved NMS  yes none | 13.4  1.32 | 5.5   22.22  | 22.7   0.86
retrieved NMS  yes dtw  | 14.5  1.86 | 6.7   29.77  | 65     1.95
retrieved NMS  yes draq | 9.5   0.2  | 4.8   5.89   | 0.46   0
oracle    BYOL no  none | 197.5 5.2  | - -          | 909.2  8.51
oracle    BYOL no  dtw  | 79.5  1.19 | - -          | 980.8  15.14
oracle    BYOL no  draq | 74.5  0.85 | - -          | 6      0.04
oracle    BYOL yes none | 50.4  4.14 | - -          | 7.6    0.62
oracle    BYOL yes dtw  | 12.7  0.84 | - -          | 13.4   2.1
oracle    BYOL yes draq | 7.5   0.53 | - -          | 0.3    0.05
oracle    CARL no  none | 41.3  1.46 | - -          | 47.4   0.41
oracle    CARL no  dtw  | 26.6  1.11 | - -          | 4.3    0.16
oracle    CARL no  draq | 31.6  0.41 | - -          | 2.1    0.19
oracle    CARL yes none | 23.4  1.34 | - -          | 36.4   1.04
oracle    CARL yes dtw  | 12.5  0.93 | - -          | 4.4    0.12
oracle    CARL yes draq | 11.2  0.36 | - -          | 1.7    0.14
oracle    NMS  no  none | 88.1  3.58 | - -          | 134.6  5.16
oracle    NMS  no  dtw  | 64.2  2.97 | - -          | 157.2  3.18
oracle    NMS  no  draq | 29.5  0.87 | - -          | 0.2    0
oracle    NMS  yes none | 24.7  1.7  | - -          | 35.3   1.08
oracle    NMS  yes dtw  | 13.3  1.76 | - -          | 23     0.18
oracle    NMS  yes draq | 7.8   0.33 | - -          | 0.3    0.01
"""

_APA = """
BYOL no  0.769 0.814
CARL no  0.826 0.856
NMS  no  0.832 0.868
BYOL yes 0.801 0.821
CARL yes 0.827 0.854
NMS  yes 0.848 0.893
"""

_PHASES = """
TCC              no  0.744 0.767 0.641
GTA              no  -     -     0.748
LAV              no  0.786 0.791 0.684
TCN              no  0.681 0.778 0.542
SaL              no  0.682 -     0.474
BYOL             no  0.545 0.473 0.216
CARL             no  0.931 0.922 0.985
NMS              no  0.799 0.730 0.397
BYOL+Transformer no  0.863 0.817 0.995
CARL-SW          no  0.845 0.830 0.686
BYOL             yes 0.881 0.782 0.776
CARL-SW          yes 0.889 0.845 0.648
NMS              yes 0.918 0.882 0.825
"""

_PHASE_KINDS = dict.fromkeys(("BYOL", "CARL-SW", "NMS"), "frame features")
_PHASE_KINDS["BYOL+Transformer"] = "control"

_RERANK = """
PennAction none 82.09 98.76
PennAction draq 82.40 99.17
UCF101     none 81.60 93.52
UCF101     draq 81.81 93.92
"""

DRAQ_SHARE_PERCENT = 0.0546  # time of DRAQ against that of feature extraction, supplementary


def rows(table: str, dataset: str | None) -> list[Row]:
    """The paper's rows of a table.

    Parameters
    ----------
    table : {"avr", "apa", "phases", "rerank", "cost"}
    dataset : str, optional
        The paper's name of the data set. For any other, the rows are those of Penn Action, which say so.
    """
    found = _TABLES[table]
    there = {row["dataset"] for row in found}
    return [row for row in found if row["dataset"] == (dataset if dataset in there else "PennAction")]


def _number(text: str) -> float | None:
    return None if text == "-" else float(text)


def _avr() -> list[Row]:
    made = []
    for line in _AVR.strip().splitlines():
        setting, *figures = line.split("|")
        candidates, features, context, rerank = setting.split()
        for name, pair in zip(_SETS, figures, strict=True):
            fpe, cpe = map(_number, pair.split())
            if fpe is not None:
                row: Row = {"table": "supplementary / Table 1", "dataset": name, "candidates": candidates}
                row |= {
                    "features": features,
                    "recipe": "paper",
                    "context": context == "yes",
                    "rerank": rerank,
                }
                made.append(row | {"FPE": fpe, "CPE": cpe})
    return made


def _apa() -> list[Row]:
    made = []
    for line in _APA.strip().splitlines():
        features, context, average, top = line.split()
        row = {"table": "Table 2", "dataset": "PennAction", "features": features, "recipe": "paper"}
        made.append(row | {"context": context == "yes", "APA": float(average), "APA top-DRAQ": float(top)})
    return made


def _phases() -> list[Row]:
    made = []
    for line in _PHASES.strip().splitlines():
        features, context, classification, retrieval, tau = line.split()
        row: Row = {
            "table": "Table 3",
            "dataset": "PennAction",
            "features": features,
            "kind": _PHASE_KINDS.get(features, "published"),
            "context": context == "yes",
        }
        figures = {"classification": classification, "frame P@1": retrieval, "tau": tau}
        made.append(row | {name: _number(text) for name, text in figures.items()})
    return made


def _rerank() -> list[Row]:
    made = []
    for line in _RERANK.strip().splitlines():
        dataset, rerank, first, ten = line.split()
        row = {"table": "Table 4", "dataset": dataset, "features": "NMS", "recipe": "paper", "context": True}
        made.append(row | {"rerank": rerank, "R@1": float(first), "R@10": float(ten)})
    return made


_COST: list[Row] = [{"table": "supplementary", "dataset": "PennAction", "DRAQ share %": DRAQ_SHARE_PERCENT}]
_TABLES = {"avr": _avr(), "apa": _apa(), "phases": _phases(), "rerank": _rerank(), "cost": _COST}
