"""Both streams in one pipe (`2>&1`): what is written recounts to at most the limit, in every order."""

import subprocess
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support.interleaving import pieces, written_apart, written_together
from tests.support.reference import ENCODINGS, recount
from tests.support.tiers import as_nightly, examples
from tests.support.world import world
from tokcap.exits import Ending
from tokcap.steps import live

# Certainly text, so that it is passed on at once.
BEGIN = [("out", b"begin\n")]
# Cheap next to each other, dear with a piece of the other stream between them.
ALTERNATING = [("out", b" intern"), ("err", b"~"), ("out", b"ationalization"), ("err", b"~")]

# The same, and each question waits for its answer.
DIALOG = [*ALTERNATING, ("out", b""), ("err", b"")]

# Each holds back what is not a prompt, or all of stdout.
VIEWS = [[], *(["--keep", keep] for keep in ("tail", "ends", "focus", "auto")), ["--shape", "json"]]
ENDINGS = [Ending(0), Ending(1), Ending(124, stopped_for="timeout"), Ending(0, left_open=True)]


@examples(30)
@given(
    begin=st.sampled_from([BEGIN, []]),
    blocks=pieces(),
    limit=st.sampled_from([1, 5, 30, 60, 100, 300, 700, 1000, 2000]),
    name=st.sampled_from(ENCODINGS),
    ending=st.sampled_from(ENDINGS),
    spill=st.sampled_from(["never", "auto"]),
    view=st.sampled_from(VIEWS),
)
@example(BEGIN, ALTERNATING * 400, 500, "cl100k_base", Ending(0), "never", [])
@example(BEGIN, ALTERNATING * 400, 1000, "o200k_base", ENDINGS[2], "auto", [])
@example(
    *(BEGIN, [("out", b"\xc3"), ("err", b"\xe6"), ("out", b"\xa9")] * 9),
    *(50, "cl100k_base", ENDINGS[3], "auto", []),
)
@example(BEGIN, DIALOG * 100, 300, "cl100k_base", Ending(0), "auto", ["--keep", "focus"])
@example(BEGIN, DIALOG * 100, 100, "cl100k_base", Ending(0), "auto", ["--keep", "tail"])
@example(BEGIN, DIALOG * 100, 30, "cl100k_base", Ending(0), "never", ["--shape", "json"])
def test_any_order_of_both_streams_recounts_to_at_most_the_limit(
    begin, blocks, limit, name, ending, spill, view
):
    """With tokcap's own words on stderr: how the command ended, and that nothing could be stored."""
    with world() as place:
        # A store that cannot be written.
        place.data.touch()
        args = ["-n", str(limit), "--tokenizer", name, "--spill", spill, *view]
        written = written_together(args, begin + blocks, place.variables, ending)
    assert recount(written, name) <= limit


@examples(40)
@given(
    blocks=pieces(), limit=st.sampled_from([5, 30, 60, 100, 300, 700, 1000]), wait=st.sampled_from([-1, 60])
)
def test_what_was_passed_on_is_the_beginning_of_each_stream_and_is_written_once(blocks, limit, wait):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(live, "FULL_SECONDS", wait)
        out, err = written_apart(["-n", str(limit)], BEGIN + blocks)
    for stream, written in (("out", out), ("err", err)):
        everything = b"".join(block for name, block in BEGIN + blocks if name == stream)
        shown = written.partition(b"[TRUNCATED]")[0]
        # A mark is a line of its own. Without room for a mark, stderr may be its end alone.
        is_end = stream == "err" and everything.endswith(shown)
        assert is_end or everything.startswith((shown, shown.removesuffix(b"\n")))


@examples(15)
@given(blocks=pieces(), total=st.sampled_from([50, 100, 700, 2000]), name=st.sampled_from(ENCODINGS))
@example(blocks=ALTERNATING * 300, total=700, name="cl100k_base")
def test_a_session_pays_for_the_order_in_which_both_streams_are_written(blocks, total, name):
    with world() as place:
        place.call(["budget", "start", "s", "--total", str(total)])
        written = written_together(["--session", "s", "--tokenizer", name], BEGIN + blocks, place.variables)
        status = place.call(["budget", "status", "s", "-o", "json"]).json
    assert recount(written, name) <= status["data"]["used"] <= total


@pytest.mark.parametrize("limit", [500, as_nightly(4000)])
@pytest.mark.parametrize("args", [[], ["--stderr", "merge"], ["--timeout", "50"], ["--kill-on-limit"]])
def test_a_command_that_writes_to_both_streams_in_turn_stays_within_the_limit(args, limit):
    script = (
        "import os, time\n"
        f"for _ in range({limit}):\n"
        "    for number, piece in ((1, b' intern'), (2, b'~'), (1, b'ationalization'), (2, b'~')):\n"
        "        os.write(number, piece)\n"
        "        time.sleep(0.00005)\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "tokcap", "-n", str(limit), *args, "--", sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=120,
        check=False,
    )
    assert recount(done.stdout) <= limit
    assert b"[TRUNCATED]" in done.stdout
