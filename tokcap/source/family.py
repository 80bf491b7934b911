"""The processes that a command has started. Looked at only when they are to be ended."""

from __future__ import annotations

import os

from tokcap.lean.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class Member(Record):
    """A process. Its number alone would not do: numbers are used again."""

    pid: int
    born: str


class Seen(Record):
    """What the system says of a process."""

    member: Member
    parent: int
    dead: bool


def descendants(roots: Iterable[int]) -> list[Member]:
    """All that the given processes have started and that is still theirs, parents before children.

    A process whose parent has gone belongs to nobody, and is not found.
    """
    children: dict[int, list[Member]] = {}
    for seen in processes():
        children.setdefault(seen.parent, []).append(seen.member)
    found: list[Member] = []
    waiting = list(roots)
    met = set(waiting)
    while waiting:
        for member in children.get(waiting.pop(0), ()):
            if member.pid not in met:
                met.add(member.pid)
                found.append(member)
                waiting.append(member.pid)
    return found


def still_there(members: Iterable[Member]) -> list[Member]:
    """Those of them that have not ended."""
    wanted = {member.pid: member for member in members}
    if os.path.isdir("/proc/self"):
        now = [seen for pid in wanted if (seen := read_proc(pid))]
    else:
        now = list(processes())
    return [seen.member for seen in now if wanted.get(seen.member.pid) == seen.member and not seen.dead]


def processes() -> Iterator[Seen]:
    if not os.path.isdir("/proc/self"):
        yield from listed_by_ps()
        return
    for name in os.listdir("/proc"):
        if name.isdigit() and (seen := read_proc(int(name))):
            yield seen


def read_proc(pid: int) -> Seen | None:
    """One process of Linux; None if it has gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            stat = file.read()
    except OSError:
        return None
    # Its name stands in brackets and may have brackets and blanks itself.
    fields = stat[stat.rindex(b")") + 2 :].split()
    return Seen(Member(pid, fields[19].decode()), int(fields[1]), fields[0] in (b"Z", b"X"))


def listed_by_ps() -> Iterator[Seen]:
    """All processes, as any Unix lists them."""
    import subprocess

    columns = ["-o", "pid=", "-o", "ppid=", "-o", "stat=", "-o", "lstart="]
    done = subprocess.run(["ps", "-A", *columns], capture_output=True, text=True, check=False)
    for line in done.stdout.splitlines():
        pid, parent, state, born = line.split(None, 3)
        yield Seen(Member(int(pid), born), int(parent), state.startswith("Z"))
