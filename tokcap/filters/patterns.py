"""What a kind of secret is, and patterns for names and values of secrets.

Patterns see one line at a time: a match neither spans nor looks across a line end.
"""

from __future__ import annotations

import re

from tokcap.startup.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    Judge: TypeAlias = Callable[[re.Match[bytes]], bool]

MASK = b"[REDACTED]"

# How far a pattern looks into a value. This bounds the cost of a rejected match, and so the work for any
# input. The rest of an accepted value belongs to the secret too, see `secret_search.end_of`.
VALUE_BYTES = 256


def after_one_of(word: bytes, *qualifiers: bytes) -> bytes:
    """Return a pattern for a word that only counts after another: `key` in `api_key`, `apikey`, `Api-Key`."""
    compounds = [b"(?<=%b)" % (name + joint + word) for name in qualifiers for joint in (b"", b"[_-]")]
    return word + b"(?:%b)" % b"|".join(compounds)


PASS_QUALIFIERS = (
    b"ssh db user admin root redis store key require smtp mail ftp ldap sql http proxy bind become"
)

# Names of secrets. `DOUBTFUL_NAME` has names that are used for harmless values as well.
SECRET_NAME = b"(?:%b)" % b"|".join(
    (
        rb"pass(?:word|wd|phrase|code)(?:[_-]?(?:confirm(?:ation)?|repeat)|_?\d(?=[^\w]))?",
        rb"(?:pass|pwd|pw)(?:(?<=[_;&?-]pass)|(?<=[_;&?-]pwd)|(?<=[_;&?-]pw))",
        rb"""(?:pass|pwd|pw)(?:(?<=["']pass)|(?<=["']pwd)|(?<=["']pw))(?=["'])""",
        after_one_of(b"pass", *PASS_QUALIFIERS.split()),
        rb"secret(?:[_-]?access)?(?:[_-]?key)?(?:[_-]?base)?",
        after_one_of(b"key", b"api", b"access", b"account", b"encryption", b"signing", b"master"),
        after_one_of(b"token", b"access", b"auth", b"refresh", b"session", b"security", b"api", b"private"),
        rb"psk(?:(?<=[^A-Za-z0-9.-]psk)|(?<=\Apsk)|(?<=wpa-psk))|wep[_-]key\d",
    )
)
SECRET_WORDS = b"pass pwd pw secret key token psk wep"
DOUBTFUL_NAME = rb"""(?:token | credentials? | auth(?<=[_"']auth) | oauth_signature | key-data
    | key(?:(?<=private[_-]key)|(?<=privatekey)|(?<=presharedkey)|(?<=[A-Z0-9]_KEY)))"""

# Between a name and its value: `=`, `: `, `" : `, `'] = `, `\": `.
IS = rb"""\\{0,3}["']?\]?[ \t]{0,8}(?::=|=>|[:=])[ \t]{0,8}"""

# A value up to its closing quote, which is escaped if the opening one is. Without quotes: up to a character
# that ends a word in a query, a list or a call.
BARE_FIRST = rb"""[^\s\0"'`<>(){}\[\],;&|\\:=$*#@-]"""
BARE = rb"""[^\s\0"'`<>(){}\[\],;&|\\]"""
REST_OF_WORD = rb"""[^\s\0"'`\\]{2,255}"""
IN_ESCAPED_QUOTES = rb"""(?:[^"'\\\r\n]|\\\\\\?[^\r\n]|\\[^"'\\\r\n])"""
IN_DOUBLE_QUOTES = rb"""(?:[^"\\\r\n]|\\[^\r\n])"""
IN_SINGLE_QUOTES = rb"""(?:[^'\\\r\n]|\\[^\r\n])"""


def value_of(bare: bytes) -> bytes:
    """Return a pattern for a value in quotes, or for a bare one that matches the pattern `bare`."""
    return rb"""(?:[bru]?\\{0,3}["'])?(?P<secret>
          (?<=\\["'])%b{1,256} | (?<=[^\\]")%b{1,256} | (?<=[^\\]')%b{1,256} | (?<!["'])%b)""" % (
        IN_ESCAPED_QUOTES,
        IN_DOUBLE_QUOTES,
        IN_SINGLE_QUOTES,
        bare,
    )


VALUE = value_of(BARE_FIRST + BARE + b"{2,255}")
# The value of an option that is certain to take one.
ARGUMENT = value_of(rb"""[^\s\0"'`<>(){}\[\],;&|\\$-]%b{0,255}""" % BARE)

SCHEME = (
    rb"""(?:\\{0,3}["'])?(?:bearer|basic|token|negotiate|ntlm|apikey|key|bot|splunk|sharedkey)[ \t]{1,4}"""
)

# Words without quotes, up to the end of the line or to a comment.
WORD = rb"""[^\s\0"'`\\|;&<>$=#/.,:(){}\[\]*-][^\s\0"'`\\|;&<>$=#/,:(){}\[\]*]{0,63}"""
WORDS = rb"(?P<secret>%b(?:[ ]%b){1,12})(?=[ \t]{0,8}(?:[ \t][#]|[\r\n\0]|\Z))" % (WORD, WORD)


def always(_match: re.Match[bytes]) -> bool:
    return True


# A name in quotes and a colon, as in JSON.
QUOTED_NAME = re.compile(rb"""(\\{0,3}["'])[ \t]*:[ \t]*\Z""")
NUMBER = re.compile(rb"\d[\d.eE+-]*\Z")


def mask_of(match: re.Match[bytes]) -> bytes:
    """Return the mask, in quotes if it replaces a number in JSON."""
    name = QUOTED_NAME.search(match.string, match.start(), match.start("secret"))
    return name[1] + MASK + name[1] if name and NUMBER.match(match["secret"]) else MASK


class Kind(Record):
    """A kind of secret. Each match begins with one of its landmarks, which are quick to find."""

    name: str
    # Without landmarks, each match is a line or begins one.
    landmarks: tuple[bytes, ...]
    # Matches at a landmark. The group `secret` is masked.
    pattern: re.Pattern[bytes]
    # Returns whether a match is a secret.
    judge: Judge
    # Whether landmarks, which are in lower case then, and the pattern ignore case.
    any_case: bool = False
    # Matches too wherever the pattern does. Kinds that share it are skipped together.
    gate: re.Pattern[bytes] | None = None
    # Whether the pattern matches the text before the landmark.
    behind: bool = False
    # Matches the rest of a secret that is longer than the pattern looks; None: by its quotes.
    rest: re.Pattern[bytes] | None = None
    mask: Callable[[re.Match[bytes]], bytes] = mask_of

    def accepts(self, match: re.Match[bytes]) -> bool:
        """Return whether a match is a secret that was not masked earlier."""
        # A kind with its own mask may mask only some parts. It recognizes those that were masked before.
        return (self.mask is not mask_of or MASK not in match["secret"]) and self.judge(match)


def kind(
    name: str,
    landmarks: bytes,
    pattern: bytes,
    judge: Judge = always,
    *,
    any_case: bool = False,
    gate: re.Pattern[bytes] | None = None,
    behind: bool = False,
    rest: re.Pattern[bytes] | None = None,
    mask: Callable[[re.Match[bytes]], bytes] = mask_of,
) -> Kind:
    flags = re.VERBOSE | re.IGNORECASE if any_case else re.VERBOSE
    return Kind(
        name, tuple(landmarks.split()), re.compile(pattern, flags), judge, any_case, gate, behind, rest, mask
    )
