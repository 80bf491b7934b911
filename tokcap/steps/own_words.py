"""tokcap's own words on stderr next to an answer in text form: warnings, and the way to a structured rest.

They are part of the answer: inside the limit, proven and paid for with it, and written after the command's
stderr. If they do not fit, they get shorter; what still does not fit is left out. An output that fits whole
is never cut to make room for them.
"""

from __future__ import annotations

from tokcap.core.cut import Gap, Mark, is_cut, is_marked
from tokcap.core.mark import NAMING_FORMS, ROOMY_LIMIT, command_note, mark_line, names_command, note_of
from tokcap.core.tokenizer import Total
from tokcap.environment import line_of
from tokcap.startup.record import TYPE_CHECKING, Record
from tokcap.steps.answer import Worded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tokcap.core.cut import Ask, Cut, Part
    from tokcap.core.mark import MarkForm
    from tokcap.core.payload import LongText
    from tokcap.core.response import Notice
    from tokcap.errors import StreamError
    from tokcap.outputs.base import Form
    from tokcap.steps.answer import Proof
    from tokcap.steps.capture import Input
    from tokcap.steps.examination import Examined

# A cut answer leaves room for warnings: at most one part in this many of its limit, more for an urgent one.
WORDS_SHARE, URGENT_SHARE = 4, 2
# These show values of the output that are nowhere else.
CONTENT_CODES = ("BESIDE_TABLE", "PIPELINE")
# These change what a reader can do with the answer.
URGENT_CODES = ("NOT_STORED", "TOKENIZER_FAILED", "CUT_FAILED", "NOT_CHARGED", "PIPELINE")
# These are lines of their own, which begin with a bracket.
BARE_CODES = ("PIPELINE",)
# These are not warnings, and their code alone says nothing.
PLAIN_CODES = ("LAST_OUTPUT",)
# Stands for a structured payload if not even the sentinel fits: an empty container would read as no results.
SMALLEST_MARK = "…\n".encode()


class Line(Record):
    """Something to say: a full line, one without the reason, and its code as words."""

    full: bytes
    brief: bytes
    code: str
    # Whether it is said first.
    is_urgent: bool = False


class Speech:
    """Errors and warnings as lines for stderr, the most important first, in wordings of several lengths."""

    def __init__(self, notices: Sequence[Notice], errors: Sequence[StreamError] = ()) -> None:
        lines = [spoken(str(error), error.code, is_urgent=True) for error in errors]
        lines += [
            spoken(notice.message, notice.code, kind_of(notice), is_urgent=notice.code in URGENT_CODES)
            for notice in notices
            if not notice.of_the_cut
        ]
        lines.sort(key=lambda line: not line.is_urgent)
        self._is_urgent = any(line.is_urgent for line in lines)
        # Every line in full, without the reasons, the codes of all, the first code, nothing.
        self._wordings = (
            b"".join(line.full for line in lines),
            b"".join(line.brief for line in lines),
            short_line(lines),
            short_line(lines[:1]),
            b"",
        )

    def longest(self, fits: Callable[[bytes], bool]) -> bytes:
        """Return the longest wording that fits; nothing if none does."""
        return next((words for words in self._wordings if fits(words)), b"")

    def reserves(self, limit: int, count: Callable[[bytes], int]) -> Sequence[bytes]:
        """Return what to leave room for in a cut answer, longest first; the last one is nothing."""
        full, *shorter = self._wordings
        full_share = URGENT_SHARE if self._is_urgent else WORDS_SHARE
        shares = [(full, full_share), *((words, URGENT_SHARE) for words in shorter)]
        fitting = [words for words, share in shares if not words or count(words) <= limit // share]
        return list(dict.fromkeys(fitting))


def spoken(message: str, code: str, kind: str = "", *, is_urgent: bool) -> Line:
    """Return a message as a line. What follows the first colon is the reason."""
    if code in BARE_CODES:
        line = message.encode("utf-8", "surrogateescape") + b"\n"
        return Line(line, line, code.lower(), is_urgent)
    brief = message.partition(": ")[0]
    words = "" if code in PLAIN_CODES else code.replace("_", " ").lower()
    return Line(line_of(kind + message), line_of(kind + brief), words, is_urgent)


def kind_of(notice: Notice) -> str:
    return "" if notice.code in PLAIN_CODES else "warning: "


def short_line(lines: Sequence[Line]) -> bytes:
    """Return one line with the codes of these: `tokcap: not stored, secrets masked`."""
    codes = ", ".join(dict.fromkeys(line.code for line in lines if line.code))
    return line_of(codes) if codes else b""


def after(written: bytes | LongText, words: bytes) -> bytes:
    """Return words that begin on a new line after what is written."""
    return b"\n" + words if words and written[-1:] not in (b"", b"\n") else words


def words_within(
    notices: Sequence[Notice], errors: Sequence[StreamError], stderr: bytes, limit_bytes: int | None
) -> bytes:
    """Return words for an answer that is not counted: at most this many bytes."""

    def fits(words: bytes) -> bool:
        return limit_bytes is None or len(after(stderr, words)) <= limit_bytes

    return after(stderr, Speech(notices, errors).longest(fits))


def words_next_to(
    payload: bytes | LongText,
    stderr: bytes,
    limit: int | None,
    notices: Sequence[Notice],
    given: Input,
    proof: Proof,
) -> bytes:
    """Return the words that fit next to a payload that is not cut for them."""
    before = stderr or payload
    words = Speech(notices, given.errors).longest(
        lambda words: limit is None or proof.cost(payload[:], stderr + after(before, words)) <= limit
    )
    return after(before, words)


def harm(found: Worded) -> tuple[bool, bool, int]:
    """Return what a window lacks, to compare it with others: values, a mark, replaced values."""
    window = found.window
    return window.empty, not is_marked(window.parts), len(window.notices)


class WordedCut:
    """One payload that is cut together with the words about it."""

    def __init__(
        self,
        ask: Ask,
        limit: int,
        shown: Examined,
        stderr: bytes,
        form: Form,
        proof: Proof,
        notices: Sequence[Notice],
    ) -> None:
        self._ask = ask
        self._limit = limit
        self._shown = shown
        self._stderr = stderr
        self._form = form
        self._proof = proof
        self._notices = tuple(notices)
        self._errors = shown.given.errors
        # Then even an output that fits has to leave room for them.
        self._words_are_content = any(notice.code in CONTENT_CODES for notice in notices)
        # In text the mark itself has the note.
        self._has_note = bool(ask.sentinel) and not shown.shape.mark_has_note

    def best(self) -> Worded:
        """Return the window with the most words: the payload gives way to what a reader must know."""
        limit = self._limit
        harmed: list[Worded] = []
        for form, reserve in self._attempts(limit):
            if form == "none" and harmed:
                # A value or its mark is rather left out than the command that gets the rest.
                return min(harmed, key=harm)
            found = self._attempt(form, reserve, limit)
            window = found.window
            if self._cost(found) > limit:
                continue
            if window.gap is None and not window.notices:
                return found
            if not self._says_that_it_is_cut(found):
                continue
            is_whole = is_marked(window.parts) and not window.notices
            if form == "none" or (is_whole and not window.empty):
                return found
            # A page without any value must lead on. That of an end does: its command reads from the gap.
            if found.has_note and (not window.empty or self._ask.keep.needs_tail):
                harmed.append(found)
        return self._attempt("none", b"", limit)

    def _attempts(self, limit: int) -> Iterator[tuple[MarkForm, bytes]]:
        """Yield the note and the warnings that room is made for, best first.

        Below a limit a note only gets what is left. From it on, the note matters more than warnings.
        """
        speech = Speech(self._notices, self._errors)
        reserves = speech.reserves(limit, lambda words: self._proof.cost(b"", words))
        if self._has_note and names_command(limit):
            forms: tuple[MarkForm, ...] = NAMING_FORMS if limit >= ROOMY_LIMIT else ("command",)
            yield from ((form, reserve) for reserve in reserves for form in forms)
        yield from (("none", reserve) for reserve in reserves)

    def _attempt(self, form: MarkForm, reserve: bytes, limit: int) -> Worded:
        note = self._largest_note(form)

        def cost(parts: tuple[Part, ...]) -> int:
            payload = self._form.compose(parts)
            line = b""
            if is_cut(parts):
                line = note if note or is_marked(parts) else self._bare()
            elif not self._words_are_content:
                return self._proof.cost(payload, self._stderr)
            return self._proof.cost(payload, self._stderr + self._after(payload, line + reserve))

        window = self._cut(cost)
        payload = self._form.compose(window.parts)
        line = next(
            line for line in self._notes(window) if not line or self._fits(payload, line + reserve, limit)
        )
        if self._has_note and window.gap and not line and not is_marked(window.parts) and window.empty:
            payload = SMALLEST_MARK if self._fits(SMALLEST_MARK, b"", limit) else b""
        speech = Speech((*self._notices, *window.notices), self._errors)
        words = speech.longest(lambda words: self._fits(payload, line + words, limit))
        return Worded(window, payload, self._after(payload, line + words), line not in (b"", self._bare()))

    def _cut(self, cost: Callable[[tuple[Part, ...]], int]) -> Cut:
        return self._shown.shape.cut(self._shown.payload, self._shown.index, self._ask, cost)

    def _largest_note(self, form: MarkForm) -> bytes:
        """Return a note that is at least as long as that of any window."""
        if form == "none":
            return b""
        total = self._shown.index.total
        gap = Gap(total.tokens, total.tokens if self._ask.keep.needs_tail else None)
        if form == "long":
            return self._line(note_of(Total(total.tokens), total, gap, self._ask))
        return self._line(command_note(gap, self._ask))

    def _notes(self, window: Cut) -> Iterator[bytes]:
        """Yield the note of a window, longest first; the last one is empty if the payload has a mark."""
        if self._has_note and window.gap:
            yield self._line(window.hint)
            yield self._line(command_note(window.gap, self._ask))
            if not is_marked(window.parts):
                yield self._bare()
        elif self._has_note and window.notices:
            pointer = next((notice.pointer for notice in window.notices if notice.pointer is not None), None)
            if pointer and self._ask.pointer_command:
                from tokcap.system.quoting import quoted

                yield self._line(self._ask.pointer_command.replace("{}", quoted(pointer), 1))
            if pointer is not None and self._ask.text_command:
                # The document is one value, so no pointer and no offset leads to a part of it; or the pointer
                # is too long.
                yield self._line(self._ask.text_command)
        yield b""

    def _line(self, note: str) -> bytes:
        return mark_line(Mark(self._ask.sentinel, note)).encode("utf-8", "surrogateescape")

    def _bare(self) -> bytes:
        return self._line("")

    def _after(self, payload: bytes, words: bytes) -> bytes:
        return after(self._stderr or payload, words)

    def _fits(self, payload: bytes, words: bytes, limit: int) -> bool:
        return self._proof.cost(payload, self._stderr + self._after(payload, words)) <= limit

    def _cost(self, found: Worded) -> int:
        return self._proof.cost(bytes(found.payload), self._stderr + found.words)

    def _says_that_it_is_cut(self, found: Worded) -> bool:
        sentinel = self._ask.sentinel
        return not sentinel or is_marked(found.window.parts) or self._bare()[:-1] in found.words
