"""The structure of a text: headings, sections, files and definitions in a diff or a listing of source."""

from __future__ import annotations

from tokcap.lean.patterns import later
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

MULTILINE = 8
IS_DIFF = later(rb"^(?:diff --git |@@ -\d)", MULTILINE)
# The search for these takes a tenth of the time.
IN_DIFFS = (b"diff --git ", b"@@ -")

# Beginnings of lines that start a part.
BEGINNINGS = (
    *(
        b"diff --git ",
        b"commit ",
        b"Index: ",
        b"TASK [",
        b"PLAY ",
        b"RUNNING HANDLER",
        b"Changes ",
        b"Stage ",
    ),
    *(b"==> ", b"===", b"--- ", b"***", b"  # ", b"Step ", b"> Task ", b"::group::"),
)
TITLE = later(
    rb"(?:={3,}|-{3,}|_{3,}|\*{3,}|~{3,}) ?\S.*\S ?(?:={3,}|-{3,}|_{3,}|\*{3,}|~{3,})$"
    rb"|[A-Z][A-Z0-9 _/&-]{3,40}$|\d+(?:\.\d+)*\.? [A-Z][^.]{2,60}$|\[\d+/\d+\] \S|<h\d"
    rb"|\[[\w .:-]+\]$"
)
# Only lines that begin so can be such a title.
TITLE_BYTES = b"=-_*~[<0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
# A title that ends with a colon.
LABEL = later(rb"[\w./@+ -]{1,100}:$")
COLON = ord(":")
INDENTS = (b" ", b"\t")
# The strength of `#`, `##`, `###`, ….
LEVELS = (1.0, 0.95, 0.7, 0.5)
# The first level of a tree: a branch at the beginning of a line.
TREE_BRANCHES = ("├".encode(), "└".encode())
RULE_BYTES = b'=~^"*+#-'
RULE_LINE = later(rb"[=~^\"*+#-]{3,}\s*$")
# Definitions in source, after a marker of a diff or the columns of a listing.
DEFINITION = later(
    rb"(?:.{0,90}?\d[):] |[-+ ])?\s{0,8}"
    rb"(?:export |public |private |protected |static |pub |async |abstract |final |default )*"
    rb"(?:class|def|fn|func|function|interface|struct|impl|trait|enum|module|namespace|CREATE TABLE)\s+[\w$]"
)
DEFINING = frozenset(
    b"class def fn func function interface struct impl trait enum module namespace create".split()
)

# The first bytes of the lines of a diff.
DIFF_BYTES = b"+- @"
DIFF_MARKS = (b"+", b"-", b" ", b"@")
# What a line looks like.
PLAIN, BLANK, RULE, BEGINS, BRANCHES, TITLED, HUNK, DEFINES, OTHER = range(9)

READY = (IS_DIFF, TITLE, LABEL, RULE_LINE, DEFINITION)


def is_diff(data: bytes) -> bool:
    """Return whether a part of the text is a diff."""
    return any(mark in data for mark in IN_DIFFS) and IS_DIFF.search(data) is not None


def headings(
    lines: Sequence[bytes],
    masks: Sequence[bytes],
    words: Sequence[Sequence[bytes]],
    word_counts: Mapping[bytes, int],
    *,
    is_diff: bool,
) -> Iterator[tuple[int, str, float]]:
    """Yield the lines that start a part: place, kind, and strength from 0 to 1.

    `masks` are the lines with equal digits.
    """
    defining = frozenset([word for word in DEFINING if word in word_counts])
    looks = looks_of(masks, words, defining, is_diff=is_diff)
    found = list(titles(lines, looks, words, defining, is_diff=is_diff))
    strong = [n for n, _, strength in found if strength >= 0.5] + [len(lines)]
    place = 0
    for n, kind, strength in found:
        # A long part matters more than a short one.
        while strong[place] <= n and place < len(strong) - 1:
            place += 1
        size = strong[place] - n
        yield n, kind, strength * (0.7 + 0.3 * min(size.bit_length(), 8) / 8)


def titles(
    lines: Sequence[bytes],
    looks: Sequence[int],
    words: Sequence[Sequence[bytes]],
    defining: frozenset[bytes],
    *,
    is_diff: bool,
) -> Iterator[tuple[int, str, float]]:
    """Yield the lines that look like a title. `defining`: the words of `DEFINING` that the text has."""
    after_blank = True
    last = len(lines) - 1
    looks = [*looks, PLAIN]
    for n, look in enumerate(looks[:-1]):
        if look == PLAIN and not after_blank and looks[n + 1] != RULE:
            # Most lines of a log.
            continue
        if look == BLANK:
            after_blank = True
            continue
        if look == RULE and not (is_diff and lines[n][:1] in DIFF_MARKS):
            continue
        was_after_blank, after_blank = after_blank, False
        line = lines[n]
        if is_diff and line[:1] in DIFF_MARKS:
            if look == HUNK:
                yield n, "hunk", 0.4
            elif look == DEFINES:
                yield n, "definition", 1.0 if line[1:7] == b"class " else 0.6 if line[1:2] != b" " else 0.4
            continue
        following = lines[n + 1] if n < last else b""
        strength = 0.0
        if looks[n + 1] == RULE and 2 < len(line) < 100:
            size = len(line.strip())
            is_short = was_after_blank and (n + 2 > last or not lines[n + 2].strip())
            if size <= len(following.strip()) <= size + 3 or (is_short and len(following) < size):
                strength = 1.0
        elif line[0] == 35:
            # Comments are no headings.
            alone = following[:1] != b"#" and (not n or lines[n - 1][:1] != b"#")
            level = len(line) - len(line.lstrip(b"#"))
            strength = LEVELS[min(level, len(LEVELS)) - 1] if alone and was_after_blank else 0.0
        elif look == BEGINS:
            strength = 0.9
        elif look == BRANCHES:
            strength = 0.5
        elif look == TITLED:
            strength = 0.8 if was_after_blank else 0.5
        elif was_after_blank and line[0] != 32 and len(line) < 100 and following[:1] in INDENTS:
            strength = 0.75
        elif was_after_blank and len(line) < 80:
            strength = 0.4 if line[0] != 32 else 0.2
        if strength:
            yield n, "heading", strength
        elif defining and not defining.isdisjoint(words[n]) and DEFINITION.match(line):
            yield n, "definition", 0.8


def looks_of(
    masks: Sequence[bytes], words: Sequence[Sequence[bytes]], defining: frozenset[bytes], *, is_diff: bool
) -> list[int]:
    """Return what each line looks like by itself. Lines that differ only in digits look the same."""
    looks = dict(zip(reversed(masks), range(len(masks) - 1, -1, -1), strict=True))
    for mask, n in looks.items():
        looks[mask] = look_of(mask, words[n], defining, is_diff=is_diff)
    return [looks[mask] for mask in masks]


def look_of(line: bytes, words: Sequence[bytes], defining: frozenset[bytes], *, is_diff: bool) -> int:
    """Return what a line looks like."""
    if not line or line.isspace():
        return BLANK
    first = line[0]
    if first in RULE_BYTES and RULE_LINE.match(line):
        return RULE
    if is_diff and first in DIFF_BYTES:
        if line.startswith(b"@@"):
            return HUNK
        return DEFINES if first != 32 and DEFINITION.match(line) else OTHER
    if first == 35:
        return OTHER
    if line.startswith(BEGINNINGS):
        return BEGINS
    if line.startswith(TREE_BRANCHES):
        return BRANCHES
    if first != 32 and (
        (first in TITLE_BYTES and TITLE.match(line)) or (line[-1] == COLON and LABEL.match(line))
    ):
        return TITLED
    return OTHER if defining and not defining.isdisjoint(words) else PLAIN
