"""`@last`: the last output of this session, else of this terminal, else of all; `@last-1`: the one before."""

import os
import subprocess
import sys
import time

import pytest

from tests.support.program import IMPORT_PATH
from tests.support.terminal import Typist
from tokcap.store import local
from tokcap.store.base import Caller
from tokcap.store.local_layout import Layout

pytestmark = pytest.mark.usefixtures("with_store")

TOKCAP = f"{sys.executable} -m tokcap"


def shell(script: str) -> str:
    """Run a shell that has its own process session, as one in a terminal has."""
    env = {**os.environ, "PYTHONPATH": IMPORT_PATH}
    done = subprocess.run(
        ["sh", "-c", script], env=env, capture_output=True, timeout=60, check=True, start_new_session=True
    )
    return done.stdout.decode()


def store(text: str, *options: str) -> str:
    return f"yes {text} | head -100 | {TOKCAP} -n 50 {' '.join(options)} > /dev/null"


SHOW = f"{TOKCAP} show @last -n 6 --sentinel ''"


def test_every_terminal_has_its_own(tmp_path):
    done = tmp_path / "done"
    os.mkfifo(done)
    first = f"{store('one')}; cat {done} > /dev/null; {SHOW}; {TOKCAP} show @last-1 -n 6 || echo none"
    waiting = subprocess.Popen(
        ["sh", "-c", first],
        env={**os.environ, "PYTHONPATH": IMPORT_PATH},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    other = shell(f"{store('two')}; echo > {done}; {SHOW}")
    assert other.startswith("two\n")
    shown = waiting.communicate(timeout=60)[0].decode()
    assert shown.startswith("one\n")
    assert shown.endswith("none\n")
    # A terminal in which nothing was stored gets the last of all.
    shell(store("three"))
    assert shell(SHOW).startswith("three\n")


def test_every_session_has_its_own(inside):
    for name in ("a", "b", "empty"):
        assert inside("budget", "start", name).status == 0
    for text, options in (
        (b"of a\n", ["--session", "a"]),
        (b"of b\n", ["--session", "b"]),
        (b"of none\n", []),
    ):
        inside("-n", "50", *options, stdin=text * 100)

    def last(*options, **env):
        return inside("show", "@last", "-n", "9", "--sentinel", "", *options, env=env).out.split(b"\n")[0]

    assert last("--session", "a") == b"of a"
    assert last(TOKCAP_SESSION="b") == b"of b"
    assert last() == last("--session", "empty") == b"of none"
    handle = inside("show", "@last", "-o", "json", "--session", "a").json["meta"]["handle"]
    path = inside("spill", "path", "@last", env={"TOKCAP_SESSION": "a"}).out.decode().strip()
    assert handle in path
    assert inside("spill", "rm", "@last", env={"TOKCAP_SESSION": "a"}).out == f"removed {handle}\n".encode()


def test_an_envelope_says_when_it_was_stored_and_a_handle_alone_needs_no_clock(inside):
    handle = inside("-n", "200", "-o", "json", stdin=b"words\n" * 100).json["meta"]["handle"]
    last = inside("show", "@last", "-o", "json").json["meta"]
    assert (last["handle"], abs(last["stored_at"] - time.time()) < 600) == (handle, True)
    assert "stored_at" not in inside("show", handle, "-o", "json").json["meta"]
    again = inside("show", "@last", "-n", "50")
    assert (again.err, again.out) == (b"", inside("show", handle, "-n", "50").out)


def test_a_person_at_a_terminal_is_told_which_output_it_is_and_how_old(tokcap):
    tokcap("-n", "50", "--", "seq", "500")
    with Typist(sys.executable, "-m", "tokcap", "show", "@last", "-n", "200") as person:
        assert person.wait() == 0
        assert "tokcap: @last is " in person.seen
        assert "stored just now: seq 500\r\n" in person.seen


def test_the_file_does_not_grow_for_ever_and_nothing_recent_is_forgotten(tmp_path):
    (tmp_path / "spill").mkdir()
    me, other = Caller(terminal=5), Caller(session="s x", terminal=7)
    for number in range(3000):
        Layout(str(tmp_path)).note_stored(f"{number:012x}", me, 10**9)
        Layout(str(tmp_path)).note_stored(f"{number + 9000:012x}", other, 10**9)
    assert sum(path.stat().st_size for path in (tmp_path / "spill").iterdir()) < 200_000
    found = local.handles_stored([str(tmp_path / "spill")], me)
    assert found[:3] == [f"{number:012x}" for number in (2999, 2998, 2997)]
    assert len(found) > 400
    assert local.handles_stored([str(tmp_path / "spill")], Caller("s x"))[0] == f"{11999:012x}"
    assert local.handles_stored([str(tmp_path / "spill")], Caller("unknown"))[0] == f"{11999:012x}"


def test_lines_of_an_earlier_process_with_the_same_id_do_not_count(tmp_path):
    (tmp_path / "spill").mkdir()
    mine = os.getsid(0)
    now = time.time()
    Layout(str(tmp_path)).note_stored("0123456789ab", Caller(terminal=mine), 1000)
    Layout(str(tmp_path)).note_stored("ba9876543210", Caller(terminal=mine + 1), int(now))
    assert local.handles_stored([str(tmp_path / "spill")], Caller(terminal=mine, now=now)) == [
        "ba9876543210",
        "0123456789ab",
    ]
