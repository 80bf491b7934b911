"""Windows over text with many gaps: the lines that a survey of all lines chose (`--keep focus`).

Every gap is a line of its own in its place, and the mark is the last line. Units are lines, or pieces of very
long lines. Ranges of them are widened to where tokens begin, so that the numbers in gaps tile the source.
"""

from __future__ import annotations

from tokcap.core.cut import Choice, Cut, Finding, Gap, Kept, Mark, gaps_between
from tokcap.core.mark import NAMING_FORMS, command_note, forms_of, gap_line, marks, note_of
from tokcap.core.tokenizer import Total
from tokcap.focus.lines import LineMap, PieceMap, blocks_of
from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tokcap.core.cut import Ask, Cost, Part, Ranges, SurveyPolicy
    from tokcap.core.mark import MarkForm
    from tokcap.core.payload import Payload
    from tokcap.core.tokenizer import TokenMap

# The tokens of every line of a smaller payload are found at once.
SMALL_BYTES = 256 << 10
# A gap is about this long: `…412`.
GAP_TOKENS = 4
# In bytes per token of the limit: lines that are longer on average are divided, into pieces of this size, or
# larger ones in a huge payload.
LONG_LINE_BYTES, PIECE_BYTES = 0.5, 0.5
LEAST_PIECE_BYTES, MOST_PIECES = 160, 20_000


def survey_cut(
    payload: Payload, tokens: TokenMap, ask: Ask, first: int, first_byte: int, cost: Cost
) -> Cut | None:
    """Return the window that the survey of the keep policy chooses; None if there is no room for it."""
    policy, limit = ask.keep.survey, ask.limit
    if policy is None or limit is None:
        return None
    lines = SurveyedLines(payload, tokens, first, first_byte, limit, policy)
    for form in forms_of(ask):
        if form in NAMING_FORMS:
            window = SurveyWindow(lines, ask, limit, cost, form)
            choice = policy.choose_from(window)
            if choice:
                return window.cut(choice)
    return None


class SurveyedLines:
    """The lines of a payload, and where their tokens are. Implements `core.cut.PricedText`."""

    gap_tokens = GAP_TOKENS

    def __init__(
        self,
        payload: Payload,
        tokens: TokenMap,
        first: int,
        first_byte: int,
        limit: int,
        policy: SurveyPolicy,
    ) -> None:
        self.payload = payload
        self.first_token = first
        self.first_byte = first_byte
        self._tokens = tokens
        self._pieces: PieceMap | None = None
        # Not known before the survey, which counts the lines as it reads the text.
        self.count = -1
        count, begins = policy.lines_of(self)
        places = {line: first_byte + byte for line, byte in begins.items()}
        lines = LineMap(payload, first_byte, count, places or None)
        self._map: LineMap | PieceMap = lines
        size = payload.size - first_byte
        if size > lines.count * max(limit * LONG_LINE_BYTES, LEAST_PIECE_BYTES):
            piece_bytes = max(LEAST_PIECE_BYTES, round(limit * PIECE_BYTES), size // MOST_PIECES)
            self._map = self._pieces = PieceMap(lines, piece_bytes, self._cut_before)
        self.count = self._map.count
        # How many lines end before the window.
        self.lines_before = sum(block.count(b"\n") for block in blocks_of(payload, 0, first_byte))
        # For a small payload: the token in which each line begins, and whether it begins there.
        self._line_tokens: list[int] = []
        self._is_cut: list[bool] = []
        self._known: dict[tuple[int, int], int] = {}
        if payload.size - first_byte <= SMALL_BYTES:
            found = tokens.positions(self._map.starts())
            self._line_tokens = [token for token, _ in found]
            self._is_cut = [is_cut for _, is_cut in found]
        # As exact as the numbers in gaps are. What follows the payload was never counted.
        self.total = tokens.total if payload.lost else tokens.position(payload.size)

    def _cut_before(self, byte: int) -> int:
        """Return where the token begins that contains a byte; in a large payload, the character."""
        position = self._tokens.position(byte)
        if position.exact:
            return self._tokens.byte_at(position.tokens)
        around = self.payload.read(byte - 3, byte + 1)
        return byte - next((back for back in range(4) if around[3 - back] & 0xC0 != 0x80), 0)

    def blocks(self) -> Iterator[bytes]:
        """Yield the text in blocks, with each unit on a line of its own."""
        if self._pieces is None:
            return blocks_of(self.payload, self.first_byte, self.payload.size)
        pieces = (self.between(unit, unit + 1) for unit in range(self.count))
        return (piece.removesuffix(b"\n") + b"\n" for piece in pieces)

    def landmarks(self) -> Sequence[tuple[int, float]]:
        # The survey finds headings itself.
        return ()

    def lines_between(self, first: int, end: int) -> int | None:
        """Return how many lines these units are; None if they begin or end inside a line."""
        (line, is_start), (stop, is_end) = self._map.line_of(first), self._map.line_of(end)
        return stop - line if is_start and is_end else None

    def number_of(self, unit: int) -> int:
        """Return the number of the line that a unit is in. The first line of the payload is 1."""
        return self.lines_before + self._map.line_of(unit)[0] + 1

    def between(self, first: int, end: int) -> bytes:
        """Return the text of these lines."""
        return self.payload.read(self._map.byte_of(first), self._map.byte_of(end))

    def units_up_to(self, byte: int) -> int:
        """Return how many units begin before a byte that is not far from the beginning."""
        return next((unit for unit in range(self.count) if self._map.byte_of(unit) >= byte), self.count)

    def tokens_between(self, first: int, end: int) -> int:
        """Return how many tokens these lines have."""
        if self._line_tokens:
            return self._line_tokens[end] - self._line_tokens[first]
        known = self._known.get((first, end))
        if known is None:
            # Positions would be exact, but each may need a stretch of the source to be encoded again.
            known = self._known[first, end] = self._tokens.count_alone(self.between(first, end))
        return known

    def token_of(self, line: int) -> tuple[int, bool]:
        """Return the token in which a line begins, and whether that is exact."""
        if self._line_tokens:
            return self._line_tokens[line], True
        position = self._tokens.position(self._map.byte_of(line))
        return position.tokens, position.exact

    def is_cut(self, line: int) -> bool:
        """Return whether a token begins where the line begins."""
        if line in (0, self.count):
            return True
        if self._is_cut:
            return self._is_cut[line]
        byte = self._map.byte_of(line)
        position = self._tokens.position(byte)
        return not position.exact or self._tokens.byte_at(position.tokens) == byte

    def widened(self, shown: Ranges) -> Ranges:
        """Return the ranges, widened to where tokens begin and joined where they meet."""
        found: list[tuple[int, int]] = []
        for first, end in shown:
            while not self.is_cut(first):
                first -= 1  # the range is widened
            while not self.is_cut(end):
                end += 1  # the range is widened
            if found and first <= found[-1][1]:
                found[-1] = (found[-1][0], max(end, found[-1][1]))
            else:
                found.append((first, end))
        return tuple(found)


class SurveyMaterial:
    """The units of a payload and one limit. Implements `core.cut.WholeMaterial` together with a subclass."""

    both_ends_required = False
    one_end_allowed = True
    gaps_are_marked = True
    gap_tokens = GAP_TOKENS

    def __init__(self, payload: Payload, count: int, limit: int) -> None:
        self.payload = payload
        self.count = count
        self.limit = limit

    def head_ends(self) -> range:
        return range(1, self.count)

    def tail_starts(self, hidden_from: int) -> range:
        return range(self.count - 1, hidden_from, -1)

    def landmarks(self) -> Sequence[tuple[int, float]]:
        return ()

    def price(self, shown: Ranges) -> int:
        return self.price_of(Choice(shown))

    def price_of(self, choice: Choice) -> int:
        """Return what the answer costs in tokens if this is chosen, gaps and marks included."""
        raise NotImplementedError


class SurveyWindow(SurveyMaterial):
    """One limit over surveyed lines, with the mark in one form."""

    def __init__(self, lines: SurveyedLines, ask: Ask, limit: int, cost: Cost, form: MarkForm) -> None:
        super().__init__(lines.payload, lines.count, limit)
        self._lines = lines
        self._ask = ask
        self._cost = cost
        self._form = form
        # What was already written is the beginning, whether it matters or not.
        self._head: Ranges = ((0, lines.units_up_to(ask.passed)),) if ask.passed else ()

    def blocks(self) -> Iterator[bytes]:
        return self._lines.blocks()

    def tokens_between(self, first: int, end: int) -> int:
        return self._lines.tokens_between(first, end)

    def text_of(self, unit: int) -> bytes:
        return self._lines.between(unit, unit + 1)

    def price_of(self, choice: Choice) -> int:
        return self._cost(self.cut(choice).parts)

    def cut(self, choice: Choice) -> Cut:
        """Return the cut that shows these lines."""
        lines, ask = self._lines, self._ask
        shown = lines.widened((*self._head, *choice.shown))
        parts: list[Part] = []
        gaps: list[Gap] = []
        place, shown_tokens = 0, 0
        hidden = iter(gaps_between(shown, lines.count))
        gap = next(hidden, None)
        for first, end in (*shown, (lines.count, lines.count)):
            if gap is not None and gap[0] == place and place < first:
                gaps.append(self._gap(*gap))
                text = gap_line(gaps[-1], similar=place in choice.similar)
                parts.append(Mark(text))
                gap = next(hidden, None)
            if first < end:
                parts.append(Kept(lines.between(first, end)))
                shown_tokens += lines.tokens_between(first, end)
            place = end
        if not gaps and not lines.payload.lost:
            return Cut(tuple(parts), lines.first_token)
        if lines.payload.lost:
            gaps.append(Gap(lines.token_of(lines.count)[0], lost=True))
        note = note_of(Total(shown_tokens, lines.total.exact), lines.total, gaps[0], ask)
        parts += marks(self._form, note if self._form == "long" else command_note(gaps[0], ask), ask)
        return Cut(tuple(parts), lines.first_token, tuple(gaps), hint=note, findings=self._findings(choice))

    def _gap(self, first: int, end: int) -> Gap:
        begin, begin_exact = self._lines.token_of(first)
        stop, stop_exact = self._lines.token_of(end)
        return Gap(
            begin,
            stop,
            about=not (begin_exact and stop_exact),
            line=self._lines.number_of(first),
            lines=self._lines.lines_between(first, end),
        )

    def _findings(self, choice: Choice) -> tuple[Finding, ...]:
        return tuple(
            Finding(self._lines.token_of(found.unit)[0], found.kind, self._lines.number_of(found.unit))
            for found in choice.found
        )


class RecordSurvey(SurveyMaterial):
    """The records of a structured payload and one limit. A subclass says what its units are."""

    def __init__(
        self,
        payload: Payload,
        count: int,
        tokens: TokenMap,
        limit: int,
        parts_of: Callable[[Ranges], tuple[Part, ...]],
        cost: Cost,
    ) -> None:
        super().__init__(payload, count, limit)
        self._tokens = tokens
        self._parts_of = parts_of
        self._cost = cost

    def with_names(self, shown: Ranges) -> Ranges:
        """Add the units that tell what the chosen ones belong to."""
        return shown

    def price_of(self, choice: Choice) -> int:
        return self._cost(self._parts_of(self.with_names(choice.shown)))
