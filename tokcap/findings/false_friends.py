"""Lines that use words of failure and report none, and what stands before a message.

Patterns are for one line without escape sequences.
"""

from __future__ import annotations

from tokcap.lean.patterns import later
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

IGNORECASE = 2

# Parts of lines that say that there is nothing wrong: "0 errors", "no warnings", "failed: 0", "error=null".
WORD = (
    rb"(?:errors?|err|fail(?:ed|ures?|s|ing)?|exceptions?|warnings?|problems?|conflicts?|crashe?[sd]?|issues?"
    rb"|vulnerabilit(?:y|ies)|broken|lost|dropped|denied|refused|rejected|time-?outs?|unreachable|killed|unmet|dead)"
)
ABSENT = later(
    rb"\b(?<![.,\d])(?:(?:0|no|zero|without|never|not|any)\s+(?:\w+\s+)?"
    rb"|(?:ignored?|handled?|fixed|fixes|avoid)\s+)%s\b"
    rb"|\b%s(?:\s+count)?[\"']?\s*[:=]\s*(?:\"\"|''|[\"']?0(?![.\d])|null\b|nil\b|none\b|false\b|\[\]|\{\})"
    rb"|\b(?:errors?|exceptions?|failures?|warnings?) (?:handl\w+|messages?|pages?|boundar\w+|types?|class\w*"
    rb"|logs?|logging|report\w*|recovery)\b"
    rb"|\b(?:terminated|exited|ended) (?:with success|successfully|normally)\b" % (WORD, WORD),
    IGNORECASE,
)
# For `may_be_absent`: what one of the two words before a word of failure ends with, in the first part of it.
NEGATIONS = tuple(b"0 no zero without never not any ignore ignored handle handled fixed fixes avoid".split())
# The first three letters of words of failure, of what follows them in the other parts, and of success.
FAILING = frozenset(
    b"err fai exc war pro con cra iss vul bro los dro den ref rej tim unr kil unm dea".split()
)
NOTHING = frozenset(b"nul nil non fal".split())
SUBJECTS = frozenset(b"han mes pag bou typ cla log rep rec".split())
SUCCESSES = frozenset(b"wit suc nor".split())
LOOKED_AT = FAILING | NOTHING | SUBJECTS | SUCCESSES
FAILURES = tuple(b"error errors exception exceptions failure failures warning warnings".split())
ENDED = (b"terminated", b"exited", b"ended")
ZERO = ord("0")
# Only lines with one of these words, or an empty value, can say so.
ABSENT_WORDS = frozenset(
    b"0 no zero without never not any ignore ignored handle handled fixed fixes avoid null nil none false"
    b" handling handler handlers message messages page pages types type class classes log logs logging"
    b" report reporting recovery success successfully normally".split()
)

# A test that passed, whatever its name says; a step of a configuration that looks for something; what a
# package manager says about itself.
PASSED = later(
    rb"\s*(?:\xe2\x9c\x93|\xe2\x88\x9a|\xe2\x9c\x94|\xe2\x9c\x85|ok \d|ok +\S+\s|PASS(?:ED)?\b|--- PASS"
    rb"|\[ +OK +\]|\[ RUN +\]|=== RUN|-- (?:Looking for|Performing Test|Check(?:ing)? )|checking "
    rb"|(?:npm|gyp|node-pre-gyp) (?:ERR!|error) (?:cwd|System|not ok|node|npm|node-(?:pre-)?gyp)(?: |$))"
)
PASSED_BEGINNINGS = (b"\xe2", b"o", b"P", b"-", b"[", b"=", b"c", b"n", b"g")
# The same, if one of these words is in the line.
PASSED_WORDS = frozenset(b"passed skipped xfail xpass ok yes no done".split())
PASSED_IN = later(
    rb"[ .](?:(?<!\d.)(?<= )(?:PASSED|SKIPPED|XFAIL|XPASS)\b(?!:)"
    rb"|(?<=\.)\.\.+ ?(?:ok|OK|passed|Passed|PASS|yes|no|done|skipped\b.*)\W*$)"
)

# Source code. A marker of a diff, or a position that `grep` writes, may precede.
SOURCE_CODE = later(
    rb"(?:[\w./-]*:?\d+[:-]|[-+])?\s*(?:\}\s*)?(?:"
    rb"except\b[^:]*:\s*(?:#|$)|raise\s+[A-Z][\w.]*(?:\(|\s*$|\s+from\b)|throw\s+(?:new\s+)?[A-Z]\w*|catch\s*[({]"
    rb"|class\s+\w+(?:\s*[({:]|\s+(?:extends|implements)\b)|from\s+[\w.]+\s+import\s|import\s+[\w{*]"
    rb"|(?:async\s+)?(?:def|fn|func|function)\s+\w+\s*[(<]|#\s*(?:include|define|if|endif)\b|(?://|/\*)\s"
    rb"|return\b.*[;)]$|if\s*\(.*\{$)"
    rb"|\s*(?:>\s*)?\d+ *\|(?: |$)|\s+\|\s*[\^~-]|\s+(?:[^:]*[({\[,;]\s*$|[\w.]+\s*=[^=]|@\w)"
)

# Only lines with one of these words or beginnings, and a few others, can be source code.
SOURCE_WORDS = frozenset(b"raise throw catch class from import async def fn func function if".split())
HYPHEN, BAR, HASH = b"-|#"
SOURCE_BEGINNINGS = b" \t\r\v\f+-"

# A warning about a failure is still a warning.
WARNS = later(rb"(?:\S*[\s:\[(|]){0,4}[\[(]?(?:npm )?warn(?:ing)?\b(?!.*\berror:)", IGNORECASE)

# A call that looks for a file which may be elsewhere.
SEARCHES = later(rb".{0,60}?\b(?:open|access|faccessat|[lf]?stat|newfstatat|readlink)\w*\(.*= -1 ENOENT")

# The level of an entry that reports no failure.
CALM_WORDS = frozenset(b"info notice debug trace verbose verb silly sill http".split())
CALM = later(
    rb"[^\"'{]{0,120}?(?:^|[\s\[|<(:])(?:(?:INFO|NOTICE|DEBUG|TRACE)(?:[\])|>:]|\s)|(?:info|notice|debug|verbose)[\])|>:])"
    rb"|npm (?:verb|sill|info|http)|.{0,120}?\blevel[\"']?[=:]\s?[\"']?(?i:info|notice|debug|trace)"
)

# What stands before a message: the name of a service, the number of a test, a time, the frame of a tree.
PREFIX = later(
    rb"(?:\d{1,4}: |==\d+== |\s*[\w.-]{0,40} *\| |\[[^\]]{0,30}\w\]:? |[A-Z]+> |#\d+ [\d.]+ "
    rb"|\d{4}-\d\d-\d\d[T ][\d:.,]+(?:Z|[+-][\d:]+)? )+"
)

READY = (ABSENT, PASSED, PASSED_IN, SOURCE_CODE, WARNS, SEARCHES, CALM, PREFIX)


def may_be_absent(words: Sequence[bytes]) -> bool:
    """Return whether `ABSENT` may match a line that has these words, and no empty values.

    To search for it takes ten times as long.
    """
    before = last = b""
    for word in words:
        start = word[:3]
        if start in LOOKED_AT:
            if start in NOTHING:
                return True
            if start in FAILING and (last.endswith(NEGATIONS) or before.endswith(NEGATIONS)):
                return True
            if start in SUBJECTS and last.endswith(FAILURES):
                return True
            if start in SUCCESSES and last.endswith(ENDED):
                return True
        elif word[0] == ZERO and last:
            return True
        before, last = last, word
    return False


def has_passed(line: bytes) -> bool:
    """Return whether a line says that something passed."""
    return line.lstrip().startswith(PASSED_BEGINNINGS) and PASSED.match(line) is not None


def is_source_code(line: bytes, has_source_word: bool) -> bool:
    """Return whether a line is source code; `has_source_word`: it has one of `SOURCE_WORDS`."""
    may_be = not line or (
        line[0] in SOURCE_BEGINNINGS
        or has_source_word
        or HYPHEN in line.split(None, 1)[0]
        or BAR in line
        or HASH in line
        or line.find(b"//") >= 0
        or line.find(b"/*") >= 0
        or line.find(b"except") >= 0
        or line.find(b"return") >= 0
    )
    return may_be and SOURCE_CODE.match(line) is not None


def prefix_bytes(line: bytes) -> int:
    """Return how many bytes stand before the message of a line."""
    # Most lines begin with a small letter: then only the name of a service can precede.
    if line >= b"a" and line.find(b"| ") < 0:
        return 0
    prefix = PREFIX.match(line)
    return prefix.end() if prefix else 0
