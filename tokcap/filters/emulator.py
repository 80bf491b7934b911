"""Emulate a terminal: write text to a screen, and apply control characters and escape sequences to it.

Colours, titles, modes and unknown sequences show nothing and are dropped. Of an incomplete sequence only the
part that arrived is dropped, so that no text is lost with it.
"""

from __future__ import annotations

import re

from tokcap.filters.screen import Screen

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

ALTERNATE_SCREENS = {b"47", b"1047", b"1049"}
LINE_DRAWING = dict(zip(b"`abcdefghijklmnopqrstuvwxyz{|}~", "◆▒␉␌␍␊°±␤␋┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·", strict=True))


class TerminalEmulator:
    """Takes blocks, and gives out the text that can no longer change."""

    def __init__(self) -> None:
        self.screen = Screen()
        # The screen that an editor or a pager hides while it runs.
        self._hidden: Screen | None = None
        self._unread = b""
        # Matches the end of the string (a title, a picture) that is being skipped.
        self._skipping_to: re.Pattern[bytes] | None = None
        # Whether each of the two character sets draws lines, and which set is in use.
        self._drawing = [False, False]
        self._shift = 0

    @property
    def plain(self) -> bool:
        """Whether the next text is simply appended."""
        idle = not (self._unread or self._skipping_to or self._hidden or self._drawing[self._shift])
        return idle and self.screen.appends

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
                self._write(data[token.start() : at])
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
            self._write(self._unread)
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
                self._write(token[0])
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

    def _write(self, text: bytes) -> None:
        if self._drawing[self._shift]:
            drawn = text.decode("utf-8", "surrogateescape").translate(LINE_DRAWING)
            text = drawn.encode("utf-8", "surrogateescape")
        self.screen.write(text)

    def _control(self, character: bytes) -> None:
        match character:
            # In output of a pipe, a newline also means a carriage return.
            case b"\n" | b"\v" | b"\f":
                self.screen.newline()
            case b"\r":
                self.screen.carriage_return()
            case b"\b":
                self.screen.move(columns=-1)
            case b"\x0e" | b"\x0f":
                self._shift = int(character == b"\x0e")

    def _escape(self, between: bytes, code: bytes) -> None:
        match between, code:
            case b"(" | b")", _:
                self._drawing[between == b")"] = code == b"0"
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
                self._drawing = [False, False]
                self._shift = 0
                self.screen.go_to(0, 0)
                self.screen.erase(2)

    def _sequence(self, parameters: bytes, final: bytes) -> None:
        if parameters[:1] in (b"<", b"=", b">", b"?"):
            if final in (b"h", b"l") and ALTERNATE_SCREENS.intersection(parameters[1:].split(b";")):
                self._alternate(final == b"h")
            return
        numbers = [int(number) if number.isdigit() else 0 for number in parameters.split(b";")]
        number, count = numbers[0], max(numbers[0], 1)
        screen = self.screen
        match final:
            case b"A":
                screen.move(rows=-count)
            case b"B" | b"e":
                screen.move(rows=count)
            case b"C" | b"a":
                screen.move(columns=count)
            case b"D":
                screen.move(columns=-count)
            case b"E":
                screen.go_to(0, screen.row + count)
            case b"F":
                screen.go_to(0, screen.row - count)
            case b"G" | b"`":
                screen.go_to(count - 1)
            case b"d":
                screen.go_to(screen.counted_column(), count - 1)
            case b"H" | b"f":
                screen.go_to((numbers[1] if len(numbers) > 1 else 1) - 1, count - 1)
            case b"J":
                screen.erase(number)
            case b"K":
                screen.erase_in_line(number)
            case b"X":
                screen.erase_columns(count)
            case b"s":
                screen.save()
            case b"u":
                screen.restore()

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
