"""Windows over JSON and JSON Lines: every window is valid, and each value in it is copied from the source."""

from __future__ import annotations

from tokcap.core.cut import Cut, Finding, Gap, Mark, Values, gaps_between, largest_fit
from tokcap.core.mark import note_of, shown_between
from tokcap.core.response import Notice
from tokcap.core.tokenizer import Total
from tokcap.shapes.json_reader import ARRAY, OBJECT, Reader
from tokcap.shapes.json_scanner import end_of_value, without_trailing
from tokcap.shapes.json_units import (
    CLOSING,
    STYLES,
    Hidden,
    Unit,
    UnitFinder,
    common_container,
    hidden_children,
    written,
)
from tokcap.shapes.record_window import RecordWindow
from tokcap.startup.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tokcap.core.cut import Ask, Cost, Ranges, ValuesStyle
    from tokcap.core.payload import Payload
    from tokcap.core.tokenizer import TokenMap
    from tokcap.shapes.json_reader import Node


class Following(Record):
    """Where the next window begins, if there is one, and what neither window shows."""

    gaps: tuple[Gap, ...] = ()
    pointer: str | None = None
    notices: tuple[Notice, ...] = ()


class JsonWindow(RecordWindow):
    """One JSON payload and one limit."""

    def __init__(
        self, payload: Payload, tokens: TokenMap, ask: Ask, cost: Cost, *, lines: bool, shape: str
    ) -> None:
        super().__init__(payload, tokens, ask, cost, shape)
        self._lines = lines
        self._root = self._reader().root
        # Between the first `head_count` units and the others some may be unread.
        self._units: Sequence[Unit] = ()

    def _reader(self) -> Reader:
        return Reader(self._data, lines=self._lines, seek_points=self._seek_points, check=self._check)

    def _whole(self) -> Cut:
        """Return all of it, even above the limit. Only values at the top are read one by one."""
        reader = self._reader()
        self._root = reader.root
        reader.read_top()
        units = [Unit(node) for node in reader.root.children]
        return self._finished(self._written(units, source=self._data[:]), units)

    def _rest(self) -> Cut:
        self._read(len(self._data))
        return self._finished(self._written(self._units), self._units)

    def _read(self, size: int) -> None:
        keep, length = self._ask.keep, len(self._data)
        reader = self._reader()
        self._root = reader.root
        reader.pass_over(self._first_byte)
        begin = reader.next_begin
        only_head = not (keep.needs_tail or keep.needs_middle)
        if only_head or keep.needs_middle or begin + 2 * size >= length:
            reader.read_until(begin + size if only_head else length)
            tail_begin, self.complete = length, reader.complete
        else:
            reader.read_until(begin + size if keep.needs_head else begin)
            reader.pass_over(length - size)
            tail_begin, self.complete = reader.next_begin, False
            reader.read_until(length)
        # The finder looks at what closes the document.
        self._check(without_trailing(self._data, CLOSING), length)
        longest = self._tokens.longest_token_bytes
        finder = UnitFinder(self._data, reader, self._ask.limit, longest, self._ask.sentinel, self._cost)
        self._units = finder.find(self._first_byte)
        self.count = len(self._units)
        self.head_count = sum(unit.node.begin < tail_begin for unit in self._units)

    def _surveyed(self) -> Cut | None:
        # Most windows need no survey, and do not load this.
        from tokcap.shapes.json_survey import JsonSurvey, stretches, units_of

        policy = self._ask.keep.survey
        assert policy is not None
        reader = self._reader()
        self._root = reader.root
        for begin, end in stretches(self._payload, self._first_byte, self.limit, policy):
            reader.pass_over(begin)
            reader.read_until(end)
        self._units = units_of(reader.root, self._first_byte, self.limit)
        survey = JsonSurvey(
            self._payload, self._data, self._tokens, self._units, self.limit, self._survey_parts, self._cost
        )
        choice = policy.choose_from(survey) if self._units else None
        if choice is None:
            return None
        shown = survey.with_names(choice.shown)
        cut = self._shown(shown, self._tokens.position)
        findings = tuple(
            Finding(
                self._tokens.position(node.begin).tokens,
                found.kind,
                pointer=node.pointer(),
            )
            for found in choice.found
            for node in (self._units[found.unit].node,)
        )
        return cut.replace(parts=self._survey_parts(shown), findings=findings)

    def _survey_parts(self, shown: Ranges) -> tuple[Values]:
        from tokcap.shapes.json_survey import all_pieces, one_mark_in_an_object

        return (self._written(one_mark_in_an_object(all_pieces(self._units, shown, self._root))),)

    def tail_starts(self, hidden_from: int) -> Sequence[int]:
        # The unit before a tail must be known: the mark is in the container that holds both.
        least = hidden_from if self.complete else max(hidden_from, self.head_count) + 1
        return range(self.count - 1, least - 1, -1)

    def text_of(self, unit: int) -> bytes:
        node = self._units[unit].node
        return self._data[node.begin : node.end] if node.end >= 0 else self._data[node.begin :]

    def price(self, shown: Ranges) -> int:
        if not shown:
            return self._cost((Values(STYLES[self._root.kind], (Mark(self._ask.sentinel),)),))
        return self._cost((self._written(self._pieces(shown)),))

    def _written(self, pieces: Sequence[Unit | Hidden], source: bytes = b"") -> Values:
        return written(self._data, self._root, self._ask.sentinel, pieces, source)

    def _pieces(self, shown: Ranges) -> Sequence[Unit | Hidden]:
        """Return the units of these ranges in order, and what is hidden between them."""
        units = self._units
        pieces: list[Unit | Hidden] = []
        place = 0
        for first, end in shown:
            if place < first:
                before = units[place - 1].node if place else None
                container = common_container(before or units[first - 1].node, units[first].node)
                pieces.append(Hidden(container, hidden_children(before, container, units[first].node)))
            pieces += units[first:end]
            place = end
        if place < len(units):
            pieces.append(self._hidden_after(place))
        return pieces

    def _hidden_after(self, end: int) -> Hidden:
        """Return what is hidden after the unit before `end`."""
        units = self._units
        return Hidden(common_container(units[end - 1].node, units[end].node))

    def _largest(self) -> Cut | None:
        units, keep = self._units, self._ask.keep
        if not units:
            if not self.complete:
                return None
            # An empty container at the start: all of it is shown, without its white space.
            is_empty = self._ask.offset == 0 and self._root.kind in (ARRAY, OBJECT)
            return self._finished(self._written(()) if is_empty else None, ())
        shown = keep.choose(self)
        if not self.complete and self._may_fit_more(shown):
            return None
        if shown is not None:
            return self._shown(shown)
        if keep.needs_tail:
            return self._mark_instead_of(units[-1 if keep.prefers_end else 0].node)
        return self._without_mark() or self._mark_instead_of(units[0].node)

    def _may_fit_more(self, shown: Ranges | None) -> bool:
        """Whether the units that were read are too few to say what fits."""
        needs_head, needs_tail = self._ask.keep.needs_head, self._ask.keep.needs_tail
        end = shown[0][1] if shown else 0
        if needs_tail and (not shown or (len(shown) == 1 and not shown[0][0])):
            # The last unit does not fit, and still will not if more is read.
            return not self.tail_starts(end) or (needs_head and end >= self.head_count)
        if shown is None:
            # A single long and cheap value fits, but what follows it must be known.
            return self.count == 1 and not self._units[0].opaque
        first = shown[0][0]
        if len(shown) > 1:
            return False
        return first <= self.head_count + 1 if first else end == self.count - 1

    def _shown(self, shown: Ranges, position: Callable[[int], Total] | None = None) -> Cut:
        """Return the cut that shows these units. `position` finds where gaps begin, if not exactly."""
        units = self._units
        if shown[-1][1] < len(units) and len(shown) == 1 and not shown[0][0]:
            # Values that begin in the same token stay together: the next window would show one of them again.
            fitting = end = shown[0][1]
            while end and not self._begins_later(units[end - 1].node, units[end].node):
                end -= 1
            if not end:
                return self._part_of_group(fitting)
            shown = ((0, end),)
        hidden = gaps_between(shown, len(units))
        kept = [unit for first, end in shown for unit in units[first:end]]
        gaps = tuple(
            self._gap(
                units[first].node.begin if first else None,
                None if end == len(units) else units[end].node.begin,
                position or self._exact_position,
            )
            for first, end in hidden
        )
        pointer = units[hidden[0][0]].node.pointer() if hidden else None
        return self._finished(self._written(self._pieces(shown)), kept, gaps, pointer)

    def _gap(self, begin: int | None, end: int | None, position: Callable[[int], Total]) -> Gap:
        """Return the tokens that are hidden between two bytes; None: the beginning, or the end."""
        first = Total(self._first_token) if begin is None else position(begin)
        if end is None:
            return Gap(first.tokens, about=not first.exact)
        # The next window begins at `first`. Where this gap ends need not be exact.
        last = self._tokens.position(end)
        return Gap(first.tokens, last.tokens, about=not (first.exact and last.exact))

    def _exact_position(self, byte: int) -> Total:
        return Total(self._tokens.token_at(byte))

    def _part_of_group(self, fitting: int) -> Cut:
        """Return the first of the units that should stay together, if there is no room for all."""
        units = self._units
        following = self._following(units[fitting].node.begin, self._last_begin(units[fitting - 1].node))
        shown = units[:fitting]
        values = self._written([*shown, self._hidden_after(fitting)])
        cut = self._finished(values, shown, following.gaps, following.pointer)
        return cut.replace(notices=cut.notices + following.notices)

    def _following(self, byte: int, begun: int) -> Following:
        """Return what begins at `byte` or later, after a window whose last value began at `begun`.

        A window begins with a token. If the next value begins in a token that began before, the next window
        can only begin with the token after that. Values that begin in between are in no window: notices name
        them.
        """
        reader = self._reader()
        reader.pass_over(byte)
        if reader.next_begin >= len(self._data):
            return Following()
        token = self._tokens.token_at(reader.next_begin)
        notices: tuple[Notice, ...] = ()
        if token <= self._first_token or self._tokens.byte_at(token) <= begun:
            token = max(token, self._first_token) + 1
            reader.read_until(self._tokens.byte_at(token))
            notices = tuple(
                missed_notice(leaf.pointer()) for leaf in reader.root.leaves() if leaf.begin >= byte
            )
            reader = self._reader()
            reader.pass_over(self._tokens.byte_at(token))
            if reader.next_begin >= len(self._data):
                return Following(notices=notices)
        reader.read_until(reader.next_begin + 1)
        return Following((Gap(token),), reader.first_read.pointer(), notices)

    def _without_mark(self) -> Cut | None:
        """Return the first value alone, if the limit has no room for a mark after it."""
        units = self._units
        values = self._written(units[:1]).replace(is_cut=True)
        if units[0].opaque or len(units) < 2 or self._cost((values,)) > self.limit:
            return None
        if not self._begins_later(units[0].node, units[1].node):
            return None
        gap = Gap(self._tokens.token_at(units[1].node.begin))
        return self._finished(values, units[:1], (gap,), units[1].node.pointer())

    def _begins_later(self, before: Node, after: Node) -> bool:
        """Whether the token in which a value begins starts after the beginning of all values before it."""
        return self._tokens.byte_at(self._tokens.token_at(after.begin)) > self._last_begin(before)

    def _last_begin(self, node: Node) -> int:
        """Return where the last value inside a value begins; its own beginning if it is empty or a scalar."""
        while node.children and node.children[-1].index == node.count - 1:
            node = node.children[-1]
        if not node.count or node.end < 0:
            return node.begin
        # Its last child was passed over.
        inside = Reader(self._data[node.start : node.end], lines=False)
        inside.read_until(node.end)
        return node.start + max(leaf.begin for leaf in inside.root.leaves())

    def _mark_instead_of(self, node: Node) -> Cut:
        """Return the mark in place of a value that does not fit, or in place of a container around it."""
        around = [node]
        while (parent := around[-1].parent) is not None and parent.parent is not None:
            around.append(parent)
        around.reverse()

        def marked(node: Node, hidden_in: Node | None) -> Values:
            unit = Unit(node, opaque=True)
            return self._written([unit] if hidden_in is None else [unit, Hidden(hidden_in)])

        best = largest_fit(
            len(around), lambda n: self._cost((marked(around[n], around[n].parent),)), self.limit
        )
        # If not even a key fits, one mark replaces the member and what follows it.
        mark_only = self._mark_only()
        if best is None and not any(values.items for values in mark_only.parts if isinstance(values, Values)):
            return mark_only
        hidden = around[best or 0]
        if self._ask.keep.prefers_end:
            # What comes before it is hidden too.
            before = Gap(self._first_token, self._tokens.token_at(hidden.begin))
            following = Following((before,) if hidden.begin > self._first_value_begin() else ())
        else:
            following = self._following(self._end_of(hidden), hidden.begin)
        more = following.gaps or following.notices
        values = None if best is None else marked(hidden, hidden.parent if more else None)
        cut = self._finished(values, [Unit(hidden, opaque=True)], following.gaps, following.pointer)
        parts = mark_only.parts if best is None else cut.parts
        return cut.replace(parts=parts, notices=cut.notices + following.notices)

    def _first_value_begin(self) -> int:
        """Return where the first value of the window begins."""
        reader = self._reader()
        reader.pass_over(self._first_byte)
        return reader.next_begin

    def _end_of(self, node: Node) -> int:
        """Return where a value ends, even if its end was not read yet."""
        if node.end >= 0:
            return node.end
        end = end_of_value(self._data, node.start)
        self._check(node.start, end)
        return end

    def _mark_only(self) -> Cut:
        """Return one mark for everything, an empty container, or nothing: the first of them that fits."""
        style = STYLES[self._root.kind]
        gaps = (Gap(self._first_token),)
        hint = self._hint(gaps)
        # As a string of its own the mark is shorter than in a container.
        styles: tuple[ValuesStyle, ...] = (style, "bare") if self._ask.sentinel else ()
        marked = [Values(one, (Mark(self._ask.sentinel),)) for one in styles]
        for values in (*marked, Values(style, (), is_cut=True)):
            if self._cost((values,)) <= self.limit and (values.items or style in ("array", "object")):
                return Cut((values,), self._first_token, gaps, hint)
        return Cut((), self._first_token, gaps, hint)

    def _hint(self, gaps: tuple[Gap, ...]) -> str:
        if not gaps:
            return ""
        total = self._tokens.total
        return note_of(shown_between(gaps, self._first_token, total), total, gaps[0], self._ask)

    def _finished(
        self,
        values: Values | None,
        kept: Sequence[Unit],
        gaps: tuple[Gap, ...] = (),
        next_pointer: str | None = None,
    ) -> Cut:
        return Cut(
            parts=() if values is None else (values,),
            first_token=self._first_token,
            gaps=gaps,
            hint=self._hint(gaps),
            first_pointer=kept[0].node.pointer() if kept else None,
            next_pointer=next_pointer,
            returned_count=self._records(kept),
            notices=tuple(
                replaced_notice(unit.node, self._end_of(unit.node), len(self._data), self._tokens)
                for unit in kept
                if unit.opaque
            ),
        )

    def _records(self, kept: Sequence[Unit]) -> int:
        """Return how many whole records are shown: elements of an array at the top or one level below."""
        if self._root.kind != OBJECT:
            return sum(unit.node.parent is self._root and not unit.opaque for unit in kept)
        count = 0
        for unit in kept:
            parent = unit.node.parent
            if unit.node.kind == ARRAY and parent is self._root and not unit.opaque:
                count += unit.node.count
            elif parent is not None and parent.kind == ARRAY and parent.parent is self._root:
                count += not unit.opaque
        return count


# The size of a larger value is estimated.
EXACT_VALUE_BYTES = 1 << 20
LONGEST_POINTER_SHOWN = 80


def replaced_notice(node: Node, end: int, size: int, tokens: TokenMap) -> Notice:
    """Return the notice about a value that the mark replaces. It ends at `end`, the payload at `size`."""
    pointer = node.pointer()
    place = f"at {shortened_pointer(pointer)}" if pointer else "of the document"
    if end - node.start > EXACT_VALUE_BYTES:
        number = round(tokens.total.tokens * (end - node.start) / size)
        message = f"the value {place} has about {number} tokens, more than fits into a window of this limit"
        return Notice("FIELD_TRUNCATED", message, pointer=pointer, tokens_estimate=number)
    number = tokens.token_at(end - 1) + 1 - tokens.token_at(node.begin)
    with_key = " with its key" if node.key is not None else ""
    message = f"the value {place} has {number} tokens{with_key}, more than fits into a window of this limit"
    return Notice("FIELD_TRUNCATED", message, pointer=pointer, tokens=number)


def missed_notice(pointer: str) -> Notice:
    """Return the notice about a value that no window of this limit can show."""
    message = (
        f"the value at {shortened_pointer(pointer)} shares a token with the value before it, "
        "and both together do not fit into a window of this limit"
    )
    return Notice("FIELD_TRUNCATED", message, pointer=pointer)


def shortened_pointer(pointer: str) -> str:
    """Return a pointer as a message shows it."""
    return pointer if len(pointer) <= LONGEST_POINTER_SHOWN else pointer[: LONGEST_POINTER_SHOWN - 3] + "..."
