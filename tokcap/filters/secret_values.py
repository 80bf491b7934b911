"""What the value of a secret looks like: patterns, and checks that reject placeholders.

Patterns see one line at a time: a match neither spans nor looks across a line end.
"""

from __future__ import annotations

import re

MASK = b"[REDACTED]"

# How far a pattern looks into a value. This bounds the cost of a rejected match, and so the work for any
# input. The rest of an accepted value belongs to the secret too, see `secret_search.end_of`.
VALUE_BYTES = 256


def after_one_of(word: bytes, *qualifiers: bytes) -> bytes:
    """Return a pattern for a word that only counts after another: `key` in `api_key`, `apikey`, `Api-Key`."""
    compounds = [b"(?<=%b)" % (name + joint + word) for name in qualifiers for joint in (b"", b"[_-]")]
    return word + b"(?:%b)" % b"|".join(compounds)


# Names of secrets. `DOUBTFUL_NAME` has names that are used for harmless values as well.
SECRET_NAME = b"(?:%b)" % b"|".join(
    (
        rb"pass(?:word|wd|phrase)",
        rb"(?:pass|pwd)(?:(?<=[_;-]pass)|(?<=[_;-]pwd))",
        rb"secret(?:[_-]?access)?(?:[_-]?key)?(?:[_-]?base)?",
        after_one_of(b"key", b"api", b"access", b"account", b"encryption", b"signing", b"master"),
        after_one_of(b"token", b"access", b"auth", b"refresh", b"session", b"security", b"api", b"private"),
    )
)
SECRET_WORDS = b"pass pwd secret key token"
DOUBTFUL_NAME = rb"(?:token|credentials?|auth(?<=[_\"']auth)|key(?<=private[_-]key)|key-data)"

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
VALUE = rb"""(?:[bru]?\\{0,3}["'])?(?P<secret>
      (?<=\\["'])%b{1,256} | (?<=[^\\]")%b{1,256} | (?<=[^\\]')%b{1,256} | (?<!["'])%b%b{2,255})""" % (
    IN_ESCAPED_QUOTES,
    IN_DOUBLE_QUOTES,
    IN_SINGLE_QUOTES,
    BARE_FIRST,
    BARE,
)

SCHEME = rb"""(?:\\{0,3}["'])?(?:bearer|basic|token|digest|negotiate|apikey)[ \t]{1,4}"""

# Placeholders for a secret: `$PASSWORD`, `${{ x }}`, `%s`, `{name}`, `<token>`, `***`, `xxxx`.
PLACEHOLDER = re.compile(
    rb"[$<{]|%[sdr({]|%\w+%|\#\{|!(?:vault|Ref|Sub|GetAtt|secret)\b|(?:\*+|[xX]{3,}|\.+|\xe2\x80\xa2.*)\Z"
    rb"|\[REDACTED\]|-----BEGIN",
    re.VERBOSE | re.DOTALL,
)
NO_SECRETS = frozenset(
    b"""none null nil undefined true false yes no on off any str string bytes int bool boolean text char
    varchar secretstr optional option required missing invalid incorrect wrong empty expired set unset
    enabled disabled prompt hidden default changed rejected accepted denied failed is are was to or and for
    with from in the a an of via must can cannot instead when if flag argument not""".split()
)
# What follows the end of a quoted text: `"Enter password:", "Name:"`, `"password=" + word`.
AFTER_TEXT = re.compile(rb"\s*[,\]})+:;]")
IDENTIFIER = re.compile(rb"[A-Za-z_]\w*(?:(?:\.|->|::)[A-Za-z_]\w*)*[:?!]?\Z")
SAYS_SECRET = re.compile(rb"pass|secret|token|key|cred|auth", re.IGNORECASE)


def literal(match: re.Match[bytes]) -> bool:
    """Return whether a value is written out, and is not a variable, a type, a call or a word of prose."""
    secret, text = match["secret"], match.string
    start, end = match.span("secret")
    if PLACEHOLDER.match(secret) or secret.lower().rstrip(b":?!.") in NO_SECRETS:
        return False
    if text[start - 1 : start] in (b'"', b"'", b">"):
        # After a name in quotes, a quote opens a value; otherwise it may close a text.
        name_in_quotes = re.search(rb"[\"']", text[match.start() : start - 1])
        return bool(secret.strip()) and (bool(name_in_quotes) or not AFTER_TEXT.match(secret))
    if text.startswith(MASK, end):
        # The visible start of a token that was masked earlier.
        return False
    after = text[end : end + 2]
    if IDENTIFIER.match(secret):
        called = after[:1] in (b"(", b"[")
        has_digit = any(48 <= byte <= 57 for byte in secret)
        if called or SAYS_SECRET.search(secret) or (b"." in secret and not has_digit):
            return False
        # `password: authentication failed` is a message; `PASSWORD=correct make` is not.
        in_prose = after[:1] == b" " and after[1:2].isalpha() and text[start - 1 : start] != b"="
        return has_digit or not in_prose
    return True


def random(match: re.Match[bytes]) -> bool:
    """Return whether a value looks generated: long, without blanks, with letters and digits."""
    secret = match["secret"]
    if len(secret) < 16 or secret[:1] in b"/.~" or any(byte in b" \t(" for byte in secret):
        return False
    has_digit, has_letter = re.search(rb"\d", secret), re.search(rb"[A-Za-z]", secret)
    return bool(has_digit and has_letter) and literal(match)


def mixed(match: re.Match[bytes]) -> bool:
    """Return whether a word has lower case, upper case and digits, so that it is probably not a name."""
    secret = match["secret"]
    return all(re.search(kind, secret) for kind in (rb"[a-z]", rb"[A-Z]", rb"\d"))


# How far to look at the text before a word, and what that text may be.
BEFORE_BYTES = 96
ENVIRONMENT = re.compile(rb"""(?:\A|[\r\n\0"'])(?:(?:export|set|ENV|ARG|declare -x) )?[A-Z0-9_]*\Z""")
OPTION = re.compile(rb"(?:\A|[^\w-])--?[\w-]*\Z")
NETRC = re.compile(rb"(?:(?:\A|[\r\n])[ \t]*|login[ \t]\S+[ \t])\Z")


def preceded(match: re.Match[bytes], pattern: re.Pattern[bytes]) -> bool:
    before = match.string[max(match.start() - BEFORE_BYTES, 0) : match.start()]
    return pattern.search(before) is not None


def variable(match: re.Match[bytes]) -> bool:
    """Return whether a match is a `NAME=value` of an environment, whose value extends to the line's end."""
    name = match.string[match.start() : match.start("secret")]
    return name.isupper() and preceded(match, ENVIRONMENT) and literal(match)


def argument(match: re.Match[bytes]) -> bool:
    """Return whether the word after an option is a value, and not the `PASSWORD` of a help text."""
    secret = match["secret"]
    metavariable = secret.isupper() and secret.isalpha()
    return not metavariable and preceded(match, OPTION) and literal(match)


def netrc(match: re.Match[bytes]) -> bool:
    return preceded(match, NETRC) and literal(match)


def concrete(match: re.Match[bytes]) -> bool:
    """Return whether a value is not a placeholder."""
    return not PLACEHOLDER.match(match["secret"])


def always(_match: re.Match[bytes]) -> bool:
    return True
