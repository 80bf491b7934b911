"""Ledgers on real servers: many processes, holders that die, lost answers, and what users read then."""

import json
import os
import socket
import subprocess
import sys
import threading
import time

import pytest

from tests.support.engines import EVERY_SERVER, PASSWORD, PASSWORD_IN_URL, new_space, server_of
from tests.support.links import Link
from tests.support.program import IMPORT_PATH, ROOT
from tests.support.tiers import as_nightly, nightly, times
from tokcap import BudgetManager
from tokcap.budget import open_ledger
from tokcap.budget import opened as connected
from tokcap.budget.arithmetic import Settings
from tokcap.budget.base import SessionView
from tokcap.budget.memory import MemoryLedger
from tokcap.environment import Environment
from tokcap.errors import LedgerError, LedgerUnreachable, SessionNotStarted


@pytest.fixture(params=EVERY_SERVER)
def server(request):
    return server_of(request.param)


@pytest.fixture
def space():
    return new_space()


@pytest.fixture
def ledger(server, space):
    return opened(server.url(space))


def opened(url):
    return open_ledger(Environment(os.environ), url=url)


def worker(url: str, steps: int, *more: str) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.support.server_worker", url, str(steps), *more],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": IMPORT_PATH},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def together(processes: list[subprocess.Popen]) -> list[list[int]]:
    """Let processes begin at the same time; return what each has printed at its end."""
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.stdin.close()
    answers = [process.stdout.read() for process in processes]
    for process in processes:
        process.stdout.close()
        assert process.wait() == 0
    return [json.loads(answer) for answer in answers]


def until(condition, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


class TestManyProcesses:
    @nightly
    def test_what_they_used_is_the_exact_sum(self, server, space, ledger):
        ledger.start("s", Settings())
        spent = together([worker(server.url(space), 40) for _ in range(8)])
        after = ledger.read("s")
        assert (after.used, after.reserved) == (sum(used for used, _ in spent), 0)

    def test_grants_never_exceed_the_total(self, server, space, ledger):
        processes, total = (4, 750) if times() == 1 else (8, 1500)
        ledger.start("s", Settings(total))
        spent = together([worker(server.url(space), 40) for _ in range(processes)])
        assert sum(used for used, _ in spent) == total == ledger.read("s").used
        assert sum(refused for _, refused in spent) > 0


class TestLeases:
    def test_the_grant_of_a_killed_holder_is_free_when_its_lease_ends(self, server, space, ledger):
        ledger.start("s", Settings(1000))
        process = worker(server.url(space, "timeout=20&lease=600"), 0, "hold")
        assert process.stdout.readline() == "holds\n"
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()
        assert ledger.read("s").reserved == 600
        server.shift_clock(space, 601)
        assert ledger.read("s").reserved == 0
        after = ledger.read("s")
        assert (after.used, after.window_used) == (100, 100), "what it announced may have been written"
        assert ledger.reserve("s", 900).tokens == 900

    def test_a_holder_that_was_only_slow_is_counted_with_what_it_settles(self, server, space, ledger):
        ledger.start("s", Settings(1000))
        grants = [ledger.reserve("s", 100, turn="t") for _ in range(3)]
        for grant in grants[:2]:
            ledger.announce("s", grant, 80)
        server.shift_clock(space, 3600)
        assert ledger.read("s").reserved == 0
        assert (ledger.read("s").used, ledger.turn("s", "t")) == (160, 160)
        for _ in range(2):
            assert ledger.settle("s", grants[0], 70).used == 150
        assert ledger.release("s", grants[1]).used == 150
        ledger.reset("s")
        assert ledger.settle("s", grants[2], 30).used == 180, "it belongs to the session that made it"
        assert ledger.read("s").used == 0

    def test_a_clock_of_the_server_that_jumps_forward_ends_leases_and_begins_a_period(self, server, space):
        ledger = opened(server.url(space))
        ledger.start("s", Settings(1000, renew="day"))
        ledger.record("s", 300, 0)
        grants = [ledger.reserve("s", 200) for _ in range(2)]
        ledger.announce("s", grants[0], 50)
        server.shift_clock(space, 25 * 3600)
        after = ledger.read("s")
        assert (after.used, after.reserved) == (50, 0), "the new period has what was announced"
        assert [past.used for past in ledger.history("s")] == [300]
        assert ledger.settle("s", grants[0], 120).used == 120
        assert ledger.settle("s", grants[1], 30).used == 150
        # And back again: nothing is lost, and no period begins twice.
        server.shift_clock(space, 0)
        assert ledger.settle("s", ledger.reserve("s", 10), 10).used == 160
        assert [past.used for past in ledger.history("s")] == [300]

    def test_a_grant_that_expires_before_its_answer_arrives_is_renewed(
        self, server, space, ledger, monkeypatch
    ):
        """The step is repeated with the same id, maybe long after the first attempt."""
        ledger.start("s", Settings(1000))
        monkeypatch.setattr("tokcap.budget.server.new_grant_id", lambda: 21)
        for hours, announced in ((1, 0), (2, 40)):
            grant = ledger.reserve("s", 100, turn="t")
            ledger.announce("s", grant, announced)
            server.shift_clock(space, hours * 3600)
            assert ledger.read("s").reserved == 0
        assert ledger.read("s").used == 40
        for _ in range(2):
            assert ledger.settle("s", grant, 30).used == 30
        assert ledger.turn("s", "t") == 30

    def test_a_grant_lives_while_it_is_renewed(self, server, space):
        ledger = opened(server.url(space, "timeout=20&lease=600"))
        ledger.start("s", Settings(1000))
        grant = ledger.reserve("s", 100)
        for seconds in (400, 800, 1200):
            server.shift_clock(space, seconds)
            assert ledger.read("s").reserved == 100
            ledger.renew(grant)
        server.shift_clock(space, 1200 + 700)
        assert ledger.read("s").reserved == 0

    @pytest.mark.parametrize("server", ["redis", as_nightly("postgresql")], indirect=True)
    def test_a_long_command_keeps_its_grant_and_so_does_a_manager(self, server, space, inside, monkeypatch):
        url = server.url(space, "timeout=20&lease=1")
        monkeypatch.setenv("TOKCAP_LEDGER", url)
        ledger = opened(url)
        ledger.start("s", Settings(1000))
        manager = BudgetManager(storage=SessionView(ledger, "s"))
        manager.allocate(300)
        seen = []
        watch = threading.Timer(2.2, lambda: seen.append(ledger.read("s").reserved))
        watch.start()
        ran = inside("--session", "s", "-n", "200", "--", "sh", "-c", "sleep 2.5; echo done")
        watch.join()
        assert (ran.status, ran.out, seen) == (0, b"done\n", [500])
        manager.record_usage(7)
        assert ledger.read("s").reserved == 0
        assert ledger.read("s").used == 7 + 2


class TestFaults:
    def test_a_step_whose_answer_is_lost_counts_once(self, server, space, monkeypatch):
        """The same steps, with and without losses, lead to the same numbers."""
        monkeypatch.setattr("tokcap.budget.server.LONGEST_PAUSE_SECONDS", 0.02)
        rounds = 5 if times() == 1 else 25
        proxy = Link(server.port, seed=21, lost=0.3, spared=server.login_answers)
        through, reference = opened(server.url(space, port=proxy.port)), MemoryLedger()
        for each in (through, reference):
            each.start("s", Settings(2000, 10_000))
        for number in range(rounds):
            grants = [each.reserve("s", 50 + number, turn="t") for each in (through, reference)]
            assert grants[0].tokens == grants[1].tokens
            for each, grant in zip((through, reference), grants, strict=True):
                each.announce("s", grant, 10)
                if number % 5 == 4:
                    each.release("s", grant)
                else:
                    each.settle("s", grant, number)
                each.settle("s", None, 1)
                each.record("s", 5, 1, key=f"k{number // 2}")
                each.record("s", 2, 1)
            assert through.read("s") == reference.read("s")
            assert through.turn("s", "t") == reference.turn("s", "t")
        assert through.reset("s") == reference.reset("s")
        assert through.end("s") == reference.end("s")
        through.close()
        proxy.close()
        assert proxy.losses > rounds // 2

    def test_a_fork_and_threads_share_a_ledger(self, ledger):
        ledger.start("s", Settings(10_000))
        grant = ledger.reserve("s", 100)
        if not (child := os.fork()):
            ledger.settle("s", ledger.reserve("s", 5), 5)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert ledger.read("s").reserved == 100
        threads = [
            threading.Thread(target=lambda: ledger.settle("s", ledger.reserve("s", 10), 10)) for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        after = ledger.settle("s", grant, 100)
        assert (after.used, after.reserved) == (185, 0)

    def test_sessions_share_a_connection_and_a_process_keeps_only_some(self, server, monkeypatch):
        for name in ("_ledgers", "_opened_at"):
            monkeypatch.setattr(connected, name, {})
        before, url = server.connections(), server.url(new_space())
        for name in ("a", "b", "c"):
            opened(url).start(name, Settings(100))
            opened(url).settle(name, opened(url).reserve(name, 10), 10)
        assert server.connections() == before + 1
        grant = opened(url).reserve("a", 10)
        others = []
        for _ in range(connected.MOST_CONNECTED + 3):
            others.append(opened(server.url(new_space())))
            assert not others[-1].has("a")
        until(lambda: server.connections() <= before + connected.MOST_CONNECTED)
        # One that was closed works as before, and so does a child process that closes what it has inherited.
        if not (child := os.fork()):
            opened(server.url(new_space())).has("a")
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert opened(url).settle("a", grant, 10).used == 20
        for ledger in (opened(url), *others):
            ledger.close()
        until(lambda: server.connections() <= before)

    def test_a_server_that_is_away_refuses_in_one_line(self, server, space, inside, tmp_path):
        url = server.url(space, "timeout=0.3", port=1)
        ran = inside("--session", "s", "--", "touch", str(tmp_path / "ran"), env={"TOKCAP_LEDGER": url})
        assert (ran.status, ran.out, ran.err.count(b"\n")) == (125, b"", 1)
        assert ran.err.endswith(b" cannot be reached: Connection refused\n")
        assert not (tmp_path / "ran").exists()

    def test_a_server_that_hangs_is_given_up(self, server, space):
        silent = socket_that_never_answers()
        with pytest.raises(LedgerUnreachable, match="does not answer in time"):
            opened(server.url(space, "timeout=0.3", port=silent.getsockname()[1])).read("s")
        silent.close()

    def test_a_wrong_password_is_one_line_that_does_not_repeat_it(self, server, space):
        for password in ("wr%6Fng", ""):
            with pytest.raises(LedgerError) as refused:
                opened(server.url(space, password=password)).read("s")
            assert "\n" not in str(refused.value)
            assert "password" in str(refused.value)
            assert "wrong" not in str(refused.value)

    def test_no_message_and_no_report_has_the_password(self, server, space, inside):
        env = {"TOKCAP_LEDGER": server.url(space)}
        seen = b""
        for args in (
            ("budget", "start", "s", "--total", "5000"),
            ("--session", "s", "-o", "json", "--", "seq", "3"),
            ("budget", "status", "s", "-o", "json"),
            ("budget", "list"),
            ("doctor", "-o", "json"),
            ("stats",),
            ("--session", "nosuch", "--", "true"),
            ("budget", "status", "nosuch"),
        ):
            ran = inside(*args, env=env)
            seen += ran.out + ran.err
        for secret in (PASSWORD, PASSWORD_IN_URL):
            assert secret.encode() not in seen
        assert f"127.0.0.1:{server.port}".encode() in seen

    def test_a_ledger_that_lost_everything_says_that_the_session_is_not_there(self, server, space, inside):
        url = server.url(space)
        ledger = opened(url)
        ledger.start("s", Settings(5000))
        grant = ledger.reserve("s", 100)
        server.forget(space)
        with pytest.raises(SessionNotStarted):
            ledger.settle("s", grant, 10)
        ledger.start("s", Settings(5000))
        for _ in range(2):
            assert ledger.settle("s", grant, 10).used == 10, "an unknown grant is counted, and once"

    def test_a_newer_schema_is_refused_and_left_alone(self, server, space, ledger):
        ledger.start("s", Settings(5000))
        server.make_newer(space)
        for step in (lambda: ledger.read("s"), lambda: ledger.start("t", Settings()), lambda: ledger.list()):
            with pytest.raises(LedgerError, match=r"newer tokcap \(version 99, this one knows \d+\)"):
                step()


def socket_that_never_answers():
    return socket.create_server(("127.0.0.1", 0))


class TestTheChoiceOfALedger:
    @pytest.fixture
    def started(self, server, space):
        opened(server.url(space)).start("s", Settings(4321))
        return server.url(space)

    @pytest.fixture
    def config(self, tmp_path, monkeypatch):
        path = tmp_path / "config.toml"
        monkeypatch.setenv("TOKCAP_CONFIG", str(path))
        return path

    def test_variable_file_and_config_name_it_for_every_command(self, started, inside, config, tmp_path):
        file = tmp_path / "url"
        file.write_text(started + "\n")
        for text, env in (
            ("", {"TOKCAP_LEDGER": started}),
            ("", {"TOKCAP_LEDGER_FILE": str(file)}),
            (f'ledger = "{started}"\n', {}),
            (f'ledger_file = "{file}"\n', {}),
            ('ledger = "redis://127.0.0.1:1"\n', {"TOKCAP_LEDGER": started}),
        ):
            config.write_text(text)
            assert inside("--session", "s", "-n", "50", "--", "echo", "x", env=env).out == b"x\n"
            assert inside("budget", "status", "s", "-o", "json", env=env).json["data"]["total"] == 4321
            assert inside("completion", "--list", "sessions", env=env).out.startswith(b"s\t")
        assert b"1 running" in inside("doctor", env=env).out
        assert inside("budget", "status", "s", "-o", "json", env=env).json["data"]["used"] == 5 * 2

    def test_a_flag_names_it_but_not_with_a_password(self, started, inside, tmp_path):
        file = tmp_path / "url"
        file.write_text(started)
        assert inside("--session", "s", "--ledger-file", str(file), "--", "echo", "x").out == b"x\n"
        for args in (
            ("--session", "s", "--ledger", started, "--", "true"),
            ("budget", "list", "--ledger", started),
        ):
            ran = inside(*args)
            assert ran.status in (2, 125)
            assert b"every user can see a password" in ran.err
            assert PASSWORD_IN_URL.encode() not in ran.err

    def test_a_file_that_is_missing_or_empty_is_refused(self, inside, tmp_path):
        (tmp_path / "empty").write_text("\n")
        for name, words in (("missing", b"No such file"), ("empty", b"one line, the URL")):
            ran = inside("--session", "s", "--ledger-file", str(tmp_path / name), "--", "true")
            assert ran.status == 125
            assert words in ran.err
