"""The body of a private key block: its lines in, masks out, until the block ends. Holds nothing back.

A line is also what stands between two line ends that are written as `\\n`, as in a JSON string.
"""

from __future__ import annotations

import re

from tokcap.filters.secretkinds import MASK

_LABEL = rb"[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
BEGIN = re.compile(rb"-----BEGIN " + _LABEL)
MARKER_BYTES = 128

_BREAK = re.compile(
    rb"(?P<line_end>[\r\n]+|(?:\\{1,8}[rn])+)|(?P<end>-----END %b)|(?P<again>-----BEGIN %b)"
    % (_LABEL, _LABEL)
)
# A line of a key, or a key whose line ends have become blanks; but no number.
_KEY_TEXT = re.compile(rb"(?=\d{0,64}[A-Za-z+/])[A-Za-z0-9+/=]{20,}+(?:[ \t]+[A-Za-z0-9+/=]++)*")
_HEADER = re.compile(rb"[^\r\n:]{0,80}[A-Za-z-]+: ")
# The BEGIN line is all of a text in a list or an object.
_TEXT_END = re.compile(rb"""\\*["'][ \t]*[,:\]})]""")
_LAST_WORD = re.compile(rb"[A-Za-z0-9+/=]++(?=[^A-Za-z0-9+/=]*+\Z)")


class KeyBlock:
    """What stands after a BEGIN line.

    A block without an END line ends at the second line in a row that cannot be part of a key: so no line
    of a key leaks, however long the key is, and what follows a key that was cut off is not lost. The first
    such line may be the short last line of a key, and is masked. If the very first line is none of a key,
    the BEGIN line was only mentioned, by a program text for instance.
    """

    def __init__(self) -> None:
        self.open = True
        # Whether a secret was masked, and whether any line of a key was seen, be it masked already.
        self.masked = False
        self._seen = False
        self._strange_allowed = 1

    def pass_through(self, text: bytes, start: int, end: int) -> tuple[bytes, int]:
        """Mask from `start` on; says how far the block went. `end` may lie in the midst of a line."""
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
            # As in the output of an earlier run, where nothing is to be masked again.
            self._seen, self._strange_allowed = True, 0
            return line
        masked, count = _KEY_TEXT.subn(MASK, line)
        if count:
            self.masked = self._seen = True
            self._strange_allowed = 1
            return masked
        if not self._seen and _HEADER.match(line):
            return line
        if not self._seen or not self._strange_allowed:
            self.open = False
            return line
        self._strange_allowed -= 1
        return _LAST_WORD.sub(MASK, line, count=1)
