"""A store in memory, as somebody who adds a store would write it: it uses `tokcap.store` from outside."""

from collections.abc import Iterator, Mapping

from tokcap.core.payload import Spool, open_nameless_file
from tokcap.errors import NotFound
from tokcap.store.base import ANYBODY, RECORD, Caller, Cleaned, ListedOutput, StoredOutput, StoredRecord
from tokcap.store.cleaning import split_by_retention
from tokcap.store.handles import match_handle, nth_last, shortest_handle, steps_back, suggestion


class Kept:
    """One output as the store keeps it. The files are bytes, so that a test can damage them."""

    def __init__(self, handle: str, files: dict[str, bytes], stored_at: float) -> None:
        self.handle = handle
        self.files = files
        self.stored_at = self.read_at = stored_at

    def record(self) -> StoredRecord | None:
        try:
            return StoredRecord.unpacked(self.files[RECORD])
        except (KeyError, ValueError):
            return None

    def listed(self) -> ListedOutput:
        size = sum(map(len, self.files.values()))
        record = self.record()
        sizes = {name: len(self.files[name]) for name in ("out", "err") if name in self.files}
        is_damaged = record is None or record.stored_bytes != sizes
        return ListedOutput(self.handle, record, size, self.stored_at, self.read_at, is_damaged)


class ToyBytes:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self.size = len(data)

    def read(self, start: int, stop: int) -> bytes:
        return self._data[start:stop]

    def view(self, size: int) -> bytes:
        return self._data[:size]

    def close(self) -> None:
        pass


class ToyOutput(StoredOutput):
    def __init__(self, kept: Kept, now: float) -> None:
        self._kept = kept
        self._now = now
        record = kept.record()
        damage = [] if record else [f"{RECORD} of {kept.handle} is damaged"]
        found = {stream: ToyBytes(kept.files[stream]) for stream in ("out", "err") if stream in kept.files}
        super().__init__(kept.handle, record, found, damage)

    def read_file(self, name: str) -> bytes | None:
        return self._kept.files.get(name)

    def write_file(self, name: str, data: bytes) -> None:
        self._kept.files[name] = data

    def touch(self) -> None:
        self._kept.read_at = self._now


class ToyDraft:
    not_shared = ""

    def __init__(self, store: "ToyStore") -> None:
        self._store = store

    def open_file(self, stream: str) -> int:
        return open_nameless_file()

    def commit(self, record: StoredRecord, streams: Mapping[str, Spool], files: Mapping[str, bytes]) -> None:
        payloads = {name: streams[name].read(0, size) for name, size in record.stored_bytes.items()}
        kept = self._store.shelf.get(record.handle)
        there = kept.record() if kept else None
        if kept and there and {name: kept.files.get(name) for name in payloads} == payloads:
            kept.files.update(files)
            kept.files[RECORD] = there.updated(record).packed()
            kept.stored_at = record.stored_at
        else:
            everything = {**payloads, **files, RECORD: record.packed()}
            self._store.shelf[record.handle] = Kept(record.handle, everything, record.stored_at)
        self._store.last_handle.insert(0, record.handle)

    def close(self) -> None:
        pass


class ToyStore:
    shared = None

    def __init__(self, shelf: dict[str, Kept], last_handle: list[str], env) -> None:
        self.shelf = shelf
        self.last_handle = last_handle
        self._env = env

    def draft(self, caller: Caller = ANYBODY) -> ToyDraft:
        return ToyDraft(self)

    def handle_for(self, digest: str) -> str:
        return shortest_handle(digest, self._digest_at)

    def _digest_at(self, handle: str) -> str | None:
        kept = self.shelf.get(handle)
        record = kept.record() if kept else None
        return None if kept is None else record.digest if record else ""

    def find(self, name: str, caller: Caller = ANYBODY) -> str:
        steps = steps_back(name)
        if steps is None:
            return match_handle(name, self.shelf, self._latest_handles)
        handle = nth_last(steps, [*dict.fromkeys(self.last_handle)], self._latest_handles)
        if handle not in self.shelf:
            raise NotFound(f"the last output has been removed{suggestion(self._latest_handles())}")
        return handle

    def _latest_handles(self) -> list[str]:
        return [output.handle for output in self.latest(5)]

    def open(self, name: str, stream: str = "out", caller: Caller = ANYBODY) -> ToyOutput:
        output = ToyOutput(self.shelf[self.find(name, caller)], self._env.now())
        if stream not in output.streams:
            raise NotFound(f"{output.handle} has no stored {stream}")
        output.touch()
        return output

    def examine(self, handle: str) -> ToyOutput | None:
        return ToyOutput(self.shelf[handle], self._env.now()) if handle in self.shelf else None

    def outputs(self) -> Iterator[ListedOutput]:
        return (kept.listed() for kept in [*self.shelf.values()])

    def latest(self, most: int, beginning: str = "") -> list[ListedOutput]:
        found = [output for output in self.outputs() if output.handle.startswith(beginning)]
        return sorted(found, key=lambda output: -output.stored_at)[:most]

    def last(self, caller: Caller = ANYBODY) -> ListedOutput | None:
        kept = self.shelf.get(self.last_handle[0]) if self.last_handle else None
        return kept.listed() if kept else None

    def remove(self, handle: str) -> None:
        self.shelf.pop(handle, None)

    def remove_here(self, handle: str) -> None:
        self.remove(handle)

    def clean(self, retention, now: float) -> Cleaned:
        kept, removed = split_by_retention(self.outputs(), retention, now)
        for output in removed:
            self.remove(output.handle)
        return Cleaned(tuple(removed), len(kept), sum(output.size_bytes for output in kept), 0)

    def clean_if_due(self, retention, stored_bytes: int, now: float) -> None:
        self.clean(retention, now)

    def local_path(self, handle: str) -> None:
        return None


_stores: dict[str, tuple[dict[str, Kept], list[str]]] = {}


def open_toy_store(name: str, env) -> ToyStore:
    """Return the store of this name. It lives as long as the process."""
    return ToyStore(*_stores.setdefault(name, ({}, [])), env)


def clear_toy_stores() -> None:
    _stores.clear()
