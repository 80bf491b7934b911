"""Files that somebody has damaged: they are told, refused or read as far as they go; nothing is made up."""

from __future__ import annotations

import contextlib
import re
import sqlite3
import tempfile
from functools import cache
from pathlib import Path

from tests.fuzz.target import Input, target
from tests.support.world import check_told
from tokcap.budget.arithmetic import Settings
from tokcap.budget.ledger import SessionView
from tokcap.budget.sqlite import ledger_in
from tokcap.core.digest import checksum
from tokcap.core.seek_points import SeekPoints, ShapeSeekPoints
from tokcap.errors import TokcapError
from tokcap.store.base import StoredRecord
from tokcap.store.shared_outputs import MAGIC, packed, unpacked
from tokcap.tokens.index import Checkpoints

RECORD = StoredRecord(
    "lake917365018",
    "3f2a91c05d7e" + "0" * 28,
    {"out": "ab" * 16, "err": "cd" * 16},
    1_700_000_000,
    {"out": 30, "err": 4},
    {"out": 3},
    "json",
    3,
    {"cl100k_base": {"out": 9}},
    50,
    1,
    None,
    12,
    ("sh", "-c", "x\udcff"),
)


@target(
    [
        RECORD.packed(),
        StoredRecord().packed(),
        b'{"schema_version": 1}',
        b"[]",
        b'{"schema_version": 1, "command": [1]}',
    ]
)
def record_file(given: Input) -> None:
    try:
        found = StoredRecord.unpacked(given.payload)
    except (ValueError, RecursionError):
        return
    assert StoredRecord.unpacked(found.packed()) == found
    assert found.complete in (True, False)


def checkpoints() -> bytes:
    made = Checkpoints()
    for _ in range(5):
        made.add(7, 30)
    made.complete = True
    made.sample = 70, 300
    return made.packed(150)


@target([checkpoints(), Checkpoints().packed(0), b"tokcap index 2\n"])
def index_file(given: Input) -> None:
    data = given.payload
    if given.pick(0, (False, True)):
        # Well sealed nonsense.
        data = data[:-4] + checksum(data[:-4])
    found = Checkpoints.unpacked(data, given.pick(1, (150, 0, 7)))
    if found is not None:
        assert len(found.tokens) == len(found.bytes) == len(found)


def seek_points(data: bytes) -> bytes:
    made = SeekPoints()
    points = ShapeSeekPoints(made, "json", data)
    for place in (0, 5, 12):
        points.add(place, [place, 1, 2])
    return made.packed()


WALKED = b'[1,2,{"a":[3,4]},"five"]'


@target(
    [
        seek_points(WALKED),
        seek_points(b""),
        b"tokcap seek-points 1\n",
        b"tokcap seek-points 1\n5 00000000 1\n",
    ]
)
def seek_points_file(given: Input) -> None:
    found = SeekPoints.unpacked(given.payload)
    if found is None:
        return
    assert found.bytes == sorted(set(found.bytes))
    for byte in (0, 7, 100):
        nearest = ShapeSeekPoints(found, "json", WALKED).before(byte)
        assert nearest is None or nearest[0] <= byte


@target(
    [packed({"record.json": b"{}", "checksums": bytes(range(256)) * 4}), packed({}), MAGIC + b"2\n", MAGIC]
)
def shared_entry(given: Input) -> None:
    found = unpacked(given.payload)
    assert unpacked(packed(found)) == found


# A ledger


@cache
def ledger_file() -> bytes:
    with tempfile.TemporaryDirectory() as directory:
        book = ledger_in(directory)
        book.start("s", Settings(1000, 5000, 0.2, 0.5, 100))
        book.start("t", Settings())
        book.session("t").end()
        session = SessionView(book, "s")
        session.settle(session.reserve(50, turn="one"), 20)
        session.reserve(70, turn="two")
        session.record(5, 6, "key")
        return (Path(directory) / "ledger.db").read_bytes()


def use_ledger(directory: str) -> None:
    """All that anybody does with a ledger. Each step may be refused in one line, and in no other way."""
    book = ledger_in(directory, patience_seconds=0.1)
    session = SessionView(book, "s")
    for step in (
        book.list,
        lambda: book.has("s"),
        session.read,
        lambda: session.settle(session.reserve(5, turn="one"), 5),
        lambda: session.release(session.reserve(None)),
        lambda: session.record(1, 1, "key"),
        lambda: session.compacted(3),
        lambda: session.read().mode(),
        lambda: session.read().remaining,
        lambda: session.read().usage_fraction,
        lambda: book.start("s", Settings(5)),
        lambda: book.start("u", Settings(5)),
        lambda: book.session("s").reset(),
        lambda: book.session("s").end(),
    ):
        try:
            step()
        except TokcapError as error:
            check_told(error)


# Where it is changed, and what stands there then: four bytes and more of an edit.
@target(
    [
        b"\x00\x10\x00\x04\xff\xff",
        b"\x00\x00\x00\x00Xx",
        b"\x03\xe8\x00\x00\x81\x01\x00\x09",
        b"\x00\x3c\x00\x00\x00\x00\x00\x09",
    ],
    examples=20,
)
def ledger_bytes(given: Input) -> None:
    data = bytearray(ledger_file())
    rest = given.payload
    while len(rest) > 2:
        at = int.from_bytes(rest[:2], "big") % len(data)
        size = rest[2] % 8 + 1
        data[at : at + size] = rest[3 : 3 + size].ljust(size, b"\0")
        rest = rest[3 + size :]
    if given.pick(0, (False, False, True)):
        del data[int.from_bytes(given.knobs[1:3], "big") % len(data) :]
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory) / "ledger.db"
        place.write_bytes(data)
        place.chmod(0o600)
        use_ledger(directory)


# What stands in a row, and what is put there instead.
VALUES = (
    *(b"null", b"0", b"-1", b"1", b"0.5", b"1e308", b"-1e999", b"9223372036854775807", b"10000000000000"),
    *(b'""', b'"x"', b'"12"', b"[]", b"{}", b"[[]]", b'"\\u0000"', b"\xff", b"{"),
)


@target(
    [bytes((row, place, value)) for row in range(8) for place in (1, 3, 5) for value in range(len(VALUES))],
    examples=20,
)
def ledger_values(given: Input) -> None:
    """A file that is whole, with values in its rows that tokcap never wrote."""
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "ledger.db"
        file.write_bytes(ledger_file())
        file.chmod(0o600)
        with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as database:
            rows = database.execute("SELECT key, value FROM rows ORDER BY key").fetchall()
            for number, place, value in zip(*[iter(given.payload)] * 3, strict=False):
                key, text = rows[number % len(rows)]
                # The values of a row stand between these signs.
                parts = re.split(r"([,:\[\]{}]+)", text)
                at = place % len(parts) // 2 * 2
                changed = (
                    "".join(parts[:at]).encode()
                    + VALUES[value % len(VALUES)]
                    + "".join(parts[at + 1 :]).encode()
                )
                with contextlib.suppress(sqlite3.Error):
                    database.execute("UPDATE rows SET value = CAST(? AS TEXT) WHERE key = ?", (changed, key))
        use_ledger(directory)
