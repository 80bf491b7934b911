"""Judge a line: which kind of failure or result it reports, if any.

The rules say what reports a failure; the patterns here say what only looks like one. They are for one line
without escape sequences.
"""

from __future__ import annotations

import re

from tokcap.focus.rules import ERROR, FAILED, KINDS, RULES, SUMMARY, TROUBLE, WARNING
from tokcap.focus.templates import DIGITS
from tokcap.startup.patterns import later
from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

IGNORECASE = 2

# Only the beginning of a line is judged.
LINE_BYTES = 600
# The order of importance: places in `KINDS`, and one more for lines that report nothing.
NOTHING = len(KINDS)
# From this kind on, a line may say more after its prefix.
WEAK = KINDS.index(TROUBLE)
# What a kind becomes in an entry of a log whose level says that nothing failed.
CALMER_KINDS = {ERROR: TROUBLE, FAILED: TROUBLE, TROUBLE: WARNING}
CALMER = tuple(KINDS.index(CALMER_KINDS.get(kind, kind)) for kind in KINDS)
# For each rule, the importance of its kind.
IMPORTANCE = tuple(KINDS.index(kind) for _, kind, _, _ in RULES)

# Parts of lines that say that nothing is wrong: "0 errors", "no warnings", "failed: 0", "error=null".
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
# Only lines with one of these words next to a word of failure, or with an empty value, can say so.
ABSENT_WORDS = frozenset(
    b"0 no zero without never not any ignore ignored handle handled fixed fixes avoid null nil none false"
    b" handling handler handlers message messages page pages types type class classes log logs logging"
    b" report reporting recovery success successfully normally".split()
)
# The first letters of the words of failure, and of what follows them in the pattern.
FAILURE_STEMS = frozenset(
    b"err fai exc war pro con cra iss vul bro los dro den ref rej tim unr kil unm dea ter exi end".split()
)
EMPTY_VALUES = (b"[]", b"{}", b'""', b"''")

# A test that passed, whatever its name says; a step of a configuration that looks for something; what a
# package manager says about itself.
PASSED = later(
    rb"\s*(?:\xe2\x9c\x93|\xe2\x88\x9a|\xe2\x9c\x94|\xe2\x9c\x85|ok \d|ok +\S+\s|PASS(?:ED)?\b|--- PASS"
    rb"|\[ +OK +\]|\[ RUN +\]|=== RUN|-- (?:Looking for|Performing Test|Check(?:ing)? )|checking "
    rb"|(?:npm|gyp|node-pre-gyp) (?:ERR!|error) (?:cwd|System|not ok|node|npm|node-(?:pre-)?gyp)(?: |$))"
)
# Only lines that begin so can match.
PASSED_BEGINNINGS = (b"\xe2", b"o", b"P", b"-", b"[", b"=", b"c", b"n", b"g")
# The same, if one of these words or three dots are in the line.
PASSED_WORDS = frozenset(b"passed skipped xfail xpass".split())
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

# Source that a linter quotes with the numbers of its lines, also as a diff: `593 | x`, ` 1804 + x`.
QUOTED = later(rb"\s*(?:>\s*)?\d+ *(?:\||[-+] ) |\s{5,}[-+] {4,}")

# Only lines with one of these words, beginnings or parts can be source code.
SOURCE_WORDS = frozenset(
    b"except raise throw catch class from import async def fn func function return if".split()
)
SOURCE_BEGINNINGS = (b" ", b"\t", b"\r", b"\v", b"\f", b"+", b"-")
SOURCE_PARTS = (b"|", b"#", b"//", b"/*")

# A warning about a failure is still a warning.
WARNS = later(rb"(?:\S*[\s:\[(|]){0,4}[\[(]?(?:npm )?warn(?:ing)?\b(?!.*\berror:)", IGNORECASE)

# A call that looks for a file of a library or of a language, which may be elsewhere.
SEARCHES = later(
    rb".{0,60}?\b(?:open|access|faccessat|[lf]?stat|newfstatat|readlink)\w*\([^\"]*\""
    rb"[^\"]*(?:/lib|\.so\b|/usr/|/locale|/share/|node_modules|python|\.pyc?\b|\.pth|\.class|\.jar|/\.)[^\"]*\""
    rb".*= -1 ENOENT"
)

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

# The first letters of the codes that linters give: `E1120`, `F821`, `W0611`, `SC2086`.
CODE_LETTERS = b"efwcrs"


def table_of_words() -> dict[bytes, tuple[int, ...]]:
    """Return for each word of the rules the numbers of the rules that have it."""
    found: dict[bytes, tuple[int, ...]] = {}
    for number, (_, _, words, _) in enumerate(RULES):
        for word in words.split():
            found[word] = (*found.get(word, ()), number)
    return found


BY_WORD = table_of_words()
# `*error` is every word that ends so.
ENDINGS = {
    word[1:]: numbers for word, numbers in BY_WORD.items() if word[:1] == b"*" not in word[1:2] + word[-1:]
}
# `*错误*` is every word that contains it; `***` is a word.
PARTS = {
    word.strip(b"*"): numbers for word, numbers in BY_WORD.items() if word[-1:] == b"*" and word.strip(b"*")
}
# The patterns of rules that were needed so far.
PATTERNS: dict[int, re.Pattern[bytes]] = {}


def pattern_of(number: int) -> re.Pattern[bytes] | None:
    """Return the pattern of a rule; None if its words are enough."""
    source = RULES[number][3]
    if source and number not in PATTERNS:
        PATTERNS[number] = re.compile(source)
    return PATTERNS.get(number)


def rules_for(words: Collection[bytes]) -> dict[bytes, tuple[int, ...]]:
    """Return the words that call for rules, each with the numbers of these rules."""
    found = {word: BY_WORD[word] for word in BY_WORD.keys() & words}
    joined = b" ".join(words) + b" "
    for ending, numbers in ENDINGS.items():
        # Most texts have no such word; then no word is looked at.
        if joined.find(ending + b" ") >= 0:
            for word in words:
                if word.endswith(ending) and len(word) > len(ending):
                    found[word] = (*found.get(word, ()), *numbers)
    if not joined.isascii():
        for part, numbers in PARTS.items():
            if joined.find(part) >= 0:
                found |= {word: (*found.get(word, ()), *numbers) for word in words if word.find(part) >= 0}
    codes = [word for word in words if word[0] in CODE_LETTERS and word[-1] in DIGITS and is_code(word)]
    return found | dict.fromkeys(codes, BY_WORD[b"{code}"])


def is_code(word: bytes) -> bool:
    """Return whether a word is the code of a linter: a letter or `sc`, and three or four digits."""
    digits = word[2:] if word.startswith(b"sc") else word[1:]
    return 3 <= len(digits) <= 4 and digits.isdigit()


class Judge:
    """Judges the lines of a text that has these words."""

    def __init__(self, words: Collection[bytes]) -> None:
        self.telling = rules_for(words)
        # The words that are looked for in each line, if the text has them at all.
        self._passed, self._absent, self._calm, self._source = (
            frozenset([word for word in listed if word in words])
            for listed in (PASSED_WORDS, ABSENT_WORDS, CALM_WORDS, SOURCE_WORDS)
        )
        self._has_searches = b"enoent" in words

    def kind_of(self, line: bytes, words: Sequence[bytes]) -> str:
        """Return the kind of a line; empty if no rule matches."""
        line = line[:LINE_BYTES]
        if QUOTED.match(line):
            return ""
        may_have_passed = not self._passed.isdisjoint(words) or line.find(b"...") >= 0
        if may_have_passed and PASSED_IN.search(line):
            return ""
        best = self._importance_of(line, words)
        if best >= WEAK:
            prefix = prefix_bytes(line)
            if prefix:
                line = line[prefix:]
                best = min(best, self._importance_of(line, words))
        if best == NOTHING or self._is_source_code(line, words) or has_passed(line):
            return ""
        if self._may_be_absent(words) or has_any(line, EMPTY_VALUES):
            left = ABSENT.sub(b" ", line)
            if len(left) < len(line):
                low = left.lower()
                line, words = left, [word for word in words if low.find(word) >= 0]
                best = self._importance_of(line, words)
                if best == NOTHING:
                    return ""
        if self._calm and not self._calm.isdisjoint(words) and CALM.match(line):
            best = CALMER[best]
        if self._has_searches and b"enoent" in words and SEARCHES.match(line):
            return WARNING
        kind = KINDS[best]
        if kind not in (WARNING, SUMMARY) and line.lower().find(b"warn") >= 0 and WARNS.match(line):
            return WARNING
        return kind

    def _may_be_absent(self, words: Sequence[bytes]) -> bool:
        """Return whether a word that denies something is next to a word of failure, or one word further."""
        return any(
            other[:3] in FAILURE_STEMS
            for n, word in enumerate(words)
            if word in self._absent
            for other in words[max(n - 2, 0) : n + 3]
        )

    def _is_source_code(self, line: bytes, words: Sequence[bytes]) -> bool:
        may_be = (
            not self._source.isdisjoint(words)
            or line.startswith(SOURCE_BEGINNINGS)
            or has_any(line, SOURCE_PARTS)
        )
        return may_be and SOURCE_CODE.match(line) is not None

    def _importance_of(self, line: bytes, words: Sequence[bytes]) -> int:
        """Return the place in `KINDS` of the most important kind whose rules match."""
        telling = self.telling
        numbers: set[int] = set()
        for word in words:
            if word in telling:
                numbers.update(telling[word])
        best = NOTHING
        # Rules without a pattern are tried first, then the most important ones: fewer patterns are searched.
        for number in numbers if len(numbers) == 1 else sorted(numbers, key=search_order):
            if IMPORTANCE[number] < best:
                pattern = pattern_of(number)
                if pattern is None:
                    best = IMPORTANCE[number]
                elif pattern.search(line):
                    return IMPORTANCE[number]
        return best


def search_order(number: int) -> int:
    return IMPORTANCE[number] + NOTHING * bool(RULES[number][3])


def has_passed(line: bytes) -> bool:
    """Return whether a line says that something passed."""
    return line.lstrip().startswith(PASSED_BEGINNINGS) and PASSED.match(line) is not None


def has_any(line: bytes, parts: Sequence[bytes]) -> bool:
    return any(line.find(part) >= 0 for part in parts)


def prefix_bytes(line: bytes) -> int:
    """Return how many bytes stand before the message of a line."""
    # Most lines begin with a small letter: then only the name of a service can precede.
    if line >= b"a" and line.find(b"| ") < 0:
        return 0
    prefix = PREFIX.match(line)
    return prefix.end() if prefix else 0
