"""Disks that are full, small or read-only: the output comes out, and what could not be stored is said."""

import json
import os

import pytest

from tests.support.faults import (
    COMMAND,
    LIMIT,
    LINES,
    keeps_the_promises,
    left_behind,
    limits,
    own_lines,
    run_tokcap,
    the_line,
)
from tests.support.reference import recount
from tests.support.tiers import as_nightly, times

pytestmark = pytest.mark.usefixtures("with_store")

SEVERAL_MEGABYTES = "seq 1 2000000"
# Counted by one division, for what is counted is not the question here.
QUICK = ("-n", "210", "--tokenizer", "approx")


class TestAFullStore:
    def test_whichever_page_is_the_first_to_find_no_room_the_promises_hold(self, tiny_disk):
        """The store writes some ten pages; here it runs out of them at every one in turn."""
        disk = tiny_disk()
        world = {"TOKCAP_DATA_DIR": str(disk.path / "data")}
        kept = []
        for pages in (0, 2, 5, 11) if times() == 1 else range(12):
            output = "json" if pages in (2, 6) else "text"
            disk.leave(pages)
            ran = run_tokcap("-n", str(LIMIT), "-o", output, "--", *COMMAND, env=world)
            assert ran.status == 3
            kept.append(bool(keeps_the_promises(ran, env=world)))
            assert len(own_lines(ran)) == (not kept[-1] and output == "text")
            assert not left_behind(disk.path)
            run_tokcap("spill", "rm", "@last", env=world)
        assert kept[0] is False
        assert kept[-1] is True

    def test_an_output_of_megabytes_meets_the_end_of_the_disk_while_it_arrives(self, tiny_disk):
        disk = tiny_disk("size=9m")
        world = {"TOKCAP_DATA_DIR": str(disk.path / "data")}
        ran = run_tokcap("-n", "60", "--", "sh", "-c", f"{SEVERAL_MEGABYTES}; exit 3", env=world)
        assert (ran.status, b"next: --token-offset" in ran.out) == (3, True)
        assert "No space left" in the_line(ran)
        assert recount(ran.out) <= 60
        assert not left_behind(disk.path)

    @pytest.mark.parametrize(
        ("limit", "spill"),
        [
            *((0, "auto"), (1000, "always"), (20_000, "auto")),
            *(as_nightly((limit, spill)) for limit in (1, 8192, 1 << 20) for spill in ("auto", "always")),
        ],
    )
    def test_a_limit_on_the_size_of_files_costs_no_output(self, limit, spill):
        ran = run_tokcap("-n", str(LIMIT), "--spill", spill, "--", *COMMAND, preexec_fn=limits(FSIZE=limit))
        assert ran.status == 3
        keeps_the_promises(ran)


class TestAFullPlaceForTemporaryFiles:
    @pytest.mark.parametrize(
        "args", [["--keep", "tail"], ["--token-count"], ["-o", "json", "--keep", "tail"]]
    )
    def test_it_is_kept_in_memory_instead(self, tiny_disk, args):
        disk = tiny_disk()
        world = {"TMPDIR": str(disk.path), "TOKCAP_SPILL": "never"}
        ran = run_tokcap(*QUICK, *args, "--", "sh", "-c", f"{SEVERAL_MEGABYTES}; exit 3", env=world)
        assert ran.status == 3
        assert own_lines(ran) == []
        if "--token-count" in args:
            assert int(ran.out) > 2_000_000
        else:
            assert b"2000000" in ran.out
        assert list(disk.path.iterdir()) == []


class TestAFullLedger:
    START = ("budget", "start", "s", "--total", "5000")

    def test_a_run_is_charged_or_refused_before_it_runs_or_said_not_to_be_charged(self, tiny_disk):
        disk = tiny_disk("size=400k")
        world = {"TOKCAP_DATA_DIR": str(disk.path / "data"), "TOKCAP_SPILL": "never"}
        run_tokcap(*self.START, env=world)
        for pages in (0, 2, 6) if times() == 1 else range(10):
            disk.leave(pages)
            before = used(world)
            ran = run_tokcap("-n", "60", "--session", "s", "--", "sh", "-c", "seq 1 20; exit 3", env=world)
            if ran.status == 125:
                assert ran.out == b""
                assert the_line(ran)
                assert used(world) == before
            else:
                assert ran.status == 3
                assert ran.out.startswith(b"1\n2\n")
                told = [line for line in own_lines(ran) if "not charged" in line]
                assert bool(told) == (used(world) == before)

    def test_a_disk_that_becomes_full_while_the_command_runs_costs_no_output(self, tiny_disk):
        disk = tiny_disk("size=400k")
        world = {"TOKCAP_DATA_DIR": str(disk.path / "data")}
        run_tokcap(*self.START, env=world)
        script = f"cat /dev/zero > {disk.path}/filler 2>/dev/null; seq 1 3000; exit 3"
        ran = run_tokcap("-n", "60", "--session", "s", "--", "sh", "-c", script, env=world)
        assert (ran.status, ran.out[:4]) == (3, b"1\n2\n")
        assert recount(ran.out) <= 60
        assert ["not stored" in line or "not charged" in line for line in own_lines(ran)] in (
            [True],
            [True] * 2,
        )
        (disk.path / "filler").unlink()
        status = json.loads(run_tokcap("budget", "status", "s", "-o", "json", env=world).out)["data"]
        assert status["reserved"] == 0


def used(world) -> int | None:
    """What the session has used; None while nobody can tell."""
    ran = run_tokcap("budget", "status", "s", "-o", "json", env=world)
    return ran.json["data"]["used"] if ran.status == 0 else None


@pytest.fixture
def read_only(tiny_disk):
    """A data directory with something in it that nobody can write to; gives how to call tokcap there."""
    disk = tiny_disk("size=1m")
    world = {"TOKCAP_DATA_DIR": str(disk.path / "data")}
    run_tokcap("-n", "60", stdin=LINES, env=world)
    run_tokcap("budget", "start", "s", "--total", "5000", env=world)
    disk.make_read_only()
    return lambda *args, **options: run_tokcap(*args, env=world, **options)


class TestAReadOnlyDataDirectory:
    def test_what_is_stored_can_be_read(self, read_only):
        assert read_only("show", "@last", "-n", "100000").out == LINES
        assert read_only("show", "@last", "--token-offset", "5000", "-n", "50", "--grep", "9").status == 0
        assert b"HANDLE" in read_only("spill", "list").out
        assert read_only("spill", "path", "@last").status == 0

    def test_what_would_change_it_says_that_it_cannot(self, read_only):
        ran = read_only("spill", "rm", "@last")
        assert (ran.status, ran.out) == (125, b"")
        assert the_line(ran)
        assert read_only("spill", "gc").status in (0, 125)
        assert read_only("show", "@last", "-n", "100000").out == LINES
        ran = read_only("budget", "start", "other", "--total", "5")
        assert (ran.status, ran.out) == (125, b"")
        assert the_line(ran)

    def test_a_session_that_cannot_be_charged_runs_nothing(self, read_only, tmp_path):
        ran = read_only("-n", "60", "--session", "s", "--", "touch", str(tmp_path / "ran"))
        assert (ran.status, ran.out) == (125, b"")
        assert the_line(ran)
        assert not (tmp_path / "ran").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory to somebody else")
@pytest.mark.parametrize("place", ["data", "data/spill", "data/spill/xx", "data/ledger.db"])
def test_what_belongs_to_another_user_is_not_used(tmp_path, with_store, place, stored):
    path = tmp_path / place.replace("xx", stored[:2])
    os.chown(path, 12345, -1)
    ran = run_tokcap("-n", str(LIMIT), "--session", "s", "--", *COMMAND)
    if place in ("data", "data/ledger.db"):
        assert (ran.status, ran.out) == (125, b"")
        assert the_line(ran)
    else:
        assert ran.status == 3
        # LINES with another stderr are another output; only in the same shelf would it meet the stranger.
        keeps_the_promises(ran)
    shown = run_tokcap("show", stored)
    assert shown.status == (0 if place == "data/ledger.db" else shown.status)
    assert len(own_lines(shown)) == (shown.status != 0)
