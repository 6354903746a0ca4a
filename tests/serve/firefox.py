"""Firefox, driven by its own remote protocol: Playwright cannot drive the Firefox that Debian has.

Playwright needs a Firefox of its own making. Its way over WebDriver BiDi (`channel="moz-firefox"`) starts
Debian's, but then sends a command that Firefox 153 does not know (`emulation.setMediaFeaturesOverride`).
Marionette, to which geckodriver talks too, takes JSON and answers with JSON.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.serve.browser import PATIENCE

PREFERENCES = {
    "marionette.port": 0,  # any free one
    "media.autoplay.default": 0,
    "browser.shell.checkDefaultBrowser": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "toolkit.telemetry.enabled": False,
    "app.update.enabled": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
}


class Firefox:
    """One window of Firefox."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        self._stream = self._socket.makefile("rb")
        self._numbers = itertools.count(1)
        self._receive()  # it introduces itself
        session = self._ask("WebDriver:NewSession", pageLoadStrategy="normal")
        self.version = str(session["capabilities"]["browserVersion"])
        self._ask("WebDriver:SetTimeouts", script=1000 * PATIENCE)

    def open(self, address: str) -> None:
        """Go to an address and wait until it is loaded."""
        self._ask("WebDriver:Navigate", url=address)

    def reload(self) -> None:
        self._ask("WebDriver:Refresh")

    def evaluate(self, expression: str) -> Any:
        """The value of an expression in the page; a promise is waited for."""
        script = f"const done = arguments[arguments.length - 1]; Promise.resolve(({expression})).then(done);"
        found = self._ask("WebDriver:ExecuteAsyncScript", script=script, args=[], sandbox=None)
        return found["value"]

    def until(self, condition: str) -> None:
        """Wait for a condition in the page."""
        look = f"const look = () => (({condition}) ? done() : setTimeout(look, 50)); look();"
        self.evaluate(f"new Promise((done) => {{ {look} }})")

    def close(self) -> None:
        self._ask("Marionette:Quit", flags=["eForceQuit"])
        self._socket.close()

    def _ask(self, command: str, **parameters: Any) -> Any:
        number = next(self._numbers)
        message = json.dumps([0, number, command, parameters]).encode()
        self._socket.sendall(b"%d:%s" % (len(message), message))
        kind, answered, error, result = self._receive()
        assert (kind, answered) == (1, number)
        assert error is None, error["message"]
        return result

    def _receive(self) -> Any:
        length = b"".join(iter(lambda: self._stream.read(1), b":"))
        return json.loads(self._stream.read(int(length)))


@contextmanager
def firefox(profile: Path) -> Iterator[Firefox]:
    """Where there is none: a visible skip. `profile` is an empty folder."""
    program = shutil.which("firefox-esr") or shutil.which("firefox")
    if program is None:
        pytest.skip("no Firefox here (apt-get install firefox-esr)")
    lines = (f"user_pref({json.dumps(name)}, {json.dumps(value)});" for name, value in PREFERENCES.items())
    (profile / "user.js").write_text("\n".join(lines))
    command = [program, "--headless", "--marionette", "--no-remote", "--profile", str(profile)]
    home = os.environ | {"HOME": str(profile)}
    with subprocess.Popen(
        command, env=home, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as running:
        try:
            opened = Firefox(_port(running))
            yield opened
            opened.close()
        finally:
            running.kill()


def _port(running: subprocess.Popen[str]) -> int:
    """Where Firefox listens, once it says so."""
    assert running.stdout is not None
    said = []
    for line in running.stdout:
        if found := re.search(r"Listening on port (\d+)", line):
            return int(found[1])
        said.append(line)
    raise AssertionError(f"Firefox has ended: {''.join(said)}")
