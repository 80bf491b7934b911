"""`--repeat`: a session that was shown an output gets one line for it, or the lines that differ."""

import json
import os
import re
import signal
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.differences import applied
from tests.support.processes import wait_for
from tests.support.reference import ENCODINGS, recount
from tests.support.tiers import examples, times
from tokcap import UsageError, run
from tokcap.budget.ledger import SessionView
from tokcap.budget.sqlite import ledger_in
from tokcap.errors import TokenizerFailed
from tokcap.tokens.embedded import EmbeddedTokenizer

pytestmark = pytest.mark.usefixtures("with_store")

LONG = "".join(f"line {number} of the output\n" for number in range(200)).encode()
LINE = re.compile(rb"\[UNCHANGED\] [^\n]*tokcap show ([a-z]{4}\d{9,})( --stream err)?\n")


@pytest.fixture
def work(inside, with_store, monkeypatch):
    """Start the session `work`, make it the current one, and return its view of the ledger."""
    assert inside("budget", "start", "work", "--total", "1000000").status == 0
    monkeypatch.setenv("TOKCAP_SESSION", "work")
    return SessionView(ledger_in(str(with_store)), "work")


@pytest.fixture
def repeat(inside, work, tmp_path):
    """Run a command that writes these bytes, always the same one, with `--repeat`."""
    out, err = tmp_path / "out", tmp_path / "err"

    def run_command(stdout=LONG, stderr=b"", *words, how="mark", status=0, limit="4000"):
        out.write_bytes(stdout)
        err.write_bytes(stderr)
        limited = ("-n", limit) if limit else ()
        script = f"cat {out}; cat {err} >&2; exit $(cat {tmp_path}/status)"
        (tmp_path / "status").write_text(str(status))
        return inside("--repeat", how, *limited, *words, "--", "sh", "-c", script)

    return run_command


class TestMark:
    def test_the_same_output_is_one_line_with_the_command_that_shows_it(self, repeat, inside):
        assert repeat().out == LONG
        line = repeat()
        assert line.out == repeat().out
        handle = LINE.fullmatch(line.out)[1].decode()
        assert re.search(rf"{recount(LONG)} tokens", line.out.decode())
        assert inside("show", handle).out == LONG

    def test_the_command_runs_and_its_status_survives(self, repeat):
        for _ in range(2):
            ran = repeat(status=3)
            assert ran.status == 3
        assert LINE.fullmatch(ran.out)

    def test_stderr_belongs_to_the_output(self, repeat, inside):
        assert repeat(LONG, b"warning\n").err == b"warning\n"
        same = repeat(LONG, b"warning\n")
        assert (bool(LINE.fullmatch(same.out)), same.err) == (True, b"")
        other = repeat(LONG, b"another warning\n")
        assert (other.out, other.err) == (LONG, b"another warning\n")
        assert repeat(b"", LONG).err == LONG
        line = LINE.fullmatch(repeat(b"", LONG).out)
        assert line[2]
        assert inside("show", line[1].decode(), "--stream", "err").out == LONG

    def test_a_short_output_is_shown(self, repeat, with_store):
        for _ in range(3):
            assert repeat(b"12 passed\n").out == b"12 passed\n"
        assert not [*(with_store / "spill").glob("??/*")]

    def test_a_changed_output_is_shown_and_so_is_the_first_one_after_it(self, repeat):
        """A reader would take `unchanged` for the last output, which was another one."""
        other = LONG.replace(b"line 7 ", b"line seven ")
        for stdout in (LONG, other, LONG, b"ok\n", LONG):
            assert repeat(stdout).out == stdout
        assert LINE.fullmatch(repeat(LONG).out)

    def test_another_command_with_the_same_output_says_that_it_is_another_one(self, repeat, inside, tmp_path):
        repeat()
        ran = inside("-n", "4000", "--repeat", "mark", "--", "cat", str(tmp_path / "out"))
        assert re.fullmatch(rb"\[UNCHANGED\] (same )?as another output: tokcap show \w+\n", ran.out)

    @pytest.mark.parametrize("forget", [("compacted", "--used", "10"), ("reset",)])
    def test_compaction_and_reset_forget_what_was_shown(self, repeat, inside, forget):
        repeat()
        assert LINE.fullmatch(repeat().out)
        assert inside("budget", *forget).status == 0
        assert repeat().out == LONG
        assert LINE.fullmatch(repeat().out)

    def test_the_envelope_says_what_it_is_and_how_to_go_on(self, repeat, inside):
        whole = repeat(LONG, b"oops\n", "-o", "json", status=1).json
        assert (whole["data"], "repeat" in whole["meta"]) == ([LONG.decode()], False)
        ran = repeat(LONG, b"oops\n", "-o", "json", status=1)
        meta = ran.json["meta"]
        assert (ran.status, ran.json["data"], meta["repeat"]) == (1, ["[UNCHANGED]"], "unchanged")
        assert (meta["repeat_of"], meta["exit_code"], meta["truncated"]) == (meta["handle"], 1, True)
        assert ran.json["error"] == {"code": "COMMAND_FAILED", "message": "the command exited with status 1"}
        assert inside(*meta["continue"]).json["data"] == [LONG.decode()]

    def test_output_of_which_only_a_part_is_stored_is_always_shown(self, repeat):
        for _ in range(3):
            assert repeat(LONG, b"", "--max-bytes", "1000").out == LONG

    @pytest.mark.provokes("REPEAT_FAILED", "TOKENIZER_FAILED")
    def test_a_tokenizer_that_fails_costs_no_output(self, repeat, monkeypatch):
        def fail(*_):
            raise TokenizerFailed("cl100k_base failed on this text")

        monkeypatch.setattr(EmbeddedTokenizer, "count", fail)
        for limit in ("9000", "300"):
            for _ in range(2):
                ran = repeat(status=3, limit=limit)
                assert (ran.out[:50], ran.status) == (LONG[:50], 3)
                assert recount(ran.out + ran.err) <= int(limit)

    def test_arguments_appear_nowhere_in_the_ledger(self, inside, work, with_store):
        for _ in range(2):
            inside("-n", "4000", "--repeat", "diff", "--", "sh", "-c", "seq 1 300 # hunter2")
        assert b"hunter2" not in (with_store / "ledger.db").read_bytes()

    @pytest.mark.parametrize("name", ENCODINGS)
    def test_the_line_has_at_most_25_tokens(self, repeat, name):
        for number in range(0, 25, 12 // min(times(), 4)):
            text = LONG.replace(b"line 7 ", b"line %d " % (number + 10**number))
            assert repeat(text, b"", "--tokenizer", name).out == text
            line = repeat(text, b"", "--tokenizer", name)
            assert LINE.fullmatch(line.out)
            assert all(recount(line.out, vocabulary) <= 25 for vocabulary in ENCODINGS), line.out


class TestDiff:
    def test_only_what_differs_is_shown_with_the_handles_of_both_outputs(self, repeat, inside):
        other = LONG.replace(b"line 7 of", b"line seven of")
        assert repeat(how="diff").out == LONG
        ran = repeat(other, how="diff")
        header, body = ran.out.split(b"\n", 1)
        old, new = re.fullmatch(
            rb"\[DIFF\] \+1 -1 of 200 lines since (\w+); all: tokcap show (\w+)", header
        ).groups()
        assert inside("show", old.decode()).out == LONG
        assert inside("show", new.decode()).out == other
        assert applied(LONG, body) == other
        assert recount(ran.out) < recount(other) / 2

    def test_the_same_output_is_one_line_even_after_a_difference(self, repeat):
        other = LONG.replace(b"line 7 of", b"line seven of")
        repeat(how="diff")
        assert LINE.fullmatch(repeat(how="diff").out)
        assert repeat(other, how="diff").out.startswith(b"[DIFF] ")
        assert LINE.fullmatch(repeat(other, how="diff").out)
        assert repeat(LONG, how="diff").out.startswith(b"[DIFF] +1 -1 ")

    def test_a_command_in_another_directory_is_another_command(self, work, tmp_path):
        other = LONG.replace(b"line 7 of", b"line seven of")
        for name, text in (("a", LONG), ("b", other)):
            (tmp_path / name).mkdir()
            (tmp_path / name / "log").write_bytes(text)
            shown = run(["cat", "log"], limit=4000, cwd=tmp_path / name, session="work", repeat="diff")
            assert shown.data == text
        (tmp_path / "a" / "log").write_bytes(other)
        shown = run(["cat", "log"], limit=4000, cwd=tmp_path / "a", session="work", repeat="diff")
        assert (shown.meta.repeat, applied(LONG, shown.data.split(b"\n", 1)[1])) == ("diff", other)

    def test_stderr_is_compared_too(self, repeat, inside):
        errors = LONG.replace(b"output", b"error")
        repeat(LONG, errors, how="diff")
        ran = repeat(LONG, errors.replace(b"line 9 ", b"line nine "), how="diff", status=2)
        assert ran.status == 2
        assert re.fullmatch(rb"\[DIFF\] \+0 -0 of 200 lines since \w+; all: tokcap show \w+\n", ran.out)
        header, body = ran.err.split(b"\n", 1)
        assert header.startswith(b"[DIFF] stderr: +1 -1 of 200 lines; all: tokcap show ")
        assert inside(*header.split(b"all: tokcap ")[1].decode().split()).out == applied(errors, body)
        ran = repeat(
            LONG.replace(b"line 3 ", b"line three "), errors.replace(b"line 9 ", b"line nine "), how="diff"
        )
        assert (b"; stderr the same; all: " in ran.out, ran.err) == (True, b"")

    @pytest.mark.parametrize("shape", ["json", "csv"])
    def test_documents_and_tables_are_shown_whole(self, repeat, shape):
        rows = [{"number": number, "name": f"row {number}"} for number in range(100)]
        texts = []
        for changed in ("one", "two", "three", "four"):
            rows[50]["name"] = changed
            if shape == "json":
                texts.append(json.dumps(rows, indent=1).encode() + b"\n")
            else:
                texts.append(
                    b"number,name\n" + b"".join(f"{r['number']},{r['name']}\n".encode() for r in rows)
                )
        for text in texts[:2]:
            assert repeat(text, b"", "--shape", shape, how="diff").out == text
        assert repeat(texts[2], b"", "--shape", "text", how="diff").out == texts[2]
        assert repeat(texts[3], b"", "--shape", "text", how="diff").out.startswith(b"[DIFF] +1 -1 ")

    def test_an_earlier_output_that_is_gone_or_damaged_is_not_compared(self, repeat, inside, with_store):
        texts = [LONG.replace(b"line 7 of", b"line seven %d of" % number) for number in range(3)]
        repeat(texts[0], how="diff")
        assert inside("spill", "rm", "@last").status == 0
        assert repeat(texts[1], how="diff").out == texts[1]
        (stored,) = with_store.glob("spill/*/*/out")
        stored.chmod(0o600)
        stored.write_bytes(stored.read_bytes().replace(b"line 9", b"line 8"))
        assert repeat(texts[2], how="diff").out == texts[2]

    def test_large_outputs_are_shown_as_usual(self, repeat):
        large = b"".join(b"%d\n" % number for number in range(60_000))
        first = repeat(large, how="diff")
        second = repeat(large + b"more\n", how="diff")
        assert b"[TRUNCATED]" in first.out
        assert b"[TRUNCATED]" in second.out
        assert LINE.fullmatch(repeat(large + b"more\n", how="diff").out)


class TestTheLibrary:
    @pytest.mark.parametrize("options", [{}, {"session": "work", "spill": "never"}])
    def test_it_is_refused_without_a_session_or_a_store(self, work, options):
        with pytest.raises(UsageError, match="--repeat needs"):
            run(["true"], repeat="mark", **options)


WORDS = st.sampled_from(["error", "line", " ", "\n", "\n\n", "漢字", "x" * 40, "1234567", "~", "\t", "é"])
TEXT = st.lists(WORDS, max_size=120).map("".join)


@examples(8)
@given(
    before=TEXT,
    edits=st.lists(st.tuples(st.integers(0, 400), st.integers(0, 40), TEXT), max_size=2),
    stderr=TEXT,
    limit=st.integers(140, 500),
    how=st.sampled_from(["mark", "diff"]),
    form=st.sampled_from(["text", "json", "jsonl"]),
)
def test_every_answer_is_within_the_limit_and_the_same_for_the_same_history(
    inside, with_store, before, edits, stderr, limit, how, form, tmp_path_factory
):
    place = tmp_path_factory.mktemp("run")
    after = before
    for start, length, text in edits:
        after = after[:start] + text + after[start + length :]
    answers = []
    for name in ("one", "two"):
        environment = {"TOKCAP_DATA_DIR": str(place / name), "TOKCAP_SESSION": "s"}
        inside("budget", "start", "s", env=environment)
        answers.append([])
        for stdout in (before, after, after, before):
            (place / "out").write_text(stdout)
            (place / "err").write_text(stderr)
            script = f"cat {place}/out; cat {place}/err >&2"
            words = ("-n", str(limit), "-o", form, "--repeat", how, "--", "sh", "-c", script)
            ran = inside(*words, env=environment)
            assert ran.status == 0
            assert recount(ran.out + ran.err) <= limit
            assert recount(ran.out) + recount(ran.err) <= limit
            answers[-1].append((re.sub(rb'"(duration_ms|spill_path)":[^,]*', b"", ran.out), ran.err))
            header, _, body = ran.out.partition(b"\n")
            if form == "text" and header.startswith(b"[DIFF] ") and b" since " in header:
                stored = header.split(b" since ")[1][:12].decode()
                old = inside("show", stored, "-n", "100000", env=environment).out
                assert not body or applied(old, body) == stdout.encode()
    assert answers[0] == answers[1]


SLOW = "seq 1 300; exec sleep 60"


def start_process(*words):
    return subprocess.Popen(
        [sys.executable, "-m", "tokcap", "--session", "work", "-n", "4000", "--repeat", "diff", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )


def test_a_killed_run_has_shown_nothing(work, inside, tmp_path):
    started = tmp_path / "started"
    script = f"seq 1 300; test -e {started} && exit; touch {started}; exec sleep 60"
    process = start_process("--", "sh", "-c", script)
    wait_for(started.exists)
    process.kill()
    out, _ = process.communicate()
    os.killpg(process.pid, signal.SIGKILL)
    assert out == b""
    words = ("-n", "4000", "--repeat", "diff", "--", "sh", "-c", script)
    assert inside(*words).out.count(b"\n") == 300
    assert LINE.fullmatch(inside(*words).out)


def test_an_output_that_was_on_its_way_while_the_context_was_compacted_was_not_shown(work, inside, tmp_path):
    """The ledger refuses to note it: it went to the context before."""
    go, words = tmp_path / "go", ("-n", "4000", "--repeat", "diff", "--", "sh", "-c")
    script = f"seq 1 300; while ! test -e {go}; do sleep 0.01; done"
    context = work.shown([]).context
    process = start_process("--", "sh", "-c", script)
    work.compacted(0)
    assert not work.note_shown(context, {"key": "111111111111"})
    go.touch()
    out, _ = process.communicate(timeout=60)
    assert out.count(b"\n") == 300
    # It was answered after the compaction, so it counts.
    assert LINE.fullmatch(inside(*words, script).out)


def test_processes_of_one_session_at_once_show_it_all_or_say_that_it_was_shown(work, inside):
    words = ("--", "seq", "1", "300")
    whole = "".join(f"{number}\n" for number in range(1, 301)).encode()
    processes = [start_process(*words) for _ in range(6)]
    answers = []
    for process in processes:
        out, err = process.communicate(timeout=120)
        assert (process.returncode, err) == (0, b"")
        answers.append(out)
    assert whole in answers
    assert all(out == whole or LINE.fullmatch(out) for out in answers)
    assert work.read().used == sum(recount(out) for out in answers)
    assert work.read().reserved == 0
    inside("-n", "4000", "--repeat", "diff", *words)
    assert LINE.fullmatch(inside("-n", "4000", "--repeat", "diff", *words).out)
