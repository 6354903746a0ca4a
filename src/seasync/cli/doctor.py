"""`seasync doctor`: what works here, and what to do about what does not."""

from __future__ import annotations

import typer

from seasync.cli.parameters import Json

EXAMPLES = """\
seasync doctor

seasync doctor --json"""


def doctor(as_json: Json = False) -> None:
    """Check FFmpeg, devices, weights, folders, disk space, extras and plugins.

    Exits with 1 if something that every user needs does not work. Nothing is downloaded.
    """
    from seasync.doctor import examine

    checks = examine()
    if as_json:
        import json
        from dataclasses import asdict

        print(json.dumps([asdict(check) for check in checks], indent=2))
    else:
        width = max(len(check.name) for check in checks)
        for check in checks:
            print(f"{check.state:5}  {check.name:{width}}  {check.found}")
            if check.advice:
                print(f"{'':5}  {'':{width}}  → {check.advice}")
    if any(check.state == "fails" for check in checks):
        raise typer.Exit(1)
