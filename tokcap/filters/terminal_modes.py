"""Follow what a text leaves switched on in a terminal: colours, screens, the mouse. Say how to undo it."""

from __future__ import annotations

import re

from tokcap.filters.clean import ALTERNATE_SCREENS

# Private modes by what they are after a reset. Others are not touched: their default is not known.
ON, OFF = {b"7", b"25"}, {b"1", b"5", b"6", b"9", b"45", b"66", b"69", b"2004", b"2026", b"2031", b"2048"}
OFF |= {b"1000", b"1001", b"1002", b"1003", b"1004", b"1005", b"1006", b"1015", b"1016", *ALTERNATE_SCREENS}

SWITCH = re.compile(
    rb"""\x1b (?: \[\? (?P<private>[\d;]*) (?P<switch>[hl])
      | \[ (?P<attributes>[\d;:]*) m
      | \[ (?P<margins>[\d;]*) r
      | \[ [>=] [\d;]* (?P<pushed>u)
      | \[ < (?P<popped>\d*) u
      | \( (?P<characters>[0-~])
      | \]8;[^;\x07\x1b]*; (?P<link>[^\x07\x1b]?)
      | (?P<keypad>[=>])
      | (?P<reset>c) )""",
    re.VERBOSE,
)
# A sequence or a string (a title, a link) that has no end.
UNFINISHED = re.compile(rb"\x1b(?:\[[0-?]*+[ -/]*+|[\]P^_X][^\x07\x18\x1a\x1b\n]*+|[ -/]*+)\Z")

# Cancels the sequence in which the text ends.
CANCEL = b"\x18"
# Setting margins moves the cursor. Leaving the alternate screen brings it back.
MARGINS, MARGINS_AND_CURSOR = b"\x1b[r", b"\x1b7\x1b[r\x1b8"


def resets_after(text: bytes) -> list[bytes]:
    """Return the sequences that undo what a text leaves switched on, in the order to write them in."""
    private: set[bytes] = set()
    # What is on, by the name of its group in the pattern.
    on: set[str] = set()
    keyboards = 0
    for found in SWITCH.finditer(text):
        name, value = found.lastgroup or "", found[found.lastgroup or 0]
        match name:
            case "switch":
                modes = set(found["private"].split(b";"))
                changed, back = (OFF, ON) if value == b"h" else (ON, OFF)
                private = (private | (modes & changed)) - (modes & back)
                if value == b"l" and modes & ALTERNATE_SCREENS:
                    private -= ALTERNATE_SCREENS
            case "pushed":
                keyboards = min(keyboards + 1, 99)
            case "popped":
                keyboards = max(keyboards - int(value or 1), 0)
            case "reset":
                private, on, keyboards = set(), set(), 0
            case _:
                # What ends only one colour is not followed: one more reset does no harm.
                is_on = {
                    "attributes": bool(value.strip(b"0;")),
                    "margins": value not in (b"", b"0", b";", b"0;0"),
                    "characters": value == b"0",
                    "link": bool(value),
                    "keypad": value == b"=",
                }[name]
                on = on | {name} if is_on else on - {name}
    alternate = sorted(private & ALTERNATE_SCREENS)[-1:]
    needed = [
        (bool(UNFINISHED.search(text)), CANCEL),
        ("attributes" in on, b"\x1b[0m"),
        ("link" in on, b"\x1b]8;;\x1b\\"),
        ("characters" in on, b"\x1b(B"),
        ("margins" in on, MARGINS if alternate else MARGINS_AND_CURSOR),
        (keyboards > 0, b"\x1b[<%du" % keyboards),
        *((True, b"\x1b[?%bl" % mode) for mode in alternate),
        (bool(private & ON), b"\x1b[?%bh" % joined(private & ON)),
        (bool(private & OFF - ALTERNATE_SCREENS), b"\x1b[?%bl" % joined(private & OFF - ALTERNATE_SCREENS)),
        ("keypad" in on, b"\x1b>"),
    ]
    return [sequence for is_needed, sequence in needed if is_needed]


def joined(modes: set[bytes]) -> bytes:
    return b";".join(sorted(modes, key=int))
