"""What a secret looks like: one table with a row for each kind. Knows nothing of streams.

Patterns see one line at a time, never more: a match neither spans nor looks across a line end.
"""

from __future__ import annotations

import re

from tokcap.lean.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeAlias

    Judge: TypeAlias = Callable[[re.Match[bytes]], bool]

MASK = b"[REDACTED]"

# As far as a pattern looks into a value. It bounds what a rejected match costs, and so the work for any
# input; the remainder of a value that was accepted belongs to the secret too, see `end_of`.
VALUE_BYTES = 256


def after_one_of(word: bytes, *qualifiers: bytes) -> bytes:
    """A word that only counts in a compound: `key` in `api_key`, `apikey`, `Api-Key`."""
    behind = [b"(?<=%b)" % (name + joint + word) for name in qualifiers for joint in (b"", b"[_-]")]
    return word + b"(?:%b)" % b"|".join(behind)


# Names that say that their value is a secret, and names that are used for harmless values as well.
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

# A value up to its closing quote, which is escaped if the opening one is; without quotes up to what ends
# a word in a query, a list or a call.
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

# What stands where a secret will stand: `$PASSWORD`, `${{ x }}`, `%s`, `{name}`, `<token>`, `***`, `xxxx`.
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
    """Whether a value is written out, rather than a variable, a type, a call, or a word of prose."""
    secret, text = match["secret"], match.string
    start, end = match.span("secret")
    if PLACEHOLDER.match(secret) or secret.lower().rstrip(b":?!.") in NO_SECRETS:
        return False
    if text[start - 1 : start] in (b'"', b"'", b">"):
        # After a name in quotes it is certain that a quote opens a value and does not close a text.
        name_in_quotes = re.search(rb"[\"']", text[match.start() : start - 1])
        return bool(secret.strip()) and (bool(name_in_quotes) or not AFTER_TEXT.match(secret))
    if text.startswith(MASK, end):
        # The visible start of a token that was masked before.
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
    """Whether a value is what a generator of tokens gives: long, without blanks, of letters and digits."""
    secret = match["secret"]
    if len(secret) < 16 or secret[:1] in b"/.~" or any(byte in b" \t(" for byte in secret):
        return False
    has_digit, has_letter = re.search(rb"\d", secret), re.search(rb"[A-Za-z]", secret)
    return bool(has_digit and has_letter) and literal(match)


def mixed(match: re.Match[bytes]) -> bool:
    """Whether a word is no name of a thing: it has small letters, capitals and digits."""
    secret = match["secret"]
    return all(re.search(kind, secret) for kind in (rb"[a-z]", rb"[A-Z]", rb"\d"))


# What stands in front of a word, as far as its line goes.
BEFORE_BYTES = 96
ENVIRONMENT = re.compile(rb"""(?:\A|[\r\n\0"'])(?:(?:export|set|ENV|ARG|declare -x) )?[A-Z0-9_]*\Z""")
OPTION = re.compile(rb"(?:\A|[^\w-])--?[\w-]*\Z")
NETRC = re.compile(rb"(?:(?:\A|[\r\n])[ \t]*|login[ \t]\S+[ \t])\Z")


def preceded(match: re.Match[bytes], pattern: re.Pattern[bytes]) -> bool:
    before = match.string[max(match.start() - BEFORE_BYTES, 0) : match.start()]
    return pattern.search(before) is not None


def variable(match: re.Match[bytes]) -> bool:
    """Whether it is a line of the environment, or an element in a list of such: a value to its end."""
    name = match.string[match.start() : match.start("secret")]
    return name.isupper() and preceded(match, ENVIRONMENT) and literal(match)


def argument(match: re.Match[bytes]) -> bool:
    """Whether the word after an option is its value, and not the `PASSWORD` of a help text."""
    secret = match["secret"]
    metavariable = secret.isupper() and secret.isalpha()
    return not metavariable and preceded(match, OPTION) and literal(match)


def netrc(match: re.Match[bytes]) -> bool:
    return preceded(match, NETRC) and literal(match)


def given(match: re.Match[bytes]) -> bool:
    """Whether it is more than a name for what will stand there."""
    return not PLACEHOLDER.match(match["secret"])


def always(_match: re.Match[bytes]) -> bool:
    return True


class Kind(Record):
    """A sort of secret. Each begins with one of its landmarks, which are quick to find."""

    name: str
    landmarks: tuple[bytes, ...]
    # Matches from a landmark on; its group `secret` is what is masked.
    pattern: re.Pattern[bytes]
    judge: Judge


def kind(
    name: str, landmarks: bytes, pattern: bytes, judge: Judge = always, *, any_case: bool = False
) -> Kind:
    flags = re.VERBOSE | re.IGNORECASE if any_case else re.VERBOSE
    return Kind(name, tuple(landmarks.split()), re.compile(pattern, flags), judge)


# If several kinds claim the same bytes, the first one gives them its name.
KINDS = (
    # A key block in base64, as in a Kubernetes secret; certificates begin in another way.
    kind("private key", b"LS0tLS1CRUdJTi", rb"""LS0tLS1CRUdJTi
        (?=BQUklWQVRF|BSU0EgUFJJV|BFQyBQUklW|BPUEVOU1NI|BFTkNSWVBU|BEU0EgUFJJV|BQR1AgUFJJ)
        (?P<secret>[A-Za-z0-9+/]++={0,2})"""),
    kind("private key", b"AGE-SECRET-KEY-1", rb"AGE-SECRET-KEY-1(?P<secret>[A-Z0-9]{40,}+)"),
    kind("github token", b"ghp_ gho_ ghu_ ghs_ ghr_", rb"(?<![A-Za-z0-9])gh[pousr]_(?P<secret>\w{36,}+)"),
    kind("github token", b"github_pat_", rb"github_pat_(?P<secret>\w{30,}+)"),
    kind("gitlab token", b"glpat- gldt- glrt- glcbt- glptt- glft- glimt- glagent- gloas- glsoat-",
        rb"gl[a-z]++-(?P<secret>[\w.-]{20,}+)", random),
    kind("aws access key", b"AKIA ASIA",
        rb"(?<![A-Za-z0-9+/])A[KS]IA(?P<secret>[A-Z0-9]{16})(?![A-Za-z0-9+/])"),
    kind("google key", b"AIza", rb"(?<![\w-])AIza(?P<secret>[\w-]{35})(?![\w-])"),
    kind("google key", b"ya29. GOCSPX-", rb"(?:ya29\.|GOCSPX-)(?P<secret>[\w-]{20,}+)"),
    kind("azure key", b"accountkey= sharedaccesskey=",
        rb"\w{10,15}=(?P<secret>[\w+/-]{20,}+={0,2})", any_case=True),
    kind("slack token", b"xox xapp-", rb"(?<![\w-])(?:xox[a-z]|xapp)-(?P<secret>[A-Za-z0-9-]{10,}+)", given),
    kind("slack hook", b"hooks.slack.com/", rb"hooks\.slack\.com/\w{1,20}/(?P<secret>[\w/-]{20,}+)"),
    kind("stripe key", b"sk_live_ rk_live_ sk_test_ rk_test_",
        rb"(?<![A-Za-z0-9])[sr]k_(?:live|test)_(?P<secret>[A-Za-z0-9]{10,}+)"),
    kind("stripe key", b"whsec_", rb"whsec_(?P<secret>[A-Za-z0-9+/]{20,}+={0,2})"),
    kind("npm token", b"npm_", rb"(?<!\w)npm_(?P<secret>[A-Za-z0-9]{36,}+)"),
    kind("pypi token", b"pypi-Ag", rb"pypi-(?P<secret>Ag[\w-]{40,}+)"),
    kind("model api key", b"sk-", rb"(?<![\w-])sk-(?P<secret>[\w-]{20,}+)", mixed),
    kind("hugging face token", b"hf_", rb"(?<!\w)hf_(?P<secret>[A-Za-z0-9]{30,}+)", mixed),
    kind("telegram token", b":AA", rb"(?<=\d{8}):(?P<secret>AA[\w-]{33})(?![\w-])"),
    kind("sendgrid key", b"SG.", rb"(?<!\w)SG\.(?P<secret>[\w-]{22}\.[\w-]{43})(?![\w-])"),
    kind("twilio key", b"SK", rb"(?<!\w)SK(?P<secret>[0-9a-f]{32})(?!\w)"),
    kind("service token", b"dop_v1_ hvs. shpat_ lin_api_ glsa_ dckr_pat_ ATATT3 ntn_ sntrys_",
        rb"(?<![A-Za-z0-9])(?:[a-z]{3,6}_(?:v1_|api_|pat_)?|hvs\.|ATATT3)(?P<secret>[\w=-]{20,}+)", random),
    # Its last part is what makes it valid, but the others tell whose it is.
    kind("jwt", b"eyJ", rb"(?<![\w-])eyJ(?P<secret>[\w-]{8,2000}+\.eyJ[\w-]{4,}+(?:\.[\w-]*+){0,3})"),
    kind("authorization header", b"authorization",
        rb"authorization%b%b(?P<secret>%b%b{2,255})" % (IS, SCHEME, BARE_FIRST, BARE), given, any_case=True),
    kind("authorization header", b"authorization",
        rb"authorization%b%b" % (IS, VALUE), random, any_case=True),
    kind("bearer token", b"bearer", rb"bearer[ \t](?P<secret>[\w.~+/-]{16,}+={0,2})", random, any_case=True),
    # Up to the last `@` in front of the host: a password may contain that sign.
    kind("url credentials", b"://", rb"""://[^\s/:@"'`<>\\]{0,128}:(?P<secret>[^\s/"'`<>\\]{1,256})@(?=[\w\[.%-])""",
        given),
    kind("url credentials", b"://", rb"://(?P<secret>[\w.-]{20,256})@(?=[\w\[])", mixed),
    kind("url signature", b"sig= x-amz-signature= x-goog-signature=",
        rb"(?<=[?&])(?:sig|x-[a-z]{3,4}-signature)=(?P<secret>[\w%+/=-]{32,}+)", any_case=True),
    # With other programs `-u` is no more than a user.
    kind("password", b"curl",
        rb"""curl(?:(?![ ]-(?:u|-user)[ =])[^\r\n|;]){0,256}
        [ ]-(?:u|-user)[ =]["']?[^\s:"']{1,64}:%b""" % VALUE, literal),
    kind("password", SECRET_WORDS,
        rb"(?:%b|token)=(?P<secret>%b%b)" % (SECRET_NAME, BARE_FIRST, REST_OF_WORD), variable, any_case=True),
    kind("password", SECRET_WORDS,
        SECRET_NAME + IS + VALUE, literal, any_case=True),
    kind("token", b"token cred auth key",
        DOUBTFUL_NAME + IS + VALUE, random, any_case=True),
    kind("password", SECRET_WORDS,
        rb"(?:%b|token)[ ]%b" % (SECRET_NAME, VALUE), argument, any_case=True),
    # XML, SQL, and the lines of a netrc file.
    kind("password", SECRET_WORDS,
        rb"%b>(?P<secret>[^<>\r\n]{1,256})(?=</)" % SECRET_NAME, literal, any_case=True),
    kind("password", b"password identified",
        rb"(?:identified[ ]by|password)[ ](?=')%b" % VALUE, literal, any_case=True),
    kind("password", b"password",
        rb"password[ \t](?P<secret>%b%b)(?![ \t]{0,8}[^\s])" % (BARE_FIRST, REST_OF_WORD), netrc),
)  # fmt: skip

# The remainder of a value that is longer than a pattern looks, by what stands in front of it.
REST_ESCAPED = re.compile(IN_ESCAPED_QUOTES + rb"*", re.VERBOSE)
REST_DOUBLE = re.compile(IN_DOUBLE_QUOTES + rb"*", re.VERBOSE)
REST_SINGLE = re.compile(IN_SINGLE_QUOTES + rb"*", re.VERBOSE)
REST_BARE = re.compile(BARE + rb"*+")


class Found(Record):
    """A secret in a text: where its match begins, where it lies itself, how it would go on if cut off."""

    first: int
    start: int
    end: int
    rank: int
    rest: re.Pattern[bytes]
    mask: bytes = MASK


def nearest_landmark() -> re.Pattern[bytes]:
    """All landmarks as one pattern, sorted by their first letters: most places are left after one look."""
    landmarks = {landmark.lower() for each in KINDS for landmark in each.landmarks}
    needed = [
        one for one in landmarks if not any(one != other and one.startswith(other) for other in landmarks)
    ]
    by_letter: dict[bytes, list[bytes]] = {}
    for one in sorted(needed):
        by_letter.setdefault(one[:1], []).append(re.escape(one[1:]))
    return re.compile(
        b"|".join(re.escape(letter) + b"(?:%b)" % b"|".join(rests) for letter, rests in by_letter.items())
    )


LANDMARK = nearest_landmark()
# Which kinds can begin where a landmark was found.
AT_LANDMARK: dict[bytes, tuple[tuple[int, Kind], ...]] = {}


def kinds_at(landmark: bytes) -> tuple[tuple[int, Kind], ...]:
    if landmark not in AT_LANDMARK:
        AT_LANDMARK[landmark] = tuple(
            (rank, each)
            for rank, each in enumerate(KINDS)
            if any(one.lower().startswith(landmark) for one in each.landmarks)
        )
    return AT_LANDMARK[landmark]


def find(text: bytes, folded: bytes, start: int, end: int) -> Iterator[Found]:
    """The secrets of all kinds between two positions, in no order. `folded`: the text in small letters."""
    # Up to where a kind has found a secret already: what is in it is not looked at again.
    done: dict[int, int] = {}
    while landmark := LANDMARK.search(folded, start, end):
        start = landmark.start()
        for rank, each in kinds_at(landmark[0]):
            if start < done.get(rank, 0):
                continue
            match = each.pattern.match(text, start, end)
            if match and each.judge(match):
                secret = match.start("secret")
                rest = rest_of(text, secret)
                done[rank] = end_of(text, match, rest, end)
                yield Found(start, secret, done[rank], rank, rest, mask_of(match))
        start += 1


def rest_of(text: bytes, secret: int) -> re.Pattern[bytes]:
    quote = text[secret - 1 : secret]
    if quote not in (b'"', b"'"):
        return REST_BARE
    if text[secret - 2 : secret - 1] == b"\\":
        return REST_ESCAPED
    return REST_DOUBLE if quote == b'"' else REST_SINGLE


# A name in quotes and a colon, as in JSON.
QUOTED_NAME = re.compile(rb"""(\\{0,3}["'])[ \t]*:[ \t]*\Z""")
NUMBER = re.compile(rb"\d[\d.eE+-]*\Z")


def mask_of(match: re.Match[bytes]) -> bytes:
    """The mask, in quotes if it takes the place of a number in JSON."""
    name = QUOTED_NAME.search(match.string, match.start(), match.start("secret"))
    return name[1] + MASK + name[1] if name and NUMBER.match(match["secret"]) else MASK


def end_of(text: bytes, match: re.Match[bytes], rest: re.Pattern[bytes], end: int) -> int:
    start, stop = match.span("secret")
    if stop - start < VALUE_BYTES:
        return stop
    remainder = rest.match(text, stop, end)
    return remainder.end() if remainder else stop
