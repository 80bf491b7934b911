"""Check the data directory: whether it can be used, its files, and the stored outputs in it."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from tokcap.cli.reply import with_store
from tokcap.core.units import count_of, size_of
from tokcap.doctor.examination import Finding, fact, note, some_of, wrong
from tokcap.errors import DamagedOutput, StoreError, TokcapError, UsageError
from tokcap.store import open_store
from tokcap.system.quoting import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tokcap.environment import Environment
    from tokcap.store.base import ListedOutput, Store
    from tokcap.store.shared_outputs import SharedOutputs

USE_ANOTHER = "export TOKCAP_DATA_DIR=~/tokcap-data"
OTHERS_WRITE, OTHERS = 0o022, 0o077
# Reading gigabytes takes too long, so digests are compared only for the latest outputs.
COMPARED_BYTES = 256 << 20
# What tokcap writes into the data directory, which other programs may share.
OWN_FILES = ("spill", "account", "outbox")


def check(env: Environment) -> Iterator[Finding]:
    """Check the directory, the files in it, and the outputs of the store."""
    path = env.data_dir()
    if problem := place_problem(path):
        yield wrong("data", *problem)
    elif os.path.isdir(path):
        yield from check_files([os.path.join(path, name) for name in OWN_FILES], path)
        if stat.S_IMODE(os.stat(path).st_mode) & OTHERS:
            yield note("data", f"others can list the files in {path}", f"chmod go= {quoted(path)}")
    try:
        env = with_store(env)
    except UsageError:
        # The check of the configuration reports it.
        pass
    store = open_store(env)
    try:
        outputs = sorted(store.outputs(), key=lambda output: -output.stored_at)
    except StoreError as error:
        yield wrong("outputs", str(error), USE_ANOTHER)
        return
    size = size_of(sum(output.size_bytes for output in outputs))
    yield fact("data", f"{path}, {count_of(len(outputs), 'output')} stored, {size}")
    yield from check_outputs(store, outputs)
    if store.shared:
        yield from check_shared(store.shared)


def place_problem(path: str) -> tuple[str, str] | None:
    """Return why nothing can be stored in a directory, and what to do about it."""
    if os.path.islink(path):
        message = f"{path} is a symbolic link, which tokcap does not follow"
        return message, f"export TOKCAP_DATA_DIR={quoted(os.path.realpath(path))}"
    above = path
    while not os.path.lexists(above) and above != os.path.dirname(above):
        above = os.path.dirname(above)
    cannot = "nothing can be stored" if above == path else "cannot be created"
    if not os.path.isdir(above):
        return f"{path}: {cannot}: {above} is not a directory", USE_ANOTHER
    found = os.stat(above)
    if above == path and found.st_uid != os.geteuid():
        return f"{path}: {cannot}: it is owned by another user", USE_ANOTHER
    if above == path and found.st_mode & OTHERS_WRITE:
        return f"others can create files in {path}", f"chmod go-w {quoted(path)}"
    if not os.access(above, os.R_OK | os.W_OK | os.X_OK):
        remedy = f"chmod u+rwx {quoted(path)}" if above == path else USE_ANOTHER
        return f"{path}: {cannot}: {above} is not writable", remedy
    return None


def check_files(paths: Sequence[str], directory: str) -> Iterator[Finding]:
    """Check owner and permissions of files, and of everything below them."""
    links: list[str] = []
    foreign: list[str] = []
    exposed: list[str] = []
    for path, status in walk(paths):
        if stat.S_ISLNK(status.st_mode):
            links.append(path)
        elif status.st_uid != os.geteuid():
            foreign.append(path)
        elif stat.S_IMODE(status.st_mode) & OTHERS:
            exposed.append(path)
    mine = " ".join(quoted(path) for path in paths if os.path.lexists(path))
    for name, found, problem, remedy in (
        ("links", links, "tokcap does not follow symbolic links", f"rm {' '.join(map(quoted, links))}"),
        ("owner", foreign, "owned by another user", f"sudo chown -R {os.geteuid()} {mine}"),
        ("permissions", exposed, "accessible to others", f"chmod -R go= {mine}"),
    ):
        if found:
            shown = some_of([os.path.relpath(path, directory) for path in found])
            yield wrong(name, f"{problem}: {shown}", remedy)


def walk(paths: Sequence[str]) -> Iterator[tuple[str, os.stat_result]]:
    """Yield files and everything below them, except what disappears or cannot be examined."""
    left = [*paths]
    while left:
        path = left.pop()
        try:
            status = os.lstat(path)
            if stat.S_ISDIR(status.st_mode):
                left += [entry.path for entry in os.scandir(path)]
        except OSError:
            continue
        yield path, status


def check_outputs(store: Store, outputs: Sequence[ListedOutput]) -> Iterator[Finding]:
    """Check the records and sizes of all outputs, and the bytes of the latest."""
    found: dict[str, str] = {}
    left_bytes = COMPARED_BYTES
    for listed in outputs:
        if listed.record is None:
            found[listed.handle] = f"{listed.handle}: its record.json is missing or damaged"
            continue
        stored = store.examine(listed.handle)
        if stored is None:
            # Removed since it was listed.
            continue
        try:
            size = sum(stream.size for stream in stored.streams.values())
            if stored.damage:
                found[listed.handle] = stored.damage[0]
            elif size <= left_bytes:
                left_bytes -= size
                for stream in stored.streams.values():
                    stream.check(0, stream.size)
        except DamagedOutput:
            found[listed.handle] = f"{listed.handle} was changed since it was stored"
        except StoreError as error:
            found[listed.handle] = str(error)
        finally:
            stored.close()
    if found:
        yield wrong("outputs", some_of([*found.values()]), f"tokcap spill rm {' '.join(found)}")


def check_shared(shared: SharedOutputs) -> Iterator[Finding]:
    """Check that the store of all hosts is reached, can be written, and does what it is told."""
    try:
        problem = shared.missing_ability()
    except TokcapError as error:
        yield wrong("shared", f"{error}; until that is solved, outputs stay on this host", "tokcap doctor")
        return
    if problem:
        yield wrong("shared", f"{shared.title}: {problem}", "tokcap doctor")
    else:
        yield fact("shared", f"{shared.title} can be read and written")
