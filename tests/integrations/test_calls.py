"""Calls of an application with the flags: what is captured, what is released, and how the call ends."""

import contextlib
import io
import json
import os
import subprocess
import sys

import pytest
import typer
from typer.main import get_command
from typer.testing import CliRunner

from tests.support import twenty
from tests.support.program import ENVELOPE, PYTHON, ROOT
from tests.support.reference import recount
from tests.support.tiers import as_nightly
from tokcap import enable_token_budget


def envelope_of(ran):
    """Return the envelope, checked against the schema."""
    envelope = ran.json
    ENVELOPE.validate(envelope)
    assert list(envelope) == ["ok", "data", "error", "warnings", "meta"]
    assert envelope["ok"] == (ran.status == 0)
    assert envelope["meta"]["exit_code"] == ran.status
    return envelope


def test_without_a_flag_nothing_is_captured(process):
    """The modules that capture output are not even loaded."""
    assert process("printing").out.decode() == "\n".join(twenty.LINES) + "\n"
    code = (
        "import sys; from tests.support.twenty import app; app(['printing'], standalone_mode=False);"
        "print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    loaded = done.stderr.split()
    assert "tokcap.integrations.invocation" in loaded
    assert {"tokcap.pipeline", "tokcap.integrations.stdout_capture", "tiktoken", "orjson"}.isdisjoint(loaded)


def test_without_a_flag_output_is_live():
    """The first line can be read while the command still runs."""
    code = (
        "import typer; from tokcap import enable_token_budget; app = enable_token_budget(typer.Typer())\n"
        "@app.command()\ndef ask():\n    print('first', flush=True); print(input())\napp()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
    ) as running:
        assert running.stdout.readline() == "first\n"
        assert running.communicate("second\n", timeout=60)[0] == "second\n"


def test_output_of_child_processes_is_captured_too(process):
    ran = process("ends", "child", "--output", "json")
    assert envelope_of(ran)["data"] == ["one\ntwo\nthree\n"]
    assert ran.err == b"four\n"


def test_bytes_that_are_not_text_are_unchanged(process):
    assert process("ends", "binary", "--token-limit", "1000").out == b"\xff\xfe\n" * 50
    assert (
        envelope_of(process("ends", "binary", "--token-limit", "9", "--output", "json"))["meta"]["binary"]
        is True
    )


@pytest.mark.parametrize(
    ("words", "status", "code", "message"),
    [
        (["exit-three"], 3, "COMMAND_FAILED", "the command exited with status 3"),
        (["sys-exit", "four"], 4, "COMMAND_FAILED", "the command exited with status 4"),
        (["sys-exit", "words"], 1, "COMMAND_FAILED", "out of words"),
        (["abort"], 1, "COMMAND_FAILED", "aborted"),
        (["bad-parameter"], 2, "USAGE", "Invalid value: not this one"),
        (["raising"], 1, "COMMAND_FAILED", "ValueError: no such item"),
        (["interrupted"], 130, "COMMAND_FAILED", "interrupted"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_the_envelope_has_the_error_that_ended_the_command(words, status, code, message, invoke):
    ran = invoke("ends", *words, "--output", "json")
    envelope = envelope_of(ran)
    assert ran.status == status
    assert (envelope["error"]["code"], envelope["error"]["message"]) == (code, message)
    last = json.loads(invoke("ends", *words, "--output", "jsonl").out.splitlines()[-1])
    assert (last["error"]["code"], last["meta"]["exit_code"]) == (code, status)


def test_an_exit_without_a_status_is_not_an_error(invoke):
    assert envelope_of(invoke("ends", "sys-exit", "none", "--output", "json"))["error"] is None


@pytest.mark.parametrize(
    "words",
    [
        ["raising"],
        *map(as_nightly, [["sys-exit", "words"], ["exit-three"], ["abort"], ["bad-parameter"]]),
    ],
)
def test_with_text_output_the_command_ends_as_without_a_flag(words, process):
    """With a limit that is not reached, output, status and stderr are the same."""
    bare, limited = process("ends", *words), process("ends", *words, "--token-limit", "1000")
    assert (limited.out, limited.status) == (bare.out, bare.status)
    assert bare.err.splitlines()[-1:] == limited.err.splitlines()[-1:]


def test_the_traceback_of_an_exception_is_not_lost(process):
    ran = process("ends", "raising", "--token-limit", "5")
    assert (ran.status, ran.out) == (1, b"before\n")
    assert b"Traceback" in ran.err
    assert b"ValueError: no such item" in ran.err
    as_json = process("ends", "raising", "--output", "json")
    assert as_json.err == b""
    assert 'raise ValueError("no such item")' in envelope_of(as_json)["error"]["detail"]


@pytest.mark.parametrize(
    "words",
    [
        ["nonsense", "--output", "json"],
        ["--nonsense", "--output=json"],
        ["printing", "--nonsense", "--output", "json"],
        ["printing", "--output", "json", "--token-limit", "0"],
        ["--token-offset", "-1", "--output", "json", "printing"],
        ["store", "one-long-line", "--size", "many", "--output", "json"],
        ["printing", "--tokenizer", "nonsense", "--output", "json"],
        ["printing", "--token-limit", "9" * 30, "--output", "json"],
        ["--banner", "printing", "--token-limit", "9" * 30, "--output", "json"],
        ["--output", "json"],
    ],
    ids=" ".join,
)
def test_a_refusal_has_the_form_that_the_call_requests(words, invoke):
    ran = invoke(*words)
    assert ran.status == 2
    envelope = envelope_of(ran)
    assert (envelope["data"], envelope["error"]["code"]) == (None, "USAGE")


@pytest.mark.parametrize(
    "words",
    [
        ["--token-limit", "0"],
        *map(as_nightly, [["--tokenizer", "x"], ["--output", "xml"], ["--token-count", "z"]]),
    ],
)
def test_a_refusal_in_text_is_that_of_the_application(words, process):
    ran = process("printing", *words)
    assert (ran.status, ran.out) == (2, b"")
    assert b"Usage:" in ran.err
    assert b"Traceback" not in ran.err


def test_output_of_a_group_is_part_of_the_output(invoke):
    assert invoke("--banner", "ends", "words", "a", "--output", "json").json["data"] == ["BANNER\na\n"]
    # If the command returns its result, the result follows.
    shown = invoke("--banner", "store", "shelf", "box", "list-returned", "--output", "text").out.decode()
    assert json.loads(shown.removeprefix("BANNER\n")) == twenty.ROWS


def test_an_argument_that_only_looks_like_a_flag_is_left_alone(invoke):
    assert invoke("--banner", "ends", "words", "--", "--output", "x").out == b"BANNER\n--output\nx\n"


def test_an_argument_that_only_looks_like_a_flag_does_not_capture_the_output(invoke):
    assert invoke("ends", "stream", "--", "--output", "x").out == invoke("ends", "stream", "x").out
    assert invoke("ends", "stream", "x", "--output", "text").out == b"TextIOWrapper\n"


@pytest.mark.parametrize(("value", "status"), [("crash", 1), ("exit", 5)])
def test_a_callback_may_end_the_call_while_arguments_are_parsed(value, status, invoke):
    ran = invoke("ends", "checking", "--value", value, "--output", "json")
    assert (ran.status, envelope_of(ran)["error"]["code"]) == (status, "COMMAND_FAILED")
    alone = enable_token_budget(typer.Typer())
    alone.command()(twenty.checking)
    ran = invoke("--value", value, "--output", "json", app=alone)
    assert (ran.status, envelope_of(ran)["error"]["code"]) == (status, "COMMAND_FAILED")
    help_shown = CliRunner().invoke(alone, ["--output", "json", "--help"])
    assert (help_shown.exit_code, "Usage" in help_shown.stdout) == (0, True)


def test_output_printed_when_a_context_is_closed_is_part_of_the_output(invoke):
    assert invoke("ends", "closing", "--output", "json").json["data"] == ["closed\n"]


def test_returned_numbers_and_coroutines_are_not_output(invoke, process):
    assert invoke("ends", "number", "--output", "json").json["data"] == []
    ran = process("ends", "awaitable", "--output", "json")
    assert envelope_of(ran)["data"] == []
    # Typer does not run a coroutine, and neither does tokcap.
    assert b"never awaited" in ran.err


def test_variables_of_tokcap_do_not_change_another_tool(invoke, monkeypatch):
    monkeypatch.setenv("TOKCAP_TOKEN_LIMIT", "5")
    monkeypatch.setenv("TOKCAP_OUTPUT", "json")
    assert invoke("ends", "words", *"abcdefghij", "--output", "text").out == b"a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n"


def test_nothing_is_stored(invoke, with_store):
    assert b"next: --token-offset" in invoke("printing", "--token-limit", "60").out
    assert not with_store.exists()


def test_output_is_captured_if_stdout_was_replaced():
    place = io.StringIO()
    with contextlib.redirect_stdout(place):
        get_command(twenty.app).main(["ends", "exit-three", "--output", "json"], standalone_mode=False)
        print("after")
    first, second = place.getvalue().splitlines()
    assert json.loads(first)["data"] == ["before\n"]
    assert second == "after"


def test_stdout_is_restored_after_an_exception():
    code = (
        "from tests.support.twenty import app\n"
        "try: app(['ends', 'raising', '--token-limit', '9'], standalone_mode=False)\n"
        "except ValueError as error: print('caught', error)\n"
        "app(['ends', 'words', 'x'], standalone_mode=False); print(len(__import__('os').listdir('/dev/fd')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.splitlines()[:3] == ["before", "caught no such item", "x"]
    # Four open descriptors: the standard streams, and the directory that is listed.
    assert int(done.stdout.splitlines()[3]) == 4


def test_stdout_is_restored_if_the_output_cannot_be_stored(monkeypatch):
    """A full disk raises an error, and later output is printed as usual."""

    def full(_file, _data):
        raise OSError(28, "No space left on device")

    place = io.StringIO()
    with contextlib.redirect_stdout(place), monkeypatch.context() as patch:
        patch.setattr("tokcap.integrations.stdout_capture.os.write", full)
        with pytest.raises(OSError, match="No space left"):
            get_command(twenty.app).main(["ends", "words", "x", "--token-limit", "9"], standalone_mode=False)
        assert sys.stdout is place


def test_a_reader_that_goes_away_causes_no_traceback():
    done = subprocess.run(
        ["bash", "-c", f"{PYTHON} -m tests.support.twenty printing --token-limit 3000 | head -1"],
        capture_output=True, text=True, cwd=ROOT, check=True,
    )  # fmt: skip
    assert done.stdout == "line 0 of the report on tokens\n"
    assert "Traceback" not in done.stderr


def test_a_command_runs_even_if_stdout_is_closed():
    done = subprocess.run(
        ["bash", "-c", f"{PYTHON} -m tests.support.twenty ends exit-three --output json >&-"],
        capture_output=True, text=True, cwd=ROOT, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (3, "")


def test_output_of_a_nested_application_is_captured_too():
    outer = enable_token_budget(typer.Typer())

    @outer.command()
    def around() -> None:
        get_command(twenty.app).main(["printing", "--token-limit", "40"], standalone_mode=False)
        print("around")

    shown = CliRunner().invoke(outer, ["--output", "json"]).stdout
    (text,) = json.loads(shown)["data"]
    inner, _, last = text.rpartition("around")
    assert (recount(inner.encode()) <= 40, last) == (True, "\n")


def test_a_large_output_is_counted(process):
    ran = process("store", "one-long-line", "--size", "200000", "--token-count")
    assert ran.out == b"200001\n"


def test_stdout_is_not_a_terminal_while_it_is_captured():
    import pty

    command = f"{PYTHON} -m tests.support.twenty ends is-terminal"
    master, slave = pty.openpty()
    subprocess.run(
        ["bash", "-c", f"{command}; {command} --token-limit 9"], stdout=slave, cwd=ROOT, check=True
    )
    os.close(slave)
    seen = b""
    with contextlib.suppress(OSError):
        while block := os.read(master, 1000):
            seen += block
    os.close(master)
    assert seen.split() == [b"True", b"False"]


def test_an_offset_of_zero_replaces_the_offset_of_a_group(invoke):
    """0 is a value like any other, although `0 == False` in Python."""
    from_the_start = invoke("printing", "--token-limit", "60")
    assert (
        invoke("--token-offset", "9", "printing", "--token-offset", "0", "--token-limit", "60")
        == from_the_start
    )


def returning(value):
    app = enable_token_budget(typer.Typer())
    app.command()(lambda: value)
    return app


def test_a_return_value_that_cannot_be_json_is_a_clear_error(invoke):
    circle = []
    circle.append(circle)
    for value in (circle, {(1, 2): 3}):
        envelope = envelope_of(invoke("--output", "json", app=returning(value)))
        assert envelope["error"]["code"] == "COMMAND_FAILED"
        assert "cannot be written as JSON" in envelope["error"]["message"]
        assert invoke("--token-limit", "9", app=returning(value)).status == 1


def test_a_lone_surrogate_in_a_return_value_stays_json(invoke):
    envelope = envelope_of(invoke("--output", "json", app=returning({"key": "x\ud800"})))
    assert envelope["data"] == {"key": "x\ud800"}


def test_a_command_may_close_the_stream_it_prints_to(process):
    assert envelope_of(process("ends", "closes-its-stream", "--output", "json"))["data"] == ["before\n"]
    assert process("ends", "closes-its-stream", "--token-limit", "9").out == b"before\n"
