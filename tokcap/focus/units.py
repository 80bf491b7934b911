"""Units: a line that may matter and the lines around it that belong to it, before and after it has a value.

Drafts are made while a text is read. The ranking makes units of them, and a survey returns its findings.
"""

from __future__ import annotations

from bisect import bisect_right

from tokcap.focus.judge import prefix_bytes
from tokcap.focus.rules import CRASH, ERROR, FAILED, TROUBLE, WARNING
from tokcap.startup.patterns import later
from tokcap.startup.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from tokcap.core.cut import Found

# Which drafts are kept if there are too many.
PROMISE = {
    "interest": 100.0,
    "answer": 30.0,
    "crash": 10.0,
    "summary": 9.0,
    "error": 8.0,
    "failed": 8.0,
    "place": 5.0,
    "section": 5.0,
    "trouble": 4.0,
    "outlier": 3.0,
    "warning": 2.0,
    "sample": 0.5,
}

# Lines after and before a failure that can explain it, and how long a trace can be.
AFTER_LINES, BEFORE_LINES, TRACE_LINES = 14, 4, 60
# This many lines after a failure belong to it even without indentation, unless many lines are like them.
LOOSE_LINES = 2
# A heading at most this many lines above a failure says where that failed.
SECTION_LINES = 80
# A frame in a file of the user, and one in a library.
OWN_STRENGTH, FOREIGN_STRENGTH = 0.7, 0.2

STRONG = frozenset((CRASH, ERROR, FAILED))
WEAK = frozenset((TROUBLE, WARNING))

# A place in a file: `File "a.py", line 3`, `(a.js:3:5)`, `--> a.rs:3:5`, `a.c:3`.
PLACE = later(rb"\.(?<=[\w)]\.)\w{1,6}(?:[:(]\d+|\", line \d+)")
POINTER = b"--> "
# Parts of paths of libraries and systems.
FOREIGN = (
    *(b"site-packages", b"dist-packages", b"node_modules", b"node:internal", b"(internal/", b"/usr/lib"),
    *(b"/rustc/", b"java.base/", b"org.junit", b"jdk.internal", b"sun.reflect", b"/vendor/", b"<frozen"),
    *(b".cargo/registry", b"/lib/python", b"/usr/local/go/", b"/gems/", b"libc.so", b"vg_replace"),
    *(b"libsanitizer/", b"sysdeps/", b"std::rt", b"core::ops", b"_pytest/"),
)
TRACE_BEGINNINGS = (b"Traceback", b"goroutine")
# First bytes of lines that continue a message although they are not indented.
CONTINUES = (b"|", b"^", b"-", b"=", b"E", b">", b"~", b"+", b"n")


class Draft:
    """A line, its kind and group, before it is known how rare it is; for a failure, the lines around it."""

    __slots__ = (
        *("about_end", "about_first", "explains", "group", "is_novel", "is_side", "kind", "line", "repeat"),
        "strength",
    )

    def __init__(self, line: int, kind: str, group: int, strength: float = 1.0, explains: int = -1) -> None:
        self.line = self.about_first = line
        self.about_end = line + 1
        self.kind = kind
        self.group = group
        self.strength = strength
        # The line that this one explains; -1 if it stands for itself.
        self.explains = explains
        # Equal for lines with the same message.
        self.repeat = 0
        # Whether it differs from its group by a word of its own.
        self.is_novel = False
        # Whether it is about a file that is rarely what somebody works on.
        self.is_side = False

    @property
    def promise(self) -> float:
        return PROMISE.get(self.kind, 1.0) * self.strength


class Unit(Record):
    """Lines that are worth showing together. Lines count from 0."""

    first_line: int
    end_line: int
    kind: str
    value: float
    # Lines that say the same in other words, numbers or names have the same group.
    group: int = 0
    # Lines that differ only in numbers and hashes have the same number here.
    repeat: int = 0
    # Related lines around the unit: the frames of a trace, the quoted source, the rest of a message.
    about_first: int = 0
    about_end: int = 0
    # The first line of the unit that this one explains; -1 if it stands for itself.
    explains: int = -1


class Findings(Record):
    """The result of a survey."""

    total_lines: int
    # In order of the text.
    units: tuple[Unit, ...]
    # Lines that report a failure, the most important first.
    found: tuple[Found, ...]
    # Whether the command failed; None if that is not known.
    failed: bool | None
    # Ranges of lines that differ only in numbers and hashes, in order.
    repeats: tuple[tuple[int, int], ...]
    # Some lines and the bytes where they begin, in order.
    begins: Mapping[int, int]
    # From 0 for prose, where every line is of its own kind, to 1 for logs.
    sameness: float

    def are_similar(self, first: int, end: int) -> bool:
        """Return whether these lines differ from the line before them only in numbers and hashes."""
        place = bisect_right(self.repeats, (first - 1, self.total_lines)) - 1
        return place >= 0 and self.repeats[place][0] < first and end <= self.repeats[place][1]


def explain(draft: Draft, plain: Sequence[bytes], n: int, common: Sequence[bool]) -> Iterator[Draft]:
    """Set the lines around a failure that belong to it, and yield the places in files among them.

    The failure is line `n` of a block; `common` says which lines of the block have many others like them.
    """
    failure, number = plain[n], draft.line - n
    skipped = prefix_bytes(failure)
    indent = len(failure) - len(failure[skipped:].lstrip())
    end, last = n + 1, min(len(plain), n + 1 + AFTER_LINES)
    while end < last:
        line = plain[end]
        text = line[skipped:].lstrip()
        if not text:
            break
        continues = len(line) - len(text) > indent or text.startswith(CONTINUES)
        if not continues and (end - n > LOOSE_LINES or common[end]):
            break
        end += 1
    first = n
    while first > 0 and n - first < BEFORE_LINES and plain[first - 1].strip():
        first -= 1
    draft.about_first, draft.about_end = number + first, number + end
    stop = end
    while stop < last and indent > skipped and starts_at(indent, plain[stop]):
        stop += 1
    yield from places(range(n + 1, stop), plain, draft, number)
    if draft.kind == CRASH:
        # The frames of a traceback stand before the exception.
        begin = n
        while begin > max(n - TRACE_LINES, 0) and plain[begin - 1].strip():
            begin -= 1
            if plain[begin].startswith(TRACE_BEGINNINGS):
                break
        yield from places(range(n - 1, begin - 1, -1), plain, draft, number)


def starts_at(indent: int, line: bytes) -> bool:
    """Return whether the text of a line starts in this column or later."""
    return len(line) - len(line.lstrip()) >= indent and not line.isspace()


def places(numbers: Iterable[int], plain: Sequence[bytes], draft: Draft, number: int) -> Iterator[Draft]:
    """Yield the lines that name a place in a file; the first one of the user is worth most."""
    own = 0
    for n in numbers:
        line = plain[n]
        if PLACE.search(line) or line.lstrip().startswith(POINTER):
            if any(line.find(name) >= 0 for name in FOREIGN):
                strength = FOREIGN_STRENGTH
            else:
                own += 1
                strength = OWN_STRENGTH / own
            yield Draft(number + n, "place", 0, strength, draft.line)


def headings_above(drafts: Sequence[Draft], titles: Sequence[int]) -> Iterator[Draft]:
    """Yield the heading above each failure. `titles` are the numbers of headings, in order."""
    for draft in drafts:
        place = bisect_right(titles, draft.line) - 1
        if place >= 0 and titles[place] != draft.line and draft.line - titles[place] < SECTION_LINES:
            yield Draft(titles[place], "section", 0, 1.0, draft.line)


def subordinate(failures: Sequence[Draft]) -> None:
    """Make weak failures in the message of a strong one a detail of it."""
    owner: Draft | None = None
    for draft in failures:
        if draft.kind in STRONG:
            owner = draft
        elif draft.kind in WEAK and owner is not None and draft.line < owner.about_end:
            draft.kind, draft.explains = "detail", owner.line
