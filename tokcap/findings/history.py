"""Histories: lists of commits, as `git log` writes them. Loaded only if a text may begin with one."""

from __future__ import annotations

from tokcap.lean.patterns import later
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# The heading of a commit, or its only line. Entries of a log can begin with a hexadecimal number too.
COMMIT_LINE = later(
    rb"(?:[*|\\/ ]{1,12} )?(commit [0-9a-f]{40}\b|[0-9a-f]{7,12}(?= (?![0-9a-f]{4} |\d+ |\[|\((?!HEAD|tag: )"
    rb"|ERROR|WARN|INFO|DEBUG|TRACE|FATAL)\S))"
)
LEAST_COMMITS = 3
# What is drawn before the lines of a commit, and what stands in its heading.
GRAPH, HEADER = b"*|\\/ ", (b"Merge: ", b"Author: ", b"AuthorDate: ", b"Date: ", b"Commit: ", b"CommitDate: ")
# Beginnings of all other lines of a history.
IN_HISTORY = (
    *(b" ", b"|", b"*", b"\\", b"+", b"-", b"@@ ", *HEADER),
    *(
        b"diff --git ",
        b"index ",
        b"new ",
        b"old ",
        b"deleted ",
        b"similarity ",
        b"rename ",
        b"copy ",
        b"Binary ",
    ),
)
# The message begins at most so many lines below the heading. The newest commits matter most: after so many,
# one is worth half. A message and that of its merge have the same words.
HEADER_LINES, HALF_COMMITS, OWN_TIMES = 8, 40, 2

READY = (COMMIT_LINE,)


def history_lines(lines: Sequence[bytes], *, goes_on: bool) -> int:
    """Return how many lines at the beginning are a list of commits. One commit alone is not a list.

    `goes_on` says that lines before these are one.
    """
    if not goes_on and not COMMIT_LINE.match(lines[0]):
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


def commits(
    lines: Sequence[bytes], words: Sequence[Sequence[bytes]], word_counts: dict[bytes, int], order: int
) -> Iterator[tuple[int, int, float]]:
    """Yield the commits of a history: heading, first line of the message, strength.

    `order` commits precede these lines. A message in words that others do not have tells most.
    """
    for n, line in enumerate(lines):
        if COMMIT_LINE.match(line):
            subject = n
            if line.lstrip(GRAPH).startswith(b"commit "):
                for below in range(n + 1, min(n + HEADER_LINES, len(lines))):
                    text = lines[below].lstrip(GRAPH)
                    if text and not text.startswith(HEADER):
                        subject = below
                        break
            said = words[subject]
            own = sum([word_counts[word] <= OWN_TIMES for word in said]) / (len(said) or 1)
            yield n, subject, (0.5 + own) / (1 + order / HALF_COMMITS)
            order += 1
