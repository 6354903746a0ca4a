"""The paper's numbers, spot-checked against its tables."""

from __future__ import annotations

from seasync.evaluate.results import paper_rows


def one(table, dataset="PennAction", **setting):
    (row,) = [r for r in paper_rows(table, dataset) if all(r[k] == v for k, v in setting.items())]
    return row


def test_cycle_errors_are_those_of_the_supplementary_table():
    assert len(paper_rows("avr", "PennAction")) == len(paper_rows("avr", "Kinetics")) == 36
    assert len(paper_rows("avr", "Penn ⇄ UCF")) == 18
    f1 = one("avr", features="BYOL", context=True, rerank="draq", candidates="retrieved")
    assert (f1["FPE"], f1["CPE"]) == (0.24, 0.13)
    n2 = one("avr", "Kinetics", features="NMS", context=False, rerank="dtw", candidates="oracle")
    assert (n2["FPE"], n2["CPE"]) == (157.2, 3.18)


def test_the_papers_other_tables_have_their_published_values():
    assert one("apa", features="NMS", context=True)["APA top-DRAQ"] == 0.893
    assert one("phases", features="BYOL+Transformer")["tau"] == 0.995
    assert one("phases", features="GTA")["classification"] is None
    assert one("rerank", "UCF101", rerank="draq")["R@1"] == 81.81
    assert paper_rows("cost", None)[0]["DRAQ share %"] == 0.0546


def test_a_data_set_the_paper_does_not_have_is_shown_its_penn_rows():
    assert paper_rows("apa", "golf") == paper_rows("apa", "PennAction")
