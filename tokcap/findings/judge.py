"""Judge lines by the rules: which kind of failure or result a line is."""

from __future__ import annotations

from tokcap.findings import rules
from tokcap.lean.patterns import later
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# Only the beginning of a line is judged.
LINE_BYTES = 600

# Each rule: the importance of its kind, its number, its pattern.
ROWS = [
    (rules.KINDS.index(rule.kind), number, later(rule.pattern) if rule.pattern else None)
    for number, rule in enumerate(rules.RULES)
]


def rows_by_word() -> tuple[dict[bytes, list[int]], list[tuple[bytes, list[int]]], list[int]]:
    """Return the rules that each word and each ending of a word calls for, and those for every line."""
    words: dict[bytes, list[int]] = {}
    endings: dict[bytes, list[int]] = {}
    always = []
    for number, rule in enumerate(rules.RULES):
        for word in rule.words.encode().split():
            if word == b"*":
                always.append(number)
            elif word[:1] == b"*" and word != b"***":
                endings.setdefault(word[1:], []).append(number)
            else:
                words.setdefault(word, []).append(number)
    return words, list(endings.items()), always


WORDS, ENDINGS, ALWAYS = rows_by_word()
ALL_ENDINGS = tuple(ending for ending, _ in ENDINGS)


def telling_words(words: Iterable[bytes]) -> dict[bytes, list[int]]:
    """Return the words that call for rules, with the numbers of these rules."""
    found = {}
    for word in words:
        rows = WORDS.get(word, [])
        if word.endswith(ALL_ENDINGS):
            rows = rows + [row for ending, more in ENDINGS if word.endswith(ending) for row in more]
        if rows:
            found[word] = rows
    return found


def judge(line: bytes, words: Sequence[bytes], telling: dict[bytes, list[int]]) -> str:
    """Return the kind of a line; empty if no rule matches."""
    line = line[:LINE_BYTES]
    if rules.SOURCE_CODE.match(line) or rules.PASSED.match(line):
        return ""
    numbers = {number for word in words if word in telling for number in telling[word]}
    numbers.update(ALWAYS)
    if not rules.ABSENT_WORDS.isdisjoint(words):
        line = rules.ABSENT.sub(b" ", line)
        low = line.lower()
        numbers = {
            n
            for n in numbers
            if n in ALWAYS or any(word in low for word in words if n in telling.get(word, ()))
        }
    best = len(rules.KINDS)
    for number in sorted(numbers):
        importance, _, pattern = ROWS[number]
        if importance < best and (pattern is None or pattern.search(line)):
            best = importance
    if best == len(rules.KINDS):
        return ""
    kind = rules.KINDS[best]
    return rules.WARNING if kind != rules.SUMMARY and rules.WARNS.match(line) else kind
