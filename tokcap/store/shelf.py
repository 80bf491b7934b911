"""The shelf of entries: where each one stands, how it is put there, found, listed and taken away."""

from __future__ import annotations

import errno
import os

from tokcap import private
from tokcap.errors import NotFound, StoreError
from tokcap.record import TYPE_CHECKING, Record
from tokcap.store.drafts import Draft, remove_directory
from tokcap.store.entry import LARGEST_RECORD_BYTES, RECORD, Entry, EntryRecord

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tokcap.environment import Environment

SPILL = "spill"
LAST = "last"
LATEST = "@last"

HANDLE_DIGITS = 12
# Two outputs may share twelve digits, if hardly ever; the second one then has more.
MORE_DIGITS = 8
LEAST_DIGITS = 4
HEXADECIMAL = frozenset("0123456789abcdef")

CANDIDATES_SHOWN = 5


class Listed(Record):
    """An entry as it is listed: its record if that can be read, its place, its size and its times."""

    handle: str
    directory: str
    record: EntryRecord | None
    size: int
    stored_at: float
    read_at: float


class Shelf:
    """All entries below one data directory."""

    def __init__(self, env: Environment) -> None:
        self._data_dir = env.data_dir()
        self.spill = os.path.join(self._data_dir, SPILL)

    def draft(self) -> Draft:
        """A place for an output that is to become an entry."""
        return Draft(self.spill)

    def handle_for(self, digest: str) -> str:
        """The handle under which an output of this digest is stored, now or already."""
        digits = HANDLE_DIGITS
        while digits < len(digest):
            handle = digest[:digits]
            there = self._digest_at(self._place(handle))
            if there is None or there == digest:
                return handle
            digits += MORE_DIGITS
        return digest

    def keep(self, draft: Draft, record: EntryRecord, files: Mapping[str, bytes]) -> str:
        """Make an entry of a draft that has its streams, and return its directory.

        An equal output is there once: then it gets the new record, and what else is new.
        """
        place = self._place(record.handle)
        private.make_directory(os.path.dirname(place))
        directory = draft.make()
        for name, data in {**files, RECORD: record.packed()}.items():
            private.replace_file(os.path.join(directory, name), data)
        try:
            os.rename(directory, place)
            draft.directory = ""
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise private.refused(place, error) from None
            self._renew(place, record, files)
        private.replace_file(os.path.join(self.spill, LAST), record.handle.encode())
        return place

    def _renew(self, place: str, record: EntryRecord, files: Mapping[str, bytes]) -> None:
        there = self._record_at(place)
        if there is not None and there.digest != record.digest:
            raise StoreError(f"{place} holds another output; remove it with tokcap spill rm {record.handle}")
        for name, data in files.items():
            # The longer index knows more.
            path = os.path.join(place, name)
            if not os.path.exists(path) or os.path.getsize(path) < len(data):
                private.replace_file(path, data)
        if there is not None:
            record = record.but(tokens={**there.tokens, **record.tokens})
        private.replace_file(os.path.join(place, RECORD), record.packed())
        try:
            os.utime(os.path.join(place, "out"), follow_symlinks=False)
        except OSError:
            pass

    def open(self, name: str) -> Entry:
        """The entry that a handle, the beginning of one, or `@last` means."""
        place = self.find(name)
        entry = Entry(place)
        if "out" not in entry.streams:
            entry.close()
            raise NotFound(f"{entry.handle} has no output, or was removed just now; see tokcap spill list")
        entry.touch()
        return entry

    def find(self, name: str) -> str:
        """The directory of an entry."""
        if name == LATEST:
            return self._find_last()
        if len(name) < LEAST_DIGITS or not HEXADECIMAL.issuperset(name):
            raise NotFound(
                f"{name[:40]!r} is no handle: at least {LEAST_DIGITS} of the digits 0-9a-f, or {LATEST}"
                + self._advice()
            )
        matches = [place for place in self._places(name[:2]) if os.path.basename(place).startswith(name)]
        exact = [place for place in matches if os.path.basename(place) == name]
        if len(matches) == 1 or exact:
            return (exact or matches)[0]
        if not matches:
            raise NotFound(f"no stored output has the handle {name[:80]}{self._advice()}")
        shown = ", ".join(sorted(map(os.path.basename, matches))[:CANDIDATES_SHOWN])
        more = f" and {len(matches) - CANDIDATES_SHOWN} more" if len(matches) > CANDIDATES_SHOWN else ""
        raise NotFound(f"{name} could be any of {shown}{more}; give more digits")

    def _find_last(self) -> str:
        try:
            handle = private.read_file(os.path.join(self.spill, LAST), 200).decode("ascii", "replace").strip()
        except FileNotFoundError:
            raise NotFound("nothing has been stored yet") from None
        place = self._place(handle)
        if not HEXADECIMAL.issuperset(handle) or not handle or not os.path.isdir(place):
            raise NotFound(f"the output that was stored last has been removed{self._advice()}")
        return place

    def _advice(self) -> str:
        """The handles that somebody may have meant: those stored last."""
        entries = sorted(self.entries(), key=lambda entry: -entry.stored_at)
        shown = ", ".join(entry.handle for entry in entries[:CANDIDATES_SHOWN])
        return f"; the latest are {shown}" if shown else "; nothing is stored"

    def entries(self) -> Iterator[Listed]:
        """Every entry, in no order. One that goes while it is looked at is left out."""
        for place in self._places():
            listed = self._listed(place)
            if listed is not None:
                yield listed

    def remove(self, place: str) -> None:
        """Take an entry away: out of sight by one rename, then file by file."""
        hidden = os.path.join(self.spill, private.temporary_name())
        try:
            os.rename(place, hidden)
        except FileNotFoundError:
            return
        except OSError as error:
            raise private.refused(place, error) from None
        remove_directory(hidden)

    def _listed(self, place: str) -> Listed | None:
        try:
            read_at = os.lstat(place).st_mtime
            with os.scandir(place) as files:
                found = {file.name: file.stat(follow_symlinks=False) for file in files}
        except OSError:
            return None
        # Unlike its record, the output itself is never written again.
        stored_at = found["out"].st_mtime if "out" in found else read_at
        size = sum(status.st_size for status in found.values())
        return Listed(os.path.basename(place), place, self._record_at(place), size, stored_at, read_at)

    def _record_at(self, place: str) -> EntryRecord | None:
        try:
            return EntryRecord.unpacked(private.read_file(os.path.join(place, RECORD), LARGEST_RECORD_BYTES))
        except (OSError, ValueError, RecursionError, StoreError):
            return None

    def _digest_at(self, place: str) -> str | None:
        """The digest of the entry at a place; empty if that cannot be told, None if there is none."""
        if not os.path.isdir(place):
            return None
        record = self._record_at(place)
        return record.digest if record else ""

    def _place(self, handle: str) -> str:
        return os.path.join(self.spill, handle[:2], handle)

    def _places(self, digits: str = "") -> Iterator[str]:
        """Directories of entries; only those that begin with two digits, if given."""
        for shelf in [digits] if digits else sorted(names_in(self.spill)):
            if len(shelf) == 2 and HEXADECIMAL.issuperset(shelf):
                for handle in names_in(os.path.join(self.spill, shelf)):
                    if HEXADECIMAL.issuperset(handle) and handle.startswith(shelf):
                        yield os.path.join(self.spill, shelf, handle)


def names_in(directory: str) -> list[str]:
    try:
        return os.listdir(directory)
    except OSError:
        return []
