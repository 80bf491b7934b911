"""--clean: bytes with escapes and rewriting come in, the text that a terminal would finally show goes out.

Lines lose their trailing blanks, runs of blank lines become one. Bytes that are no UTF-8 stay. What is no
text at all is no business of this module: a terminal shows nothing for a NUL byte, so it is dropped too.
"""

from __future__ import annotations

import re

from tokcap.filters import screen
from tokcap.filters.terminal import Terminal

COLOUR = re.compile(rb"\x1b\[[0-9;:]{0,256}m")
# All control characters but tab and newline, which lines may have without being rewritten.
CONTROLS = bytes({*range(0x20), 0x7F} - {*b"\t\n"})
C1 = re.compile(rb"\xc2[\x80-\x9f]")

BLANK_LINES = re.compile(rb"\n{3,}")
# Two stray bytes that only what stood between them kept from being a control character.
STRAYS = bytes(range(0x80, 0xA0))
STRAY = re.compile(rb"\xc2[\x80-\x9f]+")


class Cleaner:
    """Takes blocks as they come; the result is the same however they are cut.

    The last 64 lines are kept back, since a progress display may go up and rewrite them, and so is the
    line that has not ended yet, up to the 65,536 bytes in which a carriage return can still change it.
    """

    def __init__(self) -> None:
        self._terminal = Terminal()
        self._tidy = Tidy()

    def feed(self, block: bytes) -> bytes:
        """What is certain by now."""
        terminal = self._terminal
        start, stop = 0, block.rfind(b"\n") + 1
        if stop and not terminal.plain:
            # Whatever is going on mostly ends with the line.
            start = block.index(b"\n") + 1
            terminal.feed(block[:start])
        if start < stop and terminal.plain:
            lines = plain_lines(block[start:stop], len(terminal.screen.rows[-1].cells))
            if lines is not None:
                terminal.screen.add_lines(lines)
                start = stop
        terminal.feed(block[start:])
        return self._tidy.feed(terminal.take())

    def flush(self) -> bytes:
        """The rest."""
        return self._tidy.feed(self._terminal.finish())


def plain_lines(lines: bytes, before: int) -> bytes | None:
    """Lines that need no terminal, without their colours; None if they do.

    `before` is how much of the first line has come already.
    """
    if b"\x1b" in lines:
        escapes = lines.count(b"\x1b")
        lines, colours = COLOUR.subn(b"", lines)
        if colours < escapes:
            return None
    if b"\r" in lines:
        lines = lines.replace(b"\r\n", b"\n")
    if len(lines.translate(None, CONTROLS)) < len(lines):
        return None
    if b"\xc2" in lines and C1.search(lines):
        return None
    at = -before
    while at < len(lines):
        # A line ends within every stretch of a row's length, or it is longer than a row.
        newline = lines.rfind(b"\n", max(at, 0), at + screen.COLUMNS + 1)
        if newline < 0:
            return None
        at = newline + 1
    return lines


class Tidy:
    """Takes off trailing blanks, and all but one of the blank lines that follow each other."""

    def __init__(self) -> None:
        # Blanks at the end so far: they go if a newline comes, and stay if text does.
        self._blanks: list[bytes] = []
        # How many newlines the output ends with. None of it: as good as one.
        self._newlines = 1
        self._ends_in_stray = False

    def feed(self, text: bytes) -> bytes:
        inked = text.rstrip(b" \t")
        blanks = text[len(inked) :]
        if inked:
            if not inked.startswith(b"\n"):
                inked = b"".join([*self._blanks, inked])
            self._blanks.clear()
        if blanks:
            self._blanks.append(blanks)
        if b" \n" in inked or b"\t\n" in inked:
            inked = b"\n".join([line.rstrip(b" \t") for line in inked.split(b"\n")])
        return self._without_blank_lines(inked)

    def _without_blank_lines(self, text: bytes) -> bytes:
        if self._ends_in_stray:
            text = text.lstrip(STRAYS)
        if b"\xc2" in text:
            text = STRAY.sub(b"\xc2", text)
        if b"\n\n\n" in text:
            text = BLANK_LINES.sub(b"\n\n", text)
        leading = len(text) - len(text.lstrip(b"\n")) if text.startswith(b"\n") else 0
        text = text[max(leading + self._newlines - 2, 0) :]
        if text:
            self._ends_in_stray = text.endswith(b"\xc2")
            before = self._newlines if text in (b"\n", b"\n\n") else 0
            self._newlines = before + text[-2:].count(b"\n") if text.endswith(b"\n") else 0
        return text
