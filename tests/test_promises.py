"""The promises from outside: the program as a process, in odd surroundings."""

import json
import os
import re
import resource
import subprocess
import sys

import pytest

from tests.support.reference import ENCODINGS, recount, reference
from tests.support.tiers import as_nightly, some_everyday

SEQ = b"".join(b"%d\n" % n for n in range(1, 100_001))
PYTHON = sys.executable


@pytest.mark.parametrize("name", ENCODINGS)
@pytest.mark.parametrize("limit", [1, as_nightly(2), as_nightly(7), 30, as_nightly(77), 600])
def test_a_pipe_through_two_tokcaps_recounts_to_at_most_the_limit(tokcap, name, limit):
    shown = tokcap("--token-limit", str(limit), "--tokenizer", name, stdin=SEQ).out
    counted = int(tokcap("--token-count", "--tokenizer", name, stdin=shown).out)
    assert counted == recount(shown, name) <= limit


@pytest.mark.parametrize("name", ENCODINGS)
@pytest.mark.parametrize("limit", [150, 190, 333, 600])
def test_the_limit_covers_the_envelope_as_it_is_written(inside, name, limit):
    ran = inside("-n", str(limit), "-o", "json", "--tokenizer", name, stdin=SEQ)
    assert json.loads(ran.data_text) == ran.json["data"]
    assert recount(ran.out, name) <= limit
    assert ran.json["meta"]["truncated"] is True
    if limit > 300:
        assert recount(ran.data_text, name) == ran.json["meta"]["returned_tokens"]
        assert ran.json["meta"]["token_limit"] == limit


def test_the_count_is_tiktokens_and_nothing_of_the_payload_is_shown(inside):
    expected = len(reference("cl100k_base").encode_ordinary("".join(f"{n}\n" for n in range(1, 3001))))
    ran = inside("--token-count", "-o", "json", "--", "seq", "1", "3000")
    assert ran.json["data"] is None
    assert ran.json["meta"]["token_count"] == expected
    assert inside("--token-count", "--", "seq", "1", "3000").out == b"%d\n" % expected
    (line,) = inside("--token-count", "-o", "jsonl", "--", "seq", "1", "3000").out.splitlines()
    assert json.loads(line)["meta"]["token_count"] == expected


BOTTLES = b"".join(b"%d green bottles\r\n" % n for n in range(700)) + "漢字 🧑🏽‍🚀".encode()


def test_json_pages_by_next_offset_join_to_the_original(inside):
    pages, offset = "", 0
    while offset is not None:
        envelope = inside(
            "-n", "400", "--token-offset", str(offset), "--sentinel", "", "-o", "json", stdin=BOTTLES
        ).json
        pages += "".join(envelope["data"])
        offset = envelope["meta"].get("next_offset")
    assert pages.encode() == BOTTLES


def test_text_pages_by_the_offset_in_the_mark_join_to_the_original(inside):
    pages, offset = b"", 0
    while offset is not None:
        shown = inside("-n", "400", "--token-offset", str(offset), stdin=BOTTLES).out
        mark = re.search(rb"\[TRUNCATED\] \d+/\d+ tokens; next: --token-offset (\d+)\n$", shown)
        pages += shown[: mark.start()] if mark else shown
        offset = int(mark[1]) if mark else None
    assert pages == BOTTLES


def test_jsonl_records_join_to_the_text_and_the_last_line_is_meta(inside):
    ran = inside("-o", "jsonl", "--", "printf", r"one\ntwo\r\n\nlast")
    *records, last = [json.loads(line) for line in ran.out.splitlines()]
    assert records == ["one\n", "two\r\n", "\n", "last"]
    assert list(last) == ["meta"]
    ran = inside("-o", "jsonl", "-n", "180", "--", "sh", "-c", "seq 100; exit 4")
    *records, mark, last = [json.loads(line) for line in ran.out.splitlines()]
    assert mark == {"[TRUNCATED]": True}
    assert records == [f"{n}\n" for n in range(1, len(records) + 1)]
    assert last["error"]["code"] == "COMMAND_FAILED"
    assert recount(ran.out) <= 180


def test_the_envelope_has_the_same_keys_for_every_kind_of_call(inside):
    calls = [
        (["-n", "170", "-o", "json"], SEQ),
        (["-o", "json"], b""),
        (["-o", "json", "--token-count"], b"x"),
        (["-n", "0", "-o", "json"], b""),
        (["-o", "json", "--", "false"], b""),
        (["-o", "json", "-n", "159", "--token-offset", "50"], b"short"),
    ]
    for args, stdin in calls:
        envelope = inside(*args, stdin=stdin).json
        assert list(envelope) == ["ok", "data", "error", "warnings", "meta"]
        assert {"duration_ms", "tokenizer", "schema_version"} <= set(envelope["meta"])


def test_meta_tells_the_window(inside):
    args = ["-n", "390", "-o", "json", "--token-offset", "10"]
    meta = inside(*args, "--exact-total", stdin=SEQ).json["meta"]
    assert meta["token_offset"] == 10
    assert meta["total_tokens"] == recount(SEQ)
    assert meta["shape"] == "text"
    following = meta["next_offset"]
    shown = f"{following - 10}/{recount(SEQ)} tokens"
    assert meta["truncation_hint"] == f"{shown}; next: --token-offset {following}"
    # Of so much, the total is estimated unless somebody asks.
    estimated = inside(*args, stdin=SEQ).json["meta"]
    assert "total_tokens" not in estimated
    assert abs(estimated["total_tokens_estimate"] - recount(SEQ)) < recount(SEQ) / 4
    about = f"{estimated['total_tokens_estimate'] / 1000:.0f}k"
    assert f" of about {about} tokens; " in estimated["truncation_hint"]
    whole = inside("-n", "190", "-o", "json", stdin=b"fits\n").json
    assert whole["data"] == ["fits\n"]
    assert whole["meta"]["truncated"] is False
    assert {"next_offset", "token_offset", "truncation_hint"}.isdisjoint(whole["meta"])


@pytest.mark.parametrize(
    "text",
    [b"", b"\n", b"no newline", b"a\r\nb\0c\n", "漢字".encode(), b"\xff\xfe\xe2\x82", b"<|endoftext|>\n"],
)
@pytest.mark.parametrize(
    "args", [[], ["-n", "50"], ["-n", "50", "--keep", "tail"], ["-n", "50", "--tokenizer", "approx"]]
)
def test_output_that_fits_is_byte_identical(inside, text, args):
    ran = inside(*args, stdin=text)
    assert (ran.out, ran.err, ran.status) == (text, b"", 0)


@pytest.mark.parametrize("name", some_everyday(ENCODINGS, 1))
def test_a_megabyte_of_blanks_and_a_letter_is_counted_in_bounded_memory(name):
    done = subprocess.Popen(
        [PYTHON, "-m", "tokcap", "--token-count", "--tokenizer", name],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (400 << 20, 400 << 20)),
    )
    out, err = done.communicate(b" " * 1_000_000 + b"x", timeout=120)
    blanks = reference(name)._encode_single_piece(b" " * 999_999)
    assert (int(out), err) == (len(blanks) + 1, b"")


def test_invalid_utf8_is_called_binary_and_shown_replaced_in_json(inside):
    envelope = inside("-o", "json", stdin=b"ok \xff\xfe").json
    assert envelope["data"] == ["ok \ufffd\ufffd"]
    assert envelope["meta"]["binary"] is True


BAD_CALLS = [
    (["--token-limit", "0"], b"--token-limit"),
    (["--tokenizer", "no-such"], b"--tokenizer"),
    (["--no-such-option"], b"--no-such-option"),
]


@pytest.mark.parametrize(("args", "named"), BAD_CALLS)
def test_a_bad_call_exits_125_with_one_line_before_the_command_runs(inside, tmp_path, args, named):
    proof = tmp_path / "ran"
    ran = inside(*args, "--", "touch", str(proof))
    assert (ran.status, ran.out, ran.err.count(b"\n")) == (125, b"", 1)
    assert named in ran.err
    ran = inside(*args, "-o", "json", "--", "touch", str(proof))
    assert ran.status == 125
    assert named.decode() in ran.json["error"]["message"]
    assert ran.json["error"]["code"] == ("TOKENIZER_UNAVAILABLE" if "--tokenizer" in args else "USAGE")
    assert not proof.exists()


def test_a_limit_too_small_for_anything_says_so(inside):
    ran = inside("-n", "1", stdin="🧑🧑".encode())
    # In text form, words about it would themselves be more than the limit.
    assert (ran.out, ran.err, ran.status) == (b"", b"", 0)
    import tokcap

    page = tokcap.cap("🧑🧑", 1)
    (warning,) = page.warnings
    assert (page.text, page.truncated, warning.code) == ("", True, "LIMIT_TOO_SMALL")
    # A page that leads to itself would never end.
    assert page.next_offset is None
    enough = int(re.search(r"use (\d+) or more", warning.message)[1])
    assert tokcap.cap("🧑🧑", enough).text
    assert not tokcap.cap("🧑🧑", enough - 1).text


POSIX = {"LC_ALL": "POSIX", "PYTHONUTF8": "0"}


def test_a_posix_locale_changes_nothing(tokcap):
    text = "漢字 é\n".encode() * 60
    for args in (
        ["-n", "40"],
        ["-n", "190", "-o", "json"],
        ["-n", "40", "--sentinel", "✂"],
        ["--token-count"],
    ):
        plain, posix = tokcap(*args, stdin=text), tokcap(*args, stdin=text, env=POSIX)
        assert posix.out.partition(b'"duration_ms"')[0] == plain.out.partition(b'"duration_ms"')[0]
        assert posix.err == b""
    ran = tokcap("--", "printf", "%s", "é漢", env=POSIX)
    assert ran.out == "é漢".encode()
    ran = tokcap("--", "no-such-é", env=POSIX)
    assert ran.err == "tokcap: no-such-é: command not found\n".encode()


def shell(script: str, **options):
    return subprocess.run(
        ["sh", "-c", script.replace("tokcap", f"{PYTHON} -m tokcap")],
        capture_output=True,
        timeout=60,
        check=False,
        **options,
    )


@pytest.mark.parametrize("args", ["", "-n 10", "-n 200 -o json", "--token-count", "--help"])
def test_a_closed_stdout_is_a_failure_told_in_one_line(args):
    done = shell(f"seq 1000 | tokcap {args} >&-")
    assert done.returncode == 125
    assert done.stderr == b"tokcap: cannot write standard output: it is closed\n"


CLOSED = ["<&-", ">&-", "2>&-", "<&- >&-", "<&- 2>&-", ">&- 2>&-", "<&- >&- 2>&-"]


@pytest.mark.parametrize("closed", CLOSED)
def test_what_is_left_open_still_gets_its_bytes(closed):
    done = shell(f"tokcap -n 50 -- sh -c 'echo x; echo y >&2' {closed}")
    if ">&-" in closed.replace("2>&-", ""):
        assert done.returncode == 125
        assert done.stdout == b""
    else:
        assert done.returncode == 0
        assert done.stdout == b"x\n"
    if "2>&-" not in closed:
        assert done.stderr.startswith(b"y\n")
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("closed", CLOSED)
def test_closed_descriptors_never_give_a_traceback(closed):
    done = shell(f"tokcap -n 200 -o json {closed} < /dev/null {closed}")
    assert b"Traceback" not in done.stderr
    assert done.returncode == (125 if "<&-" in closed or ">&-" in closed.replace("2>&-", "") else 0)


def test_a_command_finds_closed_what_was_closed():
    done = shell("tokcap -n 50 -- cat <&-")
    assert done.returncode == 1
    assert b"Bad file descriptor" in done.stderr


def test_a_closed_or_unreadable_stdin_is_told():
    for stdin in ("<&-", "0>/dev/null"):
        done = shell(f"tokcap -n 200 -o json {stdin}")
        assert done.returncode == 125
        assert json.loads(done.stdout)["error"]["code"] == "IO_ERROR"
        assert done.stderr.startswith(b"tokcap: cannot read standard input: ")


def test_a_reader_that_goes_away_is_met_silently():
    done = shell("tokcap -n 90000 -- seq 100000 | head -n 1; seq 1 1000000 | tokcap | head -n 1")
    assert (done.stdout, done.stderr) == (b"1\n1\n", b"")


def test_the_same_input_gives_the_same_bytes(tokcap, tmp_path):
    args = ("-n", "50", "--", "sh", "-c", "seq 1000; seq 50 >&2")
    one = tokcap(*args, env={"PYTHONHASHSEED": "1", "TZ": "Asia/Tokyo"}, cwd="/")
    two = tokcap(*args, env={"PYTHONHASHSEED": "2", "TZ": "America/Lima"}, cwd=tmp_path)
    assert one == two


def test_without_limit_text_is_passed_on_as_it_comes():
    script = "import sys, time; print('first', flush=True); sys.stdin.read(); print('second')"
    process = subprocess.Popen(
        [PYTHON, "-m", "tokcap", "--", PYTHON, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with process:
        assert process.stdout.readline() == b"first\n"
        process.stdin.close()
        assert process.stdout.readline() == b"second\n"


def test_no_command_and_a_terminal_gives_a_short_usage():
    import pty

    parent, child = pty.openpty()
    done = subprocess.run([PYTHON, "-m", "tokcap"], stdin=child, capture_output=True, timeout=60, check=False)
    os.close(parent)
    os.close(child)
    assert done.returncode == 125
    assert done.stdout == b""
    assert done.stderr.startswith(b"usage: tokcap [OPTIONS] [--] COMMAND [ARG]...")
    assert done.stderr.endswith(b"tokcap --help\n")


@pytest.mark.provokes("INTERNAL_ERROR")
def test_an_internal_error_is_one_line_and_no_traceback(inside, monkeypatch):
    monkeypatch.setattr("tokcap.pipeline.run", lambda *_args: 1 // 0)
    ran = inside("-n", "155", "-o", "json", stdin=b"x")
    assert ran.status == 125
    assert ran.err.count(b"\n") == 1
    assert b"ZeroDivisionError" in ran.err
    assert ran.json["error"]["code"] == "INTERNAL"


def test_a_failed_write_does_not_cost_the_commands_stderr():
    done = shell("tokcap -n 50 -- sh -c 'echo x; echo important >&2; exit 3' >&-")
    assert done.returncode == 3
    assert done.stderr == b"important\ntokcap: cannot write standard output: it is closed\n"


def test_a_reader_that_was_never_there_gives_141_to_a_command_that_ended_well():
    done = subprocess.run(
        ["bash", "-c", f"{PYTHON} -m tokcap -n 90000 -- seq 100000 | head -n 1; exit ${{PIPESTATUS[0]}}"],
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (141, b"1\n", b"")


def test_a_stdin_that_does_not_block_is_waited_for():
    read, write = os.pipe()
    os.set_blocking(read, False)
    process = subprocess.Popen([PYTHON, "-m", "tokcap", "-n", "50"], stdin=read, stdout=subprocess.PIPE)
    os.close(read)
    for word in (b"one\n", b"two\n"):
        os.write(write, word)
    os.close(write)
    assert process.communicate(timeout=60)[0] == b"one\ntwo\n"


def test_version_and_help(inside):
    from tokcap import __version__

    assert inside("--version").out == f"tokcap {__version__}\n".encode()
    assert inside("-h").out == inside("--help").out


def test_a_line_that_fits_is_whole_even_where_no_mark_fits(inside):
    assert inside("-n", "5", "--", "seq", "100").out == b"1\n2\n"


def test_what_came_before_a_read_error_is_shown():
    import socket
    import struct

    listener = socket.create_server(("127.0.0.1", 0))
    sender = socket.create_connection(listener.getsockname())
    receiver, _ = listener.accept()
    process = subprocess.Popen(
        [PYTHON, "-m", "tokcap", "-n", "200", "-o", "json"],
        stdin=receiver,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    sender.sendall(b"one\ntwo\n")
    # Both lines are taken once nothing is left to be peeked at.
    receiver.setblocking(False)
    while True:
        try:
            receiver.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            break
    receiver.setblocking(True)
    # A reset instead of an orderly end.
    sender.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sender.close()
    out, err = process.communicate(timeout=60)
    receiver.close()
    listener.close()
    envelope = json.loads(out)
    assert process.returncode == 125
    assert envelope["data"] == ["one\ntwo\n"]
    assert envelope["error"]["code"] == "IO_ERROR"
    assert err == b"tokcap: cannot read standard input: Connection reset by peer\n"
