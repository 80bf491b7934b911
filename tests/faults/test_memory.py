"""Streams far larger than the memory that is allowed, and memory that does not even suffice to begin."""

import signal
import subprocess
import sys

import pytest

from tests.support.faults import LIMIT, LINES, TOKCAP, never_began, own_lines, run_tokcap
from tests.support.program import PACKAGE
from tests.support.reference import recount
from tests.support.tiers import as_nightly, nightly, times

pytestmark = pytest.mark.usefixtures("with_store")

MEGABYTE = 1_000_000
# tokcap itself takes 30 MB, with tiktoken loaded some 150.
DATA_BYTES = 250 << 20
# More than fits into that.
BYTES = 300 * MEGABYTE * times()

STREAMS = {
    "text": "yes 'a line of some words, again and again'",
    "zeros": "cat /dev/zero",
    "one line": "yes word | tr '\\n' ' '",
}


def piped(stream: str, size: int, *args, **options) -> subprocess.CompletedProcess:
    """A stream of so many bytes through tokcap, which may take so much memory and no more."""
    line = f'{STREAMS.get(stream, stream)} | head -c {size} | exec "$@"'
    return subprocess.run(
        ["sh", "-c", line, "sh", "prlimit", f"--data={DATA_BYTES}", *TOKCAP, *args],
        capture_output=True,
        check=False,
        timeout=1800,
        **options,
    )


@pytest.mark.parametrize("stream", ["text", *map(as_nightly, ("zeros", "one line"))])
def test_a_window_of_a_huge_stream_takes_bounded_memory_and_a_bounded_store(stream, with_store):
    done = piped(stream, BYTES, "-n", str(LIMIT), "--max-bytes", "1m")
    assert (done.returncode, done.stderr) == (0, b"")
    assert 0 < recount(done.stdout[: 4 * MEGABYTE]) <= LIMIT
    stored = sum(path.stat().st_size for path in with_store.rglob("*") if path.is_file())
    assert 1 << 20 <= stored <= 2 << 20
    assert b"of about" in done.stdout
    shown = run_tokcap("show", "@last", "-n", "200", "--token-offset", "1000", "-o", "json")
    assert shown.json["meta"]["spill_truncated"] is True


RUNS = {
    "one emoji": "yes '👍' | tr -d '\\n'",
    "letters": "yes thequickbrownfoxjumpsoverthelazydog | tr -d '\\n'",
    "ideographs": "yes 中文字符汉语日本国人 | tr -d '\\n'",
    "letters and marks": "yes \"$(printf 'e\\314\\201')\" | tr -d '\\n'",
    "bytes that are not UTF-8": "cat /dev/zero | tr '\\0' '\\377'",
}


# Nightly every run from both its ends; the other ways to read it do not depend on what it consists of.
@pytest.mark.parametrize(
    ("run", "args"),
    [
        ("letters", []),
        ("one emoji", ["--keep", "tail"]),
        ("bytes that are not UTF-8", ["--token-count"]),
        as_nightly(("ideographs", ["--keep", "ends"])),
        *(as_nightly((run, ["--keep", "tail"])) for run in RUNS if run != "one emoji"),
        *(as_nightly((run, ["--token-count"])) for run in RUNS if run != "bytes that are not UTF-8"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_one_run_without_a_visible_cut_takes_bounded_memory(run, args):
    done = piped(RUNS[run], 10 * MEGABYTE, "-n", "100", *args)
    assert (done.returncode, done.stderr) == (0, b"")
    assert 0 < recount(done.stdout) <= 100


@pytest.mark.parametrize("run", ["one emoji", as_nightly("ideographs")])
def test_a_run_that_a_session_pays_for_is_passed_on_in_bounded_memory(run):
    size = (20 if times() == 1 else 40) * MEGABYTE
    run_tokcap("budget", "start", "work")
    line = f'{RUNS[run]} | head -c {size} | prlimit --data={150 << 20} "$@" | wc -c'
    done = subprocess.run(
        ["sh", "-c", line, "sh", *TOKCAP, "--session", "work"], capture_output=True, check=False, timeout=600
    )
    assert (done.stdout.strip(), done.stderr) == (b"%d" % size, b"")
    status = run_tokcap("budget", "status", "work", "-o", "json").json
    assert status["data"]["used"] > size // 7


@pytest.mark.parametrize("args", [["--", "sh"], []])
def test_a_huge_stream_is_passed_on_in_bounded_memory(args):
    """All of it, unchanged: its length and its last bytes."""
    program = [*args, "-c", f"{STREAMS['text']} | head -c {BYTES}; printf end"] if args else []
    line = f"{{ {STREAMS['text']} | head -c {BYTES}; printf end; }} | " if not args else ""
    done = subprocess.run(
        [
            "sh",
            "-c",
            f'{line} "$@" | {{ tail -c 3; }}',
            "sh",
            "prlimit",
            f"--data={DATA_BYTES}",
            *TOKCAP,
            *program,
        ],
        capture_output=True,
        check=False,
        timeout=1800,
    )
    assert (done.stdout, done.stderr) == (b"end", b"")


def test_a_flood_on_stderr_takes_only_its_share_of_memory():
    script = "head -c 100000000 /dev/zero >&2"
    words = ("-n", "100", "--tokenizer", "approx", "--", "sh", "-c", script)
    ran = run_tokcap(*words, prefix=("prlimit", f"--data={200 << 20}"))
    assert ran.status == 0
    assert b"[TRUNCATED] stderr " in ran.err


def address_space(megabytes: int) -> tuple[str, ...]:
    """A prefix that allows so much. Set between fork and exec, the tests themselves would not fit into it."""
    return ("prlimit", f"--as={megabytes << 20}")


@pytest.fixture(scope="module")
def least_megabytes() -> int:
    """With how little Python itself starts."""
    # What comes first of tokcap may have to be compiled, in whose midst a starved Python can hang.
    entry = PACKAGE / "__main__.py"
    program = [
        sys.executable,
        "-c",
        f"import runpy, gc, errno; compile(open({str(entry)!r}).read(), '', 'exec')",
    ]
    for megabytes in range(8, 200, 4):
        try:
            done = subprocess.run(
                [*address_space(megabytes), *program], capture_output=True, check=False, timeout=30
            )
        except subprocess.TimeoutExpired:
            # A starved Python can hang by itself.
            continue
        if not done.returncode and not done.stderr:
            return megabytes
    pytest.fail("Python does not start at all")


@pytest.mark.provokes("CUT_FAILED", "TOKENIZER_FAILED", always=False)
class TestNoMemoryAtAll:
    """The less there is, the earlier it is missing: while loading, reading, counting, storing, answering."""

    @pytest.mark.parametrize(
        "args",
        [
            pytest.param(["-n", str(LIMIT), "-o", "json", "--keep", "ends"], id="an envelope"),
            pytest.param(["-n", str(LIMIT)], id="a text", marks=nightly),
            pytest.param(["-n", str(LIMIT), "--", "sh", "-c", "cat; exit 3"], id="a command", marks=nightly),
        ],
    )
    def test_it_is_one_line_and_the_status_or_the_answer(self, args, least_megabytes):
        least = least_megabytes
        text = LINES * 300
        answered = []
        more = (4, 10, 40, 400) if times() == 1 else (*range(2, 12, 2), 20, 40, 400)
        for megabytes in (least + each for each in more):
            ran = run_tokcap(*args, stdin=text, prefix=address_space(megabytes))
            if never_began(ran) or b"memory allocation of" in ran.err:
                # tiktoken's own allocator ends the process at once, which nobody can catch.
                continue
            if ran.status == -signal.SIGSEGV and not ran.out + ran.err:
                # Seen twice in a thousand runs: CPython itself uses memory that it did not get.
                continue
            if ran.status == 125:
                assert len(own_lines(ran)) == 1, ran.err
                assert "memory" in own_lines(ran)[0]
            elif "sh" not in args or ran.status != 2:
                # The command has the same limit, and may fail by itself.
                assert ran.status == (3 if "sh" in args else 0)
                assert recount(ran.data_text if "json" in args else ran.out) <= LIMIT
            answered.append(ran.status != 125)
        assert answered[-1]
