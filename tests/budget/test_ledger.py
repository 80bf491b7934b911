"""The SQLite ledger with real files, many real processes, and processes that are killed."""

import itertools
import json
import math
import os
import random
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
import time

import pytest

from tests.support.program import IMPORT_PATH, ROOT
from tests.support.tiers import times
from tokcap.budget import holder, tables
from tokcap.budget.arithmetic import Settings
from tokcap.budget.base import SessionView, session_name
from tokcap.budget.database import RETRY_SECONDS
from tokcap.budget.sqlite import SqliteLedger
from tokcap.errors import BudgetExhausted, LedgerError, SessionNotStarted, StoreError, UsageError

# How many holders are killed, and how many processes use one session at a time.
KILLS = 6 * times()
PROCESSES = 8 if times() == 1 else 32


@pytest.fixture
def place(tmp_path):
    return tmp_path / "data"


@pytest.fixture
def book(place):
    return SqliteLedger(str(place), patience_seconds=20)


def assert_whole(place) -> None:
    """Have SQLite check every page and index of the ledger."""
    database = sqlite3.connect(os.path.join(place, "ledger.db"))
    assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    database.close()


def start_python(code: str, *args: object) -> subprocess.Popen:
    """Start a process that imports what it needs, prints `ready`, and continues when its stdin ends."""
    prelude = (
        "import json, os, sys, time\n"
        "from tokcap.budget.base import SessionView\n"
        "from tokcap.budget.sqlite import SqliteLedger\n"
        "from tokcap.budget.arithmetic import Settings\n"
        "from tokcap.errors import BudgetExhausted\n"
        "book = SqliteLedger(sys.argv[1]); session = SessionView(book, 's')\n"
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


def all_at_once(code: str, *args: object, processes: int = PROCESSES) -> list:
    """Run the code in many processes that begin together; return what each printed as JSON."""
    started = [start_python(code, *args) for _ in range(processes)]
    for process in started:
        assert process.stdout.readline() == "ready\n"
    for process in started:
        process.stdin.close()
    answers = [process.stdout.read() for process in started]
    for process in started:
        process.stdout.close()
    assert [process.wait() for process in started] == [0] * processes
    return [json.loads(answer) for answer in answers]


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
    after = book.read("s")
    assert (sum(spent), after.used, after.reserved) == (total, total, 0)
    assert sum(refused) > 0
    assert sorted(started) == [False] * (PROCESSES - 1) + [True]
    with sqlite3.connect(place / "ledger.db") as database:
        grants = sum(map(math.ceil, (one / 10 for one in spent)))
        assert database.execute("SELECT count(*), sum(tokens) FROM events").fetchone() == (grants, total)
    database.close()
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
        victim.kill()
        victim.wait()
        victim.stdout.close()
        assert book.read("s").reserved <= 4 * 1000
        if number + len(holders) < KILLS:
            fresh = start_python("while True: session.settle(session.reserve(1000), 1)", place)
            fresh.stdout.readline()
            fresh.stdin.close()
            holders.append(fresh)
        if not holders:
            break
    for process in holders:
        process.kill()
        process.wait()
        process.stdout.close()
    after = book.read("s")
    assert after.reserved == 0
    assert after.used > 0
    # A process that is killed before it writes to its journal leaves an empty one. The next step removes it.
    book.settle("s", None, 1)
    assert_whole(place)
    assert sorted(os.listdir(place)) == ["ledger.db", "ledger.holders"]


def test_what_a_killed_process_announced_is_used_and_the_rest_is_freed(place, book):
    book.start("s", Settings(1000))
    process = start_python(
        """
first, second = session.reserve(300, turn='t'), session.reserve(200)
session.announce(first, 30); session.announce(first, 20); session.announce(first, 50)
print('holds', flush=True); time.sleep(60)
""",
        place,
    )
    process.stdout.readline()
    process.stdin.close()
    assert process.stdout.readline() == "holds\n"
    assert (book.read("s").used, book.read("s").reserved) == (0, 500)
    process.kill()
    process.wait()
    process.stdout.close()
    after = book.read("s")
    assert (after.used, after.reserved, after.window_used, book.turn("s", "t")) == (50, 0, 50, 50)
    assert book.read("s") == after, "it is counted once"


def test_a_holder_that_only_seemed_dead_is_counted_with_what_it_settles(book, monkeypatch):
    """A machine that was cut off from a shared directory has lost its locks, and goes on."""
    book.start("s", Settings(1000))
    here = holder.this_process()
    with monkeypatch.context() as patch:
        patch.setattr(tables, "this_process", lambda: here.but(boot="another"))
        patch.setattr(tables, "hold", lambda path, reservation: 7)
        grants = [book.reserve("s", 100, turn="t") for _ in range(3)]
        for grant in grants[:2]:
            book.announce("s", grant, 80)
    assert (book.read("s").used, book.turn("s", "t")) == (160, 160)
    assert book.settle("s", grants[0], 70).used == 150
    assert book.settle("s", grants[1], 95).used == 165
    assert (book.read("s").used, book.turn("s", "t")) == (165, 165)
    assert book.settle("s", grants[1], 5).used == 165, "it is settled once"
    book.reset("s")
    assert book.settle("s", grants[2], 30).used == 195, "it belongs to the session that made it"
    assert book.read("s").used == 0


# Hosts that share a directory


def on_another_host(code: str, place, number: int = 1) -> subprocess.Popen:
    """Start a process that sees itself on another machine, by the boot of that."""
    prelude = (
        "from tokcap.budget import holder\n"
        f"holder.boot_id = lambda: 'boot-of-host-{number}'\n"
        "holder.pid_namespace = lambda: 'pid:[4026531836]'\n"
    )
    return start_python(prelude + code, place)


HOLDS_600 = """
grant = session.reserve(600)
session.announce(grant, 100)
print('holds', grant.tokens, flush=True)
time.sleep(60)
"""


def ended(process: subprocess.Popen) -> None:
    process.kill()
    process.wait()
    process.stdout.close()


def test_two_hosts_that_share_a_directory_do_not_take_each_other_for_dead(place, book):
    book.start("s", Settings(1000))
    hosts = []
    for number in (1, 2, 3):
        host = on_another_host(HOLDS_600, place, number)
        host.stdout.readline()
        host.stdin.close()
        hosts.append(host)
        if number < 3:
            assert host.stdout.readline() == f"holds {(600, 400)[number - 1]}\n"
    assert hosts[2].stdout.readline() == "", "nothing is left for the third one"
    assert book.read("s").reserved == 1000
    with pytest.raises(BudgetExhausted, match="1000 are reserved"):
        book.reserve("s", 1)
    ended(hosts[0])
    after = book.read("s")
    assert (after.used, after.reserved) == (100, 400), "a dead one is free at once, wherever it ran"
    ended(hosts[1])
    ended(hosts[2])
    assert (book.read("s").used, book.read("s").reserved) == (200, 0)


def test_this_process_keeps_its_lock_while_it_looks_at_others_and_after_a_fork(place, book):
    book.start("s", Settings(1000))
    session = SessionView(book, "s")
    other = on_another_host(HOLDS_600, place)
    other.stdout.readline()
    other.stdin.close()
    other.stdout.readline()
    first, second = session.reserve(100), session.reserve(100)
    session.settle(first, 1)
    if not (child := os.fork()):
        session.settle(session.reserve(5), 5)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    watcher = on_another_host("print(session.read().reserved, flush=True)", place, 2)
    watcher.stdout.readline()
    watcher.stdin.close()
    assert watcher.stdout.readline() == "700\n"
    watcher.wait()
    watcher.stdout.close()
    ended(other)
    before = len(os.listdir("/dev/fd"))
    assert session.settle(second, 1).reserved == 0
    # The file of holders, and the connection.
    assert len(os.listdir("/dev/fd")) == before - 2, "without reservations, nothing stays open"


def test_a_reservation_of_another_host_without_a_lock_is_of_an_earlier_boot(book, monkeypatch):
    book.start("s", Settings(1000))
    here = holder.this_process()
    with monkeypatch.context() as patch:
        patch.setattr(tables, "this_process", lambda: here.but(boot="another"))
        patch.setattr(tables, "hold", lambda path, reservation: 7)
        book.reserve("s", 600)
    assert book.read("s").reserved == 0


def test_a_reservation_lives_as_long_as_its_process(place, book):
    book.start("s", Settings(1000))
    process = start_python("session.reserve(1000); print('holds', flush=True); time.sleep(60)", place)
    process.stdout.readline()
    process.stdin.close()
    assert process.stdout.readline() == "holds\n"
    with pytest.raises(BudgetExhausted, match="1000 are reserved"):
        book.reserve("s", 1)
    process.kill()
    # It has ended, but it is still a zombie.
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert book.reserve("s", 1000).tokens == 1000
    process.wait()
    process.stdout.close()


def test_a_reused_process_id_does_not_keep_a_reservation(book, monkeypatch):
    book.start("s", Settings(1000))
    here = holder.this_process()
    with monkeypatch.context() as patch:
        patch.setattr(tables, "this_process", lambda: here.but(started=here.started - 1))
        book.reserve("s", 1000)
    assert book.read("s").reserved == 0


def test_who_cannot_be_seen_is_gone_without_a_lock(place):
    here = holder.this_process()
    path = str(place / "ledger.holders")
    assert not holder.is_gone(here, here, path)
    for other in (here.but(boot="another"), here.but(pid=2**22 + 1, namespace="pid:[1]")):
        assert holder.is_gone(other.but(place=7), here, path)


def test_without_start_times_the_process_id_alone_counts(place):
    here = holder.Holder(os.getpid())
    path = str(place / "ledger.holders")
    assert not holder.is_gone(here, here, path)
    assert holder.is_gone(here.but(pid=2**22 + 1), here, path)


def test_a_fork_and_threads_use_the_ledger_of_their_process(book):
    book.start("s", Settings(10_000))
    session = SessionView(book, "s")
    grant = session.reserve(100)
    child = os.fork()
    if not child:
        session.settle(session.reserve(5), 5)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    threads = [
        threading.Thread(target=lambda: session.settle(session.reserve(10), 10), daemon=True)
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    after = session.settle(grant, 100)
    assert (after.used, after.reserved) == (185, 0)


# Sessions


def test_a_session_that_was_never_started_says_how_to_start_it(place, book):
    for use in (
        lambda: book.reserve("work", 1),
        lambda: book.read("work"),
        lambda: book.record("work", 1, 1),
        lambda: book.end("work"),
        lambda: book.reset("work"),
    ):
        with pytest.raises(SessionNotStarted, match="tokcap budget start work --total N") as refused:
            use()
        assert refused.value.exit_status == 125
    assert book.list() == []
    assert not place.exists(), "a step that only reads has created something"
    book.start("other", Settings())
    with pytest.raises(SessionNotStarted, match="tokcap budget start work --total N"):
        book.reserve("work", 1)


def test_a_grant_that_outlives_its_session_is_charged_to_that_session(place, book):
    book.start("s", Settings(1000))
    session = SessionView(book, "s")
    grant = session.reserve(100)
    book.reset("s")
    session.settle(grant, 70)
    assert session.read().used == 0
    with sqlite3.connect(place / "ledger.db") as database:
        assert database.execute("SELECT used FROM sessions ORDER BY id").fetchall() == [(70,), (0,)]
    database.close()


def test_sessions_are_listed_in_order_of_their_start_even_if_the_clock_jumps(place):
    clock = itertools.count(2_000_000_000, -100_000)
    book = SqliteLedger(str(place), now=lambda: float(next(clock)))
    for name in ("c", "a", "b"):
        book.start(name, Settings(100))
        session = SessionView(book, name)
        session.settle(session.reserve(10), 10)
    book.end("a")
    listed = book.list()
    assert [entry.name for entry in listed] == ["c", "b"]
    assert [entry.account.used for entry in listed] == [10, 10]
    assert listed[0].created > listed[1].created


@pytest.mark.parametrize("name", ["a", "A-1_b.c", "user@host:7+x", "x" * 100])
def test_names_of_sessions_are_plain_words(name):
    assert session_name(name) == name


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        ".a",
        "../../x",
        "a/b",
        "a\0b",
        "a b",
        "a\nb",
        "-a",
        "é",
        "a'b",
        "$x",
        "\udcff",
        "x" * 101,
        "x" * 10_240,
    ],
)
def test_other_names_are_refused(name, place, book):
    for use in (
        lambda: book.start(name, Settings()),
        lambda: SessionView(book, name),
        lambda: book.end(name),
    ):
        with pytest.raises(UsageError) as refused:
            use()
        assert len(str(refused.value)) < 600
    assert not place.exists()


@pytest.mark.parametrize("key", ["", "a\0b", "\udcff", "x" * 1001])
def test_keys_and_turns_that_no_database_can_hold_are_refused(key, book):
    book.start("s", Settings())
    with pytest.raises(UsageError, match="a key must be"):
        book.record("s", 1, 1, key=key)
    with pytest.raises(UsageError, match="a turn must be"):
        book.reserve("s", 1, turn=key)


# The file


@pytest.fixture(params=[0o000, 0o022, 0o077, 0o777], ids=oct)
def umask(request):
    before = os.umask(request.param)
    yield
    os.umask(before)


def modes(place) -> dict[str, int]:
    return {path.name: stat.S_IMODE(path.lstat().st_mode) for path in [place, *place.iterdir()]}


def test_only_the_owner_reads_the_ledger_and_its_journal(umask, place, book):
    book.start("s", Settings(1000))
    assert modes(place) == {"data": 0o700, "ledger.db": 0o600}
    with book.transaction("s") as step:
        step.run("UPDATE sessions SET used = 1")
        assert modes(place) == {"data": 0o700, "ledger.db": 0o600, "ledger.db-journal": 0o600}
    assert modes(place) == {"data": 0o700, "ledger.db": 0o600}


def test_a_ledger_that_others_can_read_is_made_private(place, book):
    book.start("s", Settings(1000))
    (place / "ledger.db").chmod(0o644)
    book.read("s")
    assert modes(place) == {"data": 0o700, "ledger.db": 0o600}


def test_special_characters_in_a_path_are_not_read_as_a_uri(tmp_path):
    book = SqliteLedger(str(tmp_path / "a?mode=memory#x%20 é"))
    book.start("s", Settings(7))
    assert book.read("s").total == 7
    assert (tmp_path / "a?mode=memory#x%20 é" / "ledger.db").stat().st_size > 0


def test_a_symbolic_link_is_not_followed(tmp_path, place, book):
    elsewhere = SqliteLedger(str(tmp_path / "elsewhere"))
    elsewhere.start("s", Settings(1000))
    place.mkdir(mode=0o700)
    (place / "ledger.db").symlink_to(tmp_path / "elsewhere" / "ledger.db")
    for use in (lambda: book.read("s"), lambda: book.start("t", Settings())):
        with pytest.raises(StoreError, match="symbolic link"):
            use()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory to somebody else")
def test_a_directory_of_another_user_is_refused(place, book):
    book.start("s", Settings(1000))
    os.chown(place, 12345, -1)
    with pytest.raises(StoreError, match="belongs to another user"):
        book.read("s")


def garbage(path):
    path.write_bytes(b"these are not the tables you are looking for\n" * 500)


def emptied(path):
    path.write_bytes(b"")


def cut_in_the_header(path):
    path.write_bytes(path.read_bytes()[:50])


def cut_in_half(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def cut_by_a_byte(path):
    path.write_bytes(path.read_bytes()[:-1])


def overwritten_within(path):
    data = path.read_bytes()
    path.write_bytes(data[:4096] + b"\xff" * (len(data) - 4096))


def of_a_newer_version(path):
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA user_version = 99")
    database.close()


def of_another_program(path):
    path.unlink()
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE cookies (crumbs)")
    database.close()


def of_another_program_with_our_version(path):
    of_another_program(path)
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA user_version = 1")
    database.close()


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (garbage, "is damaged"),
        (emptied, "is damaged"),
        (cut_in_the_header, "is damaged"),
        (cut_in_half, "is damaged"),
        (cut_by_a_byte, "is damaged"),
        (overwritten_within, "is damaged"),
        (of_a_newer_version, "newer tokcap"),
        (of_another_program, "not a tokcap ledger"),
        (of_another_program_with_our_version, "no such table"),
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
    SqliteLedger(str(place)).start("s", Settings(1000))
    impatient = SqliteLedger(str(place), patience_seconds=0.2)
    before = (place / "ledger.db").read_bytes()
    database = sqlite3.connect(place / "ledger.db", isolation_level=None)
    try:
        for lock in ("EXCLUSIVE", "IMMEDIATE"):
            database.execute(f"BEGIN {lock}")
            with pytest.raises(LedgerError, match=r"locked by another process for 0\.2 seconds"):
                impatient.reserve("s", 10)
            database.execute("ROLLBACK")
    finally:
        database.close()
    assert (place / "ledger.db").read_bytes() == before
    assert impatient.reserve("s", 10).tokens == 10


@pytest.mark.parametrize("lock", ["DEFERRED", "IMMEDIATE", "EXCLUSIVE"])
def test_a_step_waits_for_a_process_that_reads_or_writes(lock, place, book):
    book.start("s", Settings(1000))
    database = sqlite3.connect(place / "ledger.db", isolation_level=None, check_same_thread=False)
    database.execute(f"BEGIN {lock}")
    database.execute("SELECT * FROM sessions").fetchall()
    leave = threading.Timer(10 * RETRY_SECONDS, lambda: database.execute("ROLLBACK"))
    leave.start()
    assert book.reserve("s", 10).tokens == 10
    leave.join()
    database.close()


def test_an_interrupted_step_changes_nothing(place, book):
    book.start("s", Settings(1000))

    def interrupt():
        with book.transaction("s") as step:
            step.run("UPDATE sessions SET used = 999")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupt()
    assert book.read("s").used == 0
    assert os.listdir(place) == ["ledger.db"]


def test_a_process_killed_during_a_step_changes_nothing(place, book):
    book.start("s", Settings(1000))
    process = start_python(
        """
with book.transaction('s') as step:
    step.run("PRAGMA cache_size = 1")
    step.run("PRAGMA cache_spill = 1")
    for number in range(2000):
        step.add_event(1, "run" * 50, 1)
    step.run("UPDATE sessions SET used = 999")
    print('inside', flush=True)
    time.sleep(60)
""",
        place,
    )
    process.stdout.readline()
    process.stdin.close()
    assert process.stdout.readline() == "inside\n"
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    assert (place / "ledger.db-journal").stat().st_size > 0, "it was not killed while its journal was open"
    assert book.read("s").used == 0
    assert_whole(place)
    assert os.listdir(place) == ["ledger.db"]


def test_an_unusable_directory_is_reported_in_one_line(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    for place in ("file", "file/data"):
        with pytest.raises(StoreError, match=r"Not a directory|File exists"):
            SqliteLedger(str(tmp_path / place)).start("s", Settings(1000))
        with pytest.raises((StoreError, SessionNotStarted)):
            SqliteLedger(str(tmp_path / place)).reserve("s", 1)


def test_a_ledger_removed_while_in_use_is_reported_in_one_line(place, book):
    book.start("s", Settings(1000))
    step = book.transaction("s")
    (place / "ledger.db").unlink()
    with pytest.raises(StoreError, match=r"ledger\.db: "):
        step.__enter__()
    assert os.listdir(place) == []


def test_a_ledger_that_was_replaced_while_a_command_ran_is_used_and_not_the_old_one(place, book):
    book.start("s", Settings(total=1000))
    grant = book.reserve("s", 100)
    old = place / "old.db"
    (place / "ledger.db").rename(old)
    before = old.read_bytes()
    with pytest.raises(SessionNotStarted):
        book.settle("s", grant, 50)
    book.start("s", Settings(total=2000))
    assert book.settle("s", grant, 50) == book.read("s")
    assert (book.read("s").total, book.read("s").used) == (2000, 50)
    assert old.read_bytes() == before


def test_another_thread_settles_what_one_thread_has_reserved(book):
    book.start("s", Settings(total=1000))
    grants = [book.reserve("s", 100), book.reserve("s", 100)]
    threads = [threading.Thread(target=book.settle, args=("s", grant, 50)) for grant in grants]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (book.read("s").used, book.read("s").reserved) == (100, 0)


def test_a_forked_process_does_not_use_the_connection_of_its_parent(book):
    book.start("s", Settings(total=1000))
    grant = book.reserve("s", 100)
    child = os.fork()
    if not child:
        status = 1
        try:
            own = book.reserve("s", 10)
            status = 0 if book.settle("s", own, 5).used == 5 else 2
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    assert book.settle("s", grant, 50).used == 55
    assert book.read("s").reserved == 0
