"""Rank lines by whether they look like fatal errors, errors or warnings."""

from __future__ import annotations

import re

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

# Phrases that say that there are none: "0 errors", "no warnings", "failed: 0", "error=null", "error-free".
ERROR_WORD = r"(?:errors?|err|fail(?:ed|ures?|s)?|exceptions?|warnings?|problems?|conflicts?|crashe?s?)"
ABSENT = re.compile(
    rf"\b(?<![.,\d])(?:0|no|zero|without|never|not)\s+(?:\w+\s+)?{ERROR_WORD}\b"
    rf"|\b{ERROR_WORD}(?:\s+count)?[\"']?\s*[:=]\s*(?:\"\"|''|[\"']?0(?![.\d])|null\b|nil\b|none\b|false\b|\[\]|\{{\}})"
    rf"|\b{ERROR_WORD}[- ]free\b|\berrors?[- ](?:handl\w+|messages?|pages?|boundar\w+|types?)\b",
    re.IGNORECASE,
)

# The exception at the end of a traceback: `ValueError: …`, `java.io.IOException: …`.
RAISED = re.compile(r"(?:^|\s)(?:[\w$]+(?:\.|::))*[A-Z][\w$]*(?:Error|Exception|Interrupt)(?=:|\s*$)")

# Names that only contain such a word: `src/errors.py`, `errors.New`, `http-errors@2.0`.
NAMES = re.compile(r"[\w@+-]*(?:[./\\@]|::)[\w./\\@+:-]*\w")

# A whole word, not a part of `error_handler` or `on-error`.
ALONE = r"(?<![\w-])(?:{})(?![\w-])"

FATALS = re.compile(
    r"^E   +\S|^error(?:\[\w+\])?:|npm ERR!|npm error|^\s*--- FAIL|^\s*(?:FAILED|FAIL|ERROR) \S|^\*\*\* \["
    r"|: (?:fatal )?error(?:\[?\w*\]?)?:|: error [A-Z]+\d+|\bTraceback \(most recent|Segmentation fault"
    r"|core dumped|^make.*\*\*\*|\bCrashLoopBackOff\b|\bOOMKilled\b|^CONFLICT "
    r"|(?<![\w.])[1-9]\d*(?:,\d{3})* (?:tests? )?(?:failed|failing|failures?|errors?)\b"
    r"|\b(?:[Ff]ail(?:ed|ures?)|[Ee]rrors)[:=] *[1-9]"
    r"|(?i:"
    + ALONE.format("panic(?:ked)?|fatal|critical|uncaught|unhandled|build failed|out of memory")
    + ")"
    r"|(?i:\bexit(?:ed)?(?: with)?(?: (?:code|status))?:? [1-9]\d*\b)"
)
ERRORS = re.compile(
    ALONE.format(
        r"errors?|err|e(?=!)|fail(?:ed|ure|ures|ing|s)?|exceptions?|assertion|abort(?:ed|ing)?|denied|refused"
        r"|not found|cannot|could not|unable to|timed out|undefined (?:reference|symbol|variable|name)"
        r"|rejected|killed|crash(?:ed|es)?|no such (?:file|host|option|command|module)"
        r"|(?:[A-Z]\w*)?(?:imagepull)?backoff|conflicts?"
    )
    + r"|>\s+assert\b",
    re.IGNORECASE,
)
# A status code after `HTTP/1.1`, `status`, or the request line of an access log.
REFUSED = re.compile(
    r"(?i:\bhttp(?:/[\d.]+)?\"?|\bstatus(?:[ _]?code)?)[\"':= ]{1,3}[45]\d\d\b|\" [45]\d\d (?=[\d-])"
)
WARNINGS = re.compile(r"(?<![\w-])(?:warn(?:ings?)?|deprecat(?:ed|ion))(?![\w-])|\w*Warning:", re.IGNORECASE)

# A warning about a failure is still a warning.
WARNS = re.compile(r"(?:\S*[\s:\[(]){0,4}[\[(]?(?:npm )?warn(?:ing)?\b", re.IGNORECASE)


# Statements that name an error. A marker of a diff, or a position that `grep` writes, may precede them.
SOURCE_CODE = re.compile(
    r"(?:[\w./-]*:?\d+[:-]|[-+])?\s*(?:\}\s*)?(?:"
    r"except\b[^:]*:\s*(?:#|$)|raise\s+[A-Z][\w.]*(?:\(|\s*$|\s+from\b)|throw\s+(?:new\s+)?[A-Z]\w*|catch\s*[({]"
    r"|class\s+\w+(?:\s*[({:]|\s+(?:extends|implements)\b)|from\s+[\w.]+\s+import\s"
    r"|(?:def|fn|func|function)\s+\w+\s*\()"
)

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
    if SOURCE_CODE.match(line):
        return NONE
    if RAISED.search(line):
        return FATAL
    text = ABSENT.sub(" ", line)
    if WARNS.match(text):
        return WARNING
    if FATALS.search(text):
        return FATAL
    words = NAMES.sub(" ", text)
    if ERRORS.search(words) or REFUSED.search(text):
        return ERROR
    return WARNING if WARNINGS.search(words) else NONE
