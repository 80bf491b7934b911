"""Find out whether a process waits for input: whether it is blocked in a system call that reads its input.

This reads `/proc` of Linux, so it costs nothing until it is called, and nothing in the other process.
"""

from __future__ import annotations

import os
import struct
import sys

from tokcap.startup.record import TYPE_CHECKING
from tokcap.system.proc import descendants, read

if TYPE_CHECKING:
    from collections.abc import Iterator

# Numbers of the system calls, by what they wait with: one descriptor, or a set of them.
X86_64 = {0: "read", 19: "read", 45: "read", 7: "poll", 271: "poll", 23: "select", 270: "select"}
X86_64 |= {232: "epoll", 281: "epoll", 441: "epoll"}
# What newer architectures have in common.
GENERIC = {63: "read", 65: "read", 207: "read", 73: "poll", 72: "select", 22: "epoll", 441: "epoll"}
SYSTEM_CALLS = {"x86_64": X86_64, "aarch64": GENERIC, "riscv64": GENERIC, "loongarch64": GENERIC}

# `struct pollfd`: the descriptor, the events that it waits for, the events that occurred.
POLLED = struct.Struct("=ihh")
POLL_IN = 0x1
BITS = 8
# No more descriptors than this are examined.
MOST_DESCRIPTORS = 1024
MOST_THREADS = 64

TERMINAL = "/dev/tty"


def input_file(descriptor: int) -> str:
    """Return the name by which `/proc` knows the file of a descriptor; empty if nobody can wait for it."""
    try:
        name = os.readlink(f"/proc/self/fd/{descriptor}")
    except OSError:
        return ""
    # A regular file and `/dev/null` are always ready.
    return name if name.startswith(("pipe:", "socket:", "/dev/pts/", "/dev/tty")) else ""


def waits_for_input(pid: int, name: str, *, alone: bool) -> bool | None:
    """Return whether a process or one of its descendants waits for this file, or for the terminal.

    None if the system does not tell. With `alone`, a process that also waits for a network connection does
    not count: `ssh` always waits for both.
    """
    calls = SYSTEM_CALLS.get(os.uname().machine) if sys.platform == "linux" else None
    if calls is None:
        return None
    wanted = {TERMINAL, name} - {""}
    is_known = True
    for one in (pid, *(process.pid for process in descendants([pid]))):
        for thread in threads(one):
            call = read(f"/proc/{one}/task/{thread}/syscall").split()
            # Of a process of another user nothing can be read.
            is_known = is_known and bool(call)
            if call and call[0].isdigit() and (kind := calls.get(int(call[0]))):
                arguments = [int(word, 16) for word in call[1:]]
                waited = {name_of(one, number) for number in DESCRIPTORS[kind](one, arguments)}
                others = waited - wanted
                if others < waited and not (alone and any(name.startswith("socket:") for name in others)):
                    return True
    return False if is_known else None


def threads(pid: int) -> list[str]:
    try:
        return os.listdir(f"/proc/{pid}/task")[:MOST_THREADS]
    except OSError:
        return []


def name_of(pid: int, descriptor: int) -> str:
    try:
        return os.readlink(f"/proc/{pid}/fd/{descriptor}")
    except OSError:
        return ""


def read_one(_pid: int, arguments: list[int]) -> Iterator[int]:
    yield arguments[0]


def polled(pid: int, arguments: list[int]) -> Iterator[int]:
    number = min(arguments[1], MOST_DESCRIPTORS)
    for descriptor, events, _ in POLLED.iter_unpack(memory(pid, arguments[0], number * POLLED.size)):
        if events & POLL_IN:
            yield descriptor


def selected(pid: int, arguments: list[int]) -> Iterator[int]:
    number = min(arguments[0], MOST_DESCRIPTORS)
    bits = int.from_bytes(memory(pid, arguments[1], -(-number // BITS)), sys.byteorder)
    yield from (descriptor for descriptor in range(number) if bits >> descriptor & 1)


def watched(pid: int, arguments: list[int]) -> Iterator[int]:
    """Yield what an `epoll` descriptor watches: lines like `tfd:        0 events:       19 data: …`."""
    for line in read(f"/proc/{pid}/fdinfo/{arguments[0]}").splitlines():
        words = line.split()
        if words[:1] == [b"tfd:"] and int(words[3], 16) & POLL_IN:
            yield int(words[1])


DESCRIPTORS = {"read": read_one, "poll": polled, "select": selected, "epoll": watched}


def memory(pid: int, address: int, size: int) -> bytes:
    """Return bytes of another process; none if they cannot be read."""
    try:
        with open(f"/proc/{pid}/mem", "rb", buffering=0) as file:
            data = os.pread(file.fileno(), size, address) if address else b""
    except (OSError, OverflowError):
        return b""
    return data if len(data) == size else b""
