"""Files that somebody has damaged: they are told, refused or read as far as they go; nothing is made up."""

from __future__ import annotations

import contextlib
import sqlite3
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from tests.fuzz.target import Input, target
from tests.support.reference import recount
from tests.support.world import World, check_told, world
from tokcap.budget.arithmetic import Settings
from tokcap.budget.base import SessionView
from tokcap.budget.sqlite import SqliteLedger
from tokcap.core.seek_points import SeekPoints, ShapeSeekPoints
from tokcap.errors import TokcapError
from tokcap.lean.digest import checksum
from tokcap.store.record import StoredRecord
from tokcap.tokens.checkpoints import Checkpoints

if TYPE_CHECKING:
    from tests.support.program import Ran

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
    made.finish()
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


# A ledger


@cache
def ledger_file() -> bytes:
    with tempfile.TemporaryDirectory() as directory:
        book = SqliteLedger(directory)
        book.start("s", Settings(1000, 5000, 0.2, 0.5, 100))
        book.start("t", Settings())
        book.end("t")
        session = SessionView(book, "s")
        session.settle(session.reserve(50, turn="one"), 20)
        session.reserve(70, turn="two")
        session.record(5, 6, "key")
        return (Path(directory) / "ledger.db").read_bytes()


def use_ledger(directory: str) -> None:
    """All that anybody does with a ledger. Each step may be refused in one line, and in no other way."""
    book = SqliteLedger(directory, patience_seconds=0.1)
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
        lambda: book.reset("s"),
        lambda: book.end("s"),
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


COLUMNS = (
    *(
        ("sessions", column)
        for column in ("name", "created", "ended", "total", "context_window", "result_pct")
    ),
    *(("sessions", column) for column in ("turn_pct", "floor_tokens", "used", "window_used")),
    *(
        ("reservations", column)
        for column in ("session", "tokens", "turn", "pid", "started", "boot", "namespace")
    ),
    *(("turns", column) for column in ("session", "turn", "used")),
    *(("events", column) for column in ("session", "time", "kind", "tokens", "key")),
)
VALUES = (
    None,
    0,
    -1,
    1,
    0.5,
    1e308,
    float("-inf"),
    2**63 - 1,
    -(2**63),
    "",
    "x",
    "12",
    b"",
    b"\xff",
    "\0",
    10**13,
)


@target(
    [bytes((column, value)) for column in range(len(COLUMNS)) for value in range(len(VALUES))], examples=20
)
def ledger_values(given: Input) -> None:
    """Tables that are whole, with values that nobody wrote there by tokcap."""
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory) / "ledger.db"
        place.write_bytes(ledger_file())
        place.chmod(0o600)
        with contextlib.closing(sqlite3.connect(place, isolation_level=None)) as database:
            for column, value in zip(given.payload[::2], given.payload[1::2], strict=False):
                table, name = COLUMNS[column % len(COLUMNS)]
                with contextlib.suppress(sqlite3.Error):
                    database.execute(f"UPDATE {table} SET {name} = ?", (VALUES[value % len(VALUES)],))
        use_ledger(directory)


# A stored output

OUTPUT = b"[" + b",".join(b'{"id":%d,"name":"number %d"}' % (n, n) for n in range(400)) + b"]\n"
SHOW = ["show", "@last", "-n", "60", "--token-offset", "2000", "-o", "json"]


@cache
def stored_files() -> dict[str, bytes]:
    """The files of an entry as a run leaves them, by their path below the data directory."""
    with world() as here:
        here.call(["-n", "60", "-o", "json"], OUTPUT)
        here.call(SHOW)
        return {
            str(path.relative_to(here.data)): path.read_bytes()
            for path in here.data.rglob("*")
            if path.is_file()
        }


@cache
def undamaged() -> Ran:
    with world() as here:
        put(here, {})
        return here.call(SHOW)


def put(here: World, changes: dict[str, bytes]) -> None:
    for name, data in {**stored_files(), **changes}.items():
        path = here.data / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        path.chmod(0o600)
    for directory in (here.data, *(path for path in here.data.rglob("*") if path.is_dir())):
        directory.chmod(0o700)


def entry_seeds() -> list[bytes]:
    return [data for name, data in stored_files().items() if not name.endswith("/out")] + [
        b"",
        RECORD.packed(),
    ]


@target(entry_seeds(), examples=8)
def damaged_entry(given: Input) -> None:
    names = sorted(stored_files())
    name = given.pick(0, names)
    view = given.pick(
        1, ((), ("--grep", "number 7"), ("--pointer", "/3/name"), ("--stream", "err"), ("--mode", "summary"))
    )
    args = [*SHOW, *view]
    if view:
        args[4:6] = []
    with world() as here:
        put(here, {name: given.payload})
        ran = here.call(args)
        again = here.call(args)
    assert ran.status in (0, 1, 2, 125)
    assert again.status == ran.status
    if ran.status:
        return
    assert recount(ran.data_text) <= 60
    if not name.endswith(("/out", "/last")) and not view and "shape" not in undamaged_differences(ran):
        # The output itself is whole, so what is shown of it is what was shown before.
        assert ran.json["data"] == undamaged().json["data"]


def undamaged_differences(ran: Ran) -> set[str]:
    """Keys of the answer that are not as they were: a well-formed record may tell another shape."""
    before, after = undamaged().json["meta"], ran.json["meta"]
    return {key for key in before if before[key] != after.get(key)}
