"""`tokcap-bash` with settings that do not work stays usable, and counts what an agent adds to an output."""

from __future__ import annotations

import json
import os
import shutil
import subprocess

import pytest

from tests.support.reference import recount
from tokcap.environment import Frame

pytestmark = pytest.mark.usefixtures("with_store")

if not shutil.which("bash"):
    pytest.skip("bash is not installed", allow_module_level=True)


@pytest.fixture
def shell(programs, monkeypatch):
    """Return a function that runs a string in tokcap-bash with variables."""
    monkeypatch.setenv("PATH", f"{programs}:/usr/local/bin:/usr/bin:/bin")

    def run(command, **variables):
        return subprocess.run(
            ["tokcap-bash", "-c", command],
            capture_output=True,
            env={**os.environ, **variables},
            timeout=60,
            check=False,
        )

    return run


class TestABrokenSetting:
    @pytest.mark.parametrize(
        ("name", "value", "said"),
        [
            ("TOKCAP_TOKEN_LIMIT", "many", b"TOKCAP_TOKEN_LIMIT: 'many' is not"),
            ("TOKCAP_SHAPE", "round", b"TOKCAP_SHAPE: 'round' is not one of"),
            ("TOKCAP_TOKENIZER", "none-such", b"--tokenizer: 'none-such' is not"),
            ("TOKCAP_MODEL", "none-such", b"--model: 'none-such' is not"),
            ("TOKCAP_CONFIG", "/none/such", b"TOKCAP_CONFIG: there is no file"),
            ("TOKCAP_SESSION", "ended", b"session 'ended' (TOKCAP_SESSION) has not been started"),
        ],
    )
    def test_is_ignored_with_one_warning_and_the_command_runs(self, shell, name, value, said):
        done = shell("echo out; echo err >&2; exit 3", **{name: value})
        assert (done.returncode, done.stdout) == (3, b"out\n")
        assert done.stderr.startswith(b"err\ntokcap: warning: ignored: ")
        assert said in done.stderr
        assert done.stderr.count(b"\n") == 2

    def test_leaves_the_other_settings_and_the_limit_alone(self, shell, tmp_path):
        (tmp_path / "config.toml").write_text("this is not TOML")
        done = shell(
            "seq 1 10000; exit 4",
            TOKCAP_CONFIG=str(tmp_path / "config.toml"),
            TOKCAP_TOKEN_LIMIT="200",
            TOKCAP_KEEP="wrong",
            TOKCAP_SESSION="ended",
            TOKCAP_TOKENIZER="none-such",
        )
        assert done.returncode == 4
        assert 100 < recount(done.stdout + done.stderr) <= 200
        assert b"[TRUNCATED]" in done.stdout
        assert b"tokcap: warning: ignored" in done.stderr

    def test_of_a_session_that_runs_is_ignored_too(self, shell, tokcap):
        tokcap("budget", "start", "work", "--total", "100000")
        done = shell("echo out", TOKCAP_SESSION="work", TOKCAP_TOKENIZER="none-such")
        assert (done.returncode, done.stdout) == (0, b"out\n")
        assert b"ignored: --tokenizer" in done.stderr

    def test_a_ledger_that_cannot_be_used_does_not_stop_the_shell(self, shell, tmp_path):
        (tmp_path / "data").mkdir()
        (tmp_path / "data" / "ledger.db").write_text("this is not a database" * 100)
        done = shell("echo out", TOKCAP_SESSION="work", TOKCAP_DATA_DIR=str(tmp_path / "data"))
        assert (done.returncode, done.stdout) == (0, b"out\n")
        assert done.stderr.startswith(b"tokcap: warning: ignored: ")

    def test_a_budget_that_is_exhausted_refuses_as_everywhere(self, shell, tokcap):
        tokcap("budget", "start", "work", "--total", "10")
        done = shell("echo out", TOKCAP_SESSION="work", TOKCAP_SHAPE="round")
        assert (done.returncode, done.stdout) == (120, b"")
        assert b"the budget is exhausted" in done.stderr


OF_AGENT = {"TOKCAP_SESSION_FROM": "AGENT_ID", "TOKCAP_REPEAT": "mark"}


class TestTheWayToTheRest:
    """A command named in a mark works where the reader of the mark runs it, on every page."""

    @pytest.mark.parametrize("named", ["", "tokcap"])
    def test_has_a_path_if_tokcap_is_not_on_path_or_may_not_be(self, named, programs, monkeypatch):
        if named:
            # An agent changes PATH for its commands later, and the hook says so by the bare name.
            monkeypatch.setenv("TOKCAP_PROGRAM", named)
        else:
            monkeypatch.setenv("PATH", "/usr/bin:/bin")
        monkeypatch.setenv("TOKCAP_TOKEN_LIMIT", "200")
        words, texts = [f"{programs}/tokcap-bash", "-c", "seq 1 3000"], []
        for _ in range(3):
            texts.append(subprocess.run(words, capture_output=True, check=True).stdout.decode())
            command = texts[-1].splitlines()[-1].rpartition("; ")[2]
            assert command.startswith(f"{programs}/tokcap show "), texts
            # As in an agent whose hook sees results only: nothing surrounds the page.
            monkeypatch.setenv("PATH", "/usr/bin:/bin")
            words = command.split()
        assert len({*texts}) == 3

    def test_runs_the_command_again_if_nothing_can_be_stored(self, shell):
        shown = shell("seq 1 3000", TOKCAP_TOKEN_LIMIT="200", TOKCAP_KEEP="head", TOKCAP_SPILL="never")
        *lines, mark = shown.stdout.decode().splitlines()
        command = mark.rpartition("; ")[2]
        assert "tokcap --token-offset " in command
        page = shell(command.replace("COMMAND", "seq 1 3000"), TOKCAP_TOKEN_LIMIT="200")
        assert page.stdout.decode().splitlines()[0] == str(len(lines) + 1)
        assert recount(page.stdout) <= 200


class TestTheSessionOfAnAgent:
    """TOKCAP_SESSION_FROM: the variable in which an agent names its own session."""

    def test_the_line_for_a_repeated_output_names_tokcap_by_its_path_if_it_is_not_on_path(
        self, shell, programs
    ):
        hidden = {"AGENT_ID": "one-2", "TOKCAP_PROGRAM": f"{programs}/tokcap", **OF_AGENT}
        shell("seq 1 300", **hidden)
        again = shell("seq 1 300", **hidden)
        line = again.stdout.decode()
        assert line.startswith("[UNCHANGED]")
        words = line.split()
        assert words[-3:-1] == [f"{programs}/tokcap", "show"]
        assert subprocess.run(words[-3:], capture_output=True, check=True).stdout.endswith(b"\n300\n")

    def test_is_started_by_its_first_command_and_pays_for_all(self, shell):
        first = shell("seq 1 300", AGENT_ID="one-1", **OF_AGENT)
        again = shell("seq 1 300", AGENT_ID="one-1", **OF_AGENT)
        status = shell("tokcap budget status", AGENT_ID="one-1", **OF_AGENT)
        other = shell("seq 1 300", AGENT_ID="two-2", **OF_AGENT)
        assert first.stdout == other.stdout == "".join(f"{n}\n" for n in range(1, 301)).encode()
        assert recount(again.stdout) < 40
        assert b"one-1" in status.stdout
        assert (first.stderr, again.stderr) == (b"", b"")

    def test_is_not_needed_if_the_agent_names_none(self, shell):
        done = shell("echo $TOKCAP_SESSION; echo out", **OF_AGENT)
        assert (done.stdout, done.stderr) == (b"\nout\n", b"")


class TestTheFrame:
    """TOKCAP_FRAME: what an agent puts around an output. The limit covers it."""

    def test_is_taken_off_the_limit(self, shell):
        done = shell("seq 1 10000", TOKCAP_TOKEN_LIMIT="400", TOKCAP_FRAME="tokens=60")
        assert 300 < recount(done.stdout) <= 340

    def test_takes_at_most_a_quarter_of_the_limit(self, shell):
        done = shell("seq 1 10000", TOKCAP_TOKEN_LIMIT="100", TOKCAP_FRAME="tokens=60")
        assert 50 < recount(done.stdout) <= 75

    def test_counts_escapes_if_the_agent_writes_json(self, shell, tmp_path):
        rows = [{"id": n, "say": 'a "quoted" \\ word\t'} for n in range(2000)]
        (tmp_path / "rows.json").write_text(json.dumps({"rows": rows}))
        done = shell(
            f"cat {tmp_path}/rows.json; echo 'an \"error\"' >&2",
            TOKCAP_TOKEN_LIMIT="500",
            TOKCAP_FRAME="tokens=20 as_json=1",
        )
        escaped = json.dumps((done.stdout + done.stderr).decode())[1:-1]
        assert 380 < recount(escaped.encode()) <= 480
        assert json.loads(done.stdout)["rows"][0] == rows[0]
        assert b"tokcap show" in done.stderr

    def test_counts_escapes_of_output_that_would_fit_without_them(self, shell):
        done = shell(r"""printf '"\\\t%.0s' {1..150}""", TOKCAP_TOKEN_LIMIT="200", TOKCAP_FRAME="as_json=1")
        escaped = json.dumps((done.stdout + done.stderr).decode())[1:-1]
        assert recount(escaped.encode()) <= 200

    def test_pages_are_cut_once_by_what_they_cost_in_the_frame(self, shell, tmp_path):
        (tmp_path / "text").write_text('say "this" and "that"\n' * 3000)
        variables = {"TOKCAP_TOKEN_LIMIT": "300", "TOKCAP_FRAME": "tokens=20 as_json=1"}
        first = shell(f"cat {tmp_path}/text", **variables)
        command = first.stdout.decode().rpartition("; ")[2].strip()
        page = shell(command, **variables)
        assert page.stdout.count(b"[TRUNCATED]") == 1
        assert recount(json.dumps(page.stdout.decode())[1:-1].encode()) <= 280

    def test_passes_a_short_output_on_whole_and_cuts_a_long_one_to_less(self, shell):
        frame = {"TOKCAP_FRAME": "whole=900 cut=200"}
        assert shell("seq 1 400", **frame).stdout.endswith(b"\n400\n")
        for command, more in (
            ("seq 1 2000", {}),
            ("seq 1 2000 >&2", {}),
            ("seq 1 300; seq 1 300 >&2", {}),
            ("seq 1 2000", {"TOKCAP_KEEP": "head"}),
            ("seq 1 2000 | tr '\\n' ,", {}),
        ):
            done = shell(command, **frame, **more)
            assert 100 < recount(done.stdout + done.stderr) <= 200, command
        for more in ({"TOKCAP_TOKEN_LIMIT": "500"}, {"TOKCAP_TOKEN_LIMIT": "900"}):
            done = shell("seq 1 2000", **frame, **more)
            assert 400 < recount(done.stdout) <= int(more["TOKCAP_TOKEN_LIMIT"])

    @pytest.mark.parametrize(
        ("frame", "size_of", "most"),
        [
            ("characters=700", len, 700),
            ("size=700", lambda text: len(text.encode()), 700),
            ("lines=50", lambda text: text.count("\n"), 50),
        ],
    )
    @pytest.mark.parametrize("line", ["the quick brown fox", r"x\n", "漢字 é", '{"a": [1, 2]}'])
    def test_keeps_an_answer_below_what_the_agent_would_cut_again(self, frame, size_of, most, line, shell):
        for limit in ("1000", "200"):
            done = shell(f"yes $'{line}' | head -n 900", TOKCAP_FRAME=frame, TOKCAP_TOKEN_LIMIT=limit)
            assert size_of(done.stdout.decode()) <= most
            assert b"tokcap show" in done.stdout + done.stderr

    def test_knows_that_less_is_passed_on_of_a_command_that_failed(self, shell):
        frame = {"TOKCAP_FRAME": "characters=5000 failed=700"}
        command = "yes 'the quick brown fox' | head -n 200"
        assert len(shell(command, **frame).stdout) == 4000
        assert len(shell(f"{command}; exit 3", **frame).stdout) <= 700

    def test_puts_its_own_words_into_the_one_stream_that_an_agent_shows(self, shell):
        command = 'printf "[%s]" "$(seq -s, 1 3000)"; echo no >&2; exit 3'
        done = shell(command, TOKCAP_STDERR="merge", TOKCAP_TOKEN_LIMIT="300", TOKCAP_SHAPE="json")
        assert done.stderr == b""
        assert b"tokcap show" in done.stdout

    def test_says_the_exit_status_for_an_agent_that_does_not(self, shell):
        for command, said in (("echo x", b"x\n"), ("echo x; exit 4", b"x\n[exit status 4]\n")):
            assert shell(command, TOKCAP_FRAME="tells_status=1").stdout == said

    def test_that_makes_no_sense_is_no_frame(self):
        for text in ("", "x", "-5", "tokens=-5", "tokens=5 x=1", "tokens=²"):
            assert Frame.read_from(text) == Frame()
        assert Frame.read_from("tokens=34 as_json=1") == Frame(34, 1)
