"""What the built site documents, shows and links: `python -m tests.docs.count SITE`, in `make docs`.

Exits with 1 if a public name is not documented, or a link leads nowhere.
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from sphinx.util.inventory import InventoryFile

import seasync
from tests.docs.pages import PAGES, commands, name_of, snippets
from tests.docs.test_commands import NOT_RUN
from tests.docs.test_snippets import ELSEWHERE


class Page(HTMLParser):
    """The targets of a page's links, and the anchors that links can lead to."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" and value:
                self.anchors.add(value)
            elif name in ("href", "src") and value:
                self.links.append(value)


def dead_links(site: Path) -> tuple[int, list[str]]:
    """How many links lead to the site itself, and those that lead nowhere."""
    pages = {file.resolve(): Page(file) for file in site.rglob("*.html")}
    count, dead = 0, []
    for file, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            count += 1
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            anchor = unquote(parts.fragment)
            if not target.exists() or (anchor and target in pages and anchor not in pages[target].anchors):
                dead.append(f"{file.relative_to(site.resolve())}: {link}")
    return count, dead


def undocumented(site: Path) -> tuple[int, list[str]]:
    """How many public names there are, and those that the reference does not have."""
    with (site / "objects.inv").open("rb") as opened:
        inventory = InventoryFile.load(opened, "", lambda base, target: target)
    known = {name for kind, names in inventory.items() if kind.startswith("py:") for name in names}
    known |= {name.replace("seasync.errors.", "seasync.") for name in known}
    public = [f"seasync.{name}" for name in seasync.__all__ if name not in ("render", "sample")]
    public += [
        f"{part.__name__}.{name}" for part in (seasync.render, seasync.sample) for name in part.__all__
    ]
    return len(public), [name for name in public if name not in known]


def main(site: Path) -> int:
    names, missing = undocumented(site)
    shown = [command for page in PAGES for command in commands(page)]
    apart = sum(command in NOT_RUN for command in shown)
    links, dead = dead_links(site)
    blocks = {name_of(page): len(snippets(page)) for page in PAGES}
    elsewhere = sum(blocks[name] for name in ELSEWHERE)
    print(f"public names: {names - len(missing)} of {names} documented", *missing)
    print(f"commands: {len(shown)} shown, tests/docs runs {len(shown) - apart}, other tests {apart}")
    total = sum(blocks.values())
    print(f"blocks of Python: {total} shown, tests/docs runs {total - elsewhere}, other tests {elsewhere}")
    print(f"links inside the site: {links}, {len(dead)} dead", *dead, sep="\n")
    return int(bool(missing or dead))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
