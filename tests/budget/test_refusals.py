"""A session pays for every answer to a call that did what was asked. Refusals are free."""

import tempfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.reference import recount
from tests.support.tiers import examples
from tokcap.budget.arithmetic import Settings
from tokcap.budget.sqlite import ledger_in

pytestmark = pytest.mark.usefixtures("with_store")

NOT_EXECUTABLE = "/etc/passwd"
# Calls that fail, and their exit status. `show` needs a stored output.
FAILURES = {
    "a command that does not exist": (["--", "no_such_command"], 127),
    "a file that is not executable": (["--", NOT_EXECUTABLE], 126),
    "a directory as command": (["--", "/etc"], 126),
    "a very long name": (["--", "long name " * 3000], 127),
    "no line that matches": (["show", "@last", "--grep", "nothing like this"], 1),
    "a bad pattern": (["show", "@last", "--grep", "("], 2),
    "a value that does not exist": (["show", "@last", "--pointer", "/nothing"], 1),
    "a handle that does not exist": (["show", "lake000000000"], 1),
    "an unknown tokenizer": (["--tokenizer", "no_such_tokenizer", "--", "true"], 125),
}


def written(ran) -> int:
    return recount(ran.out) + recount(ran.err)


def with_options(args: list[str], *options: str) -> list[str]:
    """Return the arguments of a call with more options; those of `show` come after it."""
    return [args[0], *options, *args[1:]] if args[0] == "show" else [*options, *args]


@pytest.fixture
def ledger(with_store, inside):
    inside("-n", "50", "--", "seq", "1", "1000")
    return ledger_in(str(with_store))


@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_is_told_in_one_line_and_not_charged(ledger, inside, name):
    args, status = FAILURES[name]
    ledger.start("s", Settings(10_000))
    ran = inside(*with_options(args, "--session", "s", "-n", "300"))
    assert ran.status == status
    assert ran.err.startswith(b"tokcap: ")
    assert ran.err.count(b"\n") == 1
    after = ledger.session("s").read()
    assert (after.used, after.reserved) == (0, 0)


@pytest.mark.parametrize("args", [["--no-such-option"], ["-n", "0", "--", "true"], ["show"]], ids=str)
def test_bad_usage_is_not_charged(ledger, inside, args):
    ledger.start("s", Settings(1000))
    ran = inside(*with_options(args, "--session", "s"))
    assert ran.status in (2, 125)
    assert ledger.session("s").read().used == 0


def test_a_session_that_cannot_pay_does_not_hide_the_failure(inside):
    ran = inside("--session", "never-started", "--tokenizer", "no_such_tokenizer", "--", "true")
    assert ran.status == 125
    assert b"no_such_tokenizer" in ran.err


SUCCESSES = (
    ["--", "seq", "1", "500"],
    ["--", "sh", "-c", "echo out; echo err >&2; exit 3"],
    ["--token-count", "--", "seq", "1", "500"],
    ["--mode", "summary", "--", "seq", "1", "500"],
    ["--", "sh", "-c", "printf 'no newline' >&2; printf 'é%.0s' $(seq 1 300)"],
    ["show", "@last", "--token-offset", "100"],
    ["--", "true"],
    # tokcap has something to say about each of these.
    ["--fields", "id", "--", "seq", "1", "500"],
    ["--shape", "json", "--", "seq", "1", "500"],
    ["--redact", "--", "sh", "-c", "echo password=hunter2secret; seq 1 500"],
    ["--model", "claude", "--", "seq", "1", "500"],
    ["--timeout", "50ms", "--", "sh", "-c", "seq 1 100; printf 'no line end' >&2; sleep 20"],
    ["--", "sh", "-c", r"""printf '[{"a": 1}'; printf ',{"a": 2}%.0s' $(seq 1 200); printf ']\\n'"""],
)
CALLS = st.tuples(
    st.sampled_from([*SUCCESSES, *(args for args, _ in FAILURES.values())]),
    st.sampled_from(["text", "json", "jsonl"]),
    st.sampled_from([[], ["-n", "3"], ["-n", "160"], ["-n", "5000"]]),
)


@examples(8)
@given(calls=st.lists(CALLS, min_size=1, max_size=10), total=st.sampled_from([None, 5000, 900, 200]))
def test_what_any_calls_write_is_what_is_used(inside, tmp_path, calls, total):
    with tempfile.TemporaryDirectory(dir=tmp_path) as directory:
        env = {"TOKCAP_DATA_DIR": directory}
        inside("-n", "50", "--", "seq", "1", "1000", env=env)
        ledger = ledger_in(directory)
        ledger.start("s", Settings(total))
        used = 0
        for args, form, limit in calls:
            ran = inside(*with_options(args, "--session", "s", "-o", form, *limit), env=env)
            before, used = used, ledger.session("s").read().used
            if ran.status and used == before:
                # It was refused, or it failed before anything ran.
                assert ran.err.startswith(b"tokcap: ")
            else:
                in_one_pipe = max(recount(ran.out + ran.err), recount(ran.err + ran.out))
                assert written(ran) <= used - before
                # The estimate for this model is higher than what is recounted here.
                assert "--model" in args or used - before <= max(written(ran), in_one_pipe)
        assert total is None or used <= total


@pytest.mark.parametrize("stderr", ["separate", "pass", "drop", "merge"])
def test_a_warning_after_output_that_passed_through_is_paid_for(with_store, inside, stderr):
    ledger = ledger_in(str(with_store))
    ledger.start("s", Settings())
    (with_store / "spill").write_bytes(b"not a directory")
    script = "seq 1 300; printf 'no line end.' >&2"
    ran = inside("--session", "s", "--spill", "always", "--stderr", stderr, "--", "sh", "-c", script)
    assert b"tokcap: warning: the output was not stored" in ran.err
    own_words = ran.err.replace(b"no line end.", b"") if stderr == "pass" else ran.err
    assert ledger.session("s").read().used == recount(ran.out) + recount(own_words)
