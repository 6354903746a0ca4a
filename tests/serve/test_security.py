"""Who is let in, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import lance
import pyarrow as pa
import pytest

from seasync.errors import SeaError, ServeError
from seasync.sea.sea import Sea
from seasync.serve.app import default_state
from seasync.serve.security import WRONG_TOKEN_LIMITS, Hosts, Roots, WrongTokens
from seasync.serve.tokens import is_loopback
from tests.serve.conftest import Server
from tests.serve.films import film, pace

API = "/api/v1/seas/small"
Start = Callable[..., Server]


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "", "127.0.0.1@evil", "10.0.0.1", "a b"]
)
def test_a_request_under_another_name_is_refused(server: Server, host: str) -> None:
    """DNS rebinding: a page of evil.example whose name now points here."""
    assert server.client.get("/api/v1", headers={"Host": host}).status_code == 421
    assert server.client.get("/", headers={"Host": host}).status_code == 421


@pytest.mark.parametrize("host", ["localhost", "localhost:9000", "127.0.0.1", "[::1]:80"])
def test_this_machine_has_several_names(server: Server, host: str) -> None:
    assert server.client.get("/api/v1", headers={"Host": host}).status_code == 200


def test_a_server_for_others_answers_to_addresses_and_given_names() -> None:
    hosts = Hosts("0.0.0.0", ["Films.example"])
    assert hosts.allow("192.168.1.5:8080")
    assert hosts.allow("films.example")
    assert not hosts.allow("evil.example")
    assert not is_loopback("0.0.0.0")
    assert is_loopback("127.0.0.9")


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:9999"},
        {"Origin": "https://127.0.0.1:8080"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_other_sites_cannot_make_a_browser_ask(server: Server, headers: dict[str, str]) -> None:
    for method, path in (
        ("POST", f"{API}/search"),
        ("DELETE", f"{API}/clips/{'0' * 32}"),
        ("GET", "/api/v1"),
    ):
        assert server.client.request(method, path, headers=headers).status_code == 403


def test_a_link_to_the_page_works_and_the_page_may_ask(server: Server) -> None:
    link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert server.client.get("/", headers=link).status_code == 200
    own = {"Sec-Fetch-Site": "same-origin", "Origin": "http://127.0.0.1:8080", "Host": "127.0.0.1:8080"}
    assert server.client.get("/api/v1", headers=own).status_code == 200


@pytest.mark.parametrize("path", ["/api/v1", "/sync/api/v1"])
def test_at_a_prefix_the_api_asks_for_the_token_too(sea: Path, start: Start, path: str) -> None:
    """A proxy may take the prefix off or leave it."""
    client = start(sea, token="open-sesame", root_path="/sync").client
    assert client.get(path).status_code == 401
    assert client.get(path, headers={"Authorization": "Bearer open-sesame"}).status_code == 200
    entered = client.get("/sync/?token=open-sesame", follow_redirects=False)
    assert entered.headers["location"] == "./"
    assert "Path=/sync/;" in entered.headers["set-cookie"]


def test_every_answer_has_security_headers_and_none_allows_other_origins(server: Server) -> None:
    for path in ("/", "/api/v1", "/api/v1/nothing", f"{API}/footage/{server.clip('right/a')}/video"):
        headers = server.client.get(path, headers={"Host": "localhost"}).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert "access-control-allow-origin" not in headers
    assert server.client.get("/", headers={"Host": "evil"}).headers["x-frame-options"] == "DENY"


def test_a_token_is_asked_for_and_becomes_a_cookie(start: Start, sea: Path) -> None:
    client = start(sea, token="secret-token").client
    assert client.get("/").status_code == 200  # the page asks for the token
    assert client.get("/api/v1").status_code == 401
    assert client.get("/api/v1", headers={"Authorization": "Bearer wrong"}).status_code == 401
    assert client.get("/api/v1", headers={"Authorization": "Bearer secret-token"}).status_code == 200
    assert "set-cookie" not in client.get("/?token=wrong", follow_redirects=False).headers
    entered = client.get("/?token=secret-token", follow_redirects=False)
    assert entered.status_code == 303
    assert entered.headers["location"] == "./"
    assert "httponly" in entered.headers["set-cookie"].lower()
    assert "samesite=strict" in entered.headers["set-cookie"].lower()
    assert client.get("/api/v1").status_code == 200


def test_a_code_opens_the_page_once(start: Start, sea: Path) -> None:
    server = start(sea, token="secret-token")
    codes = server.backend.access.codes
    code, other = codes.make(), codes.make()
    assert "set-cookie" not in server.client.head(f"/?code={code}", follow_redirects=False).headers
    assert server.client.get("/api/v1").status_code == 401
    entered = server.client.get(f"/?code={code}", follow_redirects=False)
    assert (entered.status_code, entered.headers["location"]) == (303, "./")
    assert entered.headers["set-cookie"].startswith("seasync_token_8080=secret-token;")
    assert server.client.get("/api/v1").status_code == 200
    again = server.client.get(f"/?code={code}", follow_redirects=False)
    assert (again.status_code, "set-cookie" in again.headers) == (200, False)
    assert "set-cookie" in server.client.get(f"/?code={other}", follow_redirects=False).headers


def test_too_many_wrong_codes_end_as_too_many_wrong_tokens(start: Start, sea: Path) -> None:
    server = start(sea, token="secret-token")
    for number in range(WRONG_TOKEN_LIMITS[0][0]):
        assert server.client.get(f"/?code=guess{number}").status_code == 200  # the page itself is public
    code = server.backend.access.codes.make()
    assert "set-cookie" not in server.client.get(f"/?code={code}", follow_redirects=False).headers
    assert server.client.get("/api/v1", headers={"Authorization": "Bearer x"}).status_code == 429


def test_too_many_wrong_tokens_are_refused_for_a_while_and_then_the_right_one_too(
    start: Start, sea: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = start(sea, token="secret-token").client
    now = [1000.0]
    monkeypatch.setattr("seasync.serve.security.monotonic", lambda: now[0])
    (most, seconds), _ = WRONG_TOKEN_LIMITS
    for n in range(most):
        place = "/api/v1" if n % 2 else f"/?token=guess{n}"
        client.get(place, headers={"Authorization": f"Bearer guess{n}"} if n % 2 else {})
    right = {"Authorization": "Bearer secret-token"}
    for answer in (
        client.get("/api/v1", headers=right),
        client.get("/?token=secret-token", follow_redirects=False),
    ):
        assert answer.status_code == 429
        assert "try again in 60 s" in answer.json()["detail"]
    assert client.get("/").status_code == 200  # the page itself needs no token
    assert client.get("/api/v1").status_code == 401  # nor is a missing one a guess
    now[0] += seconds
    assert client.get("/api/v1", headers=right).status_code == 200


def test_addresses_are_counted_apart_and_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seasync.serve.security.MOST_ADDRESSES", 3)
    counted = WrongTokens()
    for n in range(WRONG_TOKEN_LIMITS[0][0]):
        counted.note("a", f"guess{n}")
    assert counted.wait_seconds("a") > 0
    assert counted.wait_seconds("b") == 0
    for address in "bcd":
        counted.note(address, "guess")
    assert counted.wait_seconds("a") == 0


def test_an_address_can_try_a_hundred_tokens_an_hour(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("seasync.serve.security.monotonic", lambda: now[0])
    counted, tried = WrongTokens(), 0
    for _ in range(3600):
        while not counted.wait_seconds("a"):
            counted.note("a", f"guess{tried}")
            tried += 1
        now[0] += 1
    assert tried == 100
    now[0] += 60
    assert not counted.wait_seconds("a")


def test_a_page_that_sends_an_old_token_again_and_again_locks_nobody_out(start: Start, sea: Path) -> None:
    client = start(sea, token="new-token").client
    for _ in range(2 * WRONG_TOKEN_LIMITS[0][0]):
        assert client.get("/api/v1", headers={"Authorization": "Bearer old-token"}).status_code == 401
    assert client.get("/api/v1", headers={"Authorization": "Bearer new-token"}).status_code == 200


def test_over_https_no_other_host_can_set_the_cookie(start: Start, sea: Path) -> None:
    """A `__Host-` cookie is the host's own; with a prefix of a proxy its path would be too wide."""
    secure = start(sea, token="secret-token").client
    entered = secure.get("https://127.0.0.1:8080/?token=secret-token", follow_redirects=False)
    assert entered.headers["set-cookie"].startswith("__Host-seasync_token=secret-token;")
    assert "; Path=/;" in entered.headers["set-cookie"]
    assert entered.headers["set-cookie"].endswith("; Secure")
    assert secure.get("https://127.0.0.1:8080/api/v1").status_code == 200
    below = start(sea, token="secret-token", root_path="/sync").client
    entered = below.get("https://127.0.0.1:8080/sync/?token=secret-token", follow_redirects=False)
    assert entered.headers["set-cookie"].startswith("seasync_token=secret-token;")
    assert below.get("https://127.0.0.1:8080/sync/api/v1").status_code == 200


def test_over_https_browsers_are_told_to_stay_there(start: Start, sea: Path) -> None:
    client = start(sea).client
    assert "strict-transport-security" not in client.get("/").headers
    secure = client.get("https://127.0.0.1:8080/")
    assert secure.headers["strict-transport-security"] == "max-age=31536000"


def test_only_roots_are_opened(tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", tmp_path / "out"
    for folder in (inside / "sub", outside):
        folder.mkdir(parents=True)
        (folder / "a.mp4").touch()
    (inside / "link.mp4").symlink_to(outside / "a.mp4")
    (inside / "folder").symlink_to(outside)
    (inside / "fine.mp4").symlink_to(inside / "sub" / "a.mp4")
    roots = Roots([inside])
    assert roots.resolve(f"{inside}/sub/../sub/a.mp4") == str((inside / "sub" / "a.mp4").resolve())
    assert roots.resolve("sub/a.mp4") == roots.resolve("fine.mp4")
    for path in (
        "../out/a.mp4",
        "link.mp4",
        "folder/a.mp4",
        "/etc/passwd",
        "a\0.mp4",
        "x" * 5000,
        "",
        "~",
        "none",
    ):
        if path:
            with pytest.raises(ServeError) as refused:
                roots.resolve(path)
            assert refused.value.status == 403
    assert not roots.contains(inside / "link.mp4")
    assert not roots.contains(inside)  # as a folder of pictures, with one from elsewhere


def test_uris_are_held_literally(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "link").symlink_to(tmp_path)
    roots = Roots(["s3://bucket/clips/", f"file://{tmp_path}/in"])
    assert roots.resolve("s3://bucket/clips/a.mp4") == "s3://bucket/clips/a.mp4"
    assert roots.contains(f"file://{tmp_path}/in/a.mp4")
    assert roots.contains(f"file://localhost{tmp_path}/in/a%20b.mp4")
    for uri in (
        "s3://bucket/clips2/a.mp4",
        "s3://bucket/clips/../b.mp4",
        "s3://bucket/clips/%2e%2e/b.mp4",
        "gs://bucket/clips/a.mp4",
        "http://127.0.0.1/clips/a.mp4",
        f"file://{tmp_path}/in/link/a.mp4",
        f"file://{tmp_path}/in/%2e%2e/a.mp4",
        f"file://{tmp_path}/in/a%00.mp4",
        f"file://elsewhere{tmp_path}/in/a.mp4",
        "file:///etc/passwd",
    ):
        assert not roots.contains(uri)
        with pytest.raises(ServeError) as refused:
            roots.resolve(uri)
        assert refused.value.status == 403


def test_footage_at_a_uri_is_shown_and_added(start: Start, tmp_path: Path, films: Path, encoder: str) -> None:
    """A store's files are fetched into the cache and looked into there; lists may not lead out of it."""
    sea = Sea(tmp_path / "stored.sea", encoder)
    sea.add(f"file://{films}/right")
    server = start(tmp_path / "stored.sea")
    assert server.client.get("/api/v1").json()["roots"] == [f"file://{films}/right"]
    ref = server.clip("right/a")
    place = f"{API}/footage/{ref}"
    assert server.client.get(place).json()["name"] == "a.mp4"
    assert server.client.get(f"{place}/thumbnail").content[:2] == b"\xff\xd8"
    assert server.client.get(f"{place}/video").content == (films / "right" / "a.mp4").read_bytes()
    pair = {"query": ref, "match": server.clip("right/b")}
    assert server.client.get(f"{API}/alignment/timeline.csv", params=pair).status_code == 200
    again = server.client.post(f"{API}/add", json={"paths": [f"file://{films}/right/b.mp4"]})
    assert server.wait(again.json())["result"]["present"] == 1
    outside = server.client.post(f"{API}/add", json={"paths": [f"file://{films}/arc/a.mp4"]})
    assert outside.status_code == 403


def test_paths_outside_the_roots_are_not_added(server: Server, tmp_path: Path) -> None:
    secret = film(tmp_path / "secret.mp4", pace(10), action="left")
    for path in (str(secret), "../secret.mp4", "/etc/passwd", "/etc", str(tmp_path / "*.mp4")):
        answer = server.client.post(f"{API}/add", json={"paths": [path]})
        assert answer.status_code == 403, path


def test_links_and_lists_that_lead_out_are_refused_singly(start: Start, sea: Path, tmp_path: Path) -> None:
    root = tmp_path / "root"
    secret = film(tmp_path / "secret.mp4", pace(10), action="left")
    film(root / "fine.mp4", pace(20), action="left")
    (root / "link.mp4").symlink_to(secret)
    (root / "list.csv").write_text(f"file\n{secret}\n../secret.mp4\n")
    server = start(sea, roots=[root])
    job = server.wait(server.client.post(f"{API}/add", json={"paths": [str(root)]}).json())
    assert job["result"]["added"] == 1
    assert [one["file"] for one in job["result"]["failed"]] == ["link.mp4"]
    job = server.wait(server.client.post(f"{API}/add", json={"paths": ["list.csv"]}).json())
    assert job["state"] == "failed"
    assert "outside the served folders" in job["error"]
    assert not any("secret" in clip.file for clip in Sea(sea).record.snapshot().clips())


def test_a_clip_whose_file_lies_outside_is_searched_but_not_shown(
    start: Start, sea: Path, tmp_path: Path
) -> None:
    server = start(sea, roots=[tmp_path])
    ref = server.clip("right/a")
    assert server.client.post(f"{API}/search", json={"query": {"ref": ref}}).status_code == 200
    for what in ("", "/video", "/thumbnail", "/strip?at=1"):
        assert server.client.get(f"{API}/footage/{ref}{what}").status_code == 403


def test_large_bodies_are_refused_before_they_are_read(server: Server) -> None:
    answer = server.client.post(f"{API}/search", content=b" " * ((1 << 20) + 1))
    assert answer.status_code == 413
    chunked = server.client.post(f"{API}/search", content=iter([b"{", b"}"]))
    assert chunked.status_code == 411


def test_errors_tell_no_inner_workings(start: Start, sea: Path) -> None:
    ref = f"clip:{'0' * 32}"
    spoilt = pa.table({"name": [f"marks/{ref}"], "value": ["/secret/place"], "changed": [0.0]})
    lance.write_dataset(spoilt, sea / "_notes")
    answer = start(sea).client.get(f"{API}/marks/{ref}")
    assert answer.status_code == 500
    assert answer.json() == {"detail": "Internal error; the server's log has the details."}
    assert "content-security-policy" in answer.headers


def test_two_servers_do_not_share_a_state_folder(start: Start, sea: Path, tmp_path: Path) -> None:
    start(sea, state=tmp_path / "state")
    with pytest.raises(ServeError, match="another server uses this folder"):
        start(sea, state=tmp_path / "state")


def test_each_set_of_seas_has_a_state_folder_of_its_own() -> None:
    assert default_state(["a.sea"]) != default_state(["b.sea"])
    assert default_state(["a.sea", "b.sea"]) == default_state(["b.sea", "a.sea"])


def test_a_server_that_cannot_begin_leaves_its_folder_to_others(
    start: Start, sea: Path, tmp_path: Path
) -> None:
    (tmp_path / "note.txt").write_text("no sea")
    with pytest.raises(SeaError) as refused:
        start(tmp_path / "note.txt", state=tmp_path / "state")
    start(sea, state=tmp_path / "state")
    assert refused.tb  # kept until here, and with it what was open when it happened
