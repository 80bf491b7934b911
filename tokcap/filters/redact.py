"""`--redact`: mask the secrets of a stream before anything is shown or stored.

At most one window of bytes is held back, and never a complete line.
"""

from __future__ import annotations

import re

from tokcap.core.response import Notice
from tokcap.filters.kinds import KINDS
from tokcap.filters.patterns import MASK, VALUE_BYTES
from tokcap.filters.search import Found, find
from tokcap.filters.values import secret_values
from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    # Parts of a text, and what is shown of each.
    Pieces = list[tuple[bytes, bytes]]

_LABEL = rb"[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
BEGIN = re.compile(rb"-----BEGIN " + _LABEL)
MARKER_BYTES = 128
# A colour does not divide a secret from its name.
ESCAPE = b"\x1b"
COLOUR = re.compile(rb"\x1b\[[\d;:]{0,32}[mK]")
BEGUN = re.compile(rb"\x1b(?:\[[\d;:]{0,32})?\Z")
NOTHING = re.compile(b"")

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

# A longer line is searched in windows of this size. Where they begin depends only on the line.
WINDOW_BYTES = 64 * 1024
# A secret that begins this close to the end of a window is left to the next one, which contains all of it.
MARGIN_BYTES = 4 * 1024
# How far patterns look back.
CONTEXT_BYTES = 256
assert MARGIN_BYTES > 2 * VALUE_BYTES + CONTEXT_BYTES + MARKER_BYTES


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


class Redactor:
    """Masks the secrets of one stream."""

    def __init__(self, variables: Mapping[str, str] | None = None) -> None:
        """`variables`: the values of those that are named like secrets are masked too."""
        self._values = secret_values(variables or {})
        # Escapes that set colours, and where each stands in the text without them. A begun one is held back.
        self._escapes: list[tuple[int, bytes]] = []
        self._begun = b""
        # How much of the text without escapes was passed on.
        self._passed = 0
        # Number of masked secrets of each kind, in the order in which the kinds were first found.
        self.found: dict[str, int] = {}
        self._held = bytearray()
        # The text before it in the same line.
        self._context = b""
        self._key: KeyBlock | None = None
        # Matches the rest of a secret that is longer than a window.
        self._rest: re.Pattern[bytes] | None = None

    def feed(self, block: bytes) -> bytes:
        """Take a block. Return what can be passed on now."""
        if self._begun or ESCAPE in block:
            block = self._without_escapes(self._begun + block)
        self._held += block
        if b"\n" in block or b"\r" in block or len(self._held) >= WINDOW_BYTES:
            return self._advance(last=False)
        return b""

    def flush(self) -> bytes:
        """Return the rest."""
        self._held += self._begun
        return self._advance(last=True) + b"".join([escape for _, escape in self._escapes])

    def _without_escapes(self, data: bytes) -> bytes:
        begun = BEGUN.search(data)
        end = begun.start() if begun else len(data)
        self._begun = data[end:]
        parts, place, size = [], 0, self._passed + len(self._held)
        for match in COLOUR.finditer(data, 0, end):
            parts.append(data[place : match.start()])
            size += len(parts[-1])
            self._escapes.append((size, match[0]))
            place = match.end()
        return b"".join([*parts, data[place:end]])

    def _with_escapes(self, pieces: Pieces) -> bytes:
        """Return pieces of text with the escapes that stood in them. Those of a secret follow its mask."""
        out, number = [], 0
        for original, shown in pieces:
            place = 0
            while number < len(self._escapes) and self._escapes[number][0] < self._passed + len(original):
                at, escape = self._escapes[number]
                within = at - self._passed
                stop = within if shown is original or not within else len(shown)
                out += [shown[place:stop], escape]
                place = stop
                number += 1
            out.append(shown[place:])
            self._passed += len(original)
        del self._escapes[:number]
        return b"".join(out)

    def _advance(self, *, last: bool) -> bytes:
        held, start = bytes(self._held), 0
        out = []
        while start < len(held):
            window_end = start + WINDOW_BYTES
            lines_end = 1 + max(held.rfind(b"\n", start, window_end), held.rfind(b"\r", start, window_end))
            if lines_end:
                end, whole = lines_end, True
            elif window_end <= len(held):
                end, whole = window_end, False
            elif last:
                end, whole = len(held), True
            else:
                break
            pieces, taken = self._mask(self._context + held[start:end], len(self._context), whole=whole)
            out.append(self._with_escapes(pieces))
            taken += start
            self._context = b"" if lines_end else (self._context + held[start:taken])[-CONTEXT_BYTES:]
            start = taken
        del self._held[:start]
        return b"".join(out)

    def _mask(self, text: bytes, begin: int, *, whole: bool) -> tuple[Pieces, int]:
        """Mask from `begin`. Return the text and how many bytes it replaces: all, if the lines are whole."""
        out: Pieces = []
        position, end = begin, len(text)
        limit = end if whole else end - MARGIN_BYTES
        if self._rest is not None:
            position = self._skip_rest(text, position, whole=whole)
            out.append((text[begin:position], b""))
        while position < limit:
            if self._key is not None:
                key = self._key
                masked_before = key.masked
                stop = limit if whole else before_escape(text, limit)
                if stop <= position:
                    break
                first = position
                masked, position = key.pass_through(text, first, stop)
                out.append((text[first:position], masked))
                if key.masked and not masked_before:
                    self._count("private key")
                if not key.open:
                    self._key = None
                continue
            marker = BEGIN.search(text, position, end)
            if marker and marker.start() < limit:
                # A secret must not extend into the marker: a later run has to recognize the block by it.
                pieces, position = self._mask_plain(text, position, marker.start(), marker.end(), whole=True)
                self._key = KeyBlock()
            else:
                pieces, position = self._mask_plain(text, position, end, limit, whole=whole)
            out += pieces
        return out, position - begin

    def _mask_plain(
        self, text: bytes, position: int, end: int, limit: int, *, whole: bool
    ) -> tuple[Pieces, int]:
        """Mask text outside key blocks, up to `limit` or the end of a secret that spans it."""
        out: Pieces = []
        by_value = self._values.finditer(text, position, end) if self._values else ()
        given = [Found(match.start(), *match.span(), len(KINDS), NOTHING) for match in by_value]
        for found in joined(sorted([*find(text, position, end), *given], key=order)):
            if found.first >= limit:
                break
            out += [same(text[position : found.start]), (text[found.start : found.end], found.mask)]
            position = found.end
            self._count(KINDS[found.rank].name if found.rank < len(KINDS) else "secret variable")
            # A backslash at the end of the window may escape the next character.
            if not whole and position >= end - 1:
                self._rest = found.rest
        if position < limit:
            out.append(same(text[position:limit]))
            position = limit
        return out, position

    def _skip_rest(self, text: bytes, position: int, *, whole: bool) -> int:
        """Skip the rest of a secret whose mask was passed on with an earlier window."""
        assert self._rest is not None
        match = self._rest.match(text, position)
        assert match is not None
        if whole or match.end() < len(text) - 1:
            self._rest = None
        return match.end()

    def _count(self, name: str) -> None:
        self.found[name] = self.found.get(name, 0) + 1

    @staticmethod
    def notice(counts: dict[str, int]) -> Notice:
        """Return the warning: `masked 3 secrets: 2 github tokens, 1 private key`."""
        kinds = ", ".join(numbered(count, name) for name, count in counts.items())
        return Notice("SECRETS_MASKED", f"masked {numbered(sum(counts.values()), 'secret')}: {kinds}")


def same(text: bytes) -> tuple[bytes, bytes]:
    return text, text


def order(found: Found) -> tuple[int, int]:
    return found.start, found.rank


def joined(ordered: list[Found]) -> list[Found]:
    """Join secrets that overlap, so that no part of either is left."""
    result: list[Found] = []
    for found in ordered:
        last = result[-1] if result else None
        if last is None or found.start >= last.end:
            result.append(found)
            continue
        longer = found if found.end > last.end else last
        result[-1] = last.replace(
            first=min(last.first, found.first),
            end=longer.end,
            rest=longer.rest,
            mask=longer.mask,
            rank=min(last.rank, found.rank),
        )
    return result


def before_escape(text: bytes, limit: int) -> int:
    """Move the limit before an escape such as `\\n`, which may be escaped itself up to three times."""
    near = text[limit - 8 : limit]
    return limit - len(near) + len(near.rstrip(b"\\"))


def redacted_words(words: Sequence[str], variables: Mapping[str, str]) -> tuple[str, ...]:
    """Return the words of a command with secrets masked. A secret may be in the word after its name."""
    line = " ".join(words).encode("utf-8", "surrogateescape")
    redactor = Redactor(variables)
    masked = redactor.feed(line) + redactor.flush()
    return tuple(masked.decode("utf-8", "surrogateescape").split(" ")) if redactor.found else tuple(words)


def numbered(count: int, name: str) -> str:
    if count == 1 or name.endswith("credentials"):
        return f"{count} {name}"
    return f"{count} {name}{'es' if name.endswith('sh') else 's'}"
