"""Count a large payload in several processes, each of which counts one part.

Threads would not help: tiktoken builds a list of all tokens, and only one thread at a time can build lists.
"""

from __future__ import annotations

import itertools
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

# How far to search for a safe cut between two parts.
LOOK_BYTES = 64 << 10
MOST_PROCESSES = 8


def parts_of(
    payload: Payload, tokenizer: Tokenizer, between: tuple[int, int], least_bytes: int
) -> Sequence[tuple[int, int]]:
    """Divide the payload between two places into parts of about the same size, at safe cuts.

    The first place is a safe cut. The last part ends near the second one.
    """
    begin, end = between
    left = end - begin
    number = min(available_cores(), MOST_PROCESSES, left // least_bytes)
    # If a safe cut depends on where counting began, it cannot be found from the middle.
    if number < 2 or not tokenizer.cuts_anywhere or not may_fork():
        return [between]
    places = [begin]
    for part in range(1, number + (end < payload.size)):
        start = begin + left * part // number
        data = bytearray(payload.read(start, min(start + LOOK_BYTES, payload.size)))
        cut = tokenizer.safe_cut(data, 0, 0) or cut_inside_run(bytes(data), tokenizer)
        if cut and start + cut > places[-1]:
            places.append(start + cut)
    if end == payload.size:
        places.append(end)
    return list(itertools.pairwise(places))


def cut_inside_run(data: bytes, tokenizer: Tokenizer) -> int | None:
    """Find by encoding a place where both sides can be counted separately."""
    cut = tokenizer.cut_in_middle(data, is_end=False)
    if not cut:
        return None
    last = data[max(cut - 4, 0) : cut].decode("utf-8", "ignore")[-1:]
    # The text before the cut must not be split differently because it ends there, as white space is, and
    # capitals after other letters.
    return None if not last or last.isspace() or last.isupper() or last.istitle() else cut


def count_in_parallel(parts: Sequence[tuple[int, int]], count: CountPart) -> Checkpoints:
    """Count the first part here and every other part in its own process, then join the results."""
    children: list[tuple[int, int]] = []
    try:
        for part in parts[1:]:
            try:
                children.append(start_child(part, count))
            except OSError:
                # The system allows no more processes: count the other parts here.
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
            # If a child was killed or failed, count its part here.
            found.join(Checkpoints.unpacked(packed, part[1]) or count(*part))
        return found
    finally:
        # After an error, the other results are not needed.
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
        # A program that reads tokcap's output to the end must not wait for this process.
        nothing = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(nothing, descriptor)
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            signal.signal(number, signal.SIG_DFL)
        # Ctrl-C reaches all processes, but only the parent decides what it means.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        write_all(write, count(*part).packed(part[1]))
    except BaseException:
        # Whatever failed, the parent counts this part itself.
        os._exit(1)
    os._exit(0)


def reap(pid: int) -> None:
    """Wait for a process. It may be gone: if SIGCHLD is ignored, or if other code waits for every child."""
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
