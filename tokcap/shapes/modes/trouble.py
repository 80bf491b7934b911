"""Which lines look like trouble, and how much: a line in, a rank out. Knows no tool by heart."""

from __future__ import annotations

import re

from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

# Ranks: what ended the run, what went wrong on the way, what may go wrong one day.
NONE, WARNING, ERROR, FATAL = range(4)

# A line without any of these is not looked at any closer. In lower case, and searched one by one: that is
# three times as fast as one pattern for all.
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

# Said to be absent: "0 errors", "no warnings", "failed: 0", "error=null", "error-free".
TROUBLE = r"(?:errors?|err|fail(?:ed|ures?|s)?|exceptions?|warnings?|problems?|conflicts?|crashe?s?)"
ABSENT = re.compile(
    rf"\b(?<![.,\d])(?:0|no|zero|without|never|not)\s+(?:\w+\s+)?{TROUBLE}\b"
    rf"|\b{TROUBLE}(?:\s+count)?[\"']?\s*[:=]\s*(?:\"\"|''|[\"']?0(?![.\d])|null\b|nil\b|none\b|false\b|\[\]|\{{\}})"
    rf"|\b{TROUBLE}[- ]free\b|\berrors?[- ](?:handl\w+|messages?|pages?|boundar\w+|types?)\b",
    re.IGNORECASE,
)

# The exception that a traceback ends with, be it `ValueError: …` or `java.io.IOException: …`.
RAISED = re.compile(r"(?:^|\s)(?:[\w$]+(?:\.|::))*[A-Z][\w$]*(?:Error|Exception|Interrupt)(?=:|\s*$)")

# Files and names that only speak of trouble: `src/errors.py`, `errors.New`, `http-errors@2.0`.
NAMES = re.compile(r"[\w@+-]*(?:[./\\@]|::)[\w./\\@+:-]*\w")

# Words that stand alone: not a part of `error_handler` or `on-error`.
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
# A status where one is expected: behind `HTTP/1.1`, `status`, or the request line of an access log.
REFUSED = re.compile(
    r"(?i:\bhttp(?:/[\d.]+)?\"?|\bstatus(?:[ _]?code)?)[\"':= ]{1,3}[45]\d\d\b|\" [45]\d\d (?=[\d-])"
)
WARNINGS = re.compile(r"(?<![\w-])(?:warn(?:ings?)?|deprecat(?:ed|ion))(?![\w-])|\w*Warning:", re.IGNORECASE)

# A warning that tells what has failed is a warning still.
WARNS = re.compile(r"(?:\S*[\s:\[(]){0,4}[\[(]?(?:npm )?warn(?:ing)?\b", re.IGNORECASE)


def suspects(block: bytes, most: int) -> Sequence[int]:
    """Where lines begin that are worth ranking: of each kind no more than `most`."""
    # A line end in front, for what is looked for at the beginning of a line.
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
    """How much a line looks like trouble."""
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
