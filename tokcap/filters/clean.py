"""`--clean`: turn bytes with escape sequences into the text that a terminal would finally show.

Trailing blanks are removed, and several blank lines become one. Bytes that are not UTF-8 stay. Control
characters that a terminal does not show, such as NUL, are removed.
"""

from __future__ import annotations

import re

from tokcap.filters import screen
from tokcap.filters.emulator import TerminalEmulator
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from tokcap.core.notice import Notice

COLOUR = re.compile(rb"\x1b\[[0-9;:]{0,256}m")
# All control characters except tab and newline, which do not move the cursor back.
CONTROLS = bytes({*range(0x20), 0x7F} - {*b"\t\n"})
C1 = re.compile(rb"\xc2[\x80-\x9f]")

BLANK_LINES = re.compile(rb"\n{3,}")
# Bytes of invalid UTF-8 that became neighbours when an escape between them was removed. Together they would
# be a control character.
STRAYS = bytes(range(0x80, 0xA0))
STRAY = re.compile(rb"\xc2[\x80-\x9f]+")


class Cleaner:
    """Cleans one stream.

    The last 64 lines are held back, because a progress display may move up and rewrite them. So is the line
    that has not ended, up to the 65,536 bytes in which a carriage return can still change it.
    """

    def __init__(self) -> None:
        self._terminal = TerminalEmulator()
        self._blanks = BlankRemover()
        # Cleaning is not reported.
        self.found: dict[str, int] = {}

    @staticmethod
    def notice(counts: dict[str, int]) -> Notice:
        raise AssertionError(f"cleaning reports nothing: {counts}")

    def feed(self, block: bytes) -> bytes:
        """Take a block. Return the text that can no longer change."""
        terminal = self._terminal
        start, stop = 0, block.rfind(b"\n") + 1
        if stop and not terminal.plain:
            # An unfinished escape or line usually ends with this line.
            start = block.index(b"\n") + 1
            terminal.feed(block[:start])
        if start < stop and terminal.plain:
            lines = plain_lines(block[start:stop], len(terminal.screen.rows[-1].cells))
            if lines is not None:
                terminal.screen.add_lines(lines)
                start = stop
        terminal.feed(block[start:])
        return self._blanks.feed(terminal.take())

    def flush(self) -> bytes:
        """Return the rest."""
        return self._blanks.feed(self._terminal.finish())


def plain_lines(lines: bytes, before: int) -> bytes | None:
    """Return lines without their colours; None if only a terminal emulator can find out what they show.

    `before` is the size of the part of the first line that came earlier.
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
        # If no line ends within the length of a row, the line is longer than a row.
        newline = lines.rfind(b"\n", max(at, 0), at + screen.COLUMNS + 1)
        if newline < 0:
            return None
        at = newline + 1
    return lines


class BlankRemover:
    """Removes trailing blanks, and all but one of several blank lines."""

    def __init__(self) -> None:
        # Blanks at the end of the text so far. They are dropped before a newline and kept before text.
        self._blanks: list[bytes] = []
        # Number of newlines at the end of the output. An empty output counts as one.
        self._newlines = 1
        self._ends_in_stray = False

    def feed(self, text: bytes) -> bytes:
        visible = text.rstrip(b" \t")
        blanks = text[len(visible) :]
        if visible:
            if not visible.startswith(b"\n"):
                visible = b"".join([*self._blanks, visible])
            self._blanks.clear()
        if blanks:
            self._blanks.append(blanks)
        if b" \n" in visible or b"\t\n" in visible:
            visible = b"\n".join([line.rstrip(b" \t") for line in visible.split(b"\n")])
        return self._without_blank_lines(visible)

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
