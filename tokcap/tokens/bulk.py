"""Counting much at once: a payload is divided among processes, each of which counts its own part.

Threads would not do: tiktoken makes a list of every token, and only one thread at a time can make lists.
"""

from __future__ import annotations

import os
import signal

from tokcap.lean.record import TYPE_CHECKING
from tokcap.system.descriptors import write_all
from tokcap.system.threads import may_fork
from tokcap.tokens.checkpoints import Checkpoints

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tokcap.core.payload import Payload
    from tokcap.core.tokenizer import Tokenizer

    # Counts a part of a payload, from one byte up to another.
    CountPart = Callable[[int, int], Checkpoints]

# A place to divide at is looked for in so much.
LOOK_BYTES = 64 << 10
MOST_PROCESSES = 8


def parts_of(
    payload: Payload, tokenizer: Tokenizer, begin: int, least_bytes: int
) -> Sequence[tuple[int, int]]:
    """The rest of a payload in parts of about one size, divided where it can be cut for certain."""
    left = payload.size - begin
    number = min(available_cores(), MOST_PROCESSES, left // least_bytes)
    # Where a cut lies may depend on where counting began; then it cannot be found from the midst.
    if number < 2 or not tokenizer.cuts_anywhere or not may_fork():
        return [(begin, payload.size)]
    places = [begin]
    for part in range(1, number):
        start = begin + left * part // number
        data = bytearray(payload.read(start, min(start + LOOK_BYTES, payload.size)))
        cut = tokenizer.certain_cut(data, 0, 0)
        if cut is not None and start + cut > places[-1]:
            places.append(start + cut)
    return list(zip(places, [*places[1:], payload.size], strict=True))


def count_in_parallel(parts: Sequence[tuple[int, int]], count: CountPart) -> Checkpoints:
    """Count the first part here and each other one in a process of its own; join what they found."""
    children: list[tuple[int, int]] = []
    try:
        for part in parts[1:]:
            try:
                children.append(start_child(part, count))
            except OSError:
                # No process to be had: what is left is counted here.
                break
        found = count(*parts[0])
        for part in parts[1:]:
            packed = b""
            if children:
                pid, descriptor = children[0]
                packed = read_all(descriptor)
                reap(pid)
                os.close(descriptor)
                del children[0]
            # A child that was killed, or could not count, has its part counted here.
            found.join(Checkpoints.unpacked(packed, part[1]) or count(*part))
        return found
    finally:
        # Nobody waits for them any more.
        for pid, descriptor in children:
            os.close(descriptor)
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            reap(pid)


def start_child(part: tuple[int, int], count: CountPart) -> tuple[int, int]:
    read, write = os.pipe()
    try:
        pid = os.fork()
    except OSError:
        os.close(read)
        os.close(write)
        raise
    if pid:
        os.close(write)
        return pid, read
    try:
        # Whoever reads tokcap's output, or waits for its end, must not wait for this process.
        nothing = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(nothing, descriptor)
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            signal.signal(number, signal.SIG_DFL)
        # Ctrl-C reaches all of us, and what it means is decided by one.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        write_all(write, count(*part).packed(part[1]))
    except BaseException:
        # Whatever it is, the parent counts the part itself.
        os._exit(1)
    os._exit(0)


def reap(pid: int) -> None:
    """Wait for a process. Where SIGCHLD is ignored, or somebody waits for every child, it is gone by then."""
    try:
        os.waitpid(pid, 0)
    except ChildProcessError:
        pass


def read_all(descriptor: int) -> bytes:
    blocks = []
    while block := os.read(descriptor, 1 << 20):
        blocks.append(block)
    return b"".join(blocks)


def available_cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1
