"""The structure of a text: headings, definitions, the commits of a history, and rows that stand out.

All of them matter although no rule says so. Each function yields places in a block, kinds and strengths.
"""

from __future__ import annotations

# Importing `operator` would load one more file.
from operator import le

from tokcap.focus.templates import HEX_DIGITS
from tokcap.startup.patterns import later
from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tokcap.focus.templates import Block

    # Line of the block, kind, and strength from 0 to 1.
    Part = tuple[int, str, float]

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

# Of a diff, files of source come first.
NEW_FILE, SIDE_SHARE = b"diff --git ", 0.3
SIDE_PATH = later(
    rb"(?i:[ /](?:tests?|docs?|examples?|vendor|third_party|requirements|\.github)/|[._/-]tests?\.|\btest_)"
)
SOURCE_PATH = later(
    rb"\.(?:[chs]|cc|cpp|cxx|hh|hpp|cs|d|dart|erl|exs?|f90|go|gradle|groovy|hs|java|jl|jsx?|kts?|lua|[mc]js|ml|mm?"
    rb"|nim|php|p[lmy]|pyx|r|rb|rs|scala|sh|sol|sql|swift|tf|[mc]?tsx?|vue|zig)$"
)

# The first bytes of the lines of a diff.
DIFF_MARKERS = (b"+", b"-", b" ", b"@")
BLANK_BYTE, HASH = b" #"
# What a line looks like.
PLAIN, BLANK, RULE, BEGINS, BRANCHES, TITLED, HUNK, DEFINES, OTHER = range(9)

# The heading of a commit, or its only line. Entries of a log can begin with a hexadecimal number too.
COMMIT_LINE = later(
    rb"(?:[*|\\/ ]{1,12} )?(commit [0-9a-f]{40}\b|[0-9a-f]{7,12}(?= (?![0-9a-f]{4} |\d+ |\[|\((?!HEAD|tag: )"
    rb"|ERROR|WARN|INFO|DEBUG|TRACE|FATAL)\S))"
)
# The shortest abbreviation of a hash.
HASH_BYTES = 7
LEAST_COMMITS = 3
# What is drawn before the lines of a commit, and what stands in its heading.
GRAPH, HEADER = b"*|\\/ ", (b"Merge: ", b"Author: ", b"AuthorDate: ", b"Date: ", b"Commit: ", b"CommitDate: ")
# Beginnings of all other lines of a history.
IN_HISTORY = (
    *(b" ", b"|", b"*", b"\\", b"+", b"-", b"@@ ", b"diff --git ", b"index ", b"new ", b"old ", b"deleted "),
    *(b"similarity ", b"rename ", b"copy ", b"Binary ", *HEADER),
)
# The message begins at most this many lines below the heading. The newest commits matter most: after this
# many, one is worth half. A message and that of its merge have the same words.
HEADER_LINES, HALF_COMMITS, OWN_TIMES = 8, 40, 2

MOST_COLUMNS, LEAST_ROWS = 10, 12
# A largest value is an outlier if it is this many times the middle one.
FAR = 4.0
MOST_PER_COLUMN = 8
# How many lines show whether it is a table, how many of them must have the column, and one row in how many
# may lack a value.
SAMPLE_ROWS, LEAST_SAMPLE, RARE_ROWS = 40, 10, 50
# Words are in lower case.
SUFFIXES = {b"k": 1e3, b"m": 1e6, b"g": 1e9, b"t": 1e12}


def is_diff(data: bytes) -> bool:
    """Return whether a part of the text is a diff."""
    return any(mark in data for mark in IN_DIFFS) and IS_DIFF.search(data) is not None


def headings(block: Block, *, is_diff: bool) -> Iterator[Part]:
    """Yield the lines that start a part."""
    found = list(titles(block, is_diff=is_diff))
    if is_diff:
        found = list(sources_first(found, block.plain))
    strong = [n for n, _, strength in found if strength >= 0.5] + [len(block.plain)]
    place = 0
    for n, kind, strength in found:
        # A long part matters more than a short one.
        while strong[place] <= n and place < len(strong) - 1:
            place += 1
        size = strong[place] - n
        yield n, kind, strength * (0.7 + 0.3 * min(size.bit_length(), 8) / 8)


def sources_first(parts: Iterable[Part], lines: Sequence[bytes]) -> Iterator[Part]:
    """Yield the parts of a diff; those of tests, documents, settings and lock files are worth less."""
    share = 1.0
    for n, kind, strength in parts:
        if lines[n].startswith(NEW_FILE):
            share = SIDE_SHARE if SIDE_PATH.search(lines[n]) or not SOURCE_PATH.search(lines[n]) else 1.0
        yield n, kind, strength * share


def titles(block: Block, *, is_diff: bool) -> Iterator[Part]:
    """Yield the lines that look like a title."""
    lines = block.plain
    defining = frozenset([word for word in DEFINING if word in block.word_counts])
    after_blank = True
    last = len(lines) - 1
    looks = [*looks_of(block, defining, is_diff=is_diff), PLAIN]
    for n, look in enumerate(looks[:-1]):
        if look == PLAIN and not after_blank and looks[n + 1] != RULE:
            # Most lines of a log.
            continue
        if look == BLANK:
            after_blank = True
            continue
        if look == RULE and not (is_diff and lines[n][:1] in DIFF_MARKERS):
            continue
        was_after_blank, after_blank = after_blank, False
        line = lines[n]
        if is_diff and line[:1] in DIFF_MARKERS:
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
        elif line[0] == HASH:
            # Comments are not headings.
            alone = following[:1] != b"#" and (not n or lines[n - 1][:1] != b"#")
            level = len(line) - len(line.lstrip(b"#"))
            strength = LEVELS[min(level, len(LEVELS)) - 1] if alone and was_after_blank else 0.0
        elif look == BEGINS:
            strength = 0.9
        elif look == BRANCHES:
            strength = 0.5
        elif look == TITLED:
            strength = 0.8 if was_after_blank else 0.5
        elif was_after_blank and line[0] != BLANK_BYTE and len(line) < 100 and following[:1] in INDENTS:
            strength = 0.75
        elif was_after_blank and len(line) < 80:
            strength = 0.4 if line[0] != BLANK_BYTE else 0.2
        if strength:
            yield n, "heading", strength
        elif defining and not defining.isdisjoint(block.words[n]) and DEFINITION.match(line):
            yield n, "definition", 0.8


def looks_of(block: Block, defining: frozenset[bytes], *, is_diff: bool) -> list[int]:
    """Return what each line looks like by itself. Lines that differ only in digits look the same."""
    masks = block.masks
    looks = dict(zip(reversed(masks), range(len(masks) - 1, -1, -1), strict=True))
    for mask, n in looks.items():
        looks[mask] = look_of(mask, block.words[n], defining, is_diff=is_diff)
    return [looks[mask] for mask in masks]


def look_of(line: bytes, words: Sequence[bytes], defining: frozenset[bytes], *, is_diff: bool) -> int:
    """Return what a line looks like."""
    if not line or line.isspace():
        return BLANK
    first = line[0]
    if first in RULE_BYTES and RULE_LINE.match(line):
        return RULE
    if is_diff and line[:1] in DIFF_MARKERS:
        if line.startswith(b"@@"):
            return HUNK
        return DEFINES if first != BLANK_BYTE and DEFINITION.match(line) else OTHER
    if first == HASH:
        return OTHER
    if line.startswith(BEGINNINGS):
        return BEGINS
    if line.startswith(TREE_BRANCHES):
        return BRANCHES
    if first != BLANK_BYTE and (
        (first in TITLE_BYTES and TITLE.match(line)) or (line[-1] == COLON and LABEL.match(line))
    ):
        return TITLED
    return OTHER if defining and not defining.isdisjoint(words) else PLAIN


def may_be_commit(line: bytes) -> bool:
    """Return whether a line may be the heading of a commit: it begins with that word, or with a hash."""
    first = line.lstrip(b"* ")[:HASH_BYTES]
    return first == b"commit " or not first.translate(None, HEX_DIGITS)


def history_lines(lines: Sequence[bytes], *, goes_on: bool) -> int:
    """Return how many lines at the beginning are a list of commits. One commit alone is not a list.

    `goes_on` says that the lines before these are such a list.
    """
    if not goes_on and not (may_be_commit(lines[0]) and COMMIT_LINE.match(lines[0])):
        return 0
    end, found = 0, []
    for line in lines:
        match = COMMIT_LINE.match(line)
        if match:
            found.append(match[1])
        elif line and not line.startswith(IN_HISTORY):
            break
        end += 1
    # The numbers of processes in a log come again and again.
    is_list = len(found) >= LEAST_COMMITS and len(set(found)) == len(found)
    return end if goes_on or is_list else 0


def commits(block: Block, stop: int, order: int) -> Iterator[tuple[int, int, float]]:
    """Yield the commits of a history: heading, first line of the message, strength.

    The history ends at line `stop` of the block, and `order` commits precede these lines. A message in words
    that others do not have tells most.
    """
    lines = block.plain[:stop]
    for n, line in enumerate(lines):
        if COMMIT_LINE.match(line):
            subject = n
            if line.lstrip(GRAPH).startswith(b"commit "):
                for below in range(n + 1, min(n + HEADER_LINES, len(lines))):
                    text = lines[below].lstrip(GRAPH)
                    if text and not text.startswith(HEADER):
                        subject = below
                        break
            said = block.words[subject]
            own = sum([block.word_counts[word] <= OWN_TIMES for word in said]) / (len(said) or 1)
            yield n, subject, (0.5 + own) / (1 + order / HALF_COMMITS)
            order += 1


def outliers(words: Sequence[Sequence[bytes]]) -> Iterator[Part]:
    """Yield the lines with the largest numbers of a column: the largest file, the slowest import."""
    rows = len(words)
    if rows < LEAST_ROWS:
        return
    for column in range(MOST_COLUMNS):
        sample = [line[column] for line in words[1 :: max(rows // SAMPLE_ROWS, 1)] if len(line) > column]
        if len(sample) < LEAST_SAMPLE or sum(map(is_number, sample)) * 10 < len(sample) * 8:
            continue
        values = [
            (size_of(line[column]), n)
            for n, line in enumerate(words)
            if len(line) > column and is_number(line[column])
        ]
        if len(values) * 2 < rows or is_sorted([value for value, _ in values]):
            continue
        # The largest first; of equal ones, the first.
        ranked = sorted(values, key=lambda value: (-value[0], value[1]))
        middle, _ = ranked[len(ranked) // 2]
        for order, (value, n) in enumerate(ranked[:MOST_PER_COLUMN]):
            if value > FAR * max(middle, 0.1):
                yield n, "outlier", 1.0 / (1 + 0.35 * order)


def incomplete(lines: Sequence[bytes]) -> Iterator[Part]:
    """Yield the rows of a table in which a value is missing, if nearly all others have one."""
    rows = len(lines)
    separator = b"\t" if b"\t" in lines[0] else b","
    columns = lines[0].count(separator)
    if rows < LEAST_ROWS or not columns:
        return
    sample = lines[:: max(rows // SAMPLE_ROWS, 1)]
    if sum([line.count(separator) == columns for line in sample]) * 10 < len(sample) * 8:
        return
    found = [
        n
        for n, line in enumerate(lines)
        if (line.find(separator * 2) >= 0 or line[:1] == separator or line[-1:] == separator)
        and line.count(separator) == columns
    ]
    if len(found) * RARE_ROWS <= rows:
        for n in found[:MOST_PER_COLUMN]:
            yield n, "outlier", 1.0


def is_number(word: bytes) -> bool:
    """Return whether a word is a number, or a size: `84M`, `1.5k`."""
    # Most words begin with a letter.
    if word >= b":":
        return False
    digits = word[:-1] if word[-1:] in SUFFIXES else word
    return digits.replace(b".", b"", 1).isdigit()


def size_of(word: bytes) -> float:
    """Return the value of a number or of a size."""
    factor = SUFFIXES.get(word[-1:])
    return float(word[:-1]) * factor if factor else float(word)


def is_sorted(values: Sequence[float]) -> bool:
    """Return whether nearly all values are in order, as those of a counter or a clock."""
    rising: int = sum(map(le, values, values[1:]))
    return rising * 20 > len(values) * 19 or rising * 20 < len(values)
