"""Find the lines that explain a failure: the rest of its message, frames of a trace, the heading above it."""

from __future__ import annotations

# The engine of `bisect`, without its module.
from _bisect import bisect_right

from tokcap.findings import rules
from tokcap.findings.draft import Draft
from tokcap.findings.false_friends import prefix_bytes
from tokcap.lean.patterns import later
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

# Lines after and before a failure that can explain it, and how long a trace can be.
AFTER_LINES, BEFORE_LINES, TRACE_LINES = 14, 4, 60
# So many lines after a failure belong to it even without indentation, unless many lines are like them.
LOOSE_LINES, COMMON_LINES = 2, 8
# A heading at most so many lines above a failure says where that failed.
SECTION_LINES, SECTION_STRENGTH = 80, 0.55
# A frame in a file of the user, and one in a library.
OWN_STRENGTH, FOREIGN_STRENGTH = 0.7, 0.2

STRONG = frozenset((rules.CRASH, rules.ERROR, rules.FAILED))
WEAK = frozenset((rules.TROUBLE, rules.WARNING))

# A place in a file: `File "a.py", line 3`, `(a.js:3:5)`, `--> a.rs:3:5`, `a.c:3`.
PLACE = later(rb"\.(?<=[\w)]\.)\w{1,6}(?:[:(]\d+|\", line \d+)")
POINTER = b"--> "
FOREIGN = (
    *(
        b"site-packages",
        b"dist-packages",
        b"node_modules",
        b"node:internal",
        b"(internal/",
        b"/usr/lib",
        b"/rustc/",
    ),
    *(
        b"java.base/",
        b"org.junit",
        b"jdk.internal",
        b"sun.reflect",
        b"/vendor/",
        b"<frozen",
        b".cargo/registry",
    ),
    *(
        b"/lib/python",
        b"/usr/local/go/",
        b"/gems/",
        b"libc.so",
        b"vg_replace",
        b"libsanitizer/",
        b"sysdeps/",
        b"std::rt",
        b"core::ops",
        b"_pytest/",
    ),
)
TRACE_BEGINNINGS = (b"Traceback", b"goroutine")
# First bytes of lines that continue a message although they are not indented.
CONTINUES = (b"|", b"^", b"-", b"=", b"E", b">", b"~", b"+", b"n")


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
    if draft.kind == rules.CRASH:
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
