"""Where the data directory cannot be written, a private directory below TMPDIR takes its place."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from tests.support.faults import (
    COMMAND,
    LIMIT,
    LINES,
    handle_in,
    keeps_the_promises,
    no_spare_directory,
    own_lines,
    run_tokcap,
    without_power,
)
from tests.support.reference import recount
from tests.support.tiers import as_nightly
from tokcap.environment import Environment


@pytest.fixture
def spare():
    return Path(Environment(os.environ).spare_data_dir())


@pytest.fixture
def data(tiny_disk, monkeypatch):
    """A data directory with one output on a disk that cannot be written."""
    monkeypatch.delenv("TOKCAP_SPILL")
    disk = tiny_disk("size=1m")
    monkeypatch.setenv("TOKCAP_DATA_DIR", str(disk.path / "data"))
    run_tokcap("-n", "30", stdin=b"older\n" * 100)
    disk.make_read_only()
    return disk.path / "data"


def test_the_output_is_stored_and_nothing_is_said(data, spare):
    ran = run_tokcap("-n", str(LIMIT), "--", *COMMAND)
    assert ran.status == 3
    assert own_lines(ran) == []
    assert keeps_the_promises(ran)
    assert [path.name for path in spare.glob("spill/??/*")] == [handle_in(ran)]


def test_the_directory_is_private(data, spare):
    os.umask(0o022)
    run_tokcap("-n", "60", stdin=LINES)
    for path in (spare, *spare.rglob("*")):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)


def test_show_spill_and_last_find_both_stores(data, inside):
    handle = handle_in(inside("-n", "60", stdin=LINES))
    assert inside("show", "@last", "-n", "100000").out == LINES
    assert inside("show", "@last-1", "-n", "100000").out == b"older\n" * 100
    assert inside("show", handle[:6], "-n", "100000", "--grep", "^77$").out.endswith(b":77\n")
    assert len(inside("spill", "list").out.splitlines()) == 3
    assert inside("spill", "path", handle).out.strip().endswith(b"/out")
    assert inside("show", "@last-5").status == 1
    assert inside("show", "0000").status == 1
    assert inside("spill", "rm", handle).status == 0
    assert inside("show", handle).status == 1
    assert inside("show", "@last-1", "-n", "100000").out == b"older\n" * 100


def test_outside_of_the_sandbox_the_data_directory_is_used_again(data, monkeypatch, tmp_path):
    run_tokcap("-n", "60", stdin=LINES)
    monkeypatch.setenv("TOKCAP_DATA_DIR", str(tmp_path / "writable"))
    handle = handle_in(run_tokcap("-n", "60", stdin=LINES * 2))
    assert (tmp_path / "writable" / "spill" / handle[:2] / handle).is_dir()
    assert run_tokcap("show", "@last", "-n", "100000").out == LINES * 2
    assert run_tokcap("show", "@last-1", "-n", "100000").out == LINES
    assert run_tokcap("spill", "gc").status == 0


def test_permissions_can_forbid_it_too(monkeypatch, tmp_path, spare):
    monkeypatch.delenv("TOKCAP_SPILL")
    (tmp_path / "above").mkdir(mode=0o500)
    monkeypatch.setenv("TOKCAP_DATA_DIR", str(tmp_path / "above" / "data"))
    ran = run_tokcap("-n", str(LIMIT), "--", *COMMAND, prefix=without_power())
    assert own_lines(ran) == []
    assert [path.name for path in spare.glob("spill/??/*")] == [handle_in(ran)]


@pytest.mark.parametrize("squatter", ["file", "link", "other user"])
def test_a_place_that_somebody_else_has_taken_is_not_used(data, spare, tmp_path, squatter):
    if squatter == "file":
        no_spare_directory()
    elif squatter == "link":
        (tmp_path / "elsewhere").mkdir()
        spare.symlink_to(tmp_path / "elsewhere")
    elif os.geteuid():
        pytest.skip("only root can give a directory to somebody else")
    else:
        spare.mkdir()
        os.chown(spare, 12345, -1)
    ran = run_tokcap("-n", str(LIMIT), "--", *COMMAND)
    assert ran.status == 3
    assert keeps_the_promises(ran) == ""
    assert not [*spare.rglob("out")]


@pytest.mark.parametrize("limit", [40, *map(as_nightly, (60, 100, 1000))])
def test_the_warning_never_breaks_the_cap(data, limit):
    no_spare_directory()
    for command in (COMMAND, ("sh", "-c", "seq 1 3000"), ("sh", "-c", "seq 1 3000 >&2")):
        ran = run_tokcap("-n", str(limit), "--", *command)
        assert recount(ran.out + ran.err) <= limit
        assert recount(ran.err + ran.out) <= limit


def test_each_home_has_its_own_and_without_a_usable_tmpdir_it_is_below_tmp(monkeypatch):
    monkeypatch.setattr("tokcap.environment.SYSTEM_TEMPORARY", "/tmp")
    usable = os.environ["TMPDIR"]
    for home in ("/home/ann", "/home/ben"):
        name = f"tokcap-{os.geteuid()}{home.replace('/', '-')}"
        for value in ("", "/nonexistent", "relative"):
            assert Environment({"TMPDIR": value, "HOME": home}).spare_data_dir() == f"/tmp/{name}"
        assert Environment({"TMPDIR": usable, "HOME": home}).spare_data_dir() == f"{usable}/{name}"


def test_the_spare_directory_is_the_cache_of_a_shared_store_too(data, spare, tmp_path):
    shared = tmp_path / "shared"
    shared.mkdir(mode=0o700)
    ran = run_tokcap("-n", "60", stdin=LINES, env={"TOKCAP_STORE": f"file://{shared}"})
    assert own_lines(ran) == []
    assert len([*spare.rglob("out")]) == len([*shared.rglob("out")]) == 1
