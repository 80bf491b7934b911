"""Ledgers on real servers: many processes, holders that die, lost answers, and what users read then."""

import json
import os
import socket
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.engines import EVERY_SERVER, PASSWORD, PASSWORD_IN_URL, new_space, opened, server_of
from tests.support.ledgers import shift_clock
from tests.support.links import Link, answering
from tests.support.processes import outputs_of, wait_for
from tests.support.server_worker import worker_on
from tests.support.tiers import as_nightly, examples, times
from tokcap import BudgetManager
from tokcap.budget import server as connected
from tokcap.budget.arithmetic import Settings
from tokcap.budget.ledger import SessionView
from tokcap.budget.memory import ledger_in_memory
from tokcap.errors import LedgerError, LedgerUnreachable, SessionNotStarted


@pytest.fixture(params=EVERY_SERVER)
def server(request):
    return server_of(request.param)


@pytest.fixture
def ledger(server, space):
    return opened(server.url(space))


class TestManyProcesses:
    def test_grants_never_exceed_the_total(self, server, space, ledger):
        processes, total = (4, 750) if times() == 1 else (8, 1500)
        ledger.start("s", Settings(total))
        workers = [worker_on(server.url(space), 40) for _ in range(processes)]
        spent = [*map(json.loads, outputs_of(workers))]
        assert sum(used for used, _ in spent) == total == ledger.session("s").read().used
        assert sum(refused for _, refused in spent) > 0


class TestLeases:
    def test_the_grant_of_a_killed_holder_is_free_when_its_lease_ends(self, server, space, ledger):
        ledger.start("s", Settings(1000))
        process = worker_on(server.url(space, "timeout=20&lease=600"), 0, "hold")
        assert process.stdout.readline() == "holds\n"
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()
        assert ledger.session("s").read().reserved == 600
        shift_clock(601, ledger)
        assert ledger.session("s").read().reserved == 0
        after = ledger.session("s").read()
        assert (after.used, after.window_used) == (100, 100), "what it announced may have been written"
        assert ledger.session("s").reserve(900).tokens == 900

    def test_a_grant_lives_while_it_is_renewed(self, server, space):
        ledger = opened(server.url(space, "timeout=20&lease=600"))
        ledger.start("s", Settings(1000))
        grant = ledger.session("s").reserve(100)
        for seconds in (400, 800, 1200):
            shift_clock(seconds, ledger)
            assert ledger.session("s").read().reserved == 100
            ledger.session("s").announce(grant, 0)
        shift_clock(1200 + 700, ledger)
        assert ledger.session("s").read().reserved == 0

    @pytest.mark.parametrize("server", ["redis", as_nightly("postgresql")], indirect=True)
    def test_a_long_command_keeps_its_grant_and_so_does_a_manager(self, server, space, inside, monkeypatch):
        url = server.url(space, "timeout=20&lease=1")
        monkeypatch.setenv("TOKCAP_LEDGER", url)
        ledger = opened(url)
        ledger.start("s", Settings(1000))
        manager = BudgetManager(storage=SessionView(ledger, "s"))
        manager.allocate(300)
        seen = []
        watch = threading.Timer(2.2, lambda: seen.append(ledger.session("s").read().reserved))
        watch.start()
        ran = inside("--session", "s", "-n", "200", "--", "sh", "-c", "sleep 2.5; echo done")
        watch.join()
        assert (ran.status, ran.out, seen) == (0, b"done\n", [500])
        manager.record_usage(7)
        assert ledger.session("s").read().reserved == 0
        assert ledger.session("s").read().used == 7 + 2


class TestFaults:
    def test_a_step_whose_answer_is_lost_counts_once(self, server, space, monkeypatch):
        """The same steps, with and without losses, lead to the same numbers."""
        monkeypatch.setattr("tokcap.budget.ledger.LONGEST_PAUSE_SECONDS", 0.02)
        rounds = 5 if times() == 1 else 25
        proxy = Link(server.port, seed=21, lost=0.3, spared=server.login_answers)
        through, reference = opened(server.url(space, port=proxy.port)), ledger_in_memory()
        for each in (through, reference):
            each.start("s", Settings(2000, 10_000))
        for number in range(rounds):
            grants = [each.session("s").reserve(50 + number, turn="t") for each in (through, reference)]
            assert grants[0].tokens == grants[1].tokens
            for each, grant in zip((through, reference), grants, strict=True):
                each.session("s").announce(grant, 10)
                if number % 5 == 4:
                    each.session("s").release(grant)
                else:
                    each.session("s").settle(grant, number)
                each.session("s").settle(None, 1)
                each.session("s").record(5, 1, key=f"k{number // 2}")
                each.session("s").record(2, 1)
            assert through.session("s").read() == reference.session("s").read()
            assert through.session("s").turn("t") == reference.session("s").turn("t")
        assert through.session("s").reset() == reference.session("s").reset()
        assert through.session("s").end() == reference.session("s").end()
        through.close()
        proxy.close()
        assert proxy.losses > rounds // 2

    def test_a_fork_and_threads_share_a_ledger(self, ledger):
        ledger.start("s", Settings(10_000))
        grant = ledger.session("s").reserve(100)
        if not (child := os.fork()):
            ledger.session("s").settle(ledger.session("s").reserve(5), 5)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        session = ledger.session("s")
        assert session.read().reserved == 100
        threads = [
            threading.Thread(target=lambda: ledger.session("s").settle(ledger.session("s").reserve(10), 10))
            for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        after = ledger.session("s").settle(grant, 100)
        assert (after.used, after.reserved) == (185, 0)

    def test_sessions_share_a_connection(self, server, monkeypatch):
        monkeypatch.setattr(connected, "_opened", {})
        before, url = server.connections(), server.url(new_space())
        for name in ("a", "b", "c"):
            opened(url).start(name, Settings(100))
            opened(url).session(name).settle(opened(url).session(name).reserve(10), 10)
        assert server.connections() == before + 1
        grant = opened(url).session("a").reserve(10)
        opened(url).close()
        wait_for(lambda: server.connections() <= before)
        assert opened(url).session("a").settle(grant, 10).used == 20
        opened(url).close()

    def test_a_server_that_is_away_refuses_in_one_line(self, server, space, inside, tmp_path):
        url = server.url(space, "timeout=0.3", port=1)
        ran = inside("--session", "s", "--", "touch", str(tmp_path / "ran"), env={"TOKCAP_LEDGER": url})
        assert (ran.status, ran.out, ran.err.count(b"\n")) == (125, b"", 1)
        assert ran.err.endswith(b" cannot be reached: Connection refused\n")
        assert not (tmp_path / "ran").exists()

    def test_a_server_that_hangs_is_given_up(self, server, space):
        silent = socket_that_never_answers()
        with pytest.raises(LedgerUnreachable, match="does not answer in time"):
            opened(server.url(space, "timeout=0.3", port=silent.getsockname()[1])).session("s").read()
        silent.close()

    def test_a_wrong_password_is_one_line_that_does_not_repeat_it(self, server, space):
        for password in ("wr%6Fng", ""):
            with pytest.raises(LedgerError) as refused:
                opened(server.url(space, password=password)).session("s").read()
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
        grant = ledger.session("s").reserve(100)
        server.forget(space)
        with pytest.raises(SessionNotStarted):
            ledger.session("s").settle(grant, 10)
        ledger.start("s", Settings(5000))
        for _ in range(2):
            assert ledger.session("s").settle(grant, 10).used == 10, "an unknown grant is counted, and once"

    def test_a_newer_schema_is_refused_and_left_alone(self, server, space, ledger):
        ledger.start("s", Settings(5000))
        server.make_newer(space)
        for step in (
            lambda: ledger.session("s").read(),
            lambda: ledger.start("t", Settings()),
            lambda: ledger.list(),
        ):
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
        for path, text in ((file, started + "\n"), (config, "")):
            path.write_text(text)
            path.chmod(0o600)
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
        assert b"1 session running" in inside("doctor", env=env).out
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


# What people write into a URL without escaping it, and where it may end up then.
NASTY = st.text(st.sampled_from("aZ9:/?#@% &=\\'\"+é[],;.-_\0\n"), min_size=1, max_size=12)


def nasty_urls(secret: str) -> list[str]:
    """Return URLs that have a secret as user, password or parameter, as it is or badly escaped."""
    quoted = "".join(f"%{byte:02X}" for byte in secret.encode())
    urls = []
    for scheme in ("redis", "postgresql", "unix", "rediss"):
        for form in ("{}", "p%zz{}", "{} x", "a/{}", "a?{}", "%00{}", quoted):
            word = form.format(secret)
            urls += [f"{scheme}://{word}:x@127.0.0.1:1/0", f"{scheme}://u:{word}@127.0.0.1:1/0"]
            urls += [f"{scheme}://u:a@{word}@127.0.0.1:1/0", f"{scheme}://127.0.0.1:1/0?password={word}"]
            urls += [f"{scheme}://127.0.0.1:1/0?{word}=1", f"{scheme}://u:{word}", f"{scheme}:{word}@h"]
    return [url for url in urls if "\0" not in url]


class TestWhatIsPrinted:
    """Nothing of user, password and parameters is printed by any command, however badly they are written."""

    CALLS = (
        ("--session", "s", "--", "true"),
        ("--session", "s", "-o", "json", "--", "true"),
        ("--session", "s", "--on-ledger-failure", "open", "--", "true"),
        ("budget", "status", "s", "-o", "json"),
        ("budget", "start", "s"),
        ("doctor",),
        ("doctor", "-o", "json"),
    )

    def seen(self, inside, url, tmp_path) -> bytes:
        file, config = tmp_path / "url", tmp_path / "config.toml"
        file.write_text(url)
        config.write_text(f"ledger = {json.dumps(url)}\n")
        file.chmod(0o644)
        seen = b""
        for args in self.CALLS:
            for env in (
                {"TOKCAP_LEDGER": url},
                {"TOKCAP_LEDGER_FILE": str(file)},
                {"TOKCAP_CONFIG": str(config)},
            ):
                ran = inside(*args, env=env)
                seen += ran.out + ran.err
        for args in (("--session", "s", "--ledger", url, "--", "true"), ("budget", "list", "--ledger", url)):
            ran = inside(*args)
            seen += ran.out + ran.err
        return seen

    @pytest.mark.parametrize("place", [*range(0, 196, 29), *map(as_nightly, range(1, 196))])
    def test_no_part_of_a_nasty_url_is_printed(self, place, inside, tmp_path):
        secret = "hunter2SECRETx"
        urls = nasty_urls(secret)
        seen = self.seen(inside, urls[place % len(urls)], tmp_path)
        assert seen
        assert secret.encode() not in seen, urls[place % len(urls)]
        assert b"".join(b"%%%02X" % byte for byte in secret.encode()) not in seen

    @examples(200)
    @given(NASTY, NASTY, NASTY, st.sampled_from(["{}://{}:{}@{}", "{}://{}@h?password={}&x={}", "{}:{}{}{}"]))
    def test_the_title_of_any_url_has_nothing_but_hosts_and_path(self, user, password, rest, form):
        from tokcap.budget import is_sound, title_of

        url = form.format("redis", f"<{user}", f"<{password}", rest)
        assert "<" not in title_of(url)
        url = form.format("redis", f"U{user}", f"P{password}", rest)
        if is_sound(url):
            place = url.partition("?")[0].partition("://")[2].partition("/")[0]
            assert title_of(url).startswith(f"redis://{place.rpartition('@')[2]}")

    def test_the_words_of_a_server_that_repeats_the_login_are_not(self, inside):
        for answer in (
            b"-ERR unknown command 'AUTH', with args beginning with: 'tom' 'hunter2'\r\n",
            b"-hunter2 tom\r\n",
        ):
            with answering(answer * 3) as port:
                url = f"redis://tom:hunter2@127.0.0.1:{port}"
                ran = inside("budget", "status", "s", env={"TOKCAP_LEDGER": url})
            assert (ran.status, ran.err.count(b"\n")) == (125, 1)
            assert b"hunter2" not in ran.err
            assert b"tom" not in ran.err

    def test_a_password_file_that_others_can_read_is_warned_of(self, server, space, inside, tmp_path):
        opened(server.url(space)).start("s", Settings(5000))
        file = tmp_path / "url"
        file.write_text(server.url(space))
        env = {"TOKCAP_LEDGER_FILE": str(file)}
        for mode, codes in ((0o600, []), (0o640, ["PASSWORD_EXPOSED"])):
            file.chmod(mode)
            ran = inside("--session", "s", "-n", "300", "-o", "json", "--", "env", env=env)
            assert [warning["code"] for warning in ran.json["warnings"]] == codes
            assert PASSWORD_IN_URL not in ran.json["data"][0], "commands do not inherit it"
            assert (f"chmod 600 {file}" in inside("doctor", env=env).out.decode()) == bool(codes)
        config = tmp_path / "config.toml"
        config.write_text(f'ledger = "{server.url(space)}"\n')
        config.chmod(0o644)
        assert b"chmod 600" in inside("doctor", env={"TOKCAP_CONFIG": str(config)}).out
