"""The store: what cannot be read, what is not what it was, what is left over, and what is too much."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tokcap.cli.options import BY_KEY
from tokcap.cli.values import decide
from tokcap.core.units import count_of, size_of
from tokcap.doctor.files import check_files
from tokcap.doctor.finding import Finding, note, ok, some_of, wrong
from tokcap.errors import StoreError, UsageError
from tokcap.store import Entry, Retention, Shelf
from tokcap.store.drafts import lock_directory
from tokcap.store.fingerprint import Fingerprint, digest_of
from tokcap.store.retention import sorted_out, unattended

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tokcap.environment import Environment
    from tokcap.store import Listed

# Reading a store of some gigabytes takes its time, so digests are compared only of the latest outputs.
COMPARED_BYTES = 256 << 20
BLOCK_BYTES = 1 << 20

COLLECT = "tokcap spill gc"


def check(env: Environment) -> Iterator[Finding]:
    """What is stored, as `tokcap spill list` sees it, and the files as they lie there."""
    shelf = Shelf(env)
    try:
        entries = sorted(shelf.entries(), key=lambda entry: -entry.stored_at)
    except StoreError as error:
        # Told of the data directory as well, with what to do. Files can be looked at in spite of it.
        yield wrong("entries", str(error), "export TOKCAP_DATA_DIR=~/tokcap-data")
        entries = []
    else:
        size = sum(entry.size for entry in entries)
        yield ok(
            "entries",
            f"{count_of(len(entries), 'output')}, {size_of(size)}" if entries else "nothing is stored",
        )
    if entries:
        yield records(entries)
        yield from outputs([entry for entry in entries if entry.record])
        yield from limits(entries, env)
    yield left_overs(shelf, env.now())
    yield from check_files(shelf.spill)


def records(entries: Sequence[Listed]) -> Finding:
    """Whether what is known of each output can be read."""
    handles = [entry.handle for entry in entries if entry.record is None]
    if not handles:
        return ok("records", "all can be read")
    return wrong("records", f"missing or damaged: record.json of {some_of(handles)}", removal(handles))


def outputs(entries: Sequence[Listed]) -> Iterator[Finding]:
    """Whether the outputs are as long as they were, and, as far as that can be afforded, the same bytes."""
    short: list[str] = []
    changed: list[str] = []
    damage: list[str] = []
    left, compared = COMPARED_BYTES, 0
    for listed in entries:
        entry = Entry(listed.directory)
        try:
            if not os.path.isdir(listed.directory):
                # Removed meanwhile, as stored outputs are.
                continue
            size = sum(stream.size for stream in entry.streams.values())
            if entry.damage:
                short.append(listed.handle)
                damage.append(entry.damage[0])
            elif size <= left:
                left -= size
                compared += 1
                if digest(entry) != entry.record.digest:
                    changed.append(listed.handle)
        except StoreError as error:
            short.append(listed.handle)
            damage.append(str(error))
        finally:
            entry.close()
    if short:
        yield wrong("outputs", some_of(damage), removal(short))
    else:
        yield ok("outputs", "all have the bytes that they should have")
    if changed:
        yield wrong("digests", f"changed since they were stored: {some_of(changed)}", removal(changed))
        return
    intact = len(entries) - len(short)
    of_all = "" if compared == intact else f" of {intact}: no more than {size_of(COMPARED_BYTES)} are read"
    yield ok("digests", f"compared: {compared}{of_all}")


def digest(entry: Entry) -> str:
    """The digest that the stored bytes have now, reckoned as it was when they were stored."""
    fingerprints = []
    for name in ("out", "err"):
        stream = entry.streams.get(name)
        if stream is None:
            continue
        fingerprint = Fingerprint(stream.size)
        for start in range(0, stream.size, BLOCK_BYTES):
            fingerprint.update(stream.read(start, min(start + BLOCK_BYTES, stream.size)))
        fingerprint.update(b"", stream.lost)
        fingerprints.append(fingerprint)
    return digest_of(fingerprints)


def limits(entries: Sequence[Listed], env: Environment) -> Iterator[Finding]:
    """Whether more is kept, or for longer, than is wanted."""
    try:
        settings = decide((), "run", env)
    except UsageError:
        # Told of the configuration; meanwhile the defaults are as good as any.
        settings = {key: BY_KEY[key].default for key in ("spill_days", "spill_total")}
    retention = Retention(int(settings["spill_days"] or 0), int(settings["spill_total"] or 0))
    kept, removed = sorted_out(entries, retention, env.now())
    total = sum(entry.size for entry in kept)
    allowed = f"{count_of(retention.days, 'day')} and {size_of(retention.total_bytes)}"
    if removed:
        freed = size_of(sum(entry.size for entry in removed))
        yield wrong(
            "limits", f"{count_of(len(removed), 'output')} ({freed}) too old or too much: {allowed}", COLLECT
        )
    elif total > retention.total_bytes:
        yield note(
            "limits",
            f"{size_of(total)} is more than {size_of(retention.total_bytes)}, and all of it in use",
            "",
        )
    else:
        yield ok("limits", f"within {allowed}")


def left_overs(shelf: Shelf, now: float) -> Finding:
    """What others left who were killed while storing."""
    found = []
    for path in unattended(shelf, now):
        lock = lock_directory(path) if os.path.isdir(path) and not os.path.islink(path) else None
        if lock is None or lock >= 0:
            found.append(os.path.basename(path))
        if lock is not None and lock >= 0:
            os.close(lock)
    if found:
        return wrong("left over", f"by those who were killed while storing: {some_of(found)}", COLLECT)
    return ok("left over", "nothing")


def removal(handles: Sequence[str]) -> str:
    return f"tokcap spill rm {' '.join(handles)}"
