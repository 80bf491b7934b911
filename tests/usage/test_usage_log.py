"""The usage log has one line per call, with exact numbers or none. It is private and never fails a call."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import time

import pytest

from tests.support.reference import recount
from tests.support.tiers import times
from tests.support.usage_log import (
    TODAY,
    a_file,
    a_full_day,
    a_link,
    a_linked_day,
    a_pipe,
    lines_in,
    read_only,
)
from tokcap.steps import delivery
from tokcap.usage import DAY_SECONDS, KEEP_DAYS, day_of


def test_a_run_and_a_show_write_one_line_each(tokcap, with_account):
    ran = tokcap("-n", "50", "--", "seq", "1", "500")
    shown = tokcap("show", "@last", "--token-offset", "22")
    run, show = lines_in(with_account)
    assert abs(run.pop("at") - time.time()) < 100
    assert run == {
        "kind": "run",
        "command": "seq",
        "status": 0,
        "handle": show["handle"],
        "shown": recount(ran.out),
        "total": recount(b"".join(b"%d\n" % number for number in range(1, 501))),
        "bytes": 1892,
        "shown_bytes": len(ran.out),
        "tokenizer": "cl100k_base",
    }
    assert (show["kind"], show["command"], show["shown"]) == ("show", "seq", recount(shown.out))


@pytest.mark.parametrize("output", ["text", "json", "jsonl"])
@pytest.mark.parametrize(
    "options",
    [["-n", "260"], ["-n", "150"], ["--token-count"], ["-n", "180", "--mode", "summary"]],
    ids=" ".join,
)
def test_what_is_said_to_be_shown_is_what_was_written(inside, with_account, output, options):
    ran = inside(*options, "-o", output, "--", "sh", "-c", "seq 300; seq 20 >&2; exit 3")
    (line,) = lines_in(with_account)
    # stderr that is passed on next to an answer is not part of it: neither shown nor withheld.
    beside = "--token-count" in options
    assert line["shown"] == recount(ran.out) + (0 if beside else recount(ran.err))
    assert line["status"] == ran.status == 3
    if "--mode" not in options:
        assert line["total"] == recount(b"".join(b"%d\n" % number for number in range(1, 301))) + (
            0 if beside else recount(b"".join(b"%d\n" % number for number in range(1, 21)))
        )


def test_no_argument_is_written(tokcap, with_account):
    tokcap("-n", "5", "--", "sh", "-c", "seq 100; : hunter2")
    tokcap("-n", "5", "-c", "echo hunter2 hunter2 hunter2 hunter2")
    tokcap("--redact", "-n", "5", "--", "echo", "hunter2")
    tokcap("show", "@last", "--grep", "hunter2")
    assert len(lines_in(with_account)) >= 3
    assert all("hunter2" not in path.read_text() for path in with_account.iterdir())


@pytest.mark.parametrize(
    "off", [{"TOKCAP_ACCOUNT": "off"}, {"config": "account = false"}, "--no-account"], ids=str
)
def test_it_can_be_turned_off(inside, with_account, off, tmp_path):
    args, env = ([off], {}) if isinstance(off, str) else ([], dict(off))
    if config := env.pop("config", ""):
        env["TOKCAP_CONFIG"] = str(tmp_path / "config.toml")
        (tmp_path / "config.toml").write_text(config)
    inside(*args, "-n", "5", stdin=b"hello\n" * 100, env=env)
    inside("show", "@last", *args, env=env)
    assert not with_account.exists()


def test_many_processes_at_once_lose_no_line(with_account):
    code = (
        "import os, sys; from tokcap.__main__ import call; from tokcap.environment import Environment\n"
        "for number in range(40): call(['-n', '9'], Environment(os.environ))\n"
    )
    number = 16 if times() > 1 else 6
    started = [
        subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.DEVNULL) for _ in range(number)
    ]
    assert [process.wait(timeout=120) for process in started] == [0] * number
    lines = lines_in(with_account)
    assert len(lines) == number * 40
    assert {line["command"] for line in lines} == {"(stdin)"}


@pytest.mark.parametrize("umask", [0, 0o777])
def test_files_are_private_whatever_the_umask(with_account, umask):
    code = f"import os; os.umask({umask}); from tokcap.__main__ import main; main()"
    subprocess.run([sys.executable, "-c", code, "-n", "9"], input=b"hello", check=True, timeout=60)
    (path,) = with_account.iterdir()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(with_account.stat().st_mode) == 0o700


@pytest.mark.parametrize("spoil", [read_only, a_file, a_link, a_linked_day, a_pipe, a_full_day])
def test_what_cannot_be_written_costs_neither_output_nor_status(tokcap, with_account, spoil, tmp_path):
    spoil(with_account)
    before = sorted((path, path.lstat().st_size) for path in tmp_path.rglob("*"))
    ran = tokcap("-n", "50", "--", "sh", "-c", "echo hello; exit 7")
    assert (ran.status, ran.out, ran.err) == (7, b"hello\n", b"")
    if spoil is not read_only or os.geteuid():
        assert sorted((path, path.lstat().st_size) for path in tmp_path.rglob("*")) == before


def test_a_tokenizer_that_fails_costs_no_output(inside, with_account, monkeypatch):
    def fails(*_):
        raise RuntimeError

    monkeypatch.setattr(delivery, "count_bytes", fails)
    ran = inside("-n", "240", "-o", "json", stdin=b"hello\n")
    assert (ran.status, ran.json["data"], ran.err) == (0, ["hello\n"], b"")


def test_days_of_long_ago_are_removed_by_the_first_call_of_a_day(inside, with_account):
    with_account.mkdir(parents=True)
    kept = day_of(time.time() - KEEP_DAYS * DAY_SECONDS)
    for day in ("2001-01-01", kept, "2099-01-01"):
        (with_account / f"{day}.jsonl").write_text("")
    (with_account / "1999.txt").write_text("somebody's own")
    inside("-n", "9", stdin=b"hello")
    names = {path.name for path in with_account.iterdir()}
    assert names == {f"{kept}.jsonl", "2099-01-01.jsonl", "1999.txt", f"{TODAY}.jsonl"}
