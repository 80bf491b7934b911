"""Every store keeps the same promises. A store in memory, added from here, keeps them too."""

import os
import random
from pathlib import Path

import pytest

from tests.support import buckets
from tests.support.tiers import as_nightly
from tests.support.toys.store import clear_toy_stores, open_toy_store
from tokcap.core.digest import checksum
from tokcap.environment import Environment
from tokcap.errors import DamagedOutput, NotFound, StoreError
from tokcap.store import STORES, open_store
from tokcap.store.base import LAST_MEMBER, LAST_MEMBER_END, Retention, StoredRecord, index_name
from tokcap.store.bucket import reader_of
from tokcap.store.checked import digest_now
from tokcap.store.cleaning import DAY_SECONDS, READ_SECONDS
from tokcap.store.handles import is_handle_of
from tokcap.store.recorder import Recorder, RecorderSettings
from tokcap.store.shared_outputs import ENTRY, key_of, packed

NOW = 1_800_000_000.0
SETTINGS = RecorderSettings(
    max_bytes=1 << 20, window_bytes=1000, retention_days=36500, retention_bytes=1 << 40
)
RECORD = "record.json"


@pytest.fixture
def toy():
    """Add the toy store to the table, as a plug-in would: one line."""
    STORES.add("toy", "tests.support.toys.store:open_toy_store")
    yield "toy://here"
    STORES.remove("toy")
    clear_toy_stores()


class Subject:
    """One store, and what a test needs to store in it, damage it and let time pass."""

    def __init__(self, url: str, env: Environment) -> None:
        self.url = url
        self.env = env
        self.store = open_store(env, url)

    def keep(self, out=b"out\n", err=b"", record=None, now=NOW, **settings) -> str:
        recorder = Recorder(SETTINGS.replace(**settings), lambda: self.store, lambda: now)
        recorder.spool("out", whole=True).write(out)
        recorder.spool("err", whole=True).write(err)
        ticket = recorder.reserve()
        recorder.commit(record or StoredRecord(), {})
        recorder.close()
        self.set_times(ticket.handle, now)
        return ticket.handle

    def set_times(self, handle: str, now: float) -> None:
        """The local store uses the times of the files, which tests must not wait for."""
        if path := self.store.local_path(handle):
            for name in ("out", ""):
                os.utime(os.path.join(path, name), (now, now))
        else:
            self.store.shelf[handle].stored_at = self.store.shelf[handle].read_at = now

    def damage(self, handle: str, name: str, data: bytes) -> None:
        if path := self.store.local_path(handle):
            Path(path, name).write_bytes(data)
        else:
            self.store.shelf[handle].files[name] = data

    def raw(self, handle: str, name: str) -> bytes:
        if path := self.store.local_path(handle):
            return Path(path, name).read_bytes()
        return self.store.shelf[handle].files[name]

    def examine(self, handle: str):
        return self.store.examine(handle)


class OnAnotherHost(Subject):
    """What one host has stored is read on another one, which has nothing."""

    def __init__(self, url: str, env: Environment) -> None:
        super().__init__(url, env)
        elsewhere = {**env.variables, "TOKCAP_DATA_DIR": f"{env.variables['HOME']}/elsewhere"}
        self.elsewhere = env.replace(variables=elsewhere)

    def keep(self, *given, **named) -> str:
        here, self.store = self.store, open_store(self.elsewhere, self.url)
        try:
            return super().keep(*given, **named)
        finally:
            self.store = here

    def damage(self, handle: str, name: str, data: bytes) -> None:
        shared = self.store.shared
        if name not in ("out", "err"):
            name, data = ENTRY, packed({**shared.entry(handle).files, name: data})
        shared.bucket.replace(key_of(handle, name), len(data), reader_of(data))
        # As a later call, which remembers nothing.
        self.store = open_store(self.env, self.url)

    def raw(self, handle: str, name: str) -> bytes:
        return self.store.shared.entry(handle).files[name]

    def examine(self, handle: str):
        return self.store.open(handle)


# No server of these is installed for the tests.
WITHOUT_A_SERVER = {"gs", "az"}
# Made when tests are collected, so a store that is added to the table is tested without another line.
WITH_A_SERVER = [name for name in STORES if name not in WITHOUT_A_SERVER]


STORED = [*WITH_A_SERVER, "toy", "two directories"]
ELSEWHERE = [f"{name}, another host" for name in WITH_A_SERVER]


def everyday(names) -> list:
    """Return parameters: what needs a server is nightly. `test_shared_requests` has an everyday pass."""
    return [as_nightly(name) if name.startswith("s3") else name for name in names]


@pytest.fixture(params=everyday(STORED))
def subject(request, toy, tmp_path):
    return subject_of(request.param, toy, tmp_path)


def subject_of(name, toy, tmp_path):
    env = Environment({"HOME": str(tmp_path), "TMPDIR": str(tmp_path)}, now=lambda: NOW)
    if name == "two directories":
        # As after a call in a sandbox.
        os.mkdir(env.spare_data_dir(), mode=0o700)
        return Subject("file://", env)
    if name == "toy":
        return Subject(toy, env)
    scheme, _, elsewhere = name.partition(", ")
    place = f"{tmp_path}/shared"
    if scheme == "s3":
        server = buckets.s3_server()
        place = f"{server.new_bucket()}?timeout=60"
        env = env.replace(variables={**env.variables, **buckets.variables(server.port)})
    else:
        os.mkdir(place, mode=0o700)
    return (OnAnotherHost if elsewhere else Subject)(f"{scheme}://{place}", env)


def contents(output) -> dict[str, bytes]:
    return {stream: payload.read(0, payload.size) for stream, payload in output.streams.items()}


class TestReadingFromEveryStore:
    @pytest.fixture(params=everyday([*STORED, *ELSEWHERE]))
    def subject(self, request, toy, tmp_path):
        return subject_of(request.param, toy, tmp_path)

    def test_a_stored_output_is_read_back_byte_for_byte(self, subject):
        data = bytes(range(256)) * 50
        handle = subject.keep(data, b"problem\n")
        output = subject.store.open(handle)
        assert contents(output) == {"out": data, "err": b"problem\n"}
        assert bytes(output.streams["out"].view()[:]) == data
        assert (output.handle, output.damage) == (handle, [])
        assert output.is_whole("out")
        output.close()

    def test_an_output_too_long_for_memory_is_read_back_byte_for_byte(self, subject):
        data = random.Random(9).randbytes(9 << 20)
        handle = subject.keep(data, max_bytes=64 << 20)
        output = subject.store.open(handle)
        assert contents(output)["out"] == data
        assert digest_now(output.streams) == output.record.digest
        output.close()

    def test_the_record_comes_back_with_handle_and_sizes(self, subject):
        given = StoredRecord(
            shape="json", total_count=3, token_limit=50, exit_status=1, command=("sh", "x\udcff")
        )
        handle = subject.keep(b"[1,2,3]", record=given)
        record = subject.store.open(handle).record
        expected = given.replace(
            handle=handle, digest=record.digest, stored_at=int(NOW), stored_bytes={"out": 7}
        )
        assert record.replace(digests={}) == expected
        assert record.digests.keys() == {"out"}
        assert is_handle_of(handle, record.digest)

    def test_more_than_the_limit_is_not_stored_and_is_recorded_as_lost(self, subject):
        handle = subject.keep(b"0123456789", max_bytes=4)
        output = subject.store.open(handle)
        assert contents(output)["out"] == b"0123"
        assert (output.record.lost_bytes, output.record.complete) == ({"out": 6}, False)
        assert output.streams["out"].lost == 6
        assert not output.is_whole("out")
        assert digest_now(output.streams) == output.record.digest

    def test_four_characters_are_enough_to_find_an_output(self, subject):
        handle = subject.keep()
        assert subject.store.find(handle[:4]) == handle
        assert subject.store.open(handle[:7]).handle == handle

    def test_a_stream_that_was_not_stored_is_not_found(self, subject):
        handle = subject.keep()
        with pytest.raises(NotFound, match=f"{handle} has no stored"):
            subject.store.open(handle, "err")

    @pytest.mark.parametrize(
        "data", [b"", as_nightly(b"{"), as_nightly(b"[]"), b'{"schema_version": 2}', as_nightly(b"\xff")]
    )
    def test_a_damaged_record_is_reported_and_the_output_is_read_anyway(self, subject, data):
        handle = subject.keep(b"fine")
        subject.damage(handle, RECORD, data)
        output = subject.store.open(handle)
        assert output.damage
        assert output.damage[0].startswith(f"{RECORD} of {handle} is damaged")
        assert contents(output)["out"] == b"fine"
        assert output.record.stored_bytes == {"out": 4}

    @pytest.mark.parametrize("size", [5, 3 << 20])
    @pytest.mark.parametrize("place", [0, 4, -1])
    def test_a_byte_that_was_changed_is_never_read(self, subject, size, place):
        data = bytearray(random.Random(7).randbytes(size))
        handle = subject.keep(bytes(data), b"fine", max_bytes=64 << 20)
        data[place] ^= 4
        subject.damage(handle, "out", bytes(data))
        out = subject.examine(handle).streams["out"]
        place %= size
        for use in (out.read, out.check):
            with pytest.raises(DamagedOutput, match=f"out of {handle} is damaged: bytes "):
                use(place, place + 1)
            with pytest.raises(DamagedOutput):
                use(0, size)
        assert subject.store.open(handle, "err").streams["err"].read(0, 4) == b"fine"

    def test_undamaged_blocks_of_a_long_output_can_be_read(self, subject):
        data = bytearray(random.Random(7).randbytes(3 << 20))
        handle = subject.keep(bytes(data), max_bytes=64 << 20)
        data[1 << 20] ^= 1
        subject.damage(handle, "out", bytes(data))
        out = subject.store.open(handle).streams["out"]
        assert out.read(5, 1 << 20) == data[5 : 1 << 20]
        assert out.read(2 << 20, 3 << 20) == data[2 << 20 :]
        with pytest.raises(DamagedOutput, match="bytes 1048576-1310719 are not those that were stored"):
            out.read(0, 3 << 20)

    @pytest.mark.parametrize("size", [2000, 3 << 20])
    def test_if_the_record_is_damaged_bytes_are_compared_with_the_handle(self, subject, size):
        data = bytearray(random.Random(7).randbytes(size))
        handle = subject.keep(bytes(data), b"problem", max_bytes=64 << 20)
        subject.damage(handle, RECORD, b"{}")
        output = subject.store.open(handle)
        assert contents(output) == {"out": data, "err": b"problem"}
        data[-1] ^= 1
        subject.damage(handle, "out", bytes(data))
        with pytest.raises(DamagedOutput):
            contents(subject.store.open(handle))

    def test_a_long_output_with_a_damaged_record_is_not_called_complete(self, subject):
        data = random.Random(7).randbytes(3 << 20)
        handle = subject.keep(data, max_bytes=2 << 20)
        subject.damage(handle, RECORD, b"{}")
        out = subject.store.open(handle).streams["out"]
        assert (out.read(0, out.size), out.lost) == (data[: 2 << 20], 1 << 20)

    def test_fields_that_a_later_version_may_add_to_a_record_are_ignored(self, subject):
        handle = subject.keep(b"fine", record=StoredRecord(exit_status=4))
        body = subject.raw(handle, RECORD).partition(LAST_MEMBER)[0] + b', "of_the_future": [1]'
        end = LAST_MEMBER + checksum(body).hex().encode() + LAST_MEMBER_END
        subject.damage(handle, RECORD, body + end)
        output = subject.store.open(handle)
        assert (output.damage, output.record.exit_status) == ([], 4)


class TestEveryStore:
    def test_an_index_is_stored_beside_the_output_and_read_back(self, subject):
        handle = subject.keep()
        name = index_name("out", "some/tokenizer")
        output = subject.store.open(handle)
        assert output.read_file(name) is None
        output.write_file(name, b"positions" * 9)
        output.write_record(output.record.replace(shape="text"))
        output.close()
        again = subject.store.open(handle)
        assert (again.read_file(name), again.record.shape) == (b"positions" * 9, "text")
        again.note_damage(name, "counted again")
        assert again.damage == [f"{name} of {handle} is damaged: counted again"]

    def test_nothing_is_stored_before_it_is_committed(self, subject):
        recorder = Recorder(SETTINGS, lambda: subject.store, lambda: NOW)
        recorder.spool("out", whole=True).write(b"x" * (9 << 20))
        assert recorder.reserve().handle
        assert list(subject.store.outputs()) == []
        recorder.close()
        assert list(subject.store.outputs()) == []
        assert subject.store.clean(Retention(99, 1 << 60), NOW + DAY_SECONDS).left_overs == 0

    def test_the_ticket_tells_what_will_be_stored(self, subject):
        recorder = Recorder(SETTINGS.replace(max_bytes=4), lambda: subject.store, lambda: NOW)
        recorder.spool("out", whole=True).write(b"0123456789")
        ticket = recorder.reserve()
        assert (ticket.stored_bytes, ticket.lost_bytes, ticket.truncated) == ({"out": 4}, {"out": 6}, True)
        assert recorder.reserve() is ticket
        recorder.commit(StoredRecord(), {})
        recorder.commit(StoredRecord(), {})
        recorder.close()
        assert [output.handle for output in subject.store.outputs()] == [ticket.handle]

    def test_equal_output_is_stored_once_and_what_was_known_is_kept(self, subject):
        first = subject.keep(record=StoredRecord(tokens={"a": {"out": 1}}, shape="json", total_count=5))
        second = subject.keep(record=StoredRecord(tokens={"b": {"out": 2}}, exit_status=3), now=NOW + 5)
        assert first == second
        (listed,) = subject.store.outputs()
        assert listed.record.tokens == {"a": {"out": 1}, "b": {"out": 2}}
        assert (listed.record.shape, listed.record.total_count) == ("json", 5)
        assert (listed.record.exit_status, listed.stored_at) == (3, NOW + 5)

    def test_other_output_gets_another_handle_even_if_only_stderr_or_the_lost_rest_differs(self, subject):
        handles = {
            subject.keep(b"a"),
            subject.keep(b"b"),
            subject.keep(b"a", b"e"),
            subject.keep(b"ab", max_bytes=1),
        }
        assert len(handles) == 4

    @pytest.mark.parametrize("name", ["", "abc", "ABCD", "../x", "zzzz", "ffffffff", "@first"])
    def test_a_name_of_nothing_is_not_found_and_the_latest_are_suggested(self, subject, name):
        handle = subject.keep()
        with pytest.raises(NotFound, match=f"the latest is {handle}"):
            subject.store.find(name)

    def test_last_is_the_output_that_was_stored_last(self, subject):
        with pytest.raises(NotFound, match="nothing has been stored yet"):
            subject.store.find("@last")
        assert subject.store.last() is None
        first = subject.keep(b"first")
        second = subject.keep(b"second")
        assert (subject.store.find("@last"), subject.store.last().handle) == (second, second)
        subject.keep(b"first")
        assert subject.store.find("@last") == first
        subject.store.remove(first)
        with pytest.raises(NotFound, match=f"removed; the latest is {second}"):
            subject.store.find("@last")

    def test_outputs_before_the_last_one_are_counted_back(self, subject):
        first, second, third = (subject.keep(b"%d" % number) for number in range(3))
        subject.keep(b"0")
        names = [subject.store.find(name) for name in ("@last", "@last-0", "@last-1", "@last-2")]
        assert names == [first, first, third, second]
        with pytest.raises(NotFound, match="there is no @last-3: only 3 outputs are known"):
            subject.store.find("@last-3")
        subject.store.remove(third)
        with pytest.raises(NotFound, match="has been removed"):
            subject.store.find("@last-1")
        for name in ("@last-", "@last-x", "@last-1-2", "@last1", "@last+1", "@last-" + "9" * 5000):
            with pytest.raises(NotFound, match="is not a handle"):
                subject.store.find(name)

    def test_the_latest_are_listed_first(self, subject):
        handles = [subject.keep(b"%d" % number, now=NOW + number) for number in range(5)]
        latest = [output.handle for output in subject.store.latest(3)]
        assert latest == handles[:1:-1]
        assert [output.handle for output in subject.store.latest(9, handles[0][:6])] == [handles[0]]

    def test_a_removed_output_is_gone_and_an_open_one_can_still_be_read(self, subject):
        handle = subject.keep(b"still here")
        output = subject.store.open(handle)
        subject.store.remove(handle)
        subject.store.remove(handle)
        assert list(subject.store.outputs()) == []
        assert subject.store.examine(handle) is None
        assert contents(output)["out"] == b"still here"
        output.close()

    def test_cleaning_removes_what_is_too_old(self, subject):
        old = subject.keep(b"old", now=NOW - 3 * DAY_SECONDS)
        new = subject.keep(b"new", now=NOW - DAY_SECONDS)
        cleaned = subject.store.clean(Retention(2, 1 << 30), NOW)
        assert [output.handle for output in cleaned.removed] == [old]
        assert [output.handle for output in subject.store.outputs()] == [new]
        assert cleaned.kept == 1

    def test_cleaning_removes_the_oldest_until_the_rest_is_small_enough(self, subject):
        handles = [subject.keep(b"%d" % n * 5000, now=NOW - (9 - n) * READ_SECONDS) for n in range(3)]
        cleaned = subject.store.clean(Retention(14, 12_000), NOW)
        assert [output.handle for output in cleaned.removed] == handles[:1]
        assert cleaned.kept_bytes <= 12_000

    def test_what_was_read_within_the_hour_is_kept(self, subject):
        handle = subject.keep(now=NOW - 30 * DAY_SECONDS)
        subject.store.open(handle).close()
        now = next(subject.store.outputs()).read_at
        assert subject.store.clean(Retention(1, 1), now + 60).kept == 1
        assert subject.store.clean(Retention(1, 1), now + READ_SECONDS + 60).kept == 0

    def test_examining_an_output_does_not_count_as_reading_it(self, subject):
        handle = subject.keep(now=NOW - 30 * DAY_SECONDS)
        subject.store.examine(handle).close()
        assert next(subject.store.outputs()).read_at == NOW - 30 * DAY_SECONDS

    @pytest.mark.parametrize("size", [2000, 3 << 20])
    def test_a_longer_output_is_read_as_it_was_and_a_shorter_one_is_damaged(self, subject, size):
        data = random.Random(7).randbytes(size)
        handle = subject.keep(data, max_bytes=64 << 20)
        subject.damage(handle, "out", data + b"more")
        output = subject.store.open(handle)
        assert contents(output)["out"] == bytes(output.streams["out"].view()[:]) == data
        assert len(output.damage) == 1
        subject.keep(data, max_bytes=64 << 20)
        assert subject.store.open(handle).damage == []
        subject.damage(handle, "out", data[:-1])
        output = subject.store.examine(handle)
        assert len(output.damage) == 1
        assert f"out of {handle} is damaged" in output.damage[0]
        assert next(subject.store.outputs()).is_damaged
        assert not output.is_whole("out")
        out = output.streams["out"]
        for use in (out.view, lambda: out.read(0, size), lambda: out.check(0, size)):
            with pytest.raises(DamagedOutput):
                use()

    @pytest.mark.parametrize("has_record", [True, False])
    def test_an_output_without_checksums_is_checked_as_a_whole_and_then_by_blocks(self, subject, has_record):
        data = bytearray(random.Random(8).randbytes(3 << 20))
        lost = b"lost" if has_record else b""
        handle = subject.keep(bytes(data) + lost, b"error", max_bytes=3 << 20)
        subject.damage(handle, "blocks", b"nothing")
        if not has_record:
            subject.damage(handle, RECORD, b"nothing")
        assert contents(subject.store.open(handle))["out"] == data
        # Now it has checksums, and a window is checked by them alone.
        known = subject.raw(handle, "blocks")
        data[0] ^= 1
        subject.damage(handle, "out", bytes(data))
        out = subject.store.open(handle).streams["out"]
        assert out.read(1 << 20, 2 << 20) == data[1 << 20 : 2 << 20]
        with pytest.raises(DamagedOutput, match="bytes 0-262143 "):
            out.read(0, 1)
        # A file that is not of this form is not believed, though its own checksum is right.
        body = known[:-4].replace(b"blocks 1", b"blocks 9")
        subject.damage(handle, "blocks", body + checksum(body))
        with pytest.raises(DamagedOutput, match="bytes 0-3145727 "):
            subject.store.open(handle).streams["out"].read(1 << 20, 2 << 20)

    def test_an_output_that_is_stored_already_needs_no_room_on_the_disk(self, subject, monkeypatch):
        data = random.Random(6).randbytes(3 << 20)
        handle = subject.keep(data, max_bytes=64 << 20)

        def full(*_):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("tokcap.core.payload.os.pwrite", full)
        recorder = Recorder(SETTINGS.replace(max_bytes=64 << 20), lambda: subject.store, lambda: NOW)
        spool = recorder.spool("out", whole=True)
        recorder.spool("err", whole=True)
        for start in range(0, len(data), 1 << 20):
            spool.write(data[start : start + (1 << 20)])
        assert spool.failure
        assert recorder.reserve().handle == handle
        recorder.commit(StoredRecord(), {})
        recorder.close()

    @pytest.mark.parametrize(
        "size", [as_nightly((1 << 18) - 1), 1 << 18, (1 << 18) + 1, as_nightly(3 << 20), as_nightly(9 << 20)]
    )
    def test_the_handle_does_not_depend_on_how_the_bytes_arrive(self, subject, size):
        data = random.Random(5).randbytes(size)
        handles = set()
        for block_bytes in (size, 1 << 16, 1 << 20, (1 << 20) + 1):
            blocks = [data[n : n + block_bytes] for n in range(0, size, block_bytes)]
            for blocks_with_a_beginning in (blocks, [data[:1], data[1:]]):
                recorder = Recorder(SETTINGS.replace(max_bytes=64 << 20), lambda: subject.store, lambda: NOW)
                spool = recorder.spool("out", whole=True)
                for block in blocks_with_a_beginning:
                    spool.write(block)
                handles.add(recorder.reserve().handle)
                recorder.close()
        assert len(handles) == 1

    @pytest.mark.parametrize("size", [2000, 3 << 20, as_nightly(9 << 20)])
    def test_storing_again_repairs_changed_bytes(self, subject, size):
        data = bytearray(random.Random(7).randbytes(size))
        handle = subject.keep(bytes(data), b"err", max_bytes=64 << 20)
        reader = subject.store.open(handle)
        right = bytes(data)
        data[size // 2] ^= 1
        subject.damage(handle, "out", bytes(data))
        subject.damage(handle, "err", b"ERR")
        with pytest.raises(DamagedOutput):
            contents(subject.store.open(handle))
        assert subject.keep(right, b"err", max_bytes=64 << 20) == handle
        assert contents(subject.store.open(handle)) == {"out": right, "err": b"err"}
        reader.close()

    def test_storing_again_repairs_a_damaged_record(self, subject):
        handle = subject.keep(b"hello", record=StoredRecord(exit_status=3))
        changed = subject.raw(handle, RECORD).replace(b'"exit_status": 3', b'"exit_status": 7')
        subject.damage(handle, RECORD, changed)
        (damage,) = subject.store.open(handle).damage
        assert damage.startswith(f"{RECORD} of {handle} is damaged")
        assert subject.keep(b"hello", record=StoredRecord(exit_status=3)) == handle
        output = subject.store.open(handle)
        assert (output.damage, output.record.exit_status) == ([], 3)

    def test_a_path_is_that_of_a_plain_file_or_none(self, subject):
        handle = subject.keep(b"plain")
        path = subject.store.open(handle).local_path("out")
        assert path is None or Path(path).read_bytes() == b"plain"
        assert (path is None) == (subject.store.local_path(handle) is None)


class BrokenStore:
    def draft(self):
        return self

    def handle_for(self, _digest):
        raise StoreError("the store is away")

    def open_file(self, _stream):
        raise StoreError("the store is away")

    def close(self):
        pass


class TestRecorder:
    def test_a_store_that_fails_costs_the_handle_and_not_the_output(self):
        recorder = Recorder(SETTINGS, BrokenStore, lambda: NOW)
        spool = recorder.spool("out", whole=True)
        spool.write(b"small")
        assert (recorder.reserve(), recorder.failure) == (None, "the store is away")
        with pytest.raises(StoreError, match="the store is away"):
            recorder.commit(StoredRecord(), {})
        assert spool.read(0, 5) == b"small"
        recorder.close()

    def test_a_store_that_fails_while_output_arrives_does_not_fill_the_memory(self):
        recorder = Recorder(SETTINGS, BrokenStore, lambda: NOW)
        spool = recorder.spool("out", whole=True)
        data = random.Random(9).randbytes(9 << 20)
        spool.write(data)
        spool.finish()
        assert recorder.reserve() is None
        assert spool.read(0, spool.size) == data
        recorder.close()


class TestChoosingAStore:
    def test_the_local_store_is_the_default(self, tmp_path):
        store = open_store(Environment({**os.environ, "TOKCAP_DATA_DIR": str(tmp_path)}))
        assert store.local_path("lake123456789") == str(tmp_path / "spill" / "la" / "lake123456789")

    @pytest.mark.parametrize(
        ("url", "said"),
        [
            ("ftp://bucket", b"must be a URL that starts with one of file://, s3://, gs://, az://"),
            ("bucket", b"must be a URL"),
            ("s3://", b"must name a bucket"),
            ("s3://someone:hunter2@bucket", b"must not contain a user or a password"),
            ("s3://bucket?speed=hunter2", b"unknown parameter; known are timeout, endpoint, region"),
            ("gs://bucket?timeout=never", b"timeout must be a number of seconds"),
            ("file://shared/hunter2", b"must have an absolute path after file://"),
        ],
    )
    def test_a_bad_url_is_refused_before_anything_runs_and_is_not_repeated(
        self, inside, with_store, tmp_path, url, said
    ):
        touched = tmp_path / "touched"
        for flags, env in ((("--store", url), {}), ((), {"TOKCAP_STORE": url})):
            ran = inside(*flags, "-n", "5", "--", "touch", str(touched), env=env)
            assert ran.status == 125
            assert said in ran.err
            assert b"hunter2" not in ran.err
            assert not touched.exists()


LINES = b"".join(b"line %d\n" % number for number in range(3000))


class TestAStoreThatIsAddedFromOutside:
    @pytest.fixture
    def call(self, inside, toy, with_store):
        return lambda *args, stdin=b"": inside(*args, stdin=stdin, env={"TOKCAP_STORE": toy})

    def test_a_run_stores_there_and_show_pages_through_it(self, call, with_store):
        ran = call("-n", "200", "-o", "json", stdin=LINES)
        meta = ran.json["meta"]
        assert ran.status == 0
        assert "spill_path" not in meta or meta["spill_path"] is None
        pages, offset = [], 0
        while offset is not None:
            page = call(
                "show", meta["handle"], "-n", "4000", "--token-offset", str(offset), "-o", "json"
            ).json
            pages += [part for part in page["data"] if part != "[TRUNCATED]"]
            offset = page["meta"].get("next_offset")
        assert "".join(pages).encode() == LINES
        assert not (with_store / "spill").exists()

    def test_the_subcommands_use_it_too(self, call):
        handle = call("-n", "200", "-o", "json", stdin=LINES).json["meta"]["handle"]
        (listed,) = call("spill", "list", "-o", "json").json["data"]
        assert (listed["handle"], listed["path"]) == (handle, None)
        path = call("spill", "path", "@last")
        assert (path.status, path.out) == (1, b"")
        assert f"tokcap show {handle}".encode() in path.err
        assert call("spill", "gc").status == 0
        assert call("spill", "rm", handle[:4]).out == f"removed {handle}\n".encode()
        assert open_toy_store("here", Environment({})).shelf == {}
