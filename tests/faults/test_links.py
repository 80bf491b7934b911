"""Links planted at every path that tokcap writes: nothing outside is read, written or removed."""

import os

import pytest

from tests.support.faults import LIMIT, LINES, judged, own_lines, snapshot
from tests.support.reference import recount
from tests.support.tiers import as_nightly

SECRET = b"precious\n" * 500

# Below the data directory; `SHELF` and `ENTRY` are those of the output that is stored already.
DIRECTORIES = [".", "spill", "spill/SHELF", "spill/SHELF/ENTRY"]
FILES = [
    "spill/SHELF/ENTRY/out",
    "spill/SHELF/ENTRY/err",
    "spill/SHELF/ENTRY/record.json",
    "spill/SHELF/ENTRY/index-cl100k_base",
    "spill/SHELF/ENTRY/seek-points",
    "spill/last",
    "spill/.cleaned",
    "ledger.db",
    "ledger.db-journal",
    "ledger.db-wal",
    "ledger.db-shm",
    "ledger.holders",
]


@pytest.fixture
def outside(tmp_path):
    """What belongs to somebody: a file of another kind, and a directory with things of any name in it."""
    place = tmp_path / "outside"
    (place / "below" / "data").mkdir(parents=True)
    for name in ("out", "record.json", ".new-0123456789abcdef", "last"):
        (place / name).write_bytes(SECRET)
        os.utime(place / name, (1, 1))
    os.utime(place, (1, 1))
    return place


def every_kind_of_call(handle: str):
    """Calls that between them read and write every path."""
    yield ("-n", str(LIMIT), "--", "seq", "1", "3000")
    yield ("-n", str(LIMIT), "--session", "s", "--", "sh", "-c", "seq 1 5000; echo e >&2")
    yield ("-n", str(LIMIT), "-o", "json", "--spill", "always", "--", "echo", '[{"a": 1}, {"a": 2}]')
    yield ("show", handle, "-n", str(LIMIT), "--token-offset", "2000", "--shape", "text")
    yield ("show", "@last", "-n", str(LIMIT))
    yield ("spill", "list")
    yield ("spill", "gc")
    yield ("spill", "rm", handle)
    yield ("budget", "start", "t", "--total", "50")
    yield ("budget", "record", "--session", "s", "--input", "3")


def attack(handle: str, outside, inside) -> None:
    before = snapshot(outside)
    for args in every_kind_of_call(handle):
        ran = judged(args, inside(*args, env={"TOKCAP_SPILL_DAYS": "1"}))
        assert ran.status in (0, 1, 125)
        assert b"precious" not in ran.out + ran.err
        if args[0] == "-n" and ran.status == 0:
            assert recount(ran.data_text if "json" in args else ran.out) <= LIMIT
        if ran.status == 125:
            assert len(own_lines(ran)) == 1
    assert snapshot(outside) == before


def planted(path, handle, data):
    return data / path.replace("SHELF", handle[:2]).replace("ENTRY", handle)


@pytest.mark.parametrize("path", DIRECTORIES)
def test_a_link_in_place_of_a_directory(path, stored, with_store, outside, inside, tmp_path):
    place = planted(path, stored, with_store)
    place.rename(tmp_path / "moved")
    place.symlink_to(outside)
    attack(stored, outside, inside)


TARGETS = ("out", "below/new")


# A link to a file for one path and to nothing for the next, every day; both for all of them, nightly.
@pytest.mark.parametrize(
    ("path", "target"),
    [
        (path, target) if place % 2 == TARGETS.index(target) else as_nightly((path, target))
        for place, path in enumerate(FILES)
        for target in TARGETS
    ],
)
def test_a_link_in_place_of_a_file(path, target, stored, with_store, outside, inside):
    place = planted(path, stored, with_store)
    place.unlink(missing_ok=True)
    place.symlink_to(outside / target)
    attack(stored, outside, inside)


def test_links_where_drafts_are_written_and_removed(stored, with_store, outside, inside):
    for number, target in enumerate((outside, outside / "out", outside / "below")):
        (with_store / "spill" / f".new-{number:016x}").symlink_to(target)
        os.utime(with_store / "spill" / f".new-{number:016x}", (1, 1), follow_symlinks=False)
    attack(stored, outside, inside)


def test_what_a_hook_or_a_configuration_links_to_is_never_executed_or_changed(
    stored, tmp_path, outside, inside
):
    config = tmp_path / "home" / ".config" / "tokcap"
    config.mkdir(parents=True)
    (config / "config.toml").symlink_to(outside / "out")
    before = snapshot(outside)
    ran = judged((), inside("-n", str(LIMIT), stdin=LINES))
    # Who links to a configuration wants it read; what is none is refused without being quoted.
    assert ran.status == 125
    assert len(own_lines(ran)) == 1
    assert snapshot(outside) == before
