"""Calls of an application with the flags: what is captured, what is released, and how the call ends."""

import json
import subprocess
import sys

import pytest
import typer

from tests.support import typer_groups
from tests.support.program import ENVELOPE, PYTHON, ROOT
from tests.support.reference import recount
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
    assert process("printing").out.decode() == "\n".join(typer_groups.LINES) + "\n"
    code = (
        "import sys; from tests.support.typer_groups import app; app(['printing'], standalone_mode=False);"
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


@pytest.mark.parametrize("path", typer_groups.COMMANDS)
def test_the_flags_work_for_every_way_to_write_output_before_and_after_the_name(path, invoke):
    words = path.split()
    total = recount(invoke(*words, "--output", "text").out)
    shown = invoke(*words, "--token-limit", "100").out
    assert 0 < recount(shown) <= 100 < total
    assert b"[TRUNCATED]" in shown
    assert invoke("--token-limit", "100", *words).out == shown
    assert invoke(*words, "--token-count").out == b"%d\n" % total
    for form in ("json", "jsonl"):
        enveloped = invoke(*words, "--token-limit", "300", "--output", form).out
        assert 0 < recount(enveloped) <= 300
        assert json.loads(enveloped.splitlines()[-1])["meta"]["truncated"] is True


def test_output_of_child_processes_is_captured_too(process):
    ran = process("ends", "child", "--output", "json")
    assert envelope_of(ran)["data"] == ["one\ntwo\nthree\n"]
    assert ran.err == b"four\n"


def test_bytes_that_are_not_text_are_unchanged(process):
    assert process("ends", "binary", "--token-limit", "1000").out == b"\xff\xfe\n" * 50
    assert (
        envelope_of(process("ends", "binary", "--token-limit", "300", "--output", "json"))["meta"]["binary"]
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


def test_the_traceback_of_an_exception_is_not_lost(process):
    ran = process("ends", "raising", "--token-limit", "5")
    assert (ran.status, ran.out) == (1, b"before\n")
    assert b"Traceback" in ran.err
    assert b"ValueError: no such item" in ran.err
    as_json = process("ends", "raising", "--output", "json")
    for limit in ("200", "300", "500"):
        limited = process("ends", "raising", "--output", "json", "--token-limit", limit)
        assert recount(limited.out) <= int(limit)
        assert envelope_of(limited)["error"]["message"] == "ValueError: no such item"
    assert as_json.err == b""
    assert 'raise ValueError("no such item")' in envelope_of(as_json)["error"]["detail"]


def test_output_of_a_group_is_part_of_the_output(invoke):
    assert invoke("--banner", "ends", "words", "a", "--output", "json").json["data"] == ["BANNER\na\n"]
    # If the command returns its result, the result follows.
    shown = invoke("--banner", "store", "shelf", "box", "list-returned", "--output", "text").out.decode()
    assert json.loads(shown.removeprefix("BANNER\n")) == typer_groups.ROWS


def test_an_argument_that_only_looks_like_a_flag_is_left_alone(invoke):
    assert invoke("--banner", "ends", "words", "--", "--output", "x").out == b"BANNER\n--output\nx\n"


def test_nothing_is_stored(invoke, with_store):
    assert b"next: --token-offset" in invoke("printing", "--token-limit", "60").out
    assert not with_store.exists()


def test_stdout_is_restored_after_an_exception():
    code = (
        "from tests.support.typer_groups import app\n"
        "try: app(['ends', 'raising', '--token-limit', '9'], standalone_mode=False)\n"
        "except ValueError as error: print('caught', error)\n"
        "app(['ends', 'words', 'x'], standalone_mode=False); print(len(__import__('os').listdir('/dev/fd')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.splitlines()[:3] == ["before", "caught no such item", "x"]
    # Four open descriptors: the standard streams, and the directory that is listed.
    assert int(done.stdout.splitlines()[3]) == 4


def test_a_reader_that_goes_away_causes_no_traceback():
    done = subprocess.run(
        ["bash", "-c", f"{PYTHON} -m tests.support.typer_groups printing --token-limit 3000 | head -1"],
        capture_output=True, text=True, cwd=ROOT, check=True,
    )  # fmt: skip
    assert done.stdout == "line 0 of the report on tokens\n"
    assert "Traceback" not in done.stderr


def test_a_command_runs_even_if_stdout_is_closed():
    done = subprocess.run(
        ["bash", "-c", f"{PYTHON} -m tests.support.typer_groups ends exit-three --output json >&-"],
        capture_output=True, text=True, cwd=ROOT, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (3, "")


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
