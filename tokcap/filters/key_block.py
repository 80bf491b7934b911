"""Mask the lines of a private key block until the block ends. Nothing is held back.

Line ends may also be written as `\\n`, as in a JSON string.
"""

from __future__ import annotations

import re

from tokcap.filters.secret_values import MASK

_LABEL = rb"[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
BEGIN = re.compile(rb"-----BEGIN " + _LABEL)
MARKER_BYTES = 128

_BREAK = re.compile(
    rb"(?P<line_end>[\r\n]+|(?:\\{1,8}[rn])+)|(?P<end>-----END %b)|(?P<again>-----BEGIN %b)"
    % (_LABEL, _LABEL)
)
# A line of a key, or a key whose line ends were replaced by blanks; but not a number.
_KEY_TEXT = re.compile(rb"(?=\d{0,64}[A-Za-z+/])[A-Za-z0-9+/=]{20,}+(?:[ \t]+[A-Za-z0-9+/=]++)*")
_HEADER = re.compile(rb"[^\r\n:]{0,80}[A-Za-z-]+: ")
# The end of a quoted text in a list or an object: the text is only the BEGIN line.
_TEXT_END = re.compile(rb"""\\*["'][ \t]*[,:\]})]""")
_LAST_WORD = re.compile(rb"[A-Za-z0-9+/=]++(?=[^A-Za-z0-9+/=]*+\Z)")


class KeyBlock:
    """The text after a BEGIN line.

    A block without an END line ends at the second consecutive line that cannot be part of a key. So no line
    of a key leaks, and text after a truncated key is kept. The first such line is masked, because it may be
    the short last line of a key. If the very first line cannot be part of a key, the BEGIN line was only
    mentioned, for example in source code.
    """

    def __init__(self) -> None:
        self.open = True
        # Whether a line was masked, and whether a line of a key was seen, even one that was masked earlier.
        self.masked = False
        self._seen = False
        self._other_lines_allowed = 1

    def pass_through(self, text: bytes, start: int, end: int) -> tuple[bytes, int]:
        """Mask from `start`. Return the text and where the block ends. `end` may be inside a line."""
        out = []
        while self.open and start < end:
            stop = _BREAK.search(text, start, end)
            line_end = stop.start() if stop else end
            masked = self._line(text[start:line_end])
            if not self.open:
                break
            out.append(masked)
            start = line_end
            if stop and stop["again"] is None:
                out.append(stop[0])
                start = stop.end()
            self.open = stop is None or stop["line_end"] is not None
        return b"".join(out), start

    def _line(self, line: bytes) -> bytes:
        if not self._seen and _TEXT_END.match(line):
            self.open = False
            return line
        if not line.strip(b" \t\"',+\\"):
            return line
        if MASK in line:
            # The output of an earlier run: nothing is masked twice.
            self._seen, self._other_lines_allowed = True, 0
            return line
        masked, count = _KEY_TEXT.subn(MASK, line)
        if count:
            self.masked = self._seen = True
            self._other_lines_allowed = 1
            return masked
        if not self._seen and _HEADER.match(line):
            return line
        if not self._seen or not self._other_lines_allowed:
            self.open = False
            return line
        self._other_lines_allowed -= 1
        return _LAST_WORD.sub(MASK, line, count=1)
