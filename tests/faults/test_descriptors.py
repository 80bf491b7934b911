"""Standard descriptors that are closed, full or unread, and too few of them: told in one line."""

import os
import subprocess
import sys
import tempfile

import pytest

from tests.support.faults import (
    LIMIT,
    LINES,
    keeps_the_promises,
    limits,
    own_lines,
    run_tokcap,
)
from tests.support.tiers import as_nightly, times
from tokcap.__main__ import call
from tokcap.environment import Environment

pytestmark = pytest.mark.usefixtures("stored")

# Everything that writes to standard output when all is well. `@last` and `s` are there.
WRITERS = {
    "a command": ["--", "seq", "1", "3000"],
    "a window of a command": ["-n", "60", "--", "seq", "1", "3000"],
    "an envelope": ["-n", "210", "-o", "json", "--", "seq", "1", "3000"],
    "records": ["-n", "210", "-o", "jsonl", "--", "seq", "1", "3000"],
    "a count": ["--token-count", "--", "seq", "1", "3000"],
    "a summary": ["--mode", "summary", "--", "seq", "1", "3000"],
    "help": ["--help"],
    "version": ["--version"],
    "show": ["show", "@last"],
    "show as json": ["show", "@last", "-n", "210", "-o", "json"],
    "show matches": ["show", "@last", "--grep", "7"],
    "help of show": ["show", "--help"],
    "spill list": ["spill", "list"],
    "spill list as json": ["spill", "list", "-o", "json"],
    "spill path": ["spill", "path", "@last"],
    "spill gc": ["spill", "gc"],
    "spill rm": ["spill", "rm", "@last"],
    "help of spill": ["spill", "--help"],
    "budget start": ["budget", "start", "other"],
    "budget status": ["budget", "status", "s"],
    "budget status as json": ["budget", "status", "s", "-o", "json"],
    "budget list": ["budget", "list"],
    "budget check as json": ["budget", "check", "s", "-o", "json"],
    "budget record": ["budget", "record", "--session", "s", "--input", "5"],
    "budget turn": ["budget", "turn", "--session", "s"],
    "budget compacted": ["budget", "compacted", "--session", "s", "--used", "5"],
    "budget statusline": ["budget", "statusline", "s"],
    "budget reset": ["budget", "reset", "s"],
    "budget end": ["budget", "end", "s"],
    "completion bash": ["completion", "bash"],
    "completion zsh": ["completion", "zsh"],
    "completion fish": ["completion", "fish"],
    "hook list": ["hook", "list"],
    "hook print": ["hook", "print", "claude-code"],
}


FULL = "tokcap: cannot write standard output: No space left on device"


@pytest.mark.parametrize("args", WRITERS.values(), ids=WRITERS)
class TestEveryWriter:
    def test_says_that_standard_output_is_full(self, args, tmp_path):
        with open("/dev/full", "wb") as full, open(tmp_path / "told", "wb") as told:
            status = called(args, stdout=full.fileno(), stderr=told.fileno())
        assert (status, (tmp_path / "told").read_bytes()) == (125, f"{FULL}\n".encode())

    def test_works_where_its_complaints_cannot_be_written(self, args, tmp_path):
        with open("/dev/full", "wb") as full, open(tmp_path / "answer", "wb") as answer:
            status = called(args, stdout=answer.fileno(), stderr=full.fileno())
        assert status == 0
        assert (tmp_path / "answer").read_bytes()

    def test_is_silent_about_a_reader_that_was_never_there(self, args, tmp_path):
        read, write = os.pipe()
        os.close(read)
        with open(tmp_path / "told", "wb") as told:
            status = called(args, stdout=write, stderr=told.fileno())
        os.close(write)
        assert (status, (tmp_path / "told").read_bytes()) == (141, b"")


def called(args, **descriptors) -> int:
    """In this process, which has everything loaded."""
    with open(os.devnull, "rb") as nothing:
        return call(args, Environment(os.environ, nothing.fileno(), **descriptors))


@pytest.fixture(scope="module")
def enough_for_python() -> int:
    """With how few descriptors Python itself starts: what happens before that is not tokcap's affair."""
    return next(number for number in range(3, 15) if starts_with(number))


def starts_with(descriptors: int) -> bool:
    done = subprocess.run(
        [sys.executable, "-c", "import runpy"],
        preexec_fn=limits(NOFILE=descriptors),
        capture_output=True,
        check=False,
    )
    return not done.returncode and not done.stderr


@pytest.mark.parametrize(
    "args",
    [
        ["-n", str(LIMIT), "--", "sh", "-c", "touch ran; seq 1 3000; exit 3"],
        ["-n", str(LIMIT), "--session", "s", "--", "sh", "-c", "touch ran; seq 1 3000; exit 3"],
        ["show", "@last", "-n", str(LIMIT), "--token-offset", "100", "--grep", "[5-7]"],
        *map(
            as_nightly,
            (
                ["-n", str(LIMIT), "-o", "json", "--", "sh", "-c", "touch ran; seq 1 3000; exit 3"],
                ["-n", str(LIMIT)],
                ["-n", str(LIMIT), "--redact", "--clean", "--mode", "summary"],
                ["spill", "list"],
                ["budget", "record", "--session", "s", "--input", "3"],
            ),
        ),
    ],
    ids=lambda args: " ".join(args[:5]).replace(str(LIMIT), "N"),
)
def test_with_few_descriptors_there_is_the_answer_or_one_clear_line(args, tmp_path, enough_for_python):
    answered = []
    most = 14
    for descriptors in sorted({*range(enough_for_python, most, 3 if times() == 1 else 1), most}):
        ran = run_tokcap(*args, stdin=LINES, preexec_fn=limits(NOFILE=descriptors), cwd=tmp_path)
        told = own_lines(ran)
        if ran.status == 125:
            assert len(told) == 1
            assert "Too many open files" in told[0]
            assert "json" in args or ran.out == b""
            assert not (tmp_path / "ran").exists(), "what has run has an answer"
        else:
            assert ran.status == (3 if "exit 3" in args[-1] else 0)
            # SQLite has its own words for it.
            assert all("Too many open files" in line or "not charged" in line for line in told)
            if ran.out.startswith(b"1\n"):
                keeps_the_promises(ran)
        (tmp_path / "ran").unlink(missing_ok=True)
        answered.append(ran.status != 125)
    assert answered[-1]


def test_a_command_that_gets_few_descriptors_from_others_gets_them_here_too():
    """What tokcap holds open is not inherited: the command has all but three of its limit for itself."""
    script = "import os; print([n for n in range(256) if os.path.exists(f'/proc/self/fd/{n}')])"
    if not os.path.exists("/proc/self/fd"):
        pytest.skip("this system does not tell which descriptors are open")
    ran = run_tokcap("-n", "500", "--", sys.executable, "-c", script)
    assert ran.out == b"[0, 1, 2]\n"


@pytest.mark.parametrize("args", [["-n", "60"], []])
def test_a_directory_as_standard_input_is_one_line(args):
    """Python itself dies of it while it starts, before a line of tokcap is read; the library does not."""
    with open(os.devnull, "wb") as nowhere, tempfile.TemporaryFile() as told:
        directory = os.open("/", os.O_RDONLY)
        status = call(args, Environment(os.environ, directory, nowhere.fileno(), told.fileno()))
        os.close(directory)
        told.seek(0)
        assert (status, told.read()) == (125, b"tokcap: cannot read standard input: Is a directory\n")
