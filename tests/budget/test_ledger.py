"""The SQLite ledger with real files, many real processes, and processes that are killed."""

import json
import os
import random
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
import time

import pytest

from tests.support.processes import outputs_of
from tests.support.program import IMPORT_PATH, ROOT
from tests.support.tiers import times
from tokcap.budget.arithmetic import Settings
from tokcap.budget.ledger import SessionView
from tokcap.budget.sqlite import RETRY_SECONDS, ledger_in
from tokcap.errors import BudgetExhausted, LedgerError, SessionNotStarted, StoreError

# How many holders are killed, and how many processes use one session at a time.
KILLS = 6 * times()
PROCESSES = 8 if times() == 1 else 32


@pytest.fixture
def place(tmp_path):
    return tmp_path / "data"


@pytest.fixture
def book(place):
    return ledger_in(str(place), patience_seconds=20)


def assert_whole(place) -> None:
    """Have SQLite check every page and index of the ledger."""
    database = sqlite3.connect(os.path.join(place, "ledger.db"))
    assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    database.close()


def start_python(code: str, *args: object) -> subprocess.Popen:
    """Start a process that imports what it needs, prints `ready`, and continues when its stdin ends."""
    prelude = (
        "import json, os, sys, time\n"
        "from tokcap.budget.ledger import SessionView\n"
        "from tokcap.budget.sqlite import RETRY_SECONDS, ledger_in\n"
        "from tokcap.budget.arithmetic import Settings\n"
        "from tokcap.errors import BudgetExhausted\n"
        "book = ledger_in(sys.argv[1]); session = SessionView(book, 's')\n"
        "print('ready', flush=True); sys.stdin.read()\n"
    )
    return subprocess.Popen(
        [sys.executable, "-c", prelude + code, *map(str, args)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": IMPORT_PATH},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def begun(code: str, *args: object, says: str = "") -> subprocess.Popen:
    """Start a process, let it begin, and wait until it has said this."""
    process = start_python(code, *args)
    assert process.stdout.readline() == "ready\n"
    process.stdin.close()
    assert not says or process.stdout.readline() == f"{says}\n"
    return process


def ended(process: subprocess.Popen) -> None:
    process.kill()
    process.wait()
    process.stdout.close()


def all_at_once(code: str, *args: object, processes: int = PROCESSES) -> list:
    """Run the code in many processes that begin together; return what each printed as JSON."""
    started = [start_python(code, *args) for _ in range(processes)]
    return [*map(json.loads, outputs_of(started))]


# Many processes


def test_many_processes_start_a_session_at_once_and_never_get_more_than_its_total(place, book):
    """They ask for twice as much. What each has spent is counted, and nothing else."""
    total = PROCESSES * 50 * 10 // 2
    answers = all_at_once(
        f"""
started = book.start('s', Settings({total}))
spent, refused = 0, 0
for number in range(50):
    try:
        grant = session.reserve(10)
    except BudgetExhausted:
        refused += 1
        continue
    assert grant.account.used + grant.account.reserved <= {total}
    after = session.settle(grant, grant.tokens)
    assert after.used + after.reserved <= {total}
    spent += grant.tokens
print(json.dumps([spent, refused, started]))
""",
        place,
    )
    spent, refused, started = zip(*answers, strict=True)
    after = book.session("s").read()
    assert (sum(spent), after.used, after.reserved) == (total, total, 0)
    assert sum(refused) > 0
    assert sorted(started) == [False] * (PROCESSES - 1) + [True]
    assert_whole(place)


def test_reservations_of_killed_processes_are_freed(place, book):
    """Holders are killed at random moments: while they wait, while they write, with an open journal."""
    book.start("s", Settings(10**9))
    holders = [start_python("while True: session.settle(session.reserve(1000), 1)", place) for _ in range(4)]
    for process in holders:
        process.stdout.readline()
        process.stdin.close()
    chance = random.Random(15)
    for number in range(KILLS):
        time.sleep(chance.random() * 0.05)
        victim = holders.pop(chance.randrange(len(holders)))
        ended(victim)
        assert book.session("s").read().reserved <= 4 * 1000
        if number + len(holders) < KILLS:
            fresh = begun("while True: session.settle(session.reserve(1000), 1)", place)
            holders.append(fresh)
        if not holders:
            break
    for process in holders:
        ended(process)
    after = book.session("s").read()
    assert after.reserved == 0
    assert after.used > 0
    # A process that is killed before it writes to its journal leaves an empty one. The next step removes it.
    book.session("s").settle(None, 1)
    assert_whole(place)
    assert sorted(os.listdir(place)) == ["ledger.db", "ledger.holders"]


def test_what_a_killed_process_announced_is_used_and_the_rest_is_freed(place, book):
    book.start("s", Settings(1000))
    process = begun(
        """
first, second = session.reserve(300, turn='t'), session.reserve(200)
session.announce(first, 30); session.announce(first, 20); session.announce(first, 50)
print('holds', flush=True); time.sleep(60)
""",
        place,
        says="holds",
    )
    assert (book.session("s").read().used, book.session("s").read().reserved) == (0, 500)
    process.kill()
    # It has ended, but it is still a zombie.
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    after = book.session("s").read()
    assert (after.used, after.reserved, after.window_used, book.session("s").turn("t")) == (50, 0, 50, 50)
    assert book.session("s").read() == after, "it is counted once"
    ended(process)


# Processes see each other by their locks alone, as hosts that share a directory do


HOLDS_600 = """
grant = session.reserve(600)
session.announce(grant, 100)
print('holds', grant.tokens, flush=True)
time.sleep(60)
"""


def test_holders_do_not_take_each_other_for_dead(place, book):
    book.start("s", Settings(1000))
    hosts = []
    for number in (1, 2, 3):
        host = begun(HOLDS_600, place)
        hosts.append(host)
        if number < 3:
            assert host.stdout.readline() == f"holds {(600, 400)[number - 1]}\n"
    assert hosts[2].stdout.readline() == "", "nothing is left for the third one"
    assert book.session("s").read().reserved == 1000
    with pytest.raises(BudgetExhausted, match="1000 are reserved"):
        book.session("s").reserve(1)
    ended(hosts[0])
    after = book.session("s").read()
    assert (after.used, after.reserved) == (100, 400), "a dead one is free at once, wherever it ran"
    ended(hosts[1])
    ended(hosts[2])
    assert (book.session("s").read().used, book.session("s").read().reserved) == (200, 0)


def test_this_process_keeps_its_lock_while_it_looks_at_others_and_after_a_fork(place, book):
    book.start("s", Settings(1000))
    session = SessionView(book, "s")
    other = begun(HOLDS_600, place)
    other.stdout.readline()
    first, second = session.reserve(100), session.reserve(100)
    session.settle(first, 1)
    if not (child := os.fork()):
        session.settle(session.reserve(5), 5)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    watcher = begun("print(session.read().reserved, flush=True)", place)
    assert watcher.stdout.readline() == "700\n"
    watcher.wait()
    watcher.stdout.close()
    ended(other)
    assert session.settle(second, 1).reserved == 0


def test_a_process_whose_data_directory_was_removed_is_seen_in_the_new_one(place, book):
    for _ in range(2):
        book.start("s", Settings(1000))
        grant = book.session("s").reserve(100)
        watcher = begun("print(session.read().reserved, flush=True)", place, says="100")
        watcher.wait()
        watcher.stdout.close()
        book.session("s").settle(grant, 1)
        shutil.rmtree(place)


# The file


@pytest.fixture(params=[0o000, 0o022, 0o077, 0o777], ids=oct)
def umask(request):
    before = os.umask(request.param)
    yield
    os.umask(before)


def modes(place) -> dict[str, int]:
    return {path.name: stat.S_IMODE(path.lstat().st_mode) for path in [place, *place.iterdir()]}


def test_only_the_owner_reads_the_ledger(umask, place, book):
    book.start("s", Settings(1000))
    assert modes(place) == {"data": 0o700, "ledger.db": 0o600}
    grant = book.session("s").reserve(10)
    assert modes(place) == {"data": 0o700, "ledger.db": 0o600, "ledger.holders": 0o600}
    book.session("s").settle(grant, 1)


def test_a_ledger_that_others_can_read_is_made_private(place, book):
    book.start("s", Settings(1000))
    (place / "ledger.db").chmod(0o644)
    book.session("s").read()
    assert modes(place) == {"data": 0o700, "ledger.db": 0o600}


def test_special_characters_in_a_path_are_not_read_as_a_uri(tmp_path):
    book = ledger_in(str(tmp_path / "a?mode=memory#x%20 é"))
    book.start("s", Settings(7))
    assert book.session("s").read().total == 7
    assert (tmp_path / "a?mode=memory#x%20 é" / "ledger.db").stat().st_size > 0


def test_a_symbolic_link_is_not_followed(tmp_path, place, book):
    elsewhere = ledger_in(str(tmp_path / "elsewhere"))
    elsewhere.start("s", Settings(1000))
    place.mkdir(mode=0o700)
    (place / "ledger.db").symlink_to(tmp_path / "elsewhere" / "ledger.db")
    for use in (lambda: book.session("s").read(), lambda: book.start("t", Settings())):
        with pytest.raises(StoreError, match="symbolic link"):
            use()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory to somebody else")
def test_a_directory_of_another_user_is_refused(place, book):
    book.start("s", Settings(1000))
    os.chown(place, 12345, -1)
    with pytest.raises(StoreError, match="belongs to another user"):
        book.session("s").read()


def garbage(path):
    path.write_bytes(b"these are not the tables you are looking for\n" * 500)


def emptied(path):
    path.write_bytes(b"")


def cut_by_a_byte(path):
    path.write_bytes(path.read_bytes()[:-1])


def of_a_newer_version(path):
    with sqlite3.connect(path) as database:
        database.execute("UPDATE rows SET value = '{\"version\": 99}' WHERE key = 'meta'")
    database.close()


def of_another_program(path):
    path.unlink()
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE cookies (crumbs)")
    database.close()


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (garbage, "is damaged"),
        (emptied, "is damaged"),
        (cut_by_a_byte, "is damaged"),
        (of_a_newer_version, "newer tokcap"),
        (of_another_program, "not a tokcap ledger"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_an_unusable_ledger_is_reported_in_one_line_and_stays_unchanged(damage, words, place, book):
    book.start("s", Settings(1000))
    path = place / "ledger.db"
    damage(path)
    path.chmod(0o600)
    os.utime(path, (1_000_000_000, 1_000_000_000))
    before = path.read_bytes()
    session = SessionView(book, "s")
    for use in (
        lambda: session.reserve(10),
        lambda: session.settle(None, 10),
        lambda: session.record(1, 1),
        lambda: session.read(),
        lambda: book.start("s", Settings(1000)),
        lambda: book.start("t", Settings(1000)),
        lambda: book.list(),
    ):
        with pytest.raises(LedgerError, match=words) as refused:
            use()
        assert str(path) in str(refused.value)
        assert "\n" not in str(refused.value)
        assert (refused.value.code, refused.value.exit_status) == ("STORE_ERROR", 125)
    assert path.read_bytes() == before
    assert path.stat().st_mtime == 1_000_000_000
    assert os.listdir(place) == ["ledger.db"]


def test_a_ledger_that_stays_locked_is_reported_in_one_line(place):
    ledger_in(str(place)).start("s", Settings(1000))
    impatient = ledger_in(str(place), patience_seconds=0.2)
    before = (place / "ledger.db").read_bytes()
    database = sqlite3.connect(place / "ledger.db", isolation_level=None)
    try:
        for lock in ("EXCLUSIVE", "IMMEDIATE"):
            database.execute(f"BEGIN {lock}")
            with pytest.raises(LedgerError, match=r"locked by another process for 0\.2 seconds"):
                impatient.session("s").reserve(10)
            database.execute("ROLLBACK")
    finally:
        database.close()
    assert (place / "ledger.db").read_bytes() == before
    assert impatient.session("s").reserve(10).tokens == 10


@pytest.mark.parametrize("lock", ["DEFERRED", "IMMEDIATE", "EXCLUSIVE"])
def test_a_step_waits_for_a_process_that_reads_or_writes(lock, place, book):
    book.start("s", Settings(1000))
    database = sqlite3.connect(place / "ledger.db", isolation_level=None, check_same_thread=False)
    database.execute(f"BEGIN {lock}")
    database.execute("SELECT * FROM rows").fetchall()
    leave = threading.Timer(10 * RETRY_SECONDS, lambda: database.execute("ROLLBACK"))
    leave.start()
    assert book.session("s").reserve(10).tokens == 10
    leave.join()
    database.close()


def test_a_process_killed_while_it_writes_changes_nothing(place, book):
    book.start("s", Settings(1000))
    process = begun(
        """
import sqlite3
connection = sqlite3.connect(sys.argv[1] + "/ledger.db", isolation_level=None)
for statement in ("PRAGMA cache_size = 1", "PRAGMA cache_spill = 1", "BEGIN IMMEDIATE", "DELETE FROM rows"):
    connection.execute(statement)
for number in range(2000):
    connection.execute("INSERT INTO rows VALUES (?, ?, 1)", (f"x{number}", "x" * 200))
print('inside', flush=True)
time.sleep(60)
""",
        place,
        says="inside",
    )
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    assert (place / "ledger.db-journal").stat().st_size > 0, "it was not killed while its journal was open"
    assert book.session("s").read().used == 0
    assert_whole(place)
    assert os.listdir(place) == ["ledger.db"]


def test_an_unusable_directory_is_reported_in_one_line(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    for place in ("file", "file/data"):
        with pytest.raises(StoreError, match=r"Not a directory|File exists"):
            ledger_in(str(tmp_path / place)).start("s", Settings(1000))
        with pytest.raises((StoreError, SessionNotStarted)):
            ledger_in(str(tmp_path / place)).session("s").reserve(1)


def test_a_ledger_that_was_replaced_while_a_command_ran_is_used_and_not_the_old_one(place, book):
    book.start("s", Settings(total=1000))
    grant = book.session("s").reserve(100)
    old = place / "old.db"
    (place / "ledger.db").rename(old)
    before = old.read_bytes()
    with pytest.raises(SessionNotStarted):
        book.session("s").settle(grant, 50)
    book.start("s", Settings(total=2000))
    assert book.session("s").settle(grant, 50) == book.session("s").read()
    assert (book.session("s").read().total, book.session("s").read().used) == (2000, 50)
    assert old.read_bytes() == before
