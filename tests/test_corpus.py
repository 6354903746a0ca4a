"""Files that once crashed a reader, hung it or filled the memory: each is read or refused in one line.

`tests/corpus` has a folder for each parser of `stress.fuzz`, which begins with these files, too.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from seasync.errors import SeasyncError
from stress.fuzz import CORPUS, parsers

FILES = sorted(file for file in CORPUS.rglob("*") if file.is_file())


@pytest.mark.timeout(20)
@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name} {file.name}")
def test_a_found_file_is_read_or_refused_in_one_line(file: Path, tmp_path: Path) -> None:
    place = shutil.copy(file, tmp_path / file.parent.name)
    said = ""
    try:
        parsers()[file.parent.name](Path(place))
    except SeasyncError as error:
        said = str(error)
    assert "\n" not in said
