"""The API against its own schema: whatever is asked, the answer is one that the schema announces."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_schema_conformance,
    status_code_conformance,
)

from seasync.serve import Client
from tests.serve.live import live

EXAMPLES = 8  # of each operation, good ones and bad ones
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    negative_data_rejection,
]


@pytest.fixture(scope="session")
def address(served: Callable[..., AbstractContextManager[str]]) -> Iterator[str]:
    with served(live) as address:
        yield address


@pytest.fixture(scope="session")
def refs(address: str) -> dict[str, str]:
    with Client(address) as client:
        return {clip.file[-len("right/a.mp4") :]: clip.ref for clip in client.clips("small")}


def test_every_answer_is_one_the_schema_announces(
    address: str, refs: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(
        "SEASYNC_OFFLINE", "1"
    )  # jobs that look for bodies fail at once instead of downloading
    schema = schemathesis.openapi.from_url(f"{address}/api/v1/openapi.json")
    asked = 0
    for result in schema.get_all_operations():
        operation = result.ok()
        if operation.path == "/api/v1/jobs/events":  # has no end; see `test_jobs`
            continue
        for mode in GenerationMode:
            asked += _ask(operation, mode, refs)
    assert asked > 300


def _ask(operation: Any, mode: GenerationMode, refs: dict[str, str]) -> int:
    """Ask an operation for things that its schema allows, or forbids; how often it was asked."""
    asked = 0

    @settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
    @given(case=operation.as_strategy(generation_mode=mode))
    def check(case: schemathesis.Case) -> None:
        nonlocal asked
        asked += 1
        if mode is GenerationMode.POSITIVE:
            _ask_for_what_is_there(case, refs)
        case.call_and_validate(checks=CHECKS, timeout=180)  # seconds; how fast it is, is not the matter

    try:
        check()
    except Unsatisfiable:  # there is nothing wrong to say to an operation that takes nothing
        assert mode is GenerationMode.NEGATIVE
    return asked


def _ask_for_what_is_there(case: schemathesis.Case, refs: dict[str, str]) -> None:
    """Random names are hardly ever right: put real ones in the place of most of them."""
    known = {
        "sea": "small",
        "ref": refs["right/a.mp4"],
        "query": refs["right/a.mp4"],
        "match": refs["right/b.mp4"],
    }
    grid = {"leader": refs["right/a.mp4"], "followers": [refs["right/b.mp4"]]}
    parts = [case.path_parameters, case.query]
    if isinstance(case.body, dict):
        parts += [case.body.get("query"), case.body.get("alignment")]
        case.body.update({name: grid[name] for name in case.body.keys() & grid.keys()})
    for part in parts:
        if isinstance(part, dict) and len(str(part)) % 4:
            part.update({name: known[name] for name in part.keys() & known.keys()})
