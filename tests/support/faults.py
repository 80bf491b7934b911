"""Ways to attack the program (small disks, limits, other users, links), and what must hold under all."""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.program import PACKAGE, Ran, checked
from tests.support.reference import recount
from tokcap.environment import Environment

TOKCAP = (sys.executable, "-m", "tokcap")
# The smallest size of a tmpfs.
PAGE_BYTES = 4096
LINES = b"".join(b"%d\n" % number for number in range(1, 3001))
# Writes LINES and a word to stderr, and fails with a status of its own.
COMMAND = ("sh", "-c", "seq 1 3000; echo oops >&2; exit 3")
LIMIT = 210
# Python or the C library prints these when an error reaches the user that should not.
CRASHES = (b"Traceback", b"Exception ignored", b"Fatal Python error", b"SystemError", b"internal error")


def run_tokcap(*args, prefix=(), stdin=b"", env=None, without=(), timeout=120, **options) -> Ran:
    """Call the program as a process, with a prefix such as `prlimit`. Check the result if it started."""
    world = {name: value for name, value in {**os.environ, **(env or {})}.items() if name not in without}
    if not isinstance(stdin, bytes):
        options["stdin"] = stdin
    else:
        options["input"] = stdin
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    done = subprocess.run([*prefix, *TOKCAP, *args], env=world, timeout=timeout, check=False, **options)
    ran = Ran(done.returncode, done.stdout or b"", done.stderr or b"")
    return ran if never_began(ran) else judged(args, ran)


FRAME = re.compile(rb'tokcap/([a-z_/]+)\.py", line (\d+),')
# Where the entry point begins to handle errors.
HOOKS_ARE_SET = next(
    number
    for number, line in enumerate((PACKAGE / "__main__.py").read_text().splitlines(), 1)
    if line.startswith("report_ignored, sys.unraisablehook =")
)


def was_at_work(err: bytes) -> bool:
    """Return whether stderr shows tokcap itself, later than the lines that set its hooks for errors."""
    return b"tokcap: " in err or b"sys.excepthook" in err or has_late_frame(err)


def has_late_frame(err: bytes) -> bool:
    """Return whether a traceback has a frame of the package that runs after the hooks are set."""
    return any(
        module != b"__init__" and (module != b"__main__" or int(line) > HOOKS_ARE_SET)
        for module, line in FRAME.findall(err)
    )


# Python goes on after an interrupt in a callback of its own imports. tokcap does not, once its hooks are set.
IGNORED_BY_PYTHON = re.compile(rb"Exception ignored in: .*\nTraceback .*\n(?:  .*\n)+KeyboardInterrupt: ?\n")


def without_ignored(err: bytes) -> bytes:
    """Return stderr without what Python says of an interrupt that it ignored before tokcap was loaded."""
    return IGNORED_BY_PYTHON.sub(lambda found: found[0] if b"tokcap" in found[0] else b"", err)


def never_began(ran: Ran) -> bool:
    """Return whether Python itself failed while it started, before tokcap could handle errors."""
    causes = (
        b"KeyboardInterrupt",
        b"MemoryError",
        b"Fatal Python error",
        # Python had not even the memory for a MemoryError.
        b"returned NULL without setting an exception",
    )
    return ran.status != 0 and any(cause in ran.err for cause in causes) and not was_at_work(ran.err)


def judged(args, ran: Ran) -> Ran:
    """Check what holds in every case: no crash is shown, no problem reported twice, envelopes are valid."""
    for crash in CRASHES:
        assert crash not in ran.err, ran.err.decode("utf-8", "replace")[-2000:]
    told = own_lines(ran)
    assert len(told) == len(set(told)), told
    return checked(args, ran)


def own_lines(ran: Ran) -> list[str]:
    """Return the lines on stderr that tokcap itself has written."""
    return [line for line in ran.err.decode("utf-8", "replace").split("\n") if line.startswith("tokcap: ")]


def the_line(ran: Ran) -> str:
    """Return the only line that tokcap itself has written."""
    (line,) = own_lines(ran)
    return line


def handle_in(ran: Ran) -> str:
    """Return the handle in a cut answer, or nothing if there is none."""
    if ran.out.startswith(b"{"):
        return json.loads(ran.out)["meta"].get("handle", "")
    found = re.search(rb"tokcap show (\w+)", ran.out)
    return found[1].decode() if found else ""


def keeps_the_promises(ran: Ran, *, whole: bytes = LINES, limit: int = LIMIT, **show_options) -> str:
    """Check that the cap holds and nothing is lost silently. Return the handle if the rest was stored."""
    if ran.out.startswith(b"{"):
        assert recount(ran.data_text) <= limit
        said = " ".join(warning["code"] for warning in ran.json["warnings"])
        not_stored = "NOT_STORED" in said
    else:
        assert recount(ran.out + ran.err) <= limit
        assert ran.out.startswith(whole[:2])
        not_stored = any("the output was not stored" in line for line in own_lines(ran))
    handle = handle_in(ran)
    assert bool(handle) != not_stored, (ran.out, ran.err)
    if handle:
        shown = run_tokcap("show", handle, "-n", "10000000", **show_options)
        assert (shown.status, shown.out) == (0, whole)
    return handle


def limits(**wanted):
    """Return a `preexec_fn` that sets resource limits, as in `limits(NOFILE=8)`."""

    def set_limits():
        for name, value in wanted.items():
            resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (value, value))

    return set_limits


def another_user(number: int) -> tuple[str, ...]:
    """Return a prefix that runs a program as another user, who may read everything but is bound by limits."""
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
    """Return a prefix under which permissions hold: nothing for a user, and root without its capabilities."""
    if os.geteuid():
        return ()
    if not shutil.which("setpriv"):
        pytest.skip("permissions do not bind root without setpriv")
    return ("setpriv", "--bounding-set=-all", "--inh-caps=-all", "--ambient-caps=-all")


def no_spare_directory() -> None:
    """Take away the directory that is used where the data directory cannot be written."""
    Path(Environment(os.environ).spare_data_dir()).write_text("not a directory\n")


class Disk:
    """A file system of a few pages."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def leave(self, pages: int) -> None:
        """Fill it until only this many pages are free."""
        filler = self.path / "filler"
        filler.unlink(missing_ok=True)
        there = os.statvfs(self.path)
        size = there.f_bfree * there.f_frsize - pages * PAGE_BYTES
        if size > 0:
            with open(filler, "wb") as file:
                os.posix_fallocate(file.fileno(), 0, size)

    def make_read_only(self) -> None:
        subprocess.run(["mount", "-o", "remount,ro", self.path], check=True)


def snapshot(*roots: Path) -> dict[str, object]:
    """Return everything below some directories: names, kinds, modes and contents."""
    found: dict[str, object] = {}
    for root in roots:
        for path in sorted([root, *root.rglob("*")]):
            status = path.lstat()
            content = path.read_bytes() if stat.S_ISREG(status.st_mode) else None
            found[str(path)] = (status.st_mode, status.st_uid, status.st_mtime_ns, content)
    return found


def left_behind(*directories: Path) -> list[Path]:
    """Return partly written files that should have been removed."""
    return [path for directory in directories if directory.exists() for path in directory.rglob(".new-*")]
