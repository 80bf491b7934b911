"""An output while it arrives: a directory that nobody looks into, which becomes an entry or goes."""

from __future__ import annotations

import os

from tokcap.lean.record import TYPE_CHECKING
from tokcap.system import private_files as private

if TYPE_CHECKING:
    from tokcap.core.request import Stream


class Draft:
    """Made when the first file is wanted. Locked as long as it is open, so that cleaning lets it be."""

    def __init__(self, spill: str) -> None:
        self._spill = spill
        self._lock = -1
        self.directory = ""

    def make(self) -> str:
        """The directory, made if need be."""
        if not self.directory:
            # Each of them is looked at: a link among them would lead elsewhere.
            private.make_directory(os.path.dirname(self._spill), close=False)
            private.make_directory(self._spill)
            directory = os.path.join(self._spill, private.temporary_name())
            private.make_directory(directory)
            self.directory = directory
            self._lock = lock_directory(directory)
        return self.directory

    def create(self, name: Stream) -> int:
        """A file in it, open."""
        return private.create_file(os.path.join(self.make(), name))

    def close(self) -> None:
        """Give it back; what is still in it is removed."""
        if self.directory:
            remove_directory(self.directory)
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def lock_directory(directory: str) -> int:
    """Hold a directory as ours: a descriptor, or -1 if somebody else holds it or nobody can."""
    import fcntl

    try:
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | private.FOLLOW_NOTHING)
    except OSError:
        return -1
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return -1
    return descriptor


def remove_directory(directory: str) -> None:
    """Remove a directory and all that is in it, as far as that can be done. No link in it is followed."""
    try:
        if os.path.islink(directory):
            os.unlink(directory)
            return
        with os.scandir(directory) as files:
            for file in [*files]:
                if file.is_dir(follow_symlinks=False):
                    remove_directory(file.path)
                else:
                    os.unlink(file.path)
        os.rmdir(directory)
    except OSError:
        pass
