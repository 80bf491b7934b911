"""The means of attack: small disks, limits, other users, links; and what has to hold under all of them."""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import stat
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.conftest import Ran, checked, recount

if TYPE_CHECKING:
    from pathlib import Path

TOKCAP = (sys.executable, "-m", "tokcap")
# The least that tmpfs gives.
PAGE_BYTES = 4096

LINES = b"".join(b"%d\n" % number for number in range(1, 3001))
# Writes LINES, a word to stderr, and fails in its own way.
COMMAND = ("sh", "-c", "seq 1 3000; echo oops >&2; exit 3")
LIMIT = 90

# Python says these, or the C library does, when something reaches the user that should not.
CRASHES = (b"Traceback", b"Exception ignored", b"Fatal Python error", b"SystemError", b"internal error")


def run_tokcap(*args, prefix=(), stdin=b"", env=None, without=(), timeout=120, **options) -> Ran:
    """Call the program as a process of its own, behind a prefix such as `prlimit`; judged if it has begun."""
    world = {name: value for name, value in {**os.environ, **(env or {})}.items() if name not in without}
    if not isinstance(stdin, bytes):
        options["stdin"] = stdin
    else:
        options["input"] = stdin
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    done = subprocess.run([*prefix, *TOKCAP, *args], env=world, timeout=timeout, check=False, **options)
    ran = Ran(done.returncode, done.stdout or b"", done.stderr or b"")
    return ran if never_began(ran) else judged(args, ran)


# A frame of ours, but for those that come before the hook for errors is set.
TOKCAP_AT_WORK = re.compile(rb'tokcap: |tokcap/(?!__init__|record|__main__.py", line (?:1?\d|20),)')


def never_began(ran: Ran) -> bool:
    """Whether Python itself broke down while it started, before tokcap could say what becomes of errors."""
    causes = (b"KeyboardInterrupt", b"MemoryError", b"Fatal Python error")
    return (
        ran.status != 0 and any(cause in ran.err for cause in causes) and not TOKCAP_AT_WORK.search(ran.err)
    )


def judged(args, ran: Ran) -> Ran:
    """What holds whatever happens: no crash is shown, no problem told twice, every envelope is valid."""
    for crash in CRASHES:
        assert crash not in ran.err, ran.err.decode("utf-8", "replace")[-2000:]
    told = own_lines(ran)
    assert len(told) == len(set(told)), told
    return checked(args, ran)


def own_lines(ran: Ran) -> list[str]:
    """The lines on stderr that tokcap itself has written."""
    return [line for line in ran.err.decode("utf-8", "replace").split("\n") if line.startswith("tokcap: ")]


def the_line(ran: Ran) -> str:
    """The only line that tokcap has to say."""
    (line,) = own_lines(ran)
    return line


def handle_in(ran: Ran) -> str:
    """The handle that a cut names; empty if it names none."""
    if ran.out.startswith(b"{"):
        return json.loads(ran.out)["meta"].get("handle", "")
    found = re.search(rb"tokcap show ([0-9a-f]+)", ran.out)
    return found[1].decode() if found else ""


def keeps_the_promises(ran: Ran, *, whole: bytes = LINES, limit: int = LIMIT, **show_options) -> str:
    """The cap holds, and nothing is lost without a word. Gives the handle, if the rest was stored."""
    if ran.out.startswith(b"{"):
        assert recount(ran.data_text) <= limit
        said = " ".join(warning["code"] for warning in ran.json["warnings"])
        not_stored = "NOT_STORED" in said
    else:
        lines = ran.err.decode("utf-8", "replace").splitlines(keepends=True)
        payload = "".join(line for line in lines if not line.startswith("tokcap: "))
        assert recount(ran.out + payload.encode()) <= limit
        assert ran.out.startswith(whole[:2])
        not_stored = any("the output was not stored" in line for line in own_lines(ran))
    handle = handle_in(ran)
    assert bool(handle) != not_stored, (ran.out, ran.err)
    if handle:
        shown = run_tokcap("show", handle, "-n", "10000000", **show_options)
        assert (shown.status, shown.out) == (0, whole)
    return handle


def limits(**wanted):
    """A `preexec_fn` that sets resource limits: `limits(NOFILE=8)`."""

    def set_limits():
        for name, value in wanted.items():
            resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (value, value))

    return set_limits


def another_user(number: int) -> tuple[str, ...]:
    """A prefix that runs a program as somebody else, who may read everything but is bound by limits."""
    if os.geteuid() or not shutil.which("setpriv"):
        pytest.skip("only root can become another user, by setpriv")
    rights = "+dac_override,+dac_read_search"
    return (
        "setpriv",
        f"--reuid={number}",
        "--clear-groups",
        f"--inh-caps={rights}",
        f"--ambient-caps={rights}",
    )


def without_power() -> tuple[str, ...]:
    """A prefix under which permissions bind: nothing for a user, and root without its powers."""
    if os.geteuid():
        return ()
    if not shutil.which("setpriv"):
        pytest.skip("permissions do not bind root without setpriv")
    return ("setpriv", "--bounding-set=-all", "--inh-caps=-all", "--ambient-caps=-all")


class Disk:
    """A file system of a few pages."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def leave(self, pages: int) -> None:
        """Fill it until only so many pages are free."""
        filler = self.path / "filler"
        filler.unlink(missing_ok=True)
        there = os.statvfs(self.path)
        size = there.f_bfree * there.f_frsize - pages * PAGE_BYTES
        if size > 0:
            with open(filler, "wb") as file:
                os.posix_fallocate(file.fileno(), 0, size)

    def make_read_only(self) -> None:
        subprocess.run(["mount", "-o", "remount,ro", self.path], check=True)


@pytest.fixture
def tiny_disk(tmp_path):
    """Mounts a small tmpfs and gives it as a `Disk`; `options` are those of mount."""
    mounted = []

    def mount(options: str = "size=256k") -> Disk:
        path = tmp_path / f"disk{len(mounted)}"
        path.mkdir()
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"{options},mode=700", "none", path],
            capture_output=True,
            check=False,
        )
        if done.returncode:
            pytest.skip("a small file system cannot be mounted here")
        mounted.append(path)
        return Disk(path)

    yield mount
    for path in mounted:
        subprocess.run(["umount", "--lazy", path], check=True)


@pytest.fixture(scope="session")
def full_data_directory(tmp_path_factory) -> Path:
    """A data directory that holds LINES, and a session `s`. Not to be touched: see `stored`."""
    data = tmp_path_factory.mktemp("template") / "data"
    world = {"TOKCAP_DATA_DIR": str(data), "TOKCAP_SPILL": "auto"}
    run_tokcap("-n", "60", stdin=LINES, env=world)
    run_tokcap("budget", "start", "s", "--total", "100000", env=world)
    return data


@pytest.fixture
def stored(with_store, full_data_directory) -> str:
    """The handle of LINES in the test's own store, beside which there is the ledger of the session `s`."""
    shutil.copytree(full_data_directory, with_store)
    return (with_store / "spill" / "last").read_text().strip()


def snapshot(*roots: Path) -> dict[str, object]:
    """Everything below some directories: names, kinds, modes and contents."""
    found: dict[str, object] = {}
    for root in roots:
        for path in sorted([root, *root.rglob("*")]):
            status = path.lstat()
            content = path.read_bytes() if stat.S_ISREG(status.st_mode) else None
            found[str(path)] = (status.st_mode, status.st_uid, status.st_mtime_ns, content)
    return found


def left_behind(*directories: Path) -> list[Path]:
    """Half-written things that somebody should have removed."""
    return [path for directory in directories if directory.exists() for path in directory.rglob(".new-*")]
