from __future__ import annotations

import pytest

from tests.videos import KINDS, Truth


@pytest.fixture(scope="session", params=KINDS)
def truth(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Truth:
    """Each kind of file in turn, made once."""
    return KINDS[request.param](tmp_path_factory.mktemp("kind"))
