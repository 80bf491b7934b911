"""Outputs of commands that still run: each has a name, which leads to the stored output once it has ended.

    spill/running/lake917/about.json   what `@lake917` is, and the directory that has its bytes
    spill/running/lake917/place-…      how far a session has read

They are on this host only. If nothing of an output was withheld, it is stored only if somebody has read it
while it was running.
"""

from __future__ import annotations

import os
import time

from tokcap.errors import NotFound, StoreError
from tokcap.startup.plainjson import dumps, loads
from tokcap.startup.record import TYPE_CHECKING, Record
from tokcap.store.handles import LEAST_CHARACTERS, is_handle, word
from tokcap.store.local_layout import SPILL, lock_directory, names_in, remove_all, session_key
from tokcap.system import private_files as private
from tokcap.system.proc import ancestors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokcap.environment import Environment
    from tokcap.store.base import Caller

# The output that began last of those that run; if none does, of those that have ended.
LATEST_RUNNING = "@running"
# No handle begins with it.
SIGN = "@"
DIRECTORY, ABOUT, PLACE, READ = "running", "about.json", "place-", "read"
NAME_DIGITS = 3
LARGEST_BYTES = 1 << 20
# How long a name is kept, and what was written by a tokcap that was killed.
KEPT_SECONDS = 24 * 60 * 60
# How long storing may take at most.
STORING_SECONDS = 10.0


class Running(Record):
    """An output of a command that runs, or that had a name when it ran."""

    # Empty: it gets a new one.
    name: str
    started_at: float
    command: Sequence[str] = ()
    token_limit: int | None = None
    max_bytes: int = 0
    # The directory that its bytes are written to, until it has ended, and the process that writes them.
    draft: str = ""
    pid: int = 0
    terminal: int = 0
    session: str = ""
    # When it has ended: what is stored, if anything is, and the exit status.
    handle: str = ""
    status: int | None = None

    @property
    def runs(self) -> bool:
        """Whether its tokcap is still there. It holds a lock, which the system frees if it is killed."""
        if self.status is not None or not os.path.isdir(self.draft):
            return False
        lock = lock_directory(self.draft)
        if lock >= 0:
            os.close(lock)
        return lock < 0


class Announced:
    """The directory of a name: what it means, and how far its readers have read."""

    def __init__(self, root: str, running: Running) -> None:
        self._root = root
        self._missing_since: float | None = None
        self.running = running

    @classmethod
    def begin(cls, root: str, running: Running) -> Announced:
        """Give an output a name, and write what it means."""
        # If nothing is written yet, there is no such directory.
        draft = running.draft or os.path.join(root, DIRECTORY, "none")
        announced = cls(root, running.replace(name=running.name or reserve(root), draft=draft))
        announced._write(ABOUT, dumps(announced.running.__dict__))
        return announced

    @property
    def is_read(self) -> bool:
        return os.path.exists(self._path(READ))

    def note_read(self) -> None:
        if not self.is_read:
            self._write(READ, "")

    def end(self, handle: str, status: int) -> None:
        """Note what is stored, if anything is. A name that leads nowhere goes, unless somebody uses it."""
        if handle or self.is_read:
            self._write(ABOUT, dumps(self.running.replace(handle=handle, status=status).__dict__))
        else:
            self.remove()

    def remove(self) -> None:
        remove_all(self._path(""))

    def place_of(self, reader: str) -> str:
        """Return how far a reader has read; empty if it has not read anything."""
        try:
            return private.read_file(self._path(PLACE + reader), LARGEST_BYTES).decode("ascii", "replace")
        except (OSError, StoreError):
            return ""

    def save_place(self, reader: str, place: str) -> None:
        self._write(PLACE + reader, place)

    def has_ended(self) -> bool:
        """Return whether nothing more will be written. Without a status, its tokcap was killed.

        Raise `NotFound` if nothing of it was kept.
        """
        found = read(self._root, self.running.name)
        if not found:
            raise NotFound(f"{self.running.name} has ended, and nothing of its output was kept")
        self.running = found
        if found.status is not None or found.runs:
            return found.status is not None
        if os.path.isdir(found.draft):
            return True
        # It is being stored now, unless its tokcap was killed in between.
        self._missing_since = self._missing_since or time.monotonic()
        return time.monotonic() - self._missing_since > STORING_SECONDS

    def _write(self, file: str, text: str) -> None:
        try:
            private.replace_file(self._path(file), text.encode())
        except StoreError:
            # Only waiting needs it, which then goes by what there is.
            pass

    def _path(self, file: str) -> str:
        return os.path.join(self._root, DIRECTORY, self.running.name.removeprefix(SIGN), file)


def reserve(root: str) -> str:
    """Return a name that no other output has."""
    private.make_directory(os.path.join(root, DIRECTORY))
    while True:
        number = int.from_bytes(os.urandom(4))
        name = f"{word(number % 2048)}{number // 2048 % 10**NAME_DIGITS:0{NAME_DIGITS}d}"
        try:
            private.make_one_directory(os.path.join(root, DIRECTORY, name))
        except FileExistsError:
            continue
        except OSError as error:
            raise private.refused(root, error) from None
        return SIGN + name


def reserve_in(env: Environment) -> Announced:
    """Return a new name for an output that begins soon; `StoreError` if nothing can be stored."""
    for directory in (env.data_dir(), env.spare_data_dir()):
        try:
            private.make_directory(directory, restrict=False)
            private.make_directory(os.path.join(directory, SPILL))
            return Announced.begin(os.path.join(directory, SPILL), Running("", env.now()))
        except StoreError as error:
            problem = error
    raise problem


def read(root: str, name: str) -> Running | None:
    """Return what a name means; None if it means nothing, or if its file is damaged."""
    path = os.path.join(root, DIRECTORY, name.removeprefix(SIGN), ABOUT)
    try:
        return Running(**loads(private.read_file(path, LARGEST_BYTES).decode()))
    except (OSError, StoreError, ValueError, TypeError):
        return None


def roots_of(env: Environment) -> list[str]:
    """Return the directories that may have running outputs."""
    directories = (env.data_dir(), env.spare_data_dir())
    return [os.path.join(one, SPILL) for one in directories if private.is_own_directory(one)]


def outputs(roots: Sequence[str]) -> list[Announced]:
    """Return all outputs that have a name, those that began last first."""
    found = [
        Announced(root, running)
        for root in roots
        if private.is_own_directory(os.path.join(root, DIRECTORY))
        for name in names_in(os.path.join(root, DIRECTORY))
        if (running := read(root, name))
    ]
    return sorted(found, key=lambda one: one.running.started_at, reverse=True)


def is_name(text: str) -> bool:
    """Return whether a text is spelled as the name of a running output."""
    is_long = len(text) == len(SIGN) + LEAST_CHARACTERS + NAME_DIGITS
    return text == LATEST_RUNNING or (is_long and text[0] == SIGN and is_handle(text[1:]))


def find(roots: Sequence[str], name: str, caller: Caller) -> Announced:
    """Return the output that a name means; `NotFound` if there is none.

    `@running` means one of the caller's session; without any, of its terminal; else of all.
    """
    if name != LATEST_RUNNING:
        for root in roots if is_name(name) else ():
            if running := read(root, name):
                return Announced(root, running)
        raise NotFound(f"no output has the name {name[:40]!r}; see tokcap spill list")
    # Not that of a shell of tokcap in which this is called: it would wait for itself.
    around = ancestors()
    found = [one for one in outputs(roots) if one.running.pid not in around]
    if not found:
        raise NotFound("no command runs under a limit of tokcap, or with --spill always")
    session, terminal = session_key(caller.session), caller.terminal or -1
    own = [one for one in found if caller.session and one.running.session == session]
    own = own or [one for one in found if one.running.terminal == terminal] or found
    return next((one for one in own if one.running.runs), own[0])


def clean(root: str, now: float) -> set[str]:
    """Remove the names of outputs that ended long ago. Return the drafts to which a name still leads."""
    needed = set()
    for one in outputs([root]):
        if now - one.running.started_at > KEPT_SECONDS and not one.running.runs:
            one.remove()
        else:
            needed.add(one.running.draft)
    return needed
