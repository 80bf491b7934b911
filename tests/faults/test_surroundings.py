"""Homes, locales, clocks, paths and arguments of every unlikely kind."""

import os
import sys

import pytest

from tests.support.faults import (
    COMMAND,
    LIMIT,
    keeps_the_promises,
    own_lines,
    run_tokcap,
    the_line,
)
from tests.support.tiers import as_nightly


@pytest.fixture
def default_places(monkeypatch):
    """The store is on, and lies where it does by default."""
    monkeypatch.delenv("TOKCAP_SPILL")


class TestHomes:
    @pytest.mark.parametrize(
        "home",
        ["/dev/null", "{}/missing", "", "relative", *map(as_nightly, ("{}/file", "{}/new\nline", "~"))],
    )
    def test_output_comes_out_and_is_stored_or_said_not_to_be(self, home, default_places, tmp_path):
        (tmp_path / "file").write_bytes(b"in the way")
        world = {"HOME": home.format(tmp_path), "XDG_DATA_HOME": "" if home else str(tmp_path / "xdg")}
        ran = run_tokcap("-n", str(LIMIT), "--", *COMMAND, env=world, cwd=tmp_path)
        assert ran.status == 3
        keeps_the_promises(ran, env=world, cwd=tmp_path)
        assert (tmp_path / "file").read_bytes() == b"in the way"

    @pytest.mark.parametrize(
        "place", ["/dev/null", "/proc/nothing", "relative/place", "{}/a/b/c/d", "{}/" + "x" * 300]
    )
    def test_a_data_directory_of_any_kind(self, place, default_places, tmp_path):
        world = {"TOKCAP_DATA_DIR": place.format(tmp_path)}
        ran = run_tokcap("-n", str(LIMIT), "--", *COMMAND, env=world, cwd=tmp_path)
        assert ran.status == 3
        keeps_the_promises(ran, env=world, cwd=tmp_path)


@pytest.mark.usefixtures("with_store")
class TestPlacesAndPaths:
    def test_a_directory_that_was_removed_while_one_stood_in_it(self, tmp_path):
        for args in (["--", *COMMAND], ["-o", "json", "--", *COMMAND]):
            gone = tmp_path / "gone"
            gone.mkdir()
            ran = run_tokcap("-n", str(LIMIT), *args, cwd=gone, preexec_fn=lambda gone=gone: os.rmdir(gone))
            assert ran.status == 3
            keeps_the_promises(ran)

    @pytest.mark.parametrize("path", [None, "", *map(as_nightly, (":", "/nowhere", "/dev/null:/etc/passwd"))])
    def test_a_path_on_which_nothing_is_found(self, path):
        world = {} if path is None else {"PATH": path}
        without = ("PATH",) if path is None else ()
        ran = run_tokcap("-n", "60", "--", "/bin/echo", "x", env=world, without=without)
        assert (ran.status, ran.out) == (0, b"x\n")
        ran = run_tokcap("-n", "60", "--", "no-such-program", env=world, without=without)
        assert (ran.status, the_line(ran)) == (127, "tokcap: no-such-program: command not found")
        if path is None:
            # As `execvp` would: there is a default.
            assert run_tokcap("-n", "60", "--", "echo", "x", without=without).out == b"x\n"

    def test_arguments_as_long_as_the_system_admits_and_longer(self):
        long = "a" * 131_000
        ran = run_tokcap("-n", str(LIMIT), "--", "printf", "%s", long)
        assert ran.status == 0
        keeps_the_promises(ran, whole=long.encode())
        # No single one may have more than 128 KiB, and together with tokcap's own words they may be too long.
        ran = run_tokcap("-n", "60", "-c", 'printf %s "$(head -c 200000 /dev/zero | tr "\\0" a)"')
        assert ran.status == 0
        ran = run_tokcap("-n", "60", "-c", 'exec /bin/echo "$(head -c 200000 /dev/zero | tr "\\0" a)"')
        assert ran.status in (2, 126)
        assert own_lines(ran) == []

    @pytest.mark.parametrize(
        "args", [["--", "printf", "%s"], ["--sentinel"], ["--session"], ["--tokenizer"], ["show"]]
    )
    def test_arguments_that_are_no_utf_8(self, args):
        ran = run_tokcap(*args, b"\xff\xfe\x80", stdin=b"x")
        if args[0] == "--":
            assert (ran.status, ran.out) == (0, b"\xff\xfe\x80")
        else:
            assert ran.status in (0, 1, 125)
            assert len(own_lines(ran)) == (ran.status != 0)

    def test_variables_that_are_no_utf_8_reach_the_command(self):
        world = {b"ODD\xff": b"\xfe\xff", "EMPTY": ""}
        script = "import os; print(os.environb[b'ODD\\xff'] == b'\\xfe\\xff', os.environ['EMPTY'] == '')"
        ran = run_tokcap("-n", "60", "--", sys.executable, "-c", script, env=world)
        assert (ran.status, ran.out) == (0, b"True True\n")
        for variable in (
            "TOKCAP_TOKEN_LIMIT",
            "TOKCAP_OUTPUT",
            "TOKCAP_SENTINEL",
            "TOKCAP_SESSION",
            "TOKCAP_CONFIG",
        ):
            ran = run_tokcap("--", "echo", "x", env={variable: b"\xff"})
            assert ran.status in (0, 125)
            assert len(own_lines(ran)) == (ran.status != 0)
