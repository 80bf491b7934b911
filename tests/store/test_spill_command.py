"""`tokcap spill list | path | rm | gc`."""

import pytest

pytestmark = pytest.mark.usefixtures("with_store")

LINES = b"".join(b"%d\n" % number for number in range(3000))


def test_nothing_is_stored_at_first(inside):
    assert inside("spill", "list").out == b"nothing is stored\n"
    assert inside("spill", "list", "-o", "json").json["data"] == []
    assert inside("spill", "gc").out == b"removed 0 (0B); kept 0 (0B)\n"
    assert inside("show", "@last").err == b"tokcap: nothing has been stored yet\n"


def test_the_list_shows_age_size_tokens_status_and_command(inside):
    inside("-n", "50", "--", "sh", "-c", "seq 1 3000; exit 4")
    inside("-n", "50", stdin=LINES)
    head, latest, first = inside("spill", "list").out.decode().splitlines()
    assert head.split() == ["HANDLE", "AGE", "SIZE", "TOKENS", "EXIT", "COMMAND"]
    assert latest.split()[1:] == ["0s", "14K", "8000", "-", "-"] or latest.split()[1].endswith("s")
    assert first.split()[2:] == ["14K", "8001", "4", "sh", "-c", "seq", "1", "3000;", "exit", "4"]


def test_the_list_for_programs(inside, with_store):
    inside("-n", "50", "--", "seq", "1", "3000")
    (entry,) = inside("spill", "list", "-o", "json").json["data"]
    assert entry["command"] == ["seq", "1", "3000"]
    assert (entry["exit_status"], entry["complete"], entry["damaged"], entry["shape"]) == (
        0,
        True,
        False,
        "text",
    )
    lines = inside("spill", "list", "-o", "jsonl").out.splitlines()
    assert len(lines) == 2


def test_control_characters_in_a_command_do_not_reach_the_terminal(inside):
    inside("-n", "5", "--", "printf", "%0900d\x1b[31m\n", "1")
    assert b"\x1b" not in inside("spill", "list").out


def test_the_path_is_that_of_the_plain_bytes(inside):
    inside("-n", "50", "--", "sh", "-c", "seq 1 3000; echo e >&2")
    path = inside("spill", "path", "@last").out.decode().strip()
    with open(path, "rb") as file:
        assert file.read().endswith(b"2999\n3000\n")
    err = inside("spill", "path", "@last", "--stream", "err").out.decode().strip()
    with open(err, "rb") as file:
        assert file.read() == b"e\n"
    inside("-n", "50", stdin=LINES)
    assert inside("spill", "path", "@last", "--stream", "err").status == 1


def test_removing_is_all_or_nothing(inside):
    one = inside("--token-count", "--spill", "always", "-o", "json", stdin=LINES).json["meta"]["handle"]
    other = inside("--token-count", "--spill", "always", "-o", "json", stdin=LINES + b"x").json["meta"][
        "handle"
    ]
    assert inside("spill", "rm", one, "0000").status == 1
    assert inside("show", one, "-n", "5").status == 0
    assert inside("spill", "rm", one, other[:6], one).out == f"removed {one}\nremoved {other}\n".encode()
    assert inside("spill", "list").out == b"nothing is stored\n"


def test_everything_can_be_removed_at_once(inside):
    assert inside("spill", "rm", "--all").out.startswith(b"removed 0 outputs")
    for number in range(3):
        inside("--token-count", "--spill", "always", stdin=b"%d" % number)
    for words in (["--all", "@last"], []):
        ran = inside("spill", "rm", *words)
        assert (ran.status, ran.out, ran.err.count(b"\n")) == (2, b"", 1)
        assert b"--all" in ran.err
    assert inside("spill", "rm", "--all").out.startswith(b"removed 3 outputs (")
    assert inside("spill", "list").out == b"nothing is stored\n"
    inside("--token-count", "--spill", "always", stdin=b"again")
    assert len(inside("spill", "rm", "--all", "-o", "json").json["data"]["removed"]) == 1
