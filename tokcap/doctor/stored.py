"""Examine the store: unreadable records, damaged or changed outputs, leftovers, exceeded limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokcap.cli.options import BY_KEY
from tokcap.cli.store import with_store
from tokcap.cli.values import decide
from tokcap.core.units import count_of, size_of
from tokcap.doctor.files import check_files
from tokcap.doctor.finding import Finding, note, ok, some_of, wrong
from tokcap.errors import DamagedOutput, StoreError, TokcapError, UsageError
from tokcap.store import open_store
from tokcap.store.base import Retention
from tokcap.store.retention import split_by_retention

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tokcap.environment import Environment
    from tokcap.store.base import ListedOutput, Shared, Store

# Reading gigabytes takes too long, so digests are compared only for the latest outputs.
COMPARED_BYTES = 256 << 20

COLLECT = "tokcap spill gc"


def check(env: Environment) -> Iterator[Finding]:
    """Check the stored outputs, and the files of the store if it has local files."""
    try:
        env = with_store(env)
    except UsageError:
        # The check of the configuration reports it.
        pass
    store = open_store(env)
    try:
        outputs = sorted(store.outputs(), key=lambda output: -output.stored_at)
    except StoreError as error:
        # The check of the data directory reports this too. The files can be checked in any case.
        yield wrong("entries", str(error), "export TOKCAP_DATA_DIR=~/tokcap-data")
        outputs = []
    else:
        size = sum(output.size_bytes for output in outputs)
        yield ok(
            "entries",
            f"{count_of(len(outputs), 'output')}, {size_of(size)}" if outputs else "nothing is stored",
        )
    if outputs:
        yield check_records(outputs)
        yield from check_outputs(store, [output for output in outputs if output.record])
        yield from check_limits(outputs, env)
    yield check_left_overs(store, env.now())
    if directory := store.local_directory():
        yield from check_files(directory)
    if store.shared:
        yield check_shared(store.shared)


def check_shared(shared: Shared) -> Finding:
    """Check that the store of all hosts is reached, can be written, and does what it is told."""
    try:
        problem = shared.missing_ability()
    except TokcapError as error:
        return wrong("shared", f"{error}; until that is solved, outputs stay on this host", "tokcap doctor")
    if problem:
        return wrong("shared", f"{shared.title}: {problem}", "tokcap doctor")
    return ok("shared", f"{shared.title} can be read and written")


def check_records(outputs: Sequence[ListedOutput]) -> Finding:
    """Check that every record can be read."""
    handles = [output.handle for output in outputs if output.record is None]
    if not handles:
        return ok("records", "all can be read")
    return wrong("records", f"missing or damaged: record.json of {some_of(handles)}", removal(handles))


def check_outputs(store: Store, outputs: Sequence[ListedOutput]) -> Iterator[Finding]:
    """Check the sizes of all outputs, and the digests of the latest."""
    damaged: list[str] = []
    changed: list[str] = []
    damage: list[str] = []
    left_bytes, compared = COMPARED_BYTES, 0
    for listed in outputs:
        stored = store.examine(listed.handle)
        if stored is None:
            # Removed since it was listed.
            continue
        try:
            size = sum(stream.size for stream in stored.streams.values())
            if stored.damage:
                damaged.append(listed.handle)
                damage.append(stored.damage[0])
            elif size <= left_bytes:
                left_bytes -= size
                compared += 1
                for stream in stored.streams.values():
                    stream.check(0, stream.size)
        except DamagedOutput:
            changed.append(listed.handle)
        except StoreError as error:
            damaged.append(listed.handle)
            damage.append(str(error))
        finally:
            stored.close()
    if damaged:
        yield wrong("outputs", some_of(damage), removal(damaged))
    else:
        yield ok("outputs", "all have their recorded size")
    if changed:
        yield wrong("digests", f"changed since they were stored: {some_of(changed)}", removal(changed))
        return
    intact = len(outputs) - len(damaged)
    of_all = "" if compared == intact else f" of {intact}: at most {size_of(COMPARED_BYTES)} are read"
    yield ok("digests", f"compared and equal: {compared}{of_all}")


def check_limits(outputs: Sequence[ListedOutput], env: Environment) -> Iterator[Finding]:
    """Check that nothing is kept for longer, and not more, than the settings allow."""
    try:
        settings = decide((), "run", env)
    except UsageError:
        # The check of the configuration reports this. Use the defaults here.
        settings = {key: BY_KEY[key].default for key in ("spill_days", "spill_total")}
    retention = Retention(int(settings["spill_days"] or 0), int(settings["spill_total"] or 0))
    kept, removed = split_by_retention(outputs, retention, env.now())
    total = sum(output.size_bytes for output in kept)
    allowed = f"{count_of(retention.days, 'day')} and {size_of(retention.total_bytes)}"
    if removed:
        freed = size_of(sum(output.size_bytes for output in removed))
        yield wrong(
            "limits", f"{count_of(len(removed), 'output')} ({freed}) above the limits of {allowed}", COLLECT
        )
    elif total > retention.total_bytes:
        yield note(
            "limits",
            f"{size_of(total)} is more than {size_of(retention.total_bytes)},"
            " but all of it was stored or read within the last hour",
            "",
        )
    else:
        yield ok("limits", f"within {allowed}")


def check_left_overs(store: Store, now: float) -> Finding:
    """Check for leftovers of interrupted runs."""
    found = store.left_overs(now)
    if found:
        return wrong("left over", f"leftovers of interrupted runs: {some_of(found)}", COLLECT)
    return ok("left over", "nothing")


def removal(handles: Sequence[str]) -> str:
    return f"tokcap spill rm {' '.join(handles)}"
