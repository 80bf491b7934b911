"""Rank lines by whether they look like fatal errors, errors or warnings, by what `findings` knows."""

from __future__ import annotations

import re

from tokcap.findings import rules
from tokcap.findings.false_friends import ABSENT
from tokcap.findings.judge import Judge
from tokcap.findings.words import words_of
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

# Ranks. FATAL: it ended the run. ERROR: something went wrong. WARNING: something may go wrong later.
NONE, WARNING, ERROR, FATAL = range(4)

# Only lines with one of these are ranked. Searching for them one by one, in lower case, is three times as
# fast as one pattern for all.
STEMS = (
    *(
        b"err",
        b"fail",
        b"exception",
        b"traceback",
        b"panic",
        b"fatal",
        b"warn",
        b"assert",
        b"abort",
        b"denied",
    ),
    *(b"refused", b"not found", b"cannot", b"could not", b"unable to", b"timed out", b"fault", b"undefined "),
    *(b"conflict", b"rejected", b"killed", b"crash", b"out of mem", b"no such", b"deprecat", b"critical"),
    *(
        b"interrupt",
        b"uncaught",
        b"unhandled",
        b"backoff",
        b"http",
        b"status",
        b'" 4',
        b'" 5',
        b"exit ",
        b"\ne  ",
    ),
    b"***",
)

# Entries of a log and refused requests: a run can go on after them.
LOGGED = re.compile(
    rb"level[\"']?[=:]|[\"'](?:severity|lvl)[\"']:|\[\w+\] |\d\d ERROR\b|HTTP/\d|\bstatus\b", re.IGNORECASE
)
# Results that report a failure.
FAILED_RESULT = re.compile(
    rb"fail|error|stopped|abort|\*\*\*|exit|non-zero|problem|broken|crash", re.IGNORECASE
)
RANKS = {rules.CRASH: FATAL, rules.FAILED: FATAL, rules.TROUBLE: ERROR, rules.WARNING: WARNING}

# A diff, and the beginnings of the lines in it that are text of the files.
DIFF = re.compile(rb"^(?:diff --git |@@ -\d)", re.MULTILINE)
DIFF_MARKERS = (b"+", b"-", b" ", b"@@ ")


def suspects(block: bytes, most: int) -> Sequence[int]:
    """Return where lines begin that are worth ranking; for each stem at most `most`."""
    # A line end in front, for stems that begin with one.
    lower = b"\n" + block.lower()
    found = set()
    for stem in STEMS:
        place = lower.find(stem)
        for _ in range(most):
            if place < 0:
                break
            inside = place + len(stem) - 1
            found.add(lower.rfind(b"\n", 0, inside))
            end = lower.find(b"\n", inside)
            place = lower.find(stem, end) if end >= 0 else -1
    return sorted(found)


def rank(line: str) -> int:
    """Return the rank of a line."""
    data = line.encode("utf-8", "replace")
    words = words_of(data).split()
    kind = Judge(words).kind_of(data, words)
    if kind == rules.SUMMARY:
        text = ABSENT.sub(b" ", data)
        return FATAL if FAILED_RESULT.search(text) else WARNING if b"warning" in text.lower() else NONE
    if kind == rules.ERROR:
        return ERROR if LOGGED.search(data) else FATAL
    if not kind and rules.MARKED_LINES.match(data):
        return FATAL
    return RANKS.get(kind, NONE)
