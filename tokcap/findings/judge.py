"""Judge lines by the rules: which kind of failure or result a line is."""

from __future__ import annotations

from tokcap.findings import false_friends, rules
from tokcap.findings.words import DIGITS
from tokcap.lean.patterns import compiled
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    import re
    from collections.abc import Collection, Sequence

# Only the beginning of a line is judged.
LINE_BYTES = 600

NOTHING = len(rules.KINDS)
# From this kind on, a line may say more after its prefix.
WEAK = rules.KINDS.index(rules.TROUBLE)
# What a kind becomes in an entry of a log whose level says that nothing failed.
CALMER = tuple(
    rules.KINDS.index(
        {rules.ERROR: rules.TROUBLE, rules.FAILED: rules.TROUBLE, rules.TROUBLE: rules.WARNING}.get(
            kind, kind
        )
    )
    for kind in rules.KINDS
)
# For each rule, the importance of its kind; and the order in which rules are tried.
IMPORTANCE = [rules.KINDS.index(kind) for _, kind, _, _ in rules.RULES]
TRIED = [
    importance + NOTHING * bool(pattern)
    for importance, (_, _, _, pattern) in zip(IMPORTANCE, rules.RULES, strict=True)
]
# The first letters of the codes that linters give: `E1120`, `F821`, `W0611`, `SC2086`.
CODE_LETTERS = b"efwcrs"
STAR = ord("*")


# The words of all rules, with blanks around each; those of one rule on one line. To search this for the few
# words that a text has takes less time than to make a dictionary of all words.
TABLE = b" " + b" \n ".join([words for _, _, words, _ in rules.RULES]) + b" "
WORDS = frozenset(TABLE.split())


def rules_with(word: bytes) -> tuple[int, ...]:
    """Return the rules that have a word in the table."""
    found = []
    padded = b" %s " % word
    place = TABLE.find(padded)
    while place >= 0:
        found.append(TABLE.count(b"\n", 0, place))
        place = TABLE.find(padded, place + 1)
    return tuple(found)


ENDINGS = {word[1:]: rules_with(word) for word in WORDS if word[0] == STAR and word != b"***"}
# The patterns of rules, when they were needed.
PATTERNS: dict[int, re.Pattern[bytes]] = {}


def pattern_of(number: int) -> re.Pattern[bytes]:
    """Return the pattern of a rule."""
    pattern = PATTERNS.get(number)
    if pattern is None:
        _, _, _, source = rules.RULES[number]
        pattern = PATTERNS[number] = compiled(source)
    return pattern


def telling_words(words: Collection[bytes]) -> dict[bytes, tuple[int, ...]]:
    """Return the words that call for rules, with the numbers of these rules."""
    found = {word: rules_with(word) for word in WORDS.intersection(words)}
    joined = b" ".join(words) + b" "
    for ending, more in ENDINGS.items():
        # Most texts have no such word; then no word is looked at.
        if joined.find(ending + b" ") >= 0:
            for word in words:
                if word.endswith(ending) and len(word) > len(ending):
                    found[word] = (*found.get(word, ()), *more)
    codes = [word for word in words if word[0] in CODE_LETTERS and word[-1] in DIGITS and is_code(word)]
    return found | dict.fromkeys(codes, rules_with(b"{code}"))


def is_code(word: bytes) -> bool:
    """Return whether a word is the code of a linter: a letter or `sc`, and three or four digits."""
    digits = word[2:] if word.startswith(b"sc") else word[1:]
    return 3 <= len(digits) <= 4 and digits.isdigit()


def those_in(words: Collection[bytes], listed: frozenset[bytes]) -> frozenset[bytes]:
    """Return the listed words that are among `words`, which may be many."""
    return frozenset([word for word in listed if word in words])


class Judge:
    """Judges the lines of a text that has these words."""

    def __init__(self, words: Collection[bytes]) -> None:
        self.telling = telling_words(words)
        # The words that are looked for in each line, if the text has them at all.
        self._passed = those_in(words, false_friends.PASSED_WORDS)
        self._absent = those_in(words, false_friends.ABSENT_WORDS)
        self._calm = those_in(words, false_friends.CALM_WORDS)
        self._source = those_in(words, false_friends.SOURCE_WORDS)
        self._has_searches = b"enoent" in words

    def kind_of(self, line: bytes, words: Sequence[bytes]) -> str:
        """Return the kind of a line; empty if no rule matches."""
        line = line[:LINE_BYTES]
        if self._passed and not self._passed.isdisjoint(words) and false_friends.PASSED_IN.search(line):
            return ""
        best = self._importance_of(line, words)
        if best >= WEAK:
            prefix = false_friends.prefix_bytes(line)
            if prefix:
                line = line[prefix:]
                best = min(best, self._importance_of(line, words))
        if best == NOTHING:
            return ""
        has_source_word = bool(self._source) and not self._source.isdisjoint(words)
        if false_friends.is_source_code(line, has_source_word) or false_friends.has_passed(line):
            return ""
        if (
            (self._absent and not self._absent.isdisjoint(words) and false_friends.may_be_absent(words))
            or line.find(b"[]") >= 0
            or line.find(b"{}") >= 0
            or line.find(b'""') >= 0
            or line.find(b"''") >= 0
        ):
            left = false_friends.ABSENT.sub(b" ", line)
            if len(left) < len(line):
                low = left.lower()
                line, words = left, [word for word in words if low.find(word) >= 0]
                best = self._importance_of(line, words)
                if best == NOTHING:
                    return ""
        if self._calm and not self._calm.isdisjoint(words) and false_friends.CALM.match(line):
            best = CALMER[best]
        if self._has_searches and b"enoent" in words and false_friends.SEARCHES.match(line):
            return rules.WARNING
        kind = rules.KINDS[best]
        if (
            kind not in (rules.WARNING, rules.SUMMARY)
            and line.lower().find(b"warn") >= 0
            and false_friends.WARNS.match(line)
        ):
            return rules.WARNING
        return kind

    def _importance_of(self, line: bytes, words: Sequence[bytes]) -> int:
        """Return the number of the most important kind whose rules match."""
        telling = self.telling
        numbers: set[int] = set()
        for word in words:
            if word in telling:
                numbers.update(telling[word])
        best = NOTHING
        # Rules without a pattern are tried first, then the most important ones: fewer patterns are searched.
        for number in numbers if len(numbers) == 1 else sorted(numbers, key=TRIED.__getitem__):
            importance = IMPORTANCE[number]
            if importance < best:
                if TRIED[number] == importance:
                    # It has no pattern.
                    best = importance
                elif pattern_of(number).search(line):
                    return importance
        return best
