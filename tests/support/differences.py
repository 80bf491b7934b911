"""Apply a difference as `--repeat diff` shows it: the old text and the difference give back the new text."""

from __future__ import annotations

import re

from tokcap.steps.line_diff import NO_NEWLINE

GAP = re.compile("… ([0-9]+) lines (the same|removed) …\n".encode())


def lines_of(data: bytes) -> list[bytes]:
    """Return the lines with their ends; only a newline ends a line."""
    return re.findall(rb"[^\n]*\n|[^\n]+\Z", data)


def applied(old: bytes, difference: bytes) -> bytes:
    """Return the new text. Fails if the difference shows a line of the old text that is not there."""
    before, after = lines_of(old), []
    place, sign = 0, b""
    for line in lines_of(difference):
        if gap := GAP.fullmatch(line):
            end = place + int(gap[1])
            assert end <= len(before)
            after += before[place:end] if gap[2] == b"the same" else []
            place = end
        elif line == NO_NEWLINE:
            if sign in (b" ", b"+"):
                after[-1] = after[-1].removesuffix(b"\n")
        else:
            sign, text = line[:1], line[1:]
            assert sign in (b" ", b"+", b"-"), line
            if sign != b"+":
                assert before[place].rstrip(b"\n") == text.rstrip(b"\n")
                place += 1
            after += [text] if sign != b"-" else []
    assert place == len(before)
    return b"".join(after)
