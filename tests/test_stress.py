"""A stress run continues where the last one stopped, and keeps what it found."""

from __future__ import annotations

from pathlib import Path

from stress.journal import Finding, Journal, Round


def test_a_journal_continues_and_keeps_findings_with_their_files(tmp_path: Path) -> None:
    (tmp_path / "bad.mp4").write_bytes(b"bad")
    journal = Journal(tmp_path / "state", "hostile")
    journal.add(0, Round("fine"))
    journal.add(2, Round("found", [Finding("crashed", "SIGSEGV", tmp_path / "bad.mp4")]))
    again = Journal(tmp_path / "state", "hostile")
    assert again.missing(0, 4) == [1, 3]
    assert again.tally() == {"crashed": 1}
    (found,) = again.findings
    assert (tmp_path / "state" / "hostile" / found["file"]).read_bytes() == b"bad"
    again.drop_findings()
    assert Journal(tmp_path / "state", "hostile").missing(0, 4) == [1, 2, 3]


def test_a_line_that_was_cut_off_is_played_again(tmp_path: Path) -> None:
    journal = Journal(tmp_path, "kills")
    journal.add(0, Round("fine"))
    with (tmp_path / "kills.jsonl").open("a") as file:
        file.write('{"seed": 1, "round"')
    again = Journal(tmp_path, "kills")
    assert again.missing(0, 2) == [1]
    again.add(1, Round("fine"))
    assert Journal(tmp_path, "kills").missing(0, 2) == []
