"""`--clean`: turn bytes with escape sequences into the text that a terminal would finally show.

Trailing blanks are removed, and several blank lines become one. Bytes that are not UTF-8 stay. Control
characters that a terminal does not show, such as NUL, are removed. Colours, titles, modes and unknown
sequences show nothing and are dropped. Of an incomplete sequence only the part that arrived is dropped, so
that no text is lost with it.
"""

from __future__ import annotations

import re

from tokcap.filters import screen
from tokcap.filters.screen import Screen
from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokcap.core.response import Notice

COLOUR = re.compile(rb"\x1b\[[0-9;:]{0,256}m")
# All control characters except tab and newline, which do not move the cursor back.
CONTROLS = bytes({*range(0x20), 0x7F} - {*b"\t\n"})
C1 = re.compile(rb"\xc2[\x80-\x9f]")

BLANK_LINES = re.compile(rb"\n{3,}")
# Bytes of invalid UTF-8 that became neighbours when an escape between them was removed. Together they would
# be a control character.
STRAYS = bytes(range(0x80, 0xA0))
STRAY = re.compile(rb"\xc2[\x80-\x9f]+")

TOKEN = re.compile(
    rb"""
      (?P<text> (?: [^\x00-\x08\x0a-\x1f\x7f\xc2]++ | \xc2(?![\x80-\x9f])[\xa0-\xbf]? ){1,1000}+ )
    | (?P<csi> (?:\x1b\[|\xc2\x9b)
        (?P<parameters>[0-?]{0,256}+) (?P<between>[\x20-/]{0,16}+) (?P<final>[@-~])? )
    | (?P<string> \x1b[PX\]^_] | \xc2[\x90\x98\x9d\x9e\x9f] )
    | (?P<escape> \x1b (?P<set>[\x20-/]{0,16}+) (?P<code>[0-~])? )
    # An escape as one character.
    | \xc2 (?P<c1>[\x80-\x9f])
    | (?P<control> [\x00-\x1f\x7f] )
    """,
    re.VERBOSE | re.DOTALL,
)
# An incomplete character at the end of a block.
UNFINISHED = re.compile(rb"(?:[\xc2-\xdf]|[\xe0-\xef][\x80-\xbf]?|[\xf0-\xf4][\x80-\xbf]{0,2})\Z")
# A title or a link ends with its line at the latest, so that no text is lost if its end is missing.
END_OF_COMMAND = re.compile(rb"[\x07\n\x18\x1a\x1b]|\xc2\x9c")
END_OF_STRING = re.compile(rb"[\x18\x1a\x1b]|\xc2\x9c")

# What a control sequence does by its last byte. It gets its first number, or 0, and the same as a count.
SEQUENCES: dict[bytes, Callable[[Screen, int, int], None]] = {
    b"A": lambda screen, _, count: screen.move(rows=-count),
    b"B": lambda screen, _, count: screen.move(rows=count),
    b"C": lambda screen, _, count: screen.move(columns=count),
    b"D": lambda screen, _, count: screen.move(columns=-count),
    b"E": lambda screen, _, count: screen.go_to(0, screen.row + count),
    b"F": lambda screen, _, count: screen.go_to(0, screen.row - count),
    b"G": lambda screen, _, count: screen.go_to(count - 1),
    b"d": lambda screen, _, count: screen.go_to(screen.counted_column(), count - 1),
    b"J": lambda screen, part, _: screen.erase(part),
    b"K": lambda screen, part, _: screen.erase_in_line(part),
    b"L": lambda screen, _, count: screen.insert_rows(count),
    b"M": lambda screen, _, count: screen.delete_rows(count),
    b"P": lambda screen, _, count: screen.delete_columns(count),
    b"X": lambda screen, _, count: screen.erase_columns(count),
    b"@": lambda screen, _, count: screen.insert_columns(count),
    b"s": lambda screen, *_: screen.save(),
    b"u": lambda screen, *_: screen.restore(),
}
SEQUENCES |= {b"a": SEQUENCES[b"C"], b"e": SEQUENCES[b"B"], b"`": SEQUENCES[b"G"]}

ALTERNATE_SCREENS = {b"47", b"1047", b"1049"}


class TerminalEmulator:
    """Takes blocks, and gives out the text that can no longer change."""

    def __init__(self) -> None:
        self.screen = Screen()
        # The screen that an editor or a pager hides while it runs.
        self._hidden: Screen | None = None
        self._unread = b""
        # Matches the end of the string (a title, a picture) that is being skipped.
        self._skipping_to: re.Pattern[bytes] | None = None

    @property
    def plain(self) -> bool:
        """Whether the next text is simply appended."""
        return not (self._unread or self._skipping_to or self._hidden) and self.screen.appends

    def feed(self, block: bytes) -> None:
        data, at = self._unread + block, 0
        self._unread = b""
        while at < len(data):
            if self._skipping_to:
                end = self._skipping_to.search(data, at)
                if not end:
                    # The first byte of a character that may end the string.
                    self._unread = data[at:][-1:] if data.endswith(b"\xc2") else b""
                    return
                self._skipping_to = None
                # An escape or a newline also has its own effect.
                at = end.start() if end[0] in (b"\x1b", b"\n") else end.end()
                continue
            token = TOKEN.match(data, at)
            assert token, "every byte begins a token"
            at = token.end()
            if at == len(data) and (unread := unfinished(token)):
                self._unread = unread
                at -= len(unread)
                if token.lastgroup != "text":
                    return
                self.screen.write(data[token.start() : at])
                return
            self._apply(token)

    def take(self) -> bytes:
        """Return the text that can no longer change."""
        screen = self._hidden or self.screen
        if self._hidden:
            self.screen.out.clear()
        out = b"".join(screen.out)
        screen.out.clear()
        return out

    def finish(self) -> bytes:
        """Return the rest. An alternate screen that the program did not leave is still visible."""
        if UNFINISHED.fullmatch(self._unread) and not self._skipping_to:
            self.screen.write(self._unread)
        out = self.take()
        if self._hidden:
            self._hidden.finish()
            out += b"".join(self._hidden.out)
            if not out.endswith(b"\n"):
                out += b"\n"
        self.screen.finish()
        return out + b"".join(self.screen.out)

    def _apply(self, token: re.Match[bytes]) -> None:
        match token.lastgroup:
            case "text":
                self.screen.write(token[0])
            case "control":
                self._control(token[0])
            case "csi" if token["final"] and not token["between"]:
                self._sequence(token["parameters"], token["final"])
            case "string":
                command = token[0] in (b"\x1b]", b"\xc2\x9d")
                self._skipping_to = END_OF_COMMAND if command else END_OF_STRING
            case "escape" if token["code"]:
                self._escape(token["set"], token["code"])
            case "c1":
                self._escape(b"", bytes((token["c1"][0] - 0x40,)))

    def _control(self, character: bytes) -> None:
        match character:
            # In output of a pipe, a newline also means a carriage return.
            case b"\n" | b"\v" | b"\f":
                self.screen.newline()
            case b"\r":
                self.screen.carriage_return()
            case b"\b":
                self.screen.move(columns=-1)

    def _escape(self, between: bytes, code: bytes) -> None:
        match between, code:
            case b"", b"7":
                self.screen.save()
            case b"", b"8":
                self.screen.restore()
            case b"", b"D":
                self.screen.down()
            case b"", b"E":
                self.screen.newline()
            case b"", b"M":
                self.screen.move(rows=-1)
            case b"", b"c":
                self._alternate(False)
                self.screen.go_to(0, 0)
                self.screen.erase(2)

    def _sequence(self, parameters: bytes, final: bytes) -> None:
        if parameters[:1] in (b"<", b"=", b">", b"?"):
            if final in (b"h", b"l") and ALTERNATE_SCREENS.intersection(parameters[1:].split(b";")):
                self._alternate(final == b"h")
            return
        numbers = [int(number) if number.isdigit() else 0 for number in parameters.split(b";")]
        if final in SEQUENCES:
            SEQUENCES[final](self.screen, numbers[0], max(numbers[0], 1))
        elif final in (b"H", b"f"):
            self.screen.go_to((numbers[1] if len(numbers) > 1 else 1) - 1, max(numbers[0], 1) - 1)

    def _alternate(self, shown: bool) -> None:
        if shown and not self._hidden:
            self._hidden, self.screen = self.screen, Screen()
        elif not shown and self._hidden:
            self.screen = self._hidden
            self._hidden = None


def unfinished(token: re.Match[bytes]) -> bytes:
    """Return the end of a block whose meaning depends on the next block."""
    match token.lastgroup:
        case "text":
            found = UNFINISHED.search(token.string, max(token.start(), token.end() - 3))
            return found[0] if found else b""
        case "csi" if not token["final"]:
            return token[0]
        case "escape" if not token["code"]:
            return token[0]
    return b""


class Cleaner:
    """Cleans one stream.

    The last 64 lines are held back, because a progress display may move up and rewrite them. So is the line
    that has not ended, up to the 65,536 bytes in which a carriage return can still change it.
    """

    def __init__(self, _variables: object = None) -> None:
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
