"""The shelf of entries: where each one stands, how it is put there, found, listed and taken away."""

from __future__ import annotations

import errno
import os

from tokcap.errors import NotFound, StoreError
from tokcap.lean.record import TYPE_CHECKING, Record
from tokcap.store.drafts import Draft, remove_directory
from tokcap.store.entry import LARGEST_RECORD_BYTES, RECORD, Entry, EntryRecord
from tokcap.system import private_files as private

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from tokcap.core.request import Stream
    from tokcap.environment import Environment

SPILL = "spill"
LAST = "last"
LATEST = "@last"

HANDLE_DIGITS = 12
# Two outputs may share twelve digits, if hardly ever; the second one then has more.
MORE_DIGITS = 8
LEAST_DIGITS = 4
HEXADECIMAL = frozenset("0123456789abcdef")

# As many as the longest handle has.
LAST_CHARACTERS = 40

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
            there = self._digest_at(self.place(handle))
            if there is None or there == digest:
                return handle
            digits += MORE_DIGITS
        return digest

    def keep(self, draft: Draft, record: EntryRecord, files: Mapping[str, bytes]) -> str:
        """Make an entry of a draft that has its streams, and return its directory.

        An equal output is there once: then it gets the new record, and what else is new. One that is
        damaged is replaced.
        """
        place = self.place(record.handle)
        private.make_directory(os.path.dirname(place))
        directory = draft.make()
        for name, data in {**files, RECORD: record.packed()}.items():
            private.write_new_file(os.path.join(directory, name), data)
        while not self._put(directory, place):
            if not self._is_whole(place, record):
                self.remove(place)
                continue
            self._renew(place, record, files)
            if private.is_own_directory(place):
                break
            # Somebody has cleaned it away meanwhile.
        else:
            draft.directory = ""
        self._note_last(record.handle)
        return place

    def renew(self, record: EntryRecord, files: Mapping[str, bytes]) -> bool:
        """Give the entry of an equal output the new record, and what else is new; False if there is none."""
        place = self.place(record.handle)
        if not private.is_own_directory(place) or not self._is_whole(place, record):
            return False
        self._renew(place, record, files)
        if not private.is_own_directory(place):
            return False
        self._note_last(record.handle)
        return True

    def _note_last(self, handle: str) -> None:
        try:
            path = os.path.join(self.spill, LAST)
            private.overwrite_file(path, handle.encode().ljust(LAST_CHARACTERS) + b"\n")
        except StoreError:
            # It is stored, and `@last` means another one.
            pass

    @staticmethod
    def _put(directory: str, place: str) -> bool:
        """Have a draft appear as an entry; False if there is one already."""
        try:
            os.rename(directory, place)
        except OSError as error:
            if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
                return False
            raise private.refused(place, error) from None
        return True

    def _is_whole(self, place: str, record: EntryRecord) -> bool:
        """Whether an entry has all bytes of the output that it stands for."""
        there = self._record_at(place)
        if there is not None and there.digest != record.digest:
            raise StoreError(f"{place} holds another output; remove it with tokcap spill rm {record.handle}")
        return all(
            private.is_own_file(os.path.join(place, stream), size)
            for stream, size in record.stored_bytes.items()
        )

    def _renew(self, place: str, record: EntryRecord, files: Mapping[str, bytes]) -> None:
        there = self._record_at(place)
        try:
            # First of all: from now on, cleaning lets it be.
            os.utime(os.path.join(place, "out"), follow_symlinks=False)
            for name, data in files.items():
                # The longer index knows more.
                path = os.path.join(place, name)
                if not os.path.exists(path) or os.path.getsize(path) < len(data):
                    private.replace_file(path, data)
            if there is not None:
                record = record.but(
                    tokens={**there.tokens, **record.tokens},
                    shape=record.shape if record.shape != "auto" else there.shape,
                    total_count=record.total_count if record.shape != "auto" else there.total_count,
                )
            private.replace_file(os.path.join(place, RECORD), record.packed())
        except (OSError, StoreError):
            # It went while it was written to, which is seen by the caller; or it stays as it was.
            pass

    def open(self, name: str, stream: Stream = "out") -> Entry:
        """The entry that a handle, the beginning of one, or `@last` means; it has this stream."""
        entry = Entry(self.find(name))
        if stream not in entry.streams:
            damage = f": {entry.damage[-1]}" if entry.damage else ""
            entry.close()
            what = "stderr" if stream == "err" else "output"
            raise NotFound(f"{entry.handle} has no stored {what}{damage}; see tokcap spill list")
        entry.touch()
        return entry

    def _look(self) -> None:
        """Refuse to read where others could have put things in our way."""
        for path in (self._data_dir, self.spill):
            if os.path.lexists(path) and not private.is_own_directory(path):
                raise StoreError(f"{path} is no directory of yours, or a link; set TOKCAP_DATA_DIR to one")

    def find(self, name: str) -> str:
        """The directory of an entry."""
        self._look()
        if name == LATEST:
            return self._find_last()
        if len(name) < LEAST_DIGITS or not HEXADECIMAL.issuperset(name):
            raise NotFound(
                f"{name[:40]!r} is no handle: at least {LEAST_DIGITS} of the digits 0-9a-f, or {LATEST}"
                + self._advice()
            )
        matches = [place for place in self.places(name[:2]) if os.path.basename(place).startswith(name)]
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
            place = self._last_place()
        except FileNotFoundError:
            raise NotFound("nothing has been stored yet") from None
        if not place:
            raise NotFound(f"the output that was stored last has been removed{self._advice()}")
        return place

    def _last_place(self) -> str:
        """Where `@last` leads; empty if that has been removed."""
        handle = private.read_file(os.path.join(self.spill, LAST), 200).decode("ascii", "replace").strip()
        place = self.place(handle)
        named = handle and HEXADECIMAL.issuperset(handle)
        return place if named and private.is_own_directory(place) else ""

    def last(self) -> Listed | None:
        """What `@last` means, if anything."""
        self._look()
        try:
            return self._listed(self._last_place())
        except (FileNotFoundError, StoreError):
            return None

    def _advice(self) -> str:
        """The handles that somebody may have meant: those stored last."""
        entries = sorted(self.entries(), key=lambda entry: -entry.stored_at)
        shown = ", ".join(entry.handle for entry in entries[:CANDIDATES_SHOWN])
        return f"; the latest are {shown}" if shown else "; nothing is stored"

    def entries(self) -> Iterator[Listed]:
        """Every entry, in no order. One that goes while it is looked at is left out."""
        self._look()
        for place in self.places():
            listed = self._listed(place)
            if listed is not None:
                yield listed

    def latest(self, most: int, beginning: str = "") -> list[Listed]:
        """Those stored last whose handle begins so, the latest first. Only their records are read."""
        self._look()
        digits = beginning[:2] if len(beginning) > 1 else ""
        places = [place for place in self.places(digits) if os.path.basename(place).startswith(beginning)]
        places.sort(key=stored_at, reverse=True)
        return [entry for place in places[:most] if (entry := self._listed(place))]

    def remove(self, place: str, unless: Callable[[Listed], bool] | None = None) -> bool:
        """Take an entry away: out of sight by one rename, then file by file. Whether it is gone.

        `unless` is asked of the entry as it is then: somebody may just have stored or read it.
        """
        hidden = os.path.join(self.spill, private.temporary_name())
        before = self._listed(place)
        if before is not None and unless is not None and unless(before):
            return False
        try:
            os.rename(place, hidden)
        except FileNotFoundError:
            return True
        except OSError as error:
            raise private.refused(place, error) from None
        now = self._listed(hidden)
        if now is not None and unless is not None and unless(now):
            # Between two looks somebody has taken it up. Nobody minds a directory that comes back.
            return not self._put(hidden, place)
        remove_directory(hidden)
        return True

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
        if not os.path.lexists(place):
            return None
        record = self._record_at(place) if private.is_own_directory(place) else None
        return record.digest if record else ""

    def place(self, handle: str) -> str:
        """The directory of an entry, be it there or not."""
        return os.path.join(self.spill, handle[:2], handle)

    def places(self, digits: str = "") -> Iterator[str]:
        """Directories of entries; only those that begin with two digits, if given."""
        for shelf in [digits] if digits else sorted(names_in(self.spill)):
            if len(shelf) == 2 and HEXADECIMAL.issuperset(shelf):
                if not private.is_own_directory(os.path.join(self.spill, shelf)):
                    continue
                for handle in names_in(os.path.join(self.spill, shelf)):
                    place = os.path.join(self.spill, shelf, handle)
                    named = HEXADECIMAL.issuperset(handle) and handle.startswith(shelf)
                    if named and private.is_own_directory(place):
                        yield place


def stored_at(place: str) -> float:
    """When the output at a place was stored: unlike its record, it is never written again."""
    try:
        return os.lstat(os.path.join(place, "out")).st_mtime
    except OSError:
        return 0.0


def names_in(directory: str) -> list[str]:
    try:
        return os.listdir(directory)
    except OSError:
        return []
