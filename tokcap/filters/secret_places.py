"""Where a secret stands in its line: what the text before and after it may be."""

from __future__ import annotations

import re

# How far to look at the text before a word, and what that text may be.
BEFORE_BYTES = 96
LINE_START = rb"(?:\A|[\r\n\0])"
ENVIRONMENT = re.compile(
    rb"""(?:\A|[\r\n\0"'])(?:(?:export|set|ENV|ARG|declare\ -x)[ ])?[A-Z0-9_]*\Z""", re.VERBOSE
)
VARIABLE = re.compile(rb"""(?:\A|[\s\0"'=])[A-Z0-9_]*\Z""")
DECLARATION = re.compile(rb"(?:\A|[^\w])(?:setx|ENV|ARG|config(?:ure)? set)[ ][\w./:-]*\Z")
# `-p` is followed by a password itself: `mysql -psecret shop`.
OPTION = re.compile(rb"(?:\A|[^\w\]-])-(?:-|(?!p(?!roxy|rivate)[\w.-]*\Z))[\w.-]*\Z")
NETRC = re.compile(rb"(?:(?:\A|[\r\n])(?:[ \t]*|d-i[ ]\S+[ ])|login[ \t]\S+[ \t])\Z")
IN_QUERY = re.compile(rb"[?&][\w.-]*\Z")
IN_ADDRESS = re.compile(rb"://[\w.-]*\Z")
IN_CONNECTION = re.compile(rb";[ ]?[\w ]*\Z")
DEFINE = re.compile(rb"""define\(\s*["']\w*\Z""", re.IGNORECASE)
PRIVATE = re.compile(rb"(?:private[_-]?|preshared)\Z", re.IGNORECASE)
ELEMENT = re.compile(rb"""(?:<[\w:.-]*|(?:key|name)=["'][\w.-]*)\Z""")
HEADER = re.compile(rb"""(?:\A|[\s"'])x-[\w-]*\Z""", re.IGNORECASE)
# A line of YAML, and one of an INI or properties file: code is indented, or has other words before a name.
YAML_LINE = re.compile(LINE_START + rb"[ \t]*(?:-[ ])?[\w.-]*\Z")
INI_LINE = re.compile(LINE_START + rb"(?!self\.|this\.)[\w.-]*\Z")
LINE_REST = re.compile(rb"[ \t]{0,8}(?:[ \t][#]|[\r\n\0]|\Z)")
# Before the last of several names that are assigned to: `user, password = account`.
TARGETS = re.compile(rb"\w,[ ][\w.]*\Z")
# Other words before a setting, as in a log; but no keyword that begins a definition in a program.
IN_LOG = re.compile(
    rb"[^\s(,{\[][ \t](?<!let[ ])(?<!var[ ])(?<!val[ ])(?<!mut[ ])(?<!const[ ])"
    rb"(?<!final[ ])(?<!static[ ])[\w.-]*\Z"
)
# The next of several settings in a line: `password=x dbname=y`, `password=x,ssl=true`.
NEXT_SETTING = re.compile(rb"[ ,][\w.]{1,64}=")
CODE_AFTER = re.compile(rb"\)|,(?:\s|\Z)|;[ \t]*(?:[\r\n]|\Z)")


def preceded(match: re.Match[bytes], pattern: re.Pattern[bytes]) -> bool:
    before = match.string[max(match.start() - BEFORE_BYTES, 0) : match.start()]
    return pattern.search(before) is not None


def between(match: re.Match[bytes]) -> bytes:
    """Return the name of a secret and what separates it from its value."""
    return match.string[match.start() : match.start("secret")]
