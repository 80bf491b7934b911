"""The one line that stands for an output: what it is, how large, how it ended, how to read it."""

from __future__ import annotations

from tokcap.core.tokenizer import Total
from tokcap.lean.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from tokcap.core.payload import Payload
    from tokcap.core.request import Shape

# How an output is best read on, beside from its beginning.
WAYS = {"text": "--grep REGEX", "json": "--pointer /PATH", "jsonl": "--pointer /PATH"}


class Facts(Record):
    """What is known of the run whose output is shown."""

    # Empty if nothing was stored.
    handle: str = ""
    exit_status: int | None = None
    signal: int | None = None
    out_bytes: int = 0
    err_bytes: int = 0
    out_tokens: int | None = None
    out_tokens_exact: bool = True
    err_tokens: int | None = None
    err: Payload | None = None
    total_count: int | None = None
    # Bytes that the store has not got.
    lost_bytes: int = 0


def handle_only(facts: Facts, shape: Shape) -> bytes:
    """The output in one line."""
    count = facts.total_count
    return (headline(facts, shape, numbered(count, "record") if count is not None else "") + "\n").encode()


def headline(facts: Facts, what: str, count: str, *, ways: bool = False) -> str:
    """One line: the size and ending of the run, `what` its output is, and `count` records of it."""
    said = ["nothing on stdout" if facts.err_bytes else "no output"]
    if facts.out_bytes:
        said = [what, count, size_words(facts.out_bytes)] if count else [what, size_words(facts.out_bytes)]
        if facts.out_tokens is not None:
            total = Total(facts.out_tokens, facts.out_tokens_exact)
            said.append(f"{total.words} {'token' if total == Total(1) else 'tokens'}")
    if facts.err_bytes:
        tokens = f" ({numbered(facts.err_tokens, 'token')})" if facts.err_tokens is not None else ""
        said.append(f"stderr {size_words(facts.err_bytes)}{tokens}")
    if facts.signal is not None:
        said.append(f"killed by {signal_name(facts.signal)}")
    elif facts.exit_status is not None:
        said.append(f"exit {facts.exit_status}")
    line = ", ".join(said)
    if facts.handle:
        way = f" [{WAYS[what]}]" if ways and what in WAYS else ""
        way = way if facts.out_bytes or not facts.err_bytes else " --stream err" + way
        line = f"[{facts.handle}] {line}; tokcap show {facts.handle}{way}"
    else:
        line += "; not stored"
    if facts.lost_bytes:
        line += f" (all but {size_words(facts.lost_bytes)}, which were not stored)"
    return line


def numbered(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def size_words(size: int) -> str:
    """A size as people say it: three digits are enough to decide by."""
    if size < 1000:
        return numbered(size, "byte")
    # Rounded before the unit is chosen, so that there are never 1000 of one.
    for unit, scale in (("KB", 1000), ("MB", 10**6), ("GB", 10**9)):
        if round(size / scale) < 1000 or unit == "GB":
            break
    return f"{size / scale:.1f} {unit}" if size < 9.95 * scale else f"{size / scale:.0f} {unit}"


def signal_name(number: int) -> str:
    import signal

    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
