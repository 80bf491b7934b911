"""No reader sees a partial output, no file of others is touched, and no output is lost if the store fails."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import nullcontext

import pytest

from tests.support.processes import wait_for
from tests.support.tiers import times
from tokcap.environment import Environment
from tokcap.errors import StoreError
from tokcap.store import open_store
from tokcap.store.base import Retention, StoredRecord
from tokcap.store.cleaning import DAY_SECONDS
from tokcap.store.local import LocalStore
from tokcap.store.local_layout import CLEAN_SECONDS, Layout
from tokcap.store.recorder import Recorder, RecorderSettings

pytestmark = pytest.mark.usefixtures("with_store")

LINES = b"".join(b"%d\n" % number for number in range(3000))


def store_of(data):
    # With the variables of the test, so that the spare directory is that of the test too.
    return open_store(Environment({**os.environ, "TOKCAP_DATA_DIR": str(data)}))


def start(*args, **options) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-m", "tokcap", *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options
    )


class TestManyAtOnce:
    def test_many_processes_can_store_in_a_new_directory_at_once(self, with_store):
        """All succeed, equal outputs are stored once, and every visible output is complete."""
        running = [start("-n", "50", "--", "seq", "1", str(1000 + number % 8)) for number in range(16)]
        seen = set()
        while any(process.poll() is None for process in running):
            for entry in (with_store / "spill").glob("[a-z][a-z]/*"):
                seen.add(entry.name)
                record = json.loads((entry / "record.json").read_text())
                assert (entry / "out").stat().st_size == record["stored_bytes"]["out"]
        results = [(process.returncode, *process.communicate()) for process in running]
        assert {(status, err) for status, _, err in results} == {(0, b"")}
        assert len({out for _, out, _ in results}) == 8
        assert len(list(store_of(with_store).outputs())) == 8
        assert seen <= {entry.handle for entry in store_of(with_store).outputs()}
        assert not list((with_store / "spill").glob(".new-*"))

    def test_killed_processes_that_store_the_same_output_leave_it_right(self, with_store, inside):
        """It is long enough to be replaced file by file, and each time a byte of it is changed before."""
        chance = random.Random(8)
        script = "[print(i, 'x' * 50) for i in range(160_000)]"
        expected = b"".join(b"%d %s\n" % (number, b"x" * 50) for number in range(160_000))
        handle = inside("-n", "200", "-o", "json", stdin=expected).json["meta"]["handle"]
        out = with_store / "spill" / handle[:2] / handle / "out"
        for _ in range(2 * times()):
            with open(out, "r+b") as file:
                file.seek(chance.randrange(len(expected)))
                file.write(b"?")
            process = start("-n", "50", "--", sys.executable, "-c", script)
            time.sleep(chance.uniform(0.1, 0.5))
            process.kill()
            process.communicate()
            shown = inside("show", handle, "-n", "100000000")
            assert (shown.status, shown.out) in ((0, expected), (125, b""))
        assert inside("-n", "200", "-o", "json", stdin=expected).json["meta"]["handle"] == handle
        assert inside("show", handle, "-n", "100000000").out == expected

    def test_leftovers_of_killed_runs_are_removed_and_active_drafts_are_kept(self, with_store):
        spill = with_store / "spill"
        script = "import sys, time; sys.stdout.write('x\\n' * 6_000_000); sys.stdout.flush(); time.sleep(60)"
        writing = start("-n", "50", "--", sys.executable, "-c", script)
        killed = start("-n", "50", "--", sys.executable, "-c", script)
        try:
            wait_for(lambda: len(list(spill.glob(".new-*/out"))) == 2)
            killed.kill()
            killed.wait()
            (spill / ".new-file").write_bytes(b"half an index")
            store, now = store_of(with_store), time.time()
            assert store.clean(Retention(14, 2 << 30), now).left_overs == 0, "they are too young"
            # The output of a killed run can be read for a day, if it had got a name.
            assert store.clean(Retention(14, 2 << 30), now + 2 * DAY_SECONDS).left_overs == 2
            assert len(list(spill.glob(".new-*/out"))) == 1
        finally:
            for process in (writing, killed):
                process.kill()
                process.communicate()


class TestRetention:
    @pytest.fixture
    def aged(self, inside, with_store):
        """Four outputs of about 14 KB, stored 4, 3, 2 and 1 days ago and not read since."""
        handles = []
        now = time.time()
        for days in (4, 3, 2, 1):
            data = LINES + b"%d" % days
            handle = inside("--token-count", "--spill", "always", "-o", "json", stdin=data).json["meta"][
                "handle"
            ]
            entry = with_store / "spill" / handle[:2] / handle
            then = now - days * DAY_SECONDS
            os.utime(entry / "out", (then, then))
            os.utime(entry, (then, then))
            handles.append(handle)
        return handles

    def left(self, data):
        return {entry.handle for entry in store_of(data).outputs()}

    def test_an_output_with_a_future_time_ages_from_now_on(self, aged, with_store):
        entry = with_store / "spill" / aged[3][:2] / aged[3]
        future = time.time() + 400 * DAY_SECONDS
        os.utime(entry / "out", (future, future))
        os.utime(entry, (future, future))
        store_of(with_store).clean(Retention(2, 2 << 30), time.time())
        assert aged[3] in self.left(with_store)
        store_of(with_store).clean(Retention(2, 2 << 30), time.time() + 3 * DAY_SECONDS)
        assert aged[3] not in self.left(with_store)

    def test_storing_cleans_from_time_to_time(self, aged, with_store):
        store, rules, now = store_of(with_store), Retention(2, 2 << 30), time.time()
        store.clean_if_due(rules, 100, now)
        assert len(self.left(with_store)) == 4, "not yet"
        store.clean_if_due(rules, 100, now + CLEAN_SECONDS + 1)
        assert self.left(with_store) == set(aged[3:])

    def test_a_clock_that_went_back_does_not_stop_cleaning(self, aged, with_store):
        (with_store / "spill" / ".cleaned").write_text("99999999999 0\n")
        store_of(with_store).clean_if_due(Retention(2, 2 << 30), 1, time.time())
        assert self.left(with_store) == set(aged[3:])

    def test_gc_follows_the_settings_and_reports_what_it_removed(self, aged, inside, with_store):
        ran = inside("spill", "gc", env={"TOKCAP_SPILL_DAYS": "2"})
        assert ran.out.startswith(b"removed 3 (")
        assert self.left(with_store) == set(aged[3:])
        data = inside("spill", "gc", "-o", "json").json["data"]
        assert (data["removed"], data["kept"]) == ([], 1)


class TestDamage:
    @pytest.fixture
    def entry(self, inside, with_store):
        handle = inside("-n", "200", "-o", "json", stdin=LINES).json["meta"]["handle"]
        inside("-n", "50", stdin=LINES + b"other")
        return with_store / "spill" / handle[:2] / handle

    def test_a_damaged_index_is_reported_and_made_again(self, entry, inside):
        whole = (entry / "index-cl100k_base").read_bytes()
        for damage in (
            b"",
            whole[:-1],
            # One in the sizes, one in the token numbers of the positions, one in the checksum.
            *(
                whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :]
                for at in (20, len(whole) // 2, len(whole) - 1)
            ),
            whole * 2,
            b"x" * 1000,
        ):
            (entry / "index-cl100k_base").write_bytes(damage)
            shown = inside("show", entry.name, "-n", "200", "--token-offset", "1000")
            assert f"index-cl100k_base of {entry.name} is damaged".encode() in shown.err
            again = inside("show", entry.name, "-n", "200", "--token-offset", "1000")
            # The warning is inside the limit, so the window with it is a little shorter.
            assert again.out.startswith(shown.out.partition(b"[TRUNCATED]")[0])
            assert again.err == b""


class TestAStoreThatFails:
    """Output and status are unchanged. There is one warning and no handle."""

    def test_spill_always_also_gives_a_warning(self, tokcap, with_store):
        with_store.write_text("in the way")
        ran = tokcap("--spill", "always", "--", "sh", "-c", "echo all; exit 3")
        assert (ran.status, ran.out) == (3, b"all\n")
        assert ran.err.startswith(b"tokcap: warning: the output was not stored: ")


def test_an_interrupted_run_stores_the_output_so_far(with_store, inside, tmp_path):
    script = f"seq 1 3000; touch {tmp_path}/written; exec sleep 60"
    process = start("-n", "60", "--", "sh", "-c", script, start_new_session=True)
    while not (tmp_path / "written").exists():
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)
    out, _ = process.communicate(timeout=20)
    assert process.returncode == 130
    assert b"; tokcap show" in out
    assert inside("show", "@last", "--token-count").out == b"8001\n"


class TestLinksAndStrangers:
    """No symbolic link leads tokcap to read, write or remove files outside the data directory."""

    @pytest.fixture
    def precious(self, tmp_path, with_store):
        (tmp_path / "precious").mkdir()
        for name in ("x1", "out"):
            (tmp_path / "precious" / name).write_bytes(b"kept")
            os.utime(tmp_path / "precious" / name, (1, 1))
        (with_store / "spill" / "ab").mkdir(parents=True)
        return tmp_path / "precious"

    def untouched(self, precious):
        return sorted(path.name for path in precious.iterdir()) == ["out", "x1"]

    def test_removal_does_not_follow_a_link_inside_an_output(self, precious, with_store, inside):
        handle = inside("-n", "200", "-o", "json", stdin=LINES).json["meta"]["handle"]
        entry = with_store / "spill" / handle[:2] / handle
        (entry / "planted").symlink_to(precious)
        (entry / "below").mkdir()
        (entry / "below" / "file").write_bytes(b"")
        assert inside("spill", "rm", handle).status == 0
        assert self.untouched(precious)
        assert not list((with_store / "spill").glob(".new-*"))

    def test_a_shared_data_directory_keeps_its_mode(self, with_store, inside):
        with_store.mkdir()
        with_store.chmod(0o755)
        assert inside("-n", "50", stdin=LINES).err == b""
        assert with_store.stat().st_mode & 0o777 == 0o755
        assert (with_store / "spill").stat().st_mode & 0o777 == 0o700


class TestEntriesThatHeal:
    def test_cleaning_keeps_an_output_that_is_stored_again_meanwhile(self, inside, with_store):
        handle = inside("-n", "200", "-o", "json", stdin=LINES).json["meta"]["handle"]
        entry = with_store / "spill" / handle[:2] / handle
        layout, now = Layout(str(with_store)), time.time()
        stale = next(store_of(with_store).outputs()).replace(stored_at=1, read_at=1)
        # The decision was made from an old listing; it is checked again before the removal.
        directory = layout.directory_of(stale.handle)
        assert layout.remove(directory, unless=lambda found: now - found.stored_at < 60) is False
        # It may also be stored between that check and the removal.
        used = iter((False, True))
        assert layout.remove(directory, unless=lambda _: next(used)) is False
        assert entry.is_dir()

    @pytest.mark.parametrize("size", [10, 9 << 20])
    def test_another_output_under_the_same_handle_is_never_replaced(self, tmp_path, monkeypatch, size):
        store = LocalStore(str(tmp_path / "data"))
        monkeypatch.setattr(store, "handle_for", lambda _: "lake917365018")
        settings = RecorderSettings(64 << 20, 1000, 14, 1 << 30)
        for byte in (b"a", b"b"):
            recorder = Recorder(settings, lambda: store, time.time)
            recorder.spool("out", whole=True).write(byte * size)
            with nullcontext() if byte == b"a" else pytest.raises(StoreError, match="is another output"):
                recorder.commit(StoredRecord(), {})
            recorder.close()
        assert store.open("lake917365018").streams["out"].read(0, 5) == b"aaaaa"

    def test_an_unreadable_stderr_does_not_hide_the_output(self, inside, with_store):
        ran = inside("-n", "240", "-o", "json", "--", "sh", "-c", "seq 0 2999; echo e >&2")
        handle = ran.json["meta"]["handle"]
        err = with_store / "spill" / handle[:2] / handle / "err"
        err.unlink()
        err.mkdir()
        shown = inside("show", handle, "-n", "100000")
        assert (shown.status, shown.out) == (0, LINES)
        assert b"err of" in shown.err
        assert inside("show", handle, "--stream", "err").status == 1

    def test_if_the_last_handle_cannot_be_written_the_output_is_stored_anyway(self, inside, with_store):
        inside("-n", "50", stdin=LINES)
        (with_store / "spill" / "last").unlink()
        (with_store / "spill" / "last").mkdir()
        ran = inside("-n", "50", stdin=LINES + b"x")
        assert ran.err == b""
        assert b"tokcap show" in ran.out


def test_no_output_is_lost_if_the_data_directory_has_an_odd_name(tokcap, tmp_path):
    odd = os.fsdecode(os.fsencode(str(tmp_path)) + b"/\xff\n dir")
    for args in (["-n", "210", "-o", "json"], ["-n", "210"]):
        ran = tokcap(*args, "--", "seq", "1000", env={"TOKCAP_DATA_DIR": odd})
        assert ran.status == 0
    for args in (["show", "@last", "-n", "210", "-o", "json"], ["spill", "list", "-o", "json"]):
        assert tokcap(*args, env={"TOKCAP_DATA_DIR": odd}).json["ok"] is True


def test_a_draft_without_an_output_leaves_nothing(tmp_path):
    root = tmp_path / "data" / "spill"
    root.mkdir(parents=True, mode=0o700)
    draft = LocalStore(str(tmp_path / "data"), str(tmp_path / "spare")).draft()
    assert os.listdir(root) == []
    os.close(draft.open_file("out"))
    assert len(os.listdir(root)) == 1
    draft.close()
    assert os.listdir(root) == []


CUT_SHORT = """
import os, sys
from tokcap.__main__ import call
from tokcap.environment import Environment
from tokcap.store.local import LocalFile

view = LocalFile.view

def cut_short(file, size):
    found = view(file, size)
    os.truncate(file._path, 100)
    return found

LocalFile.view = cut_short
sys.exit(call(sys.argv[1:], Environment(os.environ)))
"""


@pytest.mark.parametrize(
    "words", [["--pointer", "/90000"], ["--keep", "tail"], ["-o", "json"], ["--mode", "table"]]
)
def test_a_stored_file_that_is_cut_while_it_is_read_ends_no_reader(tokcap, with_store, words):
    records = b"[0" + b"".join(b',\n{"number": %d}' % number for number in range(100_000)) + b"]\n"
    tokcap("-n", "50", stdin=records)
    words = ["show", "@last", "-n", "300", "--token-offset", "40000", *words]
    expected = tokcap(*words)
    ran = subprocess.run([sys.executable, "-c", CUT_SHORT, *words], capture_output=True, check=False)
    is_damaged = ran.returncode == 125 and b"is damaged" in ran.stdout + ran.stderr
    assert is_damaged or (ran.returncode, ran.stderr) == (0, expected.err)
