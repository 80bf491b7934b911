"""Passing over valid JSON without looking at each value: what the patterns see at one glance.

A run of scalars, a container that is not nested deeply, and the signs that open and close the others.
Only the nesting that is left is Python's business. The long patterns are made ready when they are needed:
a window at the beginning needs none. They hold no group inside a possessive repetition: early releases
of Python 3.11 lose count of those.
"""

from __future__ import annotations

from tokcap.lean.patterns import DOTALL, later
from tokcap.lean.record import TYPE_CHECKING
from tokcap.shapes.jsontext import LEXEME

if TYPE_CHECKING:
    import re

    from tokcap.shapes.jsontext import View

# A container with at most so many others inside each other is passed over at one glance. One that is
# deeper costs as many attempts, so this is no place for a large number.
GLANCE_DEPTH = 5

BLANKS = rb"[ \t\n\r]*+"
STRING = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
# A number or word.
WORD = rb'[^ \t\n\r\[\]{},:"]++'
KEY = rb"(?:%s%s:%s)?+" % (STRING, BLANKS, BLANKS)


def shallow(depth: int) -> bytes:
    """A container with at most `depth` others inside each other."""
    inside = STRING if not depth else rb"(?:%s|%s)" % (STRING, shallow(depth - 1))
    return rb'[\[{][^\[\]{}"]*+(?:%s[^\[\]{}"]*+)*+[\]}]' % inside


def glances(run: bytes) -> re.Pattern[bytes]:
    """What comes next, as one of the kinds below; at the last, the rest."""
    kinds = (run, KEY + shallow(GLANCE_DEPTH), KEY + rb"[\[{]", rb"[\]}]", rb".*+")
    return later(rb"[ \t\n\r,]*+(?:%s)" % b"|".join(b"(%s)" % kind for kind in kinds), DOTALL)


RUN, CONTAINER, OPENER, CLOSER, REST = range(1, 6)

# A scalar is whole where a sign follows it: the end of what is looked at may lie within a number.
MEMBER = rb"(?:%(s)s%(b)s(?::%(b)s(?:%(s)s|%(w)s))?+|%(w)s)" % {b"s": STRING, b"w": WORD, b"b": BLANKS}
ENDED = MEMBER + BLANKS + rb"(?=[,\]}])"
# At the top of a sequence of values nothing but blanks separates them.
ALONE = rb"(?:%s|%s(?=[ \t\n\r]))" % (STRING, WORD)

# The empty group makes `findall` give one small object per scalar, and no copy of it.
SCALARS = later(MEMBER + b"()", DOTALL)

COLON = later(BLANKS + b":" + BLANKS)
SEPARATORS = later(rb"[ \t\n\r,]*+")
# One scalar, or what opens a container; with its key.
SCALAR_OR_OPENER = later(KEY + rb"(?:([\[{])|%s|%s)" % (STRING, WORD), DOTALL)
KEY_TEXT = later(STRING, DOTALL)


# What comes next inside an array or object.
INSIDE_CONTAINER = glances(rb"%(e)s(?:,%(b)s%(e)s)*+" % {b"e": ENDED, b"b": BLANKS})
# What comes next at the top of a sequence of values.
BETWEEN_VALUES = glances(rb"%s(?:%s%s)*+" % (ALONE, BLANKS, ALONE))

# What comes next where only the end of a container is looked for.
INNARDS = later(rb'(?:[^\[\]{}"]++|%s|%s)++|([\[{])|([\]}])' % (STRING, shallow(GLANCE_DEPTH)), DOTALL)
DEEPER, HIGHER = 1, 2

SHALLOW_CONTAINER = later(shallow(GLANCE_DEPTH), DOTALL)

PATTERNS = (
    SCALARS,
    COLON,
    SEPARATORS,
    SCALAR_OR_OPENER,
    KEY_TEXT,
    INSIDE_CONTAINER,
    BETWEEN_VALUES,
    INNARDS,
    SHALLOW_CONTAINER,
)


def scalars_in(data: View, start: int, end: int, *, separated: bool) -> int:
    """How many scalars a run has; with commas between them if they are `separated`."""
    if separated and data.find(b'"', start, end) < 0:
        return data[start:end].count(b",") + 1
    return len(SCALARS.findall(data, start, end))


def end_of_known_value(data: View, start: int) -> int:
    """Where the value ends that begins at `start`."""
    if data[start] not in b"[{":
        scalar = LEXEME.match(data, start)
        assert scalar
        return scalar.end()
    if whole := SHALLOW_CONTAINER.match(data, start):
        return whole.end()
    depth = 1
    for found in INNARDS.finditer(data, start + 1):
        if found.lastindex == DEEPER:
            depth += 1
        elif found.lastindex == HIGHER:
            depth -= 1
            if not depth:
                return found.end()
    return len(data)
