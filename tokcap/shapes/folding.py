"""Write text in fewer tokens: no trailing blanks, single blank lines, repeated lines once with a count."""

from __future__ import annotations

from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tokcap.core.payload import Payload

BLOCK_BYTES = 1 << 20


def folded(payload: Payload) -> bytes:
    """Return the text folded."""
    out: list[bytes] = []
    text = bytearray()
    last, times = b"", 0
    for lines in lines_in_blocks(payload):
        for line in lines:
            stripped = line.rstrip(b" \t\r")
            if stripped == last:
                times += 1
                continue
            out += folded_run(last, times)
            last, times = stripped, 1
        text += b"".join(line + b"\n" for line in out)
        out.clear()
    text += b"".join(line + b"\n" for line in folded_run(last, times))
    # Blank lines at either end separate nothing.
    whole = bytes(text).strip(b"\n")
    return whole + b"\n" if whole else b""


def folded_run(line: bytes, times: int) -> Sequence[bytes]:
    """Return equal lines as one line with a count, if that is shorter."""
    if not line:
        return [b""] * min(times, 1)
    one = b"%s  [x %d]" % (line, times)
    return [one] if len(one) < (len(line) + 1) * times - 1 else [line] * times


def lines_in_blocks(payload: Payload) -> Iterator[list[bytes]]:
    """Yield all lines without their ends, some at a time."""
    parts: list[bytes] = []
    for place in range(0, payload.size, BLOCK_BYTES):
        block = payload.read(place, min(place + BLOCK_BYTES, payload.size))
        cut = block.rfind(b"\n")
        if cut >= 0:
            yield b"".join((*parts, block[:cut])).split(b"\n")
            parts = []
        parts.append(block[cut + 1 :])
    if any(parts):
        yield [b"".join(parts)]
