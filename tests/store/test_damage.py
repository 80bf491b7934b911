"""Bytes that were changed on the disk are found and said. They are never shown as right."""

import itertools
import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.tiers import as_nightly, examples
from tests.support.world import world
from tokcap.core.digest import BLOCK_BYTES

pytestmark = pytest.mark.usefixtures("with_store")


def rows(count: int) -> list[bytes]:
    return [
        b'{"id": %d, "name": "name %d", "tags": ["x", {"y": %d}], "text": "%s"}' % (n, n, n, b"words " * 9)
        for n in range(count)
    ]


LONG = {
    "text": b"".join(b"line %d of a long text\n" % n for n in range(90_000)),
    "json": b"[%s]" % b", ".join(rows(24_000)),
    "jsonl": b"\n".join(rows(24_000)) + b"\n",
    "csv": b"id,name,text\n" + b"".join(b'%d,"name, %d",%s\n' % (n, n, b"word " * 9) for n in range(30_000)),
}
SHORT = {
    "text": b"".join(b"line %d\n" % n for n in range(2000)),
    "json": b'{"items": [%s], "more": 7}' % b", ".join(rows(80)),
    "jsonl": b"\n".join(rows(90)) + b"\n",
    "csv": b"id,name\n" + b"".join(b'%d,"name, %d"\n' % (n, n) for n in range(900)),
}


@pytest.fixture
def stored(inside, with_store):
    """Store a payload and return its directory."""

    def store(payload: bytes, *args: str) -> Path:
        handle = inside("-n", "200", "-o", "json", *args, stdin=payload).json["meta"]["handle"]
        return with_store / "spill" / handle[:2] / handle

    return store


def flip(path: Path, place: int, bit: int = 1) -> None:
    data = bytearray(path.read_bytes())
    data[place] ^= bit
    path.write_bytes(data)


WAYS = [
    ("-n", "60"),
    ("-n", "210", "-o", "json"),
    ("-n", "60", "--keep", "tail"),
    ("--grep", "7", "-n", "60"),
    ("--mode", "summary", "-n", "200"),
]


@pytest.mark.parametrize(
    ("shape", "args"),
    [
        (shape, args) if shape == "text" or args == WAYS[0] else as_nightly((shape, args))
        for shape, args in itertools.product(SHORT, WAYS)
    ],
)
def test_a_changed_byte_of_a_short_output_is_said_in_one_line(inside, stored, shape, args):
    entry = stored(SHORT[shape])
    before = inside("show", entry.name, *args)
    assert before.status == 0
    flip(entry / "out", 100)
    ran = inside("show", entry.name, *args)
    if "json" in args:
        assert (ran.json["error"]["code"], ran.json["data"]) == ("STORE_ERROR", None)
        message = ran.json["error"]["message"]
    else:
        assert (ran.out, ran.err.count(b"\n")) == (b"", 1)
        message = ran.err.decode()
    assert ran.status == 125
    assert f"out of {entry.name} is damaged: bytes 0-{len(SHORT[shape]) - 1}" in message
    assert "run the command again" in message
    # Storing it again repairs it.
    stored(SHORT[shape])
    after = inside("show", entry.name, *args)
    assert (after.status, without_report(after.out)) == (0, without_report(before.out))


@pytest.mark.parametrize("shape", LONG)
def test_of_a_long_output_only_windows_that_need_a_damaged_block_are_refused(inside, stored, shape):
    payload = LONG[shape]
    entry = stored(payload, "--exact-total")
    total = int(inside("show", entry.name, "--token-count").out)
    deep = ("-n", "60", "--token-offset", str(total * 9 // 10))
    # Seek points are found now, as by anybody who reads that far.
    before = {args: inside("show", entry.name, *args).out for args in (("-n", "60"), deep)}
    place = len(payload) // 3
    flip(entry / "out", place)
    assert {args: inside("show", entry.name, *args).out for args in before} == before
    ran = inside("show", entry.name, "-n", "60", "--token-offset", str(total // 3))
    begin = place // BLOCK_BYTES * BLOCK_BYTES
    assert (ran.status, ran.out) == (125, b"")
    assert f"bytes {begin}-{begin + BLOCK_BYTES - 1} are not those that were stored".encode() in ran.err
    assert inside("show", entry.name, "--grep", "name 7|line 7").status == 125
    assert stored(payload) == entry
    assert inside("show", entry.name, "-n", "60", "--token-offset", str(total // 3)).status == 0


def test_a_file_that_lost_its_end_is_shown_as_far_as_its_blocks_are_whole(inside, stored):
    entry = stored(LONG["text"])
    with open(entry / "out", "r+b") as file:
        file.truncate(len(LONG["text"]) - 10)
    first = inside("show", entry.name, "-n", "200")
    assert (first.status, first.out.startswith(LONG["text"][:40])) == (0, True)
    assert f"it has {len(LONG['text']) - 10} bytes, not {len(LONG['text'])}".encode() in first.err
    assert inside("show", entry.name, "-n", "60", "--keep", "tail").status == 125


@pytest.fixture(scope="module")
def long_outputs():
    """Every long payload stored in a world of its own, with indexes, seek points and right answers."""
    with world() as made:
        outputs = {}
        for shape, payload in LONG.items():
            args = ["-n", "200", "-o", "json", "--exact-total"]
            handle = made.call(args, payload).json["meta"]["handle"]
            entry = made.data / "spill" / handle[:2] / handle
            total = int(made.call(["show", handle, "--token-count"]).out)
            made.call(["show", handle, "-n", "50", "--token-offset", str(total - 100)])
            outputs[shape] = entry, total
        yield made, outputs


@examples(15)
@given(chance=st.randoms(use_true_random=False), shape=st.sampled_from(sorted(LONG)))
def test_whatever_byte_is_changed_a_window_is_right_or_refused(long_outputs, chance, shape):
    """For every file of a stored output, and windows of every kind."""
    made, outputs = long_outputs
    entry, total = outputs[shape]
    path = entry / chance.choice(["out", "out", *sorted(file.name for file in entry.iterdir())])
    offset = str(chance.randrange(total))
    args = chance.choice(
        [
            ["-n", "80", "--token-offset", offset],
            ["-n", "330", "--token-offset", offset, "-o", "json"],
            ["-n", "80", "--keep", chance.choice(["tail", "ends"])],
            ["-n", "80", "--pointer", f"/{chance.randrange(24_000)}/name"],
        ]
    )
    files = {file: file.read_bytes() for file in entry.iterdir()}
    try:
        right = made.call(["show", entry.name, *args])
        flip(path, chance.randrange(path.stat().st_size), 1 << chance.randrange(8))
        found = made.call(["show", entry.name, *args])
        if found.status == 125:
            assert b"is damaged" in found.out + found.err
            assert path.name == "out"
        else:
            assert found.status == right.status
            if path.name == "out":
                assert without_report(found.out) == without_report(right.out)
            elif "-o" not in args:
                # The warning about another file takes room from the window.
                wider = made.call(["show", entry.name, "-n", "400", *args[2:]])
                assert words_of(found.out) <= words_of(wider.out)
    finally:
        for file, data in files.items():
            file.write_bytes(data)


def words_of(out: bytes) -> set[bytes]:
    """What is shown, without the mark."""
    return {*re.findall(rb"[a-z]+", out.partition(b"[TRUNCATED]")[0])}


def without_report(out: bytes) -> object:
    """An envelope has its duration. An estimate of the total leaves damaged places out."""
    out = re.sub(rb"of about [0-9.]+[kM]?", b"of about N", out)
    if not out.startswith(b'{"ok"'):
        return out
    envelope = json.loads(out)
    return envelope["data"], {**envelope["meta"], "duration_ms": 0, "total_tokens_estimate": 0}
