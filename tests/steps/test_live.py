"""Text is passed on while it is certain to be inside the window, and the answer stays the same."""

import os
import re
import subprocess
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support.program import PYTHON
from tests.support.reference import recount
from tests.support.tiers import examples
from tokcap.core.payload import Spool
from tokcap.shapes import sniff
from tokcap.shapes.beginning import certainly_text
from tokcap.steps.live import LiveSink, Room, RunningCount, WriteOrder
from tokcap.tokens import count_bytes, open_tokenizer

TOKENIZER = open_tokenizer("cl100k_base")


def lines_as_they_come(*args, script):
    """Start tokcap with pipes on all streams."""
    return subprocess.Popen(
        [sys.executable, "-m", "tokcap", *args, "--", "sh", "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def test_a_line_is_passed_on_before_the_command_continues():
    script = "echo building it; read answer; echo $answer; seq 1 9000"
    process = lines_as_they_come("-n", "500", script=script)
    assert os.read(process.stdout.fileno(), 100) == b"building it\n"
    out, _ = process.communicate(b"yes\n", timeout=60)
    assert out.startswith(b"yes\n1\n2\n")
    assert recount(b"building it\n" + out) <= 500
    assert re.search(rb"\n\[TRUNCATED\] \d+/\d+ tokens; ", out)


def test_stderr_is_passed_on_too():
    process = lines_as_they_come("-n", "2000", script="echo trouble >&2; read answer; exit 3")
    assert os.read(process.stderr.fileno(), 100) == b"trouble\n"
    assert process.communicate(b"\n", timeout=60) == (b"", b"")
    assert process.returncode == 3


def test_a_reader_that_goes_away_ends_the_command():
    process = lines_as_they_come("-n", "100000", script="echo one; while echo more; do sleep 0.01; done")
    assert os.read(process.stdout.fileno(), 4) == b"one\n"
    process.stdout.close()
    assert process.stderr.read() == b""
    # The status of the shell whose `echo` failed, or of the signal.
    assert process.wait(timeout=60) in (0, 1, 141)
    process.stdin.close()
    process.stderr.close()


@examples(25)
@given(
    words=st.lists(
        st.sampled_from(["word ", "\n", "é", "漢字", "))", "x" * 40, "1234", " ", "\t", "😀"]), max_size=150
    ),
    blocks=st.lists(st.integers(1, 40), min_size=1, max_size=40),
    limit=st.integers(1, 400),
)
def test_the_passed_text_is_the_beginning_of_the_answer(inside, words, blocks, limit, tmp_path):
    payload = ("begin\n" + "".join(words)).encode()
    live, spool = [], Spool()
    room = Room(limit - 80, limit - 80)
    order = WriteOrder(TOKENIZER)
    place = LiveSink(spool, live.append, TOKENIZER, certainly_text, order, room=room, prompt_room=room)
    start = 0
    for size in blocks:
        place.write(payload[start : start + size])
        start += size
    place.write(payload[start:])
    passed = b"".join(live)
    assert payload.startswith(passed)
    assert len(passed) == place.passed
    ran = inside("-n", str(limit), stdin=payload)
    assert ran.out.startswith(passed)
    assert recount(ran.out) <= limit


@examples(150)
@given(
    text=st.one_of(
        st.text(max_size=40),
        st.lists(
            st.sampled_from(
                ["a,b", "1,2", "\n", "{", "}", "[", "]", '"x"', "1", "true", " ", "name\tid", "-", ":", ","]
            ),
            max_size=14,
        ).map("".join),
    ),
    more=st.text(st.sampled_from('1 ,\n{}[]"a\t'), max_size=12),
)
@example(text="[ 10%] Building\n", more="")
@example(text="true\n", more="")
@example(text="id,name\n", more="1,x\n2,y\n")
def test_certain_text_is_never_sniffed_as_another_shape(text, more):
    if certainly_text(text.encode()):
        spool = Spool()
        spool.write((text + more).encode())
        assert sniff(spool, "auto").shape == "text"


def test_plain_text_is_recognized_by_its_first_line():
    plain = [b"total 8\n", b"[INFO] start\n", b"[ 10%] Building\n", b"{braces} are\n", b"2024-01-01 log\n"]
    plain += [b"1\n2", b"Hello, world\n", b"a, b\n"]
    assert [line for line in plain if not certainly_text(line)] == []


def test_a_beginning_of_another_shape_is_not_passed_on():
    others = [b"", b" ", b"{", b"[1,", b"12", b"id,name\n", b'"a', b"true", b"no newline yet"]
    assert [line for line in others if certainly_text(line)] == []


def test_kill_on_limit_ends_the_command_when_the_window_is_full(inside, tmp_path):
    script = f"seq 1 20000; sleep 60; touch {tmp_path}/late"
    ran = inside("-n", "210", "--kill-on-limit", "-o", "json", "--", "sh", "-c", script)
    assert ran.status == 143
    assert [warning["code"] for warning in ran.json["warnings"]] == ["COMMAND_STOPPED"]
    assert ran.json["meta"]["truncated"] is True
    assert not (tmp_path / "late").exists()


def test_kill_on_limit_does_not_end_a_command_whose_output_fits(inside):
    ran = inside("-n", "60", "--kill-on-limit", "--", "sh", "-c", "seq 1 10; exit 4")
    assert (ran.status, ran.out.count(b"\n")) == (4, 10)


def test_kill_on_limit_stops_reading_standard_input():
    script = f"yes | {PYTHON} -m tokcap -n 60 --kill-on-limit | tail -1"
    done = subprocess.run(["sh", "-c", script], capture_output=True, timeout=60, check=True)
    assert re.match(rb"\[TRUNCATED\] \d+/\d+ tokens; ", done.stdout)


@pytest.mark.parametrize("name", ["cl100k_base", "o200k_base", "approx"])
@pytest.mark.parametrize("text", [b"abcd" * 3000, b"one two\n" * 2000, b"\x00" * 9000, "é漢".encode() * 2000])
def test_a_running_count_is_exact_for_every_tokenizer(name, text):
    tokenizer = open_tokenizer(name)
    total = count_bytes(text, tokenizer)
    for tokens, expected in ((total, False), (total - 1, True)):
        running = RunningCount(tokenizer)
        for start in range(0, len(text), 700):
            running.add(text[start : start + 700])
            running.count(10**6)
        assert running.at_least <= total <= running.at_most()
        assert running.is_above(tokens) == expected


@pytest.mark.parametrize("args", [[], ["--tokenizer", "approx"], ["--tokenizer", "o200k_base"]])
def test_kill_on_limit_ends_output_without_a_safe_cut(tokcap, args):
    ran = tokcap("-n", "100", *args, "--kill-on-limit", "--", "cat", "/dev/zero")
    assert ran.status == 143
    assert tokcap("-n", "4000", *args, "--", "seq", "1000", "2200").status == 0


@pytest.mark.parametrize("args", [["--token-count"], ["--keep", "tail"], ["--mode", "summary"]])
def test_kill_on_limit_is_refused_if_the_end_is_needed(inside, args):
    ran = inside("-n", "10", "--kill-on-limit", *args, "--", "true")
    assert (ran.status, b"--kill-on-limit cannot be combined with" in ran.err) == (125, True)
