"""Homes, locales, clocks, paths and arguments of every unlikely kind."""

import os
import sys
import time

import pytest

from tests.support.faults import (
    COMMAND,
    LIMIT,
    LINES,
    handle_in,
    judged,
    keeps_the_promises,
    own_lines,
    run_tokcap,
    the_line,
)
from tests.support.program import Ran
from tests.support.reference import recount
from tests.support.tiers import as_nightly
from tokcap.__main__ import call
from tokcap.environment import Environment


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

    def test_none_at_all(self, default_places, tmp_path):
        """Then it is the one of the password file; here the data goes elsewhere all the same."""
        world = {"XDG_DATA_HOME": str(tmp_path / "xdg"), "XDG_CONFIG_HOME": str(tmp_path / "xdg")}
        ran = run_tokcap("-n", str(LIMIT), "--", *COMMAND, env=world, without=("HOME",))
        assert ran.status == 3
        assert keeps_the_promises(ran, env=world, without=("HOME",))

    @pytest.mark.parametrize(
        "place", ["/dev/null", "/proc/nothing", "relative/place", "{}/a/b/c/d", "{}/" + "x" * 300]
    )
    def test_a_data_directory_of_any_kind(self, place, default_places, tmp_path):
        world = {"TOKCAP_DATA_DIR": place.format(tmp_path)}
        ran = run_tokcap("-n", str(LIMIT), "--", *COMMAND, env=world, cwd=tmp_path)
        assert ran.status == 3
        keeps_the_promises(ran, env=world, cwd=tmp_path)


@pytest.mark.usefixtures("with_store")
class TestLanguages:
    @pytest.mark.parametrize(
        "world",
        [
            {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
            {"PYTHONIOENCODING": "utf-16", "PYTHONUTF8": "1", "PYTHONUNBUFFERED": "1", "PYTHONDEVMODE": "1"},
            {
                "PYTHONOPTIMIZE": "2",
                "LC_ALL": "xx_YY.UTF-99",
                "TZ": "Nowhere/At/All",
                "TERM": "",
                "LINES": "-1",
            },
            *map(
                as_nightly,
                (
                    {"LC_ALL": "C"},
                    {"LANG": "nonsense", "LC_ALL": ""},
                    {"PYTHONIOENCODING": "ascii:strict"},
                    {"PYTHONUTF8": "0", "LC_ALL": "C", "PYTHONIOENCODING": "latin-1:ignore"},
                ),
            ),
        ],
        ids=lambda world: " ".join(f"{name}={value}" for name, value in world.items()),
    )
    def test_none_of_them_changes_a_byte(self, world):
        """Greek, an emoji, half a character and a mark of its own go out as they came in."""
        text = "αβγ 👍 naïve\n".encode() * 3 + b"\xff\xce\n"
        args = ("-n", "400", "--sentinel", "§")
        assert run_tokcap(*args, stdin=text, env=world).out == text
        cut = run_tokcap("-n", "40", "--sentinel", "§é", "--", "printf", "αβγ %s\\n" * 60, env=world)
        assert cut.out.splitlines()[-1].decode().startswith("§é ")
        assert recount(cut.out) <= 40
        missing = run_tokcap("--", "no-such-é", env=world)
        assert (missing.status, missing.err.decode()) == (127, "tokcap: no-such-é: command not found\n")
        for args in (["spill", "list"], ["--help"]):
            assert run_tokcap(*args, env=world).status == 0


@pytest.mark.usefixtures("with_store")
class TestPlacesAndPaths:
    def test_a_directory_that_was_removed_while_one_stood_in_it(self, tmp_path):
        for args in (["--", *COMMAND], ["-o", "json", "--", *COMMAND]):
            gone = tmp_path / "gone"
            gone.mkdir()
            ran = run_tokcap("-n", str(LIMIT), *args, cwd=gone, preexec_fn=lambda gone=gone: os.rmdir(gone))
            assert ran.status == 3
            keeps_the_promises(ran)

    def test_there_a_relative_data_directory_is_said_to_be_none(self, tmp_path):
        gone = tmp_path / "gone"
        gone.mkdir()
        world = {"TOKCAP_DATA_DIR": "data"}
        ran = run_tokcap(
            "-n", str(LIMIT), "--", *COMMAND, env=world, cwd=gone, preexec_fn=lambda: os.rmdir(gone)
        )
        assert ran.status == 3
        assert keeps_the_promises(ran) == ""

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

    @pytest.mark.parametrize("umask", [0o777, as_nightly(0o000)])
    def test_any_umask(self, umask, with_store):
        ran = run_tokcap("-n", str(LIMIT), "--", *COMMAND, umask=umask)
        assert ran.status == 3
        assert keeps_the_promises(ran, umask=umask)
        assert run_tokcap("budget", "start", "s", "--total", "500", umask=umask).status == 0
        ran = run_tokcap("-n", str(LIMIT), "--session", "s", "--", *COMMAND, umask=umask)
        assert (ran.status, own_lines(ran)) == (3, [])
        for path in (with_store, *with_store.rglob("*")):
            assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600)


CLOCKS = {"before 1970": -5.0, "1970": 0.0, "2038": 2.0**31, "the year 5000": 95e9, "far from here": 1e17}


@pytest.mark.parametrize("then", CLOCKS.values(), ids=CLOCKS)
class TestClocks:
    """A clock may be wrong, and may be set right while there are things of a wrong time in the store."""

    @pytest.fixture
    def at(self, with_store, tmp_path):
        """Call tokcap at a time."""

        def run(now: float, *args, stdin=b"") -> Ran:
            given, out, err = (tmp_path / name for name in ("given", "shown", "told"))
            given.write_bytes(stdin)
            with given.open("rb") as source, out.open("wb") as shown, err.open("wb") as told:
                streams = (source.fileno(), shown.fileno(), told.fileno())
                status = call(args, Environment(os.environ, *streams, now=lambda: now))
            return judged(args, Ran(status, out.read_bytes(), err.read_bytes()))

        return run

    def everything(self, at, now, handle):
        assert at(now, "show", handle, "-n", "100000").out == LINES
        for args in (["spill", "list"], ["spill", "list", "-o", "json"], ["budget", "list"]):
            ran = at(now, *args)
            assert (ran.status, ran.err) == (0, b"")
            assert b"damaged)" not in ran.out
        # What was just stored or read is kept, whatever the clock says.
        assert at(now, "spill", "gc").status == 0

    def test_it_was_wrong_and_is_set_right(self, then, at):
        assert at(then, "budget", "start", "s", "--total", "500").status == 0
        ran = at(then, "-n", str(LIMIT), stdin=LINES)
        handle = handle_in(ran)
        assert (ran.status, ran.err, bool(handle)) == (0, b"", True)
        assert recount(ran.out) <= LIMIT
        self.everything(at, then, handle)
        at(then, "-n", str(LIMIT), stdin=LINES)
        self.everything(at, time.time(), handle)

    def test_it_was_right_and_goes_wrong(self, then, at):
        handle = handle_in(at(time.time(), "-n", str(LIMIT), stdin=LINES))
        assert at(time.time(), "budget", "start", "s", "--total", "500").status == 0
        ran = at(then, "-n", str(LIMIT), "--session", "s", stdin=LINES)
        assert (ran.status, ran.err) == (0, b"")
        assert recount(ran.out) <= LIMIT
        # By a clock that is years ahead it is too old, and goes when it is time to clean.
        shown = at(then, "show", handle, "-n", "100000")
        assert shown.out == LINES or (shown.status == 1 and len(own_lines(shown)) == 1)

    def test_files_have_that_time(self, then, at, with_store):
        handle = handle_in(at(time.time(), "-n", str(LIMIT), stdin=LINES))
        possible = min(then, 2.0**33)
        for path in (with_store / "spill").rglob("*"):
            os.utime(path, (possible, possible))
        ran = at(time.time(), "spill", "list")
        assert (ran.status, ran.err) == (0, b"")
        assert at(time.time(), "show", handle, "-n", "100000").out == LINES
        assert at(time.time(), "spill", "gc").status == 0
        assert at(time.time(), "show", handle, "-n", "100000").out == LINES
