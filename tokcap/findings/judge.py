"""Judge lines by the rules: which kind of failure or result a line is."""

from __future__ import annotations

from tokcap.findings import false_friends, rules
from tokcap.lean.patterns import later
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

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
# Each rule: the importance of its kind, and its pattern.
IMPORTANCE = {kind: number for number, kind in enumerate(rules.KINDS)}
ROWS = [(IMPORTANCE[rule.kind], later(rule.pattern) if rule.pattern else None) for rule in rules.RULES]
# The order in which rules are tried.
TRIED = [importance + NOTHING * (pattern is not None) for importance, pattern in ROWS]
# The first letters of the codes that linters give: `E1120`, `F821`, `W0611`, `SC2086`.
CODE_LETTERS = b"efwcrs"
STAR = ord("*")


def rows_by_word() -> tuple[dict[bytes, tuple[int, ...]], dict[bytes, tuple[int, ...]]]:
    """Return the rules that each word and each ending of a word calls for."""
    words: dict[bytes, tuple[int, ...]] = {}
    endings: dict[bytes, tuple[int, ...]] = {}
    for number, rule in enumerate(rules.RULES):
        for word in rule.words.encode().split():
            if word in words:
                words[word] += (number,)
            elif word[0] != STAR or word == b"***":
                words[word] = (number,)
            else:
                endings[word[1:]] = (*endings.get(word[1:], ()), number)
    return words, endings


WORDS, ENDINGS = rows_by_word()
ALL_ENDINGS = tuple(ENDINGS)


def telling_words(words: Iterable[bytes]) -> dict[bytes, tuple[int, ...]]:
    """Return the words that call for rules, with the numbers of these rules."""
    found = {}
    candidates = [
        word
        for word in words
        if word in WORDS
        or word.endswith(ALL_ENDINGS)
        or (word[-1:].isdigit() and word[0] in CODE_LETTERS and is_code(word))
    ]
    for word in candidates:
        rows = WORDS.get(word, ())
        if word.endswith(ALL_ENDINGS):
            for ending, more in ENDINGS.items():
                if word.endswith(ending) and len(word) > len(ending):
                    rows = (*rows, *more)
        elif word[0] in CODE_LETTERS and is_code(word):
            rows = WORDS[b"{code}"]
        if rows:
            found[word] = rows
    return found


def is_code(word: bytes) -> bool:
    """Return whether a word is the code of a linter: a letter or `sc`, and three or four digits."""
    digits = word[2:] if word.startswith(b"sc") else word[1:]
    return 3 <= len(digits) <= 4 and digits.isdigit()


def judge(line: bytes, words: Sequence[bytes], telling: dict[bytes, tuple[int, ...]]) -> str:
    """Return the kind of a line; empty if no rule matches."""
    line = line[:LINE_BYTES]
    if not false_friends.PASSED_WORDS.isdisjoint(words) and false_friends.PASSED_IN.search(line):
        return ""
    best = importance_of(line, words, telling)
    if best >= WEAK:
        prefix = false_friends.prefix_bytes(line)
        if prefix:
            line = line[prefix:]
            best = min(best, importance_of(line, words, telling))
    if best == NOTHING or false_friends.is_source_code(line, words) or false_friends.PASSED.match(line):
        return ""
    if (
        not false_friends.ABSENT_WORDS.isdisjoint(words)
        or line.find(b"[]") >= 0
        or line.find(b"{}") >= 0
        or line.find(b'""') >= 0
        or line.find(b"''") >= 0
    ) and false_friends.MAY_BE_ABSENT.search(line.lower()):
        left = false_friends.ABSENT.sub(b" ", line)
        if len(left) < len(line):
            low = left.lower()
            line, words = left, [word for word in words if low.find(word) >= 0]
            best = importance_of(line, words, telling)
            if best == NOTHING:
                return ""
    if not false_friends.CALM_WORDS.isdisjoint(words) and false_friends.CALM.match(line):
        best = CALMER[best]
    if b"enoent" in words and false_friends.SEARCHES.match(line):
        return rules.WARNING
    kind = rules.KINDS[best]
    if (
        kind not in (rules.WARNING, rules.SUMMARY)
        and line.lower().find(b"warn") >= 0
        and false_friends.WARNS.match(line)
    ):
        return rules.WARNING
    return kind


def importance_of(line: bytes, words: Sequence[bytes], telling: dict[bytes, tuple[int, ...]]) -> int:
    """Return the number of the most important kind whose rules match."""
    best = NOTHING
    numbers: set[int] = set()
    for word in words:
        if word in telling:
            numbers.update(telling[word])
    # Rules without a pattern are first in `TRIED`, then the most important ones: fewer patterns are searched.
    for number in numbers if len(numbers) == 1 else sorted(numbers, key=TRIED.__getitem__):
        importance, pattern = ROWS[number]
        if importance < best:
            if pattern is None:
                best = importance
            elif pattern.search(line):
                return importance
    return best
