"""The patterns of JSON text. Each is loaded when it is first used; most are compiled ahead of time.

No pattern has a group inside a possessive repetition: early releases of Python 3.11 count such groups
wrongly.
"""

from __future__ import annotations

from tokcap.lean.patterns import DOTALL, later
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    import re

# A container nested at most this deep is matched by one pattern. Deeper ones cost one attempt per level, so
# the number must stay small.
ONE_MATCH_DEPTH = 5
# A string with a longer run of ordinary characters, or with more escapes, is not matched by one pattern.
SHORT_RUN_BYTES, FEW_ESCAPES = 1 << 10, 1 << 6
# If escapes are nearer to each other, a pattern is faster than one search for each.
NEAR_ESCAPE_BYTES = 64

BLANK_TEXT = rb"[ \t\n\r]*+"
STRING_TEXT = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
# A number or word.
WORD_TEXT = rb'[^ \t\n\r\[\]{},:"]++'
KEY_TEXT = rb"(?:%s%s:%s)?+" % (STRING_TEXT, BLANK_TEXT, BLANK_TEXT)
COMMENT_TEXT = rb"//[^\n]*+|/\*(?:[^*]|\*(?!/))*+\*/"


def container_text(depth: int) -> bytes:
    """Return the source of a pattern for a container with at most `depth` levels inside."""
    inside = STRING_TEXT if not depth else rb"(?:%s|%s)" % (STRING_TEXT, container_text(depth - 1))
    return rb'[\[{][^\[\]{}"]*+(?:%s[^\[\]{}"]*+)*+[\]}]' % inside


# Strict: the grammar of RFC 8259, one lexeme at a time, each kind in its group.
STRICT_KINDS = (
    rb"([\[{])|([\]}])|(,)|(:)|"
    rb'("(?:[^"\\\x00-\x1f]++|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*+")|'
    rb"(-?+(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][+-]?+[0-9]++)?+|true|false|null))"
)
STRICT_LEXEME = later(rb"[ \t\n\r]*+(?:" + STRICT_KINDS)
OPEN, CLOSE, COMMA, COLON, STRING, SCALAR = range(1, 7)
# The beginning of a lexeme whose rest is cut off.
CUT_LEXEME = later(
    rb"[ \t\n\r]*+(?:"
    rb'"(?:[^"\\\x00-\x1f]++|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*+(?:\\(?:u[0-9a-fA-F]{0,3})?)?|'
    rb"-|\.|[eE][+-]?|t|tr|tru|f|fa|fal|fals|n|nu|nul|)"
)
BLANKS = later(rb"[ \t\n\r]*+")

# The same with comments, as settings files have them.
TOLERANT_BLANKS = later(rb"(?:[ \t\n\r]++|%s)*+" % COMMENT_TEXT)
TOLERANT_LEXEME = later(rb"(?:[ \t\n\r]++|%s)*+(?:" % COMMENT_TEXT + STRICT_KINDS)

# In text known to be valid: a string, a sign, or a number or word. Of a long string it is only the quote:
# `scanner.end_of_string` finds its end many times faster.
SHORT_STRING_TEXT = rb'"[^"\\]{0,%(run)d}+(?:\\.[^"\\]{0,%(run)d}+){0,%(few)d}+"' % {
    b"run": SHORT_RUN_BYTES,
    b"few": FEW_ESCAPES,
}
LEXEME = later(rb'%s|[\[\]{},:"]|[^\s\[\]{},:"]++' % SHORT_STRING_TEXT, DOTALL)
# Escapes in a row, with not much between them.
ESCAPES = later(rb'(?:[^"\\]{0,%d}+\\.)*+' % NEAR_ESCAPE_BYTES, DOTALL)
# The same, with all signs between two strings or blanks as one.
STRING_OR_NO_BLANKS = later(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[^ \t\n\r"]++', DOTALL)
# A scalar, or the sign that opens a container (group 1); with its key.
SCALAR_OR_OPENER = later(KEY_TEXT + rb"(?:([\[{])|%s|%s)" % (STRING_TEXT, WORD_TEXT), DOTALL)
QUOTED = later(STRING_TEXT, DOTALL)
# Everything up to a string whose end is missing.
BEFORE_CUT_STRING = later(rb'(?:[^"]++|%s)*+' % STRING_TEXT, DOTALL)
KEY_SEPARATOR = later(BLANK_TEXT + b":" + BLANK_TEXT)
SEPARATORS = later(rb"[ \t\n\r,]*+")
# A key (group 1) and its value, if that is a scalar (group 2).
MEMBER = later(
    rb"%(b)s(%(s)s)%(b)s:%(b)s(%(s)s|%(w)s)?" % {b"b": BLANK_TEXT, b"s": STRING_TEXT, b"w": WORD_TEXT}, DOTALL
)
SHALLOW_CONTAINER = later(container_text(ONE_MATCH_DEPTH), DOTALL)
# Used to find the end of a container: group 1 opens another one, group 2 closes one.
CONTAINER_CONTENT = later(
    rb'(?:[^\[\]{}"]++|%s|%s)++|([\[{])|([\]}])' % (STRING_TEXT, container_text(ONE_MATCH_DEPTH)), DOTALL
)
DEEPER, HIGHER = 1, 2


def next_of(run: bytes) -> re.Pattern[bytes]:
    """Return a pattern for what comes next, each kind in its group; the last kind is the rest of the text."""
    kinds = (run, KEY_TEXT + container_text(ONE_MATCH_DEPTH), KEY_TEXT + rb"[\[{]", rb"[\]}]", rb".*+")
    return later(rb"[ \t\n\r,]*+(?:%s)" % b"|".join(b"(%s)" % kind for kind in kinds), DOTALL)


RUN, CONTAINER, OPENER, CLOSER, REST = range(1, 6)

# A scalar is complete only if a sign follows: the searched part may end inside a number.
MEMBER_TEXT = rb"(?:%(s)s%(b)s(?::%(b)s(?:%(s)s|%(w)s))?+|%(w)s)" % {
    b"s": STRING_TEXT,
    b"w": WORD_TEXT,
    b"b": BLANK_TEXT,
}
COMPLETE_TEXT = MEMBER_TEXT + BLANK_TEXT + rb"(?=[,\]}])"
# At the top of a sequence only blanks separate values.
TOP_SCALAR_TEXT = rb"(?:%s|%s(?=[ \t\n\r]))" % (STRING_TEXT, WORD_TEXT)
# With the empty group `findall` returns one small object per scalar instead of a copy.
SCALARS = later(MEMBER_TEXT + b"()", DOTALL)
INSIDE_CONTAINER = next_of(rb"%(e)s(?:,%(b)s%(e)s)*+" % {b"e": COMPLETE_TEXT, b"b": BLANK_TEXT})
BETWEEN_VALUES = next_of(rb"%s(?:%s%s)*+" % (TOP_SCALAR_TEXT, BLANK_TEXT, TOP_SCALAR_TEXT))

# Compiled ahead of time, because a short call may need them.
READY = (
    LEXEME,
    STRING_OR_NO_BLANKS,
    STRICT_LEXEME,
    CUT_LEXEME,
    BLANKS,
    SCALARS,
    KEY_SEPARATOR,
    SEPARATORS,
    SCALAR_OR_OPENER,
    QUOTED,
    MEMBER,
    INSIDE_CONTAINER,
    BETWEEN_VALUES,
    CONTAINER_CONTENT,
    SHALLOW_CONTAINER,
    # A hook reads settings files that have comments at every command of the agent.
    TOLERANT_BLANKS,
    TOLERANT_LEXEME,
)
