"""Follow what a text leaves switched on in a terminal: colours, screens, the mouse. Say how to undo it."""

from __future__ import annotations

from tokcap.filters.emulator import ALTERNATE_SCREENS, END_OF_COMMAND, END_OF_STRING, TOKEN
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    import re

ESC = b"\x1b"
# Bytes without which a text changes no mode: escape, shift out, and the control sequence as one character.
STARTS = (ESC, b"\x0e", b"\xc2\x9b", b"\xc2\x9d")

# Private modes by what they are after a reset. Others are not touched: their default is not known.
ON, OFF = {b"7", b"25"}, {b"1", b"5", b"6", b"9", b"45", b"66", b"69", b"2004", b"2026", b"2031", b"2048"}
OFF |= {b"1000", b"1001", b"1002", b"1003", b"1004", b"1005", b"1006", b"1015", b"1016", *ALTERNATE_SCREENS}
# Insert mode, and newline mode.
ANSI_OFF = {b"4", b"20"}
# What a soft reset (DECSTR) does not switch off.
KEPT_BY_SOFT_RESET = OFF - {b"1", b"6", b"66", b"69"}

# Attributes of text by the code that ends each.
ENDS = {**dict.fromkeys(range(30, 39), 39), **dict.fromkeys(range(90, 98), 39)}
ENDS |= {**dict.fromkeys(range(40, 49), 49), **dict.fromkeys(range(100, 108), 49)}
ENDS |= {
    1: 22,
    2: 22,
    3: 23,
    20: 23,
    4: 24,
    21: 24,
    5: 25,
    6: 25,
    7: 27,
    8: 28,
    9: 29,
    26: 50,
    51: 54,
    52: 54,
    53: 55,
}
ENDS |= {58: 59, 73: 75, 74: 75, **dict.fromkeys(range(11, 20), 10)}
COLOURS = {38, 48, 58}
# The number of a command that sets a colour of the terminal, and of the one that resets it.
PALETTE = {b"4": b"104", b"10": b"110", b"11": b"111", b"12": b"112"}


class TerminalModes:
    """The modes of a terminal that a text has changed."""

    def __init__(self) -> None:
        self._attributes: set[int] = set()
        self._private: set[bytes] = set()
        self._ansi: set[bytes] = set()
        self._palette: set[bytes] = set()
        self._has_margins = self._has_link = self._has_keypad = self._has_cursor = False
        self._draws_lines = self._is_shifted = self._has_other_keys = False
        # Pushed keyboard modes of the main and of the alternate screen; each screen has its own.
        self._keyboards = [0, 0]
        # The text ends inside a sequence.
        self._is_unfinished = False

    def feed(self, text: bytes) -> None:
        """Take a whole text."""
        at = 0
        while at < len(text):
            token = TOKEN.match(text, at)
            assert token, "every byte begins a token"
            at = token.end()
            self._is_unfinished = False
            if token.lastgroup == "string":
                at = self._string(token, at)
            else:
                self._apply(token)

    def _apply(self, token: re.Match[bytes]) -> None:
        match token.lastgroup:
            case "control" if token[0] in (b"\x0e", b"\x0f"):
                self._is_shifted = token[0] == b"\x0e"
            case "csi":
                if token["final"]:
                    self._sequence(token["parameters"], token["between"], token["final"])
                else:
                    self._is_unfinished = token.end() == len(token.string)
            case "escape":
                if token["code"]:
                    self._escape(token["set"], token["code"])
                else:
                    self._is_unfinished = token.end() == len(token.string)

    def _string(self, token: re.Match[bytes], at: int) -> int:
        """Read a title, a link or a picture. Return where it ends."""
        is_command = token[0] in (b"\x1b]", b"\xc2\x9d")
        end = (END_OF_COMMAND if is_command else END_OF_STRING).search(token.string, at)
        if end is None:
            self._is_unfinished = True
            return len(token.string)
        if is_command:
            number, _, rest = token.string[at : end.start()].partition(b";")
            if number == b"8":
                self._has_link = bool(rest.partition(b";")[2])
            elif number in PALETTE and rest != b"?":
                self._palette.add(number)
            else:
                self._palette -= {code for code, reset in PALETTE.items() if reset == number}
        return end.start() if end[0] in (ESC, b"\n") else end.end()

    def _escape(self, between: bytes, code: bytes) -> None:
        match between, code:
            case b"(", _:
                self._draws_lines = code == b"0"
            case b"", b"=" | b">":
                self._has_keypad = code == b"="
            case b"", b"c":
                self.__init__()  # type: ignore[misc]  # a full reset

    def _sequence(self, parameters: bytes, between: bytes, final: bytes) -> None:
        kind, rest = parameters[:1], parameters[1:]
        match between, final:
            case b"", b"h" | b"l" if kind == b"?":
                self._set_private(rest.split(b";"), final == b"h")
            case b"", b"h" | b"l":
                modes = ANSI_OFF.intersection(parameters.split(b";"))
                self._ansi = self._ansi | modes if final == b"h" else self._ansi - modes
            case b"", b"m" if kind == b">":
                # The keyboard of xterm: `4` alone, or with 0, is its default.
                if rest.partition(b";")[0] == b"4":
                    self._has_other_keys = rest.partition(b";")[2] not in (b"", b"0")
            case b"", b"m" if kind not in (b"<", b"=", b"?"):
                self._set_attributes(parameters)
            case b"", b"r" if kind != b"?":
                self._has_margins = parameters not in (b"", b"0", b";", b"0;0")
            case b"", b"u" if kind in (b"<", b"=", b">"):
                self._set_keyboard(kind, rest)
            case b" ", b"q":
                self._has_cursor = parameters not in (b"", b"0")
            case b"!", b"p":
                self._soft_reset()

    def _set_private(self, modes: list[bytes], on: bool) -> None:
        for mode in modes:
            if mode in (ON if on else OFF):
                self._private.discard(mode)
            elif mode in (OFF if on else ON):
                self._private.add(mode)
        if not on and ALTERNATE_SCREENS.intersection(modes):
            self._private -= ALTERNATE_SCREENS
            self._keyboards[1] = 0

    def _set_attributes(self, parameters: bytes) -> None:
        numbers = iter(parameters.split(b";"))
        for number in numbers:
            code_text, colon, sub = number.partition(b":")
            code = int(code_text) if code_text.isdigit() else 0
            if code == 0:
                self._attributes.clear()
            elif code in ENDS and not (code == 4 and sub == b"0"):
                self._attributes.add(ENDS[code])
                if code in COLOURS and not colon:
                    # The colour itself: `5` and a number, or `2` and three.
                    for _ in range(3 if next(numbers, b"") == b"2" else 1):
                        next(numbers, b"")
            else:
                self._attributes.discard(24 if code == 4 else code)

    def _set_keyboard(self, kind: bytes, rest: bytes) -> None:
        screen = bool(self._private & ALTERNATE_SCREENS)
        number = int(rest) if rest.isdigit() else 1
        if kind == b">":
            self._keyboards[screen] = min(self._keyboards[screen] + 1, 99)
        elif kind == b"<":
            self._keyboards[screen] = max(self._keyboards[screen] - number, 0)
        elif rest.partition(b";")[0] not in (b"", b"0"):
            # Set without a push: one pop empties the entry.
            self._keyboards[screen] = max(self._keyboards[screen], 1)

    def _soft_reset(self) -> None:
        self._attributes.clear()
        self._private &= KEPT_BY_SOFT_RESET
        self._ansi.discard(b"4")
        self._has_margins = self._has_keypad = self._draws_lines = self._is_shifted = False

    def resets(self) -> list[bytes]:
        """Return the sequences that undo everything, in the order in which they have to be written."""
        alternate = sorted(self._private & ALTERNATE_SCREENS)
        off = sorted(self._private & OFF - ALTERNATE_SCREENS, key=int)
        on = sorted(self._private & ON, key=int)
        # Setting margins moves the cursor. Leaving the alternate screen brings it back.
        margins = b"\x1b[r" if alternate else b"\x1b7\x1b[r\x1b8"
        in_order = [
            # Cancels the sequence in which the text ends.
            (self._is_unfinished, b"\x18"),
            (bool(self._attributes), b"\x1b[0m"),
            (self._has_link, b"\x1b]8;;\x1b\\"),
            (self._draws_lines, b"\x1b(B"),
            (self._is_shifted, b"\x0f"),
            (self._has_margins, margins),
            (bool(self._keyboards[1]), b"\x1b[<%du" % self._keyboards[1]),
            (bool(alternate), b"\x1b[?%bl" % b";".join(alternate[-1:])),
            (bool(on), b"\x1b[?%bh" % b";".join(on)),
            (bool(off), b"\x1b[?%bl" % b";".join(off)),
            (bool(self._ansi), b"\x1b[%bl" % b";".join(sorted(self._ansi))),
            (self._has_keypad, b"\x1b>"),
            (bool(self._keyboards[0]), b"\x1b[<%du" % self._keyboards[0]),
            (self._has_other_keys, b"\x1b[>4;0m"),
            (self._has_cursor, b"\x1b[0 q"),
            *((number in self._palette, b"\x1b]%b\x1b\\" % reset) for number, reset in PALETTE.items()),
        ]
        return [sequence for is_needed, sequence in in_order if is_needed]


def resets_after(text: bytes) -> list[bytes]:
    """Return the sequences that undo what a text leaves switched on in a terminal."""
    if not any(start in text for start in STARTS):
        return []
    modes = TerminalModes()
    modes.feed(text)
    return modes.resets()
