"""A session is a budget that many calls share: asked before they run, charged with what they write."""

import json
import re
import subprocess
import sys

import pytest

from tests.support.marks import way_in
from tests.support.program import PYTHON
from tests.support.reference import recount
from tokcap.budget.arithmetic import Settings
from tokcap.budget.ledger import SessionView
from tokcap.budget.sqlite import ledger_in

pytestmark = pytest.mark.usefixtures("with_store")

SEQ = "".join(f"{number}\n" for number in range(1, 3001)).encode()


@pytest.fixture
def session(inside, with_store, monkeypatch):
    """Start a session, make it the current one, and return its ledger's account."""

    def start(*args: str, used: int = 0):
        line = inside("budget", "start", "work", *args)
        assert line.out == b"export TOKCAP_SESSION=work\n"
        monkeypatch.setenv("TOKCAP_SESSION", "work")
        storage = SessionView(ledger_in(str(with_store)), "work")
        if used:
            storage.settle(None, used)
        return storage

    return start


def written(ran) -> int:
    """What a reader of both streams pays. Messages of tokcap itself are not counted."""
    err = re.sub(rb"(?m)^tokcap: .*\n", b"", ran.err)
    return recount(ran.out) + recount(err)


class TestTheWrapper:
    def test_says_whom_it_charged_and_what_is_left(self, inside, session):
        account = session("--total", "10000")
        meta = inside("-n", "250", "-o", "json", stdin=SEQ).json["meta"]
        assert meta["session"] == "work"
        assert meta["budget_remaining"] == account.read().remaining

    def test_tracks_a_session_without_total_and_refuses_nothing(self, inside, session):
        account = session()
        assert inside("--", "sh", "-c", "seq 1 3000; echo e >&2").out == SEQ
        assert account.read().used == recount(SEQ) + recount(b"e\n")
        assert inside(stdin=SEQ).out == SEQ
        assert "budget_remaining" not in inside("-n", "200", "-o", "json", stdin=SEQ).json["meta"]

    @pytest.mark.parametrize("modes", ["fixed", "soft"])
    def test_answers_as_asked_for_until_the_total_is_used_up_and_then_refuses_or_not(
        self, modes, inside, session
    ):
        account = session("--total", "1000", "--modes", modes)
        while account.read().used < 900:
            ran = inside("-n", "300", stdin=SEQ)
            assert ran.out.startswith(b"1\n2\n3\n")
        account.settle(None, 200)
        ran = inside("-n", "300", stdin=SEQ)
        assert ran.status == (120 if modes == "fixed" else 0)
        assert ran.out.startswith(b"1\n2\n3\n") == (modes == "soft")
        again = inside("budget", "start", "work", "--total", "1000", "--modes", modes)
        assert again.status == 0

    def test_is_not_charged_for_stderr_that_passes(self, inside, session):
        account = session()
        inside("--stderr", "pass", "--", "sh", "-c", "echo out; echo err >&2")
        assert account.read().used == recount(b"out\n")

    def test_caps_stderr_beside_a_count_too(self, inside, session):
        account = session("--total", "100")
        ran = inside("--token-count", "--", "sh", "-c", "seq 1 3000 >&2; seq 1 3000")
        assert ran.out == b"8001\n"
        assert written(ran) <= 100
        assert account.read().used == written(ran)

    def test_an_empty_name_is_refused_and_an_empty_variable_names_none(self, inside, session, tmp_path):
        account = session("--total", "100", used=100)
        for args in (["--session", ""], ["--session="], ["--session", " "]):
            ran = inside(*args, "--", "touch", str(tmp_path / "ran"))
            assert (ran.status, ran.err.count(b"\n")) == (125, 1)
            assert b"is not the name of a session; to use none, unset TOKCAP_SESSION" in ran.err
        assert not (tmp_path / "ran").exists()
        assert inside("--", "echo", "hi", env={"TOKCAP_SESSION": ""}).out == b"hi\n"
        assert account.read().used == 100

    @pytest.mark.parametrize("verb", ["start", "status", "reset", "end", "check", "record", "compacted"])
    def test_an_empty_argument_names_no_session(self, inside, session, with_store, verb):
        session("--total", "100")
        needed = ["--used", "1"] if verb == "compacted" else []
        for args in (["budget", verb, ""], ["budget", verb, "--session", ""]):
            ran = inside(*args, *needed)
            assert (ran.status, ran.out, ran.err.count(b"\n")) == (2, b"", 1)
            assert b"session name ''" in ran.err or b"'' is not the name of a session" in ran.err
        assert [found.name for found in ledger_in(str(with_store)).list()] == ["work"]

    def test_a_missing_session_is_told_where_its_name_comes_from(self, inside, with_store):
        start = "start it with: tokcap budget start nope --total N"
        by_variable = {"TOKCAP_SESSION": "nope"}
        for args, env, message in (
            (["--session", "nope", "--", "true"], {}, f"session 'nope' has not been started; {start}"),
            (["--", "true"], by_variable, f"session 'nope' (TOKCAP_SESSION) has not been started; {start}"),
            (
                ["budget", "status"],
                by_variable,
                f"session 'nope' (TOKCAP_SESSION) has not been started; {start}",
            ),
            (
                ["budget", "turn"],
                by_variable,
                f"session 'nope' (TOKCAP_SESSION) has not been started; {start}",
            ),
            (["budget", "check", "nope"], by_variable, f"session 'nope' has not been started; {start}"),
            (["budget", "end", "nope"], {}, "there is no session 'nope'; list them: tokcap budget list"),
            (
                ["budget", "end"],
                by_variable,
                "there is no session 'nope' (TOKCAP_SESSION); list them: tokcap budget list",
            ),
            (["budget", "reset", "nope"], {}, "there is no session 'nope'; list them: tokcap budget list"),
        ):
            ran = inside(*args, env=env)
            assert ran.status == (1 if args[0] == "budget" else 125)
            assert ran.err.endswith(f": {message}\n".encode())
        ran = inside("--", "true", env={"TOKCAP_SESSION": "a b"})
        assert ran.err.startswith(b"tokcap: TOKCAP_SESSION: invalid session name 'a b': ")
        ran = inside("budget", "status", env={"TOKCAP_SESSION": "a b"})
        assert ran.err.startswith(b"tokcap: budget status: TOKCAP_SESSION: invalid session name 'a b': ")


class TestModes:
    RECORDS = json.dumps(
        [{"id": number, "name": f"name {number}"} for number in range(300)], indent=1
    ).encode()

    def test_pages_of_a_table_go_on_as_a_table(self, inside):
        ran = inside("--mode", "table", "-n", "400", "-o", "json", stdin=self.RECORDS).json
        way = way_in(ran["meta"]["truncation_hint"])
        assert way[-2:] == ["--mode", "table"]
        rest = inside(*way, "-n", "100000").out
        assert rest.startswith(b"id\tname\n")
        assert rest.endswith(b"299\tname 299\n")

    @pytest.mark.parametrize("mode", ["table", "summary", "handle_only"])
    def test_all_of_them_store_the_output_are_capped_and_say_the_same_twice(self, inside, mode):
        for payload in (SEQ, self.RECORDS, b"", b"\x00\xff" * 500, b"one line"):
            for limit in (1, 7, 40, 400):
                ran = inside("--mode", mode, "-n", str(limit), stdin=payload)
                assert recount(ran.out) <= limit
                assert ran == inside("--mode", mode, "-n", str(limit), stdin=payload)
                assert inside("show", "@last", "-n", "10000000").out == payload

    @pytest.mark.parametrize("used", [6500, 8700, 9700])
    @pytest.mark.parametrize("output", ["text", "json"])
    def test_a_mode_of_a_session_costs_no_more_than_what_it_replaces(self, inside, session, used, output):
        account = session("--total", "10000")
        account.settle(None, used)
        plain = inside("-o", output, "-n", "300", "--", "echo", "hi")
        assert plain.json["data"] == ["hi\n"] if output == "json" else plain.out == b"hi\n"
        assert inside("-n", "200", stdin=SEQ).out.startswith(b"1\n2\n") == (used == 6500)

    def test_what_programs_parse_stays_what_it_is_until_it_is_summarized(self, inside, session):
        account = session("--total", "100000")
        account.settle(None, 65_000)
        assert inside("-n", "20000", stdin=self.RECORDS).out == self.RECORDS
        assert json.loads(inside("-n", "400", stdin=self.RECORDS).out)[0] == {"id": 0, "name": "name 0"}
        assert inside("-n", "9000", "-o", "json", stdin=self.RECORDS).json["data"] == json.loads(self.RECORDS)


class TestTheWindow:
    def test_a_small_one_gives_the_floor_and_a_limit_of_the_call_counts_more(self, inside):
        assert inside("--context-window", "4000", "-o", "json", stdin=SEQ).json["meta"]["token_limit"] == 2000
        args = ["--context-window", "4000", "-n", "400", "-o", "json"]
        assert inside(*args, stdin=SEQ).json["meta"]["token_limit"] == 400

    def test_what_is_left_of_it_bounds_a_result_and_the_floor_advises_compaction(self, inside, session):
        account = session("--context-window", "20000")
        account.settle(None, 16_500)
        meta = inside("-o", "json", stdin=SEQ).json["meta"]
        assert meta["token_limit"] <= 3500
        account.compacted(19_000)
        ran = inside("-o", "json", stdin=SEQ).json
        assert ran["meta"]["token_limit"] <= 2000
        assert [warning["code"] for warning in ran["warnings"]] == ["COMPACTION_ADVISED"]

    def test_the_hook_is_run_once_and_the_window_counted_again(self, inside, session, tmp_path):
        account = session("--context-window", "20000")
        account.settle(None, 19_500)
        hook = f"echo ran >> {tmp_path}/hook; {PYTHON} -m tokcap budget compacted --used 100"
        ran = inside("--compact-before-spill", "--compact-hook", hook, "-o", "json", stdin=SEQ)
        assert (tmp_path / "hook").read_text() == "ran\n"
        assert ran.json["meta"]["token_limit"] > 4000
        assert ran.json["warnings"] == []

    def test_a_hook_that_fails_is_a_warning(self, inside, session):
        account = session("--context-window", "20000")
        account.settle(None, 19_500)
        ran = inside("--compact-before-spill", "--compact-hook", "exit 9", "-o", "json", stdin=SEQ).json
        assert [warning["code"] for warning in ran["warnings"]] == ["HOOK_FAILED", "COMPACTION_ADVISED"]

    def test_a_turn_gets_half_of_it(self, inside, session, monkeypatch):
        session("--context-window", "2000", "--floor-tokens", "0")
        line = inside("budget", "turn").out.decode()
        monkeypatch.setenv("TOKCAP_TURN", re.fullmatch(r"export TOKCAP_TURN=(\w+)\n", line)[1])
        costs = [recount(inside("--", "seq", "1", "3000").out) for _ in range(2)]
        assert [490 < cost <= 500 for cost in costs] == [True, True]
        while (ran := inside("--", "seq", "1", "3000")).status == 0:
            costs.append(recount(ran.out))
            assert sum(costs) <= 1000
        assert ran.status == 120
        assert b"this turn has used its 1000 tokens" in ran.err
        assert inside("--turn", "next", "--", "seq", "1", "3").status == 0

    def test_a_turn_without_a_session_is_refused(self, inside):
        assert inside("--turn", "one", "--", "true").status == 125

    def test_a_model_supplies_window_and_tokenizer(self, inside, with_store, tmp_path):
        meta = inside("--model", "gpt-4o-2024-08-06", "-o", "json", stdin=b"words").json["meta"]
        assert (meta["tokenizer"], meta["token_limit"]) == ("o200k_base", 32_000)
        meta = inside(
            "--model", "gpt-4o", "--tokenizer", "approx", "--context-window", "9000", "-o", "json"
        ).json["meta"]
        assert (meta["tokenizer"], meta["token_limit"]) == ("approx", 2250)
        config = tmp_path / "config.toml"
        config.write_text(
            '[models.mine]\ncontext_window = 40000\ntokenizer = "approx"\n[budget]\nresult_pct = 0.5\n'
        )
        meta = inside("--model", "mine", "-o", "json", env={"TOKCAP_CONFIG": str(config)}).json["meta"]
        assert (meta["tokenizer"], meta["token_limit"]) == ("approx", 20_000)
        ran = inside("--model", "unheard-of", "--", "true")
        assert (ran.status, b"is not a known model" in ran.err) == (125, True)


class TestTheCommand:
    def test_start_prints_a_line_for_each_shell_and_can_be_repeated(self, inside, with_store):
        assert inside("budget", "start", "a", "--total", "10").out == b"export TOKCAP_SESSION=a\n"
        assert (
            inside("budget", "start", "a", "--total", "10", "--shell", "fish").out
            == b"set -gx TOKCAP_SESSION a\n"
        )
        ran = inside("budget", "start", "a", "--total", "11")
        assert ran.status == 2
        assert b"end it first: tokcap budget end a" in ran.err
        made_up = inside("budget", "start", "--total", "10").out.decode()
        assert re.fullmatch(r"export TOKCAP_SESSION=s[0-9a-f]{8}\n", made_up)

    def test_the_line_works_in_real_shells(self, tokcap, with_store):
        script = (
            f'eval "$({PYTHON} -m tokcap budget start b --total 500)"\n'
            f"{PYTHON} -m tokcap -- echo hi\n{PYTHON} -m tokcap budget status -o json"
        )
        done = subprocess.run(["sh", "-c", script], capture_output=True, check=True, timeout=60)
        assert json.loads(done.stdout.splitlines()[1])["data"]["used"] == recount(b"hi\n")

    def test_status_has_the_numbers(self, inside, session):
        session("--total", "1000", used=250)
        data = inside("budget", "status", "-o", "json").json["data"]
        assert (data["used"], data["reserved"], data["remaining"], data["total"]) == (250, 0, 750, 1000)
        assert (data["usage_fraction"], data["mode"]) == (0.25, "raw")
        shown = inside("budget", "status", "work").out.decode()
        assert "250 of 1000 tokens used, 750 left" in shown
        assert "[########......................]" in shown
        assert "work" in inside("budget", "list").out.decode()
        assert [row["session"] for row in inside("budget", "list", "-o", "json").json["data"]] == ["work"]

    def test_record_counts_once_and_says_when_the_total_is_passed(self, inside, session):
        session("--total", "1000")
        for _ in range(3):
            ran = inside(
                "budget", "record", "--input", "300", "--output", "100", "--id", "call-1", "-o", "json"
            )
        assert (ran.json["data"]["used"], ran.json["data"]["counted"]) == (400, False)
        ran = inside("budget", "record", "--input", "700", "-o", "json")
        assert ran.status == 0
        assert ran.json["meta"]["truncated"] is True
        assert ran.json["warnings"][0]["code"] == "BUDGET_EXHAUSTED"
        assert ran.json["data"]["used"] == 1100
        assert b"the next run is refused" in inside("budget", "record", "--input", "1").err
        assert inside("--", "true").status == 120

    def test_check_answers_with_its_status_and_says_nothing(self, inside, session):
        account = session("--total", "100")
        assert (inside("budget", "check").status, inside("budget", "check").out) == (0, b"")
        assert inside("budget", "check", "--need", "101").status == 1
        account.settle(None, 61)
        assert (inside("budget", "check").status, inside("budget", "check").err) == (1, b"")
        assert inside("budget", "check", "-o", "json").json["ok"] is False

    def test_reset_end_and_compacted(self, inside, session):
        session("--total", "1000", "--context-window", "9000", used=600)
        assert inside("budget", "compacted", "--used", "50", "-o", "json").json["data"]["window_used"] == 50
        assert inside("budget", "status", "-o", "json").json["data"]["used"] == 600
        assert inside("budget", "reset", "-o", "json").json["data"]["used"] == 0
        assert inside("budget", "end").out == b"ended work: 0 tokens were used\n"
        assert inside("budget", "status").status == 1
        assert inside("budget", "check").status == 1

    def test_a_turn_that_no_run_would_take_is_refused(self, inside, session):
        session("--total", "100")
        assert inside("budget", "turn", "a\nb").status == 2

    def test_which_session_must_be_said(self, inside, monkeypatch):
        for command in (["status"], ["check"], ["end"], ["record", "--input", "1"], ["turn"]):
            ran = inside("budget", *command)
            assert ran.status == 2
            assert b"no session was given" in ran.err


class TestALedgerThatCannotBeRead:
    @pytest.fixture
    def broken(self, session, with_store):
        session("--total", "1000")
        path = with_store / "ledger.db"
        path.write_bytes(b"garbage" * 1000)
        return path

    def test_runs_nothing_and_is_left_untouched(self, broken, inside, tmp_path):
        before = broken.stat()
        content = broken.read_bytes()
        for args in (["--", "touch", str(tmp_path / "ran")], ["budget", "status"], ["budget", "check"]):
            ran = inside(*args)
            assert ran.status == 125
            assert ran.err.count(b"\n") == 1
        assert not (tmp_path / "ran").exists()
        assert (broken.stat().st_mtime_ns, broken.stat().st_size) == (before.st_mtime_ns, before.st_size)
        assert broken.read_bytes() == content


class TestWhatAnAttackFound:
    def test_a_window_that_is_full_gives_nothing_rather_than_everything(self, inside, session):
        assert inside("--context-window", "3", "--floor-tokens", "0", "--", "seq", "1", "1000").status == 125
        session("--total", "1000", "--context-window", "100", "--floor-tokens", "0", used=100)
        ran = inside("--", "seq", "1", "1000")
        assert (ran.status, ran.out) == (120, b"")
        assert b"the context window is full" in ran.err

    def test_a_page_further_on_keeps_the_mode_that_its_offset_counts_in(self, inside, session):
        text = "".join("line same\n" if number % 7 else f"uniq {number}\n" for number in range(1500)).encode()
        account = session("--total", "10000", used=4000)
        shown = inside("-n", "1200", stdin=text).out
        account.settle(None, 600)
        assert account.read().mode() == "table"
        way = way_in(shown)
        rest = inside(*way, "-n", "100000", env={"TOKCAP_SESSION": ""})
        page = inside(*way).out
        assert page[:50] == rest.out[:50]
        assert shown[: shown.rindex(b"[TRUNCATED]")] + rest.out == text

    def test_a_hook_that_runs_tokcap_is_not_run_again_by_that(self, inside, session, tmp_path):
        account = session("--context-window", "20000")
        account.settle(None, 19_500)
        hook = f"echo ran >> {tmp_path}/hook; {PYTHON} -m tokcap -- echo x"
        env = {"TOKCAP_COMPACT_BEFORE_SPILL": "1", "TOKCAP_COMPACT_HOOK": hook}
        assert inside("--", "seq", "1", "3000", env=env).status == 0
        assert (tmp_path / "hook").read_text() == "ran\n"

    def test_what_is_left_is_what_is_left_now(self, inside, session, with_store):
        session("--total", "100000")
        script = f"{PYTHON} -m tokcap budget record --session work --input 5000 >/dev/null; echo hi"
        meta = inside("-n", "250", "-o", "json", "--", "sh", "-c", script).json["meta"]
        assert meta["budget_remaining"] == ledger_in(str(with_store)).session("work").read().remaining

    def test_an_account_that_goes_while_a_command_runs_costs_no_output(self, inside, session, with_store):
        session("--total", "1000")
        code = f"""
import sqlite3
ledger = sqlite3.connect({str(with_store / "ledger.db")!r})
ledger.execute("DELETE FROM rows")
ledger.commit()
print("out")
"""
        ran = inside("-n", "50", "--", sys.executable, "-c", code)
        assert (ran.status, ran.out) == (0, b"out\n")
        assert ran.err.startswith(b"tokcap: warning: ")
        assert b"were not charged to the session" in ran.err

    def test_fish_reads_every_turn_as_it_is(self, inside, session):
        session("--total", "1000")
        for identifier in ("plain", "a b", "end\\", "it's", "two\\\\slashes"):
            line = inside("budget", "turn", identifier, "--shell", "fish").out.decode()
            script = line + "printf %s $TOKCAP_TURN"
            try:
                done = subprocess.run(
                    ["fish", "--no-config", "-c", script], capture_output=True, check=True, timeout=60
                )
            except FileNotFoundError:
                pytest.skip("fish is not installed")
            assert done.stdout.decode() == identifier


def test_a_manager_can_settle_again_after_its_storage_failed():
    from tokcap import BudgetManager
    from tokcap.budget.memory import ledger_in_memory

    class Failing(SessionView):
        fails = True

        def settle(self, grant, actual):
            if self.fails:
                raise OSError("not now")
            return super().settle(grant, actual)

    ledger = ledger_in_memory()
    ledger.start("s", Settings(1000))
    storage = Failing(ledger, "s")
    manager = BudgetManager(storage=storage)
    manager.allocate(100)
    with pytest.raises(OSError, match="not now"):
        manager.record_usage(50)
    storage.fails = False
    manager.record_usage(50)
    assert manager.remaining == 950


def test_a_summary_has_the_same_words_in_a_run_and_from_the_store(inside):
    script = "seq 1 30; for i in $(seq 40); do echo error: bad $i >&2; done; exit 3"
    ran = inside("-n", "4000", "--mode", "summary", "--", "sh", "-c", script)
    assert (ran.status, ran.err) == (3, b""), "stderr is told of in the summary, and not shown twice"
    assert inside("show", "@last", "--mode", "summary", "-n", "4000").out == ran.out
    inside("--mode", "summary", "--", "sh", "-c", "echo boom >&2; exit 1")
    assert inside("show", "@last", "--stream", "err", "-n", "50").out == b"boom\n"


def test_totals_and_windows_can_be_written_with_units(inside, with_store):
    sizes = ("--total", "100k", "--context-window", "1,000,000")
    started = inside("budget", "start", "s", *sizes, "-o", "json").json
    assert (started["data"]["total"], started["data"]["context_window"]) == (100_000, 1_000_000)
    assert inside("budget", "record", "s", "--input", "1.5k", "--output", "2_000").status == 0
    assert inside("budget", "status", "s", "-o", "json").json["data"]["used"] == 3500
    assert inside("budget", "check", "s", "--need", "97k").status == 1
