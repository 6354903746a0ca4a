"""The MCP server, through the SDK's own client: in process, over standard input and output, and over HTTP."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

mcp = pytest.importorskip("mcp", reason="needs the extra 'mcp'")
import anyio  # noqa: E402

from seasync import Sea  # noqa: E402
from seasync.errors import SeasyncError  # noqa: E402
from seasync.integrations.mcp import create_server  # noqa: E402
from tests.cli.run import seasync  # noqa: E402
from tests.encoders.models import colour_grid  # noqa: E402
from tests.sea.footage import videos  # noqa: E402

TOOLS = ["align", "export", "find", "group", "render", "search"]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return f"onnx:{colour_grid(tmp_path_factory.mktemp('model') / 'grid.onnx', cells=8)}"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory, encoder: str) -> Path:
    """Six clips of three actions, and a sea of them."""
    folder = videos(tmp_path_factory.mktemp("root"), 6)
    Sea(folder / "a.sea", encoder).add(folder)
    return folder


def pair(root: Path) -> tuple[str, str]:
    first, second, *_ = sorted(str(file) for file in next(root.glob("*/*.mp4")).parent.glob("*.mp4"))
    return first, second


def ask(server: Any, talk: Callable[[Any], Awaitable[Any]]) -> Any:
    async def main() -> Any:
        async with mcp.Client(server) as client:
            return await talk(client)

    return anyio.run(main)


def call(server: Any, tool: str, **arguments: Any) -> Any:
    """What a tool answers: its values, or the text of its error."""
    result = ask(server, lambda client: client.call_tool(tool, arguments))
    return result.content[0].text if result.is_error else result.structured_content


def test_six_tools_explain_themselves(root: Path) -> None:
    listed = ask(create_server([str(root)]), lambda client: client.list_tools()).tools
    assert sorted(tool.name for tool in listed) == TOOLS
    assert all(tool.description.strip().endswith(".") for tool in listed)
    assert not any("context" in tool.input_schema["properties"] for tool in listed)


def test_every_tool_does_its_work(root: Path, encoder: str) -> None:
    server = create_server([str(root)], encoder=encoder)
    query, match = pair(root)
    aligned = call(server, "align", query=query, match=match)
    assert aligned["alignable"] is True
    assert len(aligned["moments"]) == 10
    found = call(server, "search", query=query, sea="a.sea", k=3)
    assert len(found["matches"]) == 3
    assert call(server, "find", query=query, films=[match])["found"][0]["clip"]["file"] == match
    grouped = call(server, "group", reference=query, takes=[str(Path(query).parent)])
    assert [take["file"] for take in grouped["takes"]] == [match]
    film = call(server, "render", query=query, match=match, to="both.mp4")["file"]
    assert Path(film) == root.resolve() / "both.mp4"
    (file,) = call(server, "export", query=query, match=match, to=str(root / "edit.otio"))["files"]
    assert Path(file).stat().st_size > 100


def test_files_outside_of_the_roots_are_neither_read_nor_written(
    root: Path, encoder: str, tmp_path: Path
) -> None:
    server = create_server([str(root)], encoder=encoder)
    query, match = pair(root)
    outside = tmp_path / "outside.mp4"
    outside.write_bytes(Path(match).read_bytes())
    (root / "folder").mkdir()
    for target in (outside, tmp_path):
        link = root / "folder" / f"link-{target.name}"
        link.symlink_to(target)
        assert "not found in the allowed folders" in call(server, "align", query=query, match=str(link))
    for other in (str(outside), "../outside.mp4", "/etc/hostname"):
        assert "not found in the allowed folders" in call(server, "align", query=query, match=other)
    link = str(root / "folder")
    assert "not found in the allowed" in call(server, "group", reference=query, takes=[link])
    made = tmp_path / "made.otio"
    for target in (str(made), "folder/link-" + tmp_path.name + "/made.otio", "../made.otio"):
        assert "not found in the allowed" in call(server, "export", query=query, match=match, to=target)
    assert not made.exists()
    assert "exists already" in call(server, "render", query=query, match=match, to=match)


def test_progress_only_grows_and_errors_are_one_line(root: Path, encoder: str) -> None:
    server = create_server([str(root)], encoder=encoder)
    seen: list[tuple[float, str]] = []

    async def note(done: float, total: float | None, message: str | None) -> None:
        seen.append((done, message or ""))

    query, match = pair(root)
    ask(
        server,
        lambda client: client.call_tool("align", {"query": query, "match": match}, progress_callback=note),
    )
    assert seen
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    (root / "broken.mp4").write_bytes(b"no video")
    said = call(server, "align", query=query, match="broken.mp4")
    assert "broken.mp4" in said
    assert "\n" not in said


def test_over_standard_input_and_output(root: Path, encoder: str) -> None:
    command = ["-m", "seasync", "mcp", "--root", str(root), "--encoder", encoder]
    server = mcp.StdioServerParameters(command=sys.executable, args=command, env=dict(os.environ))
    query, match = pair(root)
    assert call(server, "align", query=query, match=match)["alignable"] is True


def answers(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0


def test_over_http(root: Path, encoder: str) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "seasync", "mcp", "--root", str(root), "--encoder", encoder]
    with subprocess.Popen([*command, "--http", "--port", str(port)]) as process:
        try:
            deadline = time.monotonic() + 60
            while not answers(port):
                assert process.poll() is None
                assert time.monotonic() < deadline
                time.sleep(0.1)
            query, match = pair(root)
            url = f"http://127.0.0.1:{port}/mcp"
            assert call(url, "align", query=query, match=match)["alignable"] is True
        finally:
            process.terminate()


def test_only_loopback_and_only_folders_that_exist(root: Path) -> None:
    done = seasync("mcp", "--root", root, "--http", "--host", "0.0.0.0")
    assert done.returncode == 2
    assert "the server has no password" in done.stderr
    with pytest.raises(SeasyncError, match="expected a folder that exists"):
        create_server([str(root / "missing")])
