"""Bring a Lance dataset in a folder to the disk, and recover it after a power failure.

Lance writes files, renames them and links the manifest, and leaves it to the system when they reach the disk.
"""

from contextlib import suppress
from pathlib import Path

from seasync.files.local import flush

PARTS = ("data", "_deletions", "_indices", "_transactions", "_versions")
UNWRITTEN = bytes(16)  # what a system finds at the end of a file that it had no time to write
INVERTED_DIGITS = 20  # of manifests whose numbers count down


class DatasetFolder:
    """The folder of a dataset, and which of its files are known to be on the disk."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._synced: set[Path] = set()

    def sync(self) -> None:
        """Wait until all files are on the disk: first what a manifest names, files before their names."""
        began = not self._synced
        for part in PARTS:
            files = (self._folder / part).rglob("*")
            new = {file for file in files if file not in self._synced and not file.is_dir()}
            folders = {folder for file in new for folder in file.parents if self._folder in folder.parents}
            if new and began:  # the folder itself may be new
                folders |= {self._folder, self._folder.parent}
            for place in (*new, *folders):
                with suppress(FileNotFoundError):  # deleted meanwhile, as when fragments are joined
                    flush(place)
            self._synced |= new

    def is_torn(self) -> bool:
        """Whether the power failed before the newest manifest was written."""
        newest = self._newest()
        return newest is not None and not newest.read_bytes()[-len(UNWRITTEN) :].strip(b"\0")

    def drop_torn_commit(self) -> bool:
        """Delete the newest manifest if the power failed before it was written; whether that was so.

        Then it is empty, or zeros are where its end should be, and nobody was told that the commit went
        through. A manifest that is damaged in another way stays: its commit may have been reported.
        """
        torn = False
        while self.is_torn() and (newest := self._newest()):
            newest.unlink()
            torn = True
        return torn

    def _newest(self) -> Path | None:
        found = {file.stem: file for file in (self._folder / "_versions").glob("[0-9]*.manifest")}
        down = [name for name in found if len(name) == INVERTED_DIGITS]
        return found[min(down, key=int) if down else max(found, key=int)] if found else None
