"""A pattern of a caller that takes too long is stopped and said, at every front door."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

import tokcap
from tests.support.mcp_client import Answer, Wire
from tests.support.processes import state_of, wait_for

ENDLESS = "(a+)+$"
LINE = "a" * 60 + "b"
# More than fits, so that something has to be chosen.
SCRIPT = f"echo {LINE}; seq 1 1000; exit 3"


def test_the_command_line_says_that_grep_was_stopped(inside, with_store):
    assert inside("-n", "60", "-c", SCRIPT).status == 3
    ran = inside("show", "@last", "--grep", ENDLESS)
    assert (ran.status, ran.out) == (2, b"")
    assert ran.err.startswith(b"tokcap: show: --grep: the pattern '(a+)+$' takes too long on this output")


@pytest.mark.parametrize("form", ["text", "json"])
def test_an_output_is_shown_without_a_focus_that_takes_too_long(inside, with_store, form):
    ran = inside("-n", "400", "-o", form, "--focus", ENDLESS, "-c", SCRIPT)
    assert ran.status == 3
    assert b"1000" in ran.out
    if form == "json":
        assert [warning["code"] for warning in ran.json["warnings"]] == ["PATTERN_TOO_SLOW"]
    else:
        assert b"--focus: the pattern '(a+)+$' takes too long" in ran.err


def test_the_library_raises_an_error_or_returns_a_warning(with_store):
    result = tokcap.run(["sh", "-c", SCRIPT], limit=60, focus=ENDLESS)
    assert result.status == 3
    assert [warning.code for warning in result.warnings] == ["PATTERN_TOO_SLOW"]
    with pytest.raises(tokcap.TokcapError, match="takes too long"):
        tokcap.show(result.handle, grep=ENDLESS)


def begin_search(wire: Wire) -> tuple[int, int]:
    """Begin a search that takes too long; return the numbers of the call and of the process that searches."""
    wire.call("run", shell=SCRIPT, limit=60)
    number = wire.begin_call("grep", handle="@last", pattern=ENDLESS)
    found: list[int] = []

    def look() -> bool:
        lists = Path(f"/proc/{wire.server.pid}/task").glob("*/children")
        found[:] = [int(child) for each in lists for child in each.read_text().split()]
        return bool(found)

    wait_for(look)
    return number, found[0]


def test_an_mcp_server_answers_while_it_searches_and_says_that_it_was_stopped(tmp_path):
    with Wire(tmp_path) as wire:
        number, child = begin_search(wire)
        assert wire.request("ping", {})["result"] == {}
        wire.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}})
        second = wire.begin_call("grep", handle="@last", pattern=ENDLESS)
        answer = wire.receive()
        assert answer["id"] == second
        assert Answer.of_result(answer["result"]).code == "PATTERN_TOO_SLOW"
        wait_for(lambda: state_of(child) == "")


@pytest.mark.parametrize("how", ["SIGTERM", "SIGKILL", "end of input"])
def test_a_search_ends_with_its_server(tmp_path, how):
    with Wire(tmp_path) as wire:
        _, child = begin_search(wire)
        if how == "end of input":
            wire.server.stdin.close()
        else:
            wire.server.send_signal(signal.Signals[how])
        wire.server.wait(60)
        wait_for(lambda: state_of(child) in ("", "Z"))
