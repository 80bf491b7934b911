"""Windows over JSON and JSON Lines: valid values in, valid values out, each copied as it stands.

A window holds whole values. A value that could not fit whole into any window of the limit is
descended into; a scalar that could not, or a container too deep to be shown, becomes the mark.
"""

from __future__ import annotations

from tokcap.core.cut import Cut, Gap, Mark, Values
from tokcap.core.fit import largest_fit
from tokcap.core.mark import mark_element, mark_member, note_of
from tokcap.core.notice import Notice
from tokcap.core.seek_points import Trail
from tokcap.lean.plainjson import quoted
from tokcap.lean.record import TYPE_CHECKING, Record
from tokcap.shapes.jsontext import CLOSER, compact, key_text, length_without
from tokcap.shapes.passing import end_of_known_value
from tokcap.shapes.tree import ARRAY, BARE, LINES, OBJECT, Reader

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokcap.core.cut import Ask, Cost, ValuesStyle
    from tokcap.core.payload import Payload
    from tokcap.core.tokenizer import TokenMap
    from tokcap.shapes.tree import Node

# A value that has more bytes for each token of a window is too large without a count. There may be more of
# them than the longest token has: white space between values is read, and not shown.
MEASURED_BYTES = 128
# How much of the source is read for a window at first, and how that grows while there is room.
FIRST_BYTES = 1024
BYTES_PER_TOKEN = 8
GROWTH = 4
# Bytes that a mark adds to its sentinel at the most.
MARK_ROOM = 12
# The size of a larger value that is replaced by the mark is estimated.
EXACT_VALUE_BYTES = 1 << 20
LONGEST_POINTER_SHOWN = 80
# Where a text is divided, its parts can have a few tokens less or more.
SEAM_TOKENS = 8

STYLES: dict[bytes, ValuesStyle] = {ARRAY: "array", OBJECT: "object", LINES: "lines", BARE: "bare"}


def cut_document(payload: Payload, tokens: TokenMap, ask: Ask, cost: Cost) -> Cut:
    """The window of one JSON document."""
    return ValuesWindow(payload, tokens, ask, cost, lines=False).cut()


def cut_lines(payload: Payload, tokens: TokenMap, ask: Ask, cost: Cost) -> Cut:
    """The window of a sequence of JSON values."""
    return ValuesWindow(payload, tokens, ask, cost, lines=True).cut()


class Unit(Record):
    """A value that is shown whole or, if it is `opaque`, as the mark."""

    node: Node
    opaque: bool = False


class Measured(Record):
    """A stretch of the source, and how many tokens it has without insignificant white space."""

    start: int
    end: int
    tokens: int


class Units(Record):
    """The units around a window, in order. Between `head` and the rest others may lie unread."""

    all: Sequence[Unit]
    # How many of them belong to the beginning of the window; the others lie at the payload's end.
    head: int
    # Whether the last of them is the payload's last, and whether none lies unread in between.
    complete: bool


class Following(Record):
    """Where the next window begins, if there is one, and what neither window shows."""

    gap: Gap | None = None
    pointer: str | None = None
    notices: tuple[Notice, ...] = ()


class ValuesWindow:
    """One structured payload, seen through one limit."""

    def __init__(self, payload: Payload, tokens: TokenMap, ask: Ask, cost: Cost, *, lines: bool) -> None:
        self._data = payload.view()
        self._trail = Trail(payload.landmarks, "jsonl" if lines else "json", self._data)
        self._tokens = tokens
        self._ask = ask
        self._limit = ask.limit
        self._most_bytes = (ask.limit or 0) * max(tokens.longest_token_bytes, MEASURED_BYTES)
        self._cost = cost
        self._lines = lines
        self._first_token = tokens.reach(ask.offset)
        self._first_byte = tokens.byte_at(ask.offset)
        # Behind this, only closing brackets and blanks are left.
        self._last_end = length_without(self._data, b" \t\r\n]}")
        self._root = self._reader().root
        self._too_large: Measured | None = None
        # Of containers: what those around their children cost at the most; whether that was counted;
        # and the last one that is too deep to be shown.
        self._around: dict[Node, int] = {}
        self._measured: set[Node] = set()
        self._too_deep: Node | None = None

    def cut(self) -> Cut:
        """As much as the limit admits."""
        limit = self._limit
        if self._ask.offset == 0 and (limit is None or self._tokens.reach(limit + 1) <= limit):
            whole = self._whole()
            if limit is None or self._cost(whole.parts) <= limit:
                return whole
        if limit is None:
            rest = self._read(len(self._data)).all
            return self._finished(self._values(rest, None), rest, None)
        size = FIRST_BYTES + BYTES_PER_TOKEN * limit
        while True:
            units = self._read(size)
            found = self._largest(units, limit)
            if found is not None:
                return found
            size *= GROWTH

    def _reader(self) -> Reader:
        return Reader(self._data, lines=self._lines, trail=self._trail)

    def _whole(self) -> Cut:
        """All of it, whatever it costs: only what lies at the top is looked at one by one."""
        reader = self._reader()
        self._root = reader.root
        reader.read_top()
        units = [Unit(node) for node in reader.root.children]
        return self._finished(self._values(units, None, (), self._data[:]), units, None)

    def _read(self, size: int) -> Units:
        """The units in `size` bytes of source at the beginning of the window, at the end, or both."""
        keep, length = self._ask.keep, len(self._data)
        reader = self._reader()
        self._root = reader.root
        reader.pass_over(self._first_byte)
        begin = reader.next_begin
        if keep == "head" or begin + 2 * size >= length:
            reader.read_until(begin + size if keep == "head" else length)
            found = self._units(reader)
            return Units(found, len(found), reader.complete)
        head_end = begin if keep == "tail" else begin + size
        reader.read_until(head_end)
        reader.pass_over(length - size)
        tail_begin = reader.next_begin
        reader.read_until(length)
        found = self._units(reader)
        return Units(found, sum(unit.node.begin < tail_begin for unit in found), complete=False)

    def _units(self, reader: Reader) -> Sequence[Unit]:
        """What is shown whole or as a mark: values as high up as each fits into a window of its own."""
        units: list[Unit] = []
        self._measured_from = self._measured_tokens = 0
        self._too_large = None
        self._around, self._measured, self._too_deep = {}, set(), None
        pending = [iter(reader.root.children)]
        while pending:
            node = next(pending[-1], None)
            if node is None:
                pending.pop()
            elif node.begin < self._first_byte:
                pending.append(iter(node.children))
            elif node.end < 0 and not self._surely_too_large(node, reader):
                # It reaches beyond what was read. Nothing comes after it here.
                break
            elif self._fits_alone(node):
                units.append(Unit(node))
            elif node.count:
                pending.append(iter(node.children))
            else:
                units.append(Unit(node, opaque=True))
        return units

    def _surely_too_large(self, node: Node, reader: Reader) -> bool:
        """Whether the part of a container that was read is already more than any window holds."""
        assert self._limit is not None
        # What is cut off can join with what comes, so a little more than the limit is asked for.
        enough = self._limit + self._limit // 8 + 8
        # Containers come outermost first. One that begins a few bytes later has at most as many
        # tokens less, so deep nesting needs few counts.
        if self._measured_tokens - (node.start - self._measured_from) > enough:
            return True
        part = self._data[node.start : reader.next_begin]
        if len(part) > self._most_bytes:
            return True
        self._measured_from = node.start
        self._measured_tokens = self._cost((Values("bare", (compact(part),)),))
        return self._measured_tokens > enough

    def _fits_alone(self, node: Node) -> bool:
        """Whether a value fits whole into a window that holds nothing else."""
        if self._limit is None:
            return True
        if node.end < 0:
            return False
        assert node.parent is not None
        size = node.end - node.start + len(node.key or b"") + MARK_ROOM + len(self._ask.sentinel.encode())
        if size + self._most_around(node.parent) <= self._limit:
            return True
        if node.end - node.start > self._most_bytes or self._inside_too_large(node):
            return False
        # Measured once for a container; then its children need no measure of their own.
        around = self._measure_around(node.parent)
        if around is None or around + size <= self._limit:
            return around is not None
        # A container that has no room for a mark beside it is better shown in part, with one. What
        # cannot be divided is shown without.
        whole_only = node.end >= self._last_end or not node.count
        tokens = self._cost((self._values([Unit(node)], None if whole_only else node.parent),))
        if tokens <= self._limit:
            return True
        if node.count:
            source = self._data[node.start : node.end]
            self._too_large = Measured(
                node.start, node.end, self._cost((Values("bare", (compact(source),)),))
            )
        return False

    def _inside_too_large(self, node: Node) -> bool:
        """Whether it lies in something so large that it must be too large itself.

        It has at most as many tokens less as it has bytes less, so deep nesting needs few counts.
        """
        outer, limit = self._too_large, self._limit
        if limit is None or outer is None or node.start < outer.start or outer.end < node.end:
            return False
        less = (node.start - outer.start) + (outer.end - node.end)
        return outer.tokens - less > limit + SEAM_TOKENS

    def _most_around(self, container: Node) -> int:
        """How many tokens the containers around a child cost at the most, known without a count."""
        path = []
        node: Node | None = container
        while node is not None and node not in self._around:
            path.append(node)
            node = node.parent
        most = 2 if node is None else self._around[node]
        for inner in reversed(path):
            most += len(inner.key or b"") + 3
            self._around[inner] = most
        return most

    def _measure_around(self, container: Node) -> int | None:
        """The same by a count; None inside what is too deep for any child to be shown."""
        assert self._limit is not None
        deep = self._too_deep
        if deep and deep.start <= container.start and (deep.end < 0 or container.start < deep.end):
            return None
        if container not in self._measured:
            self._measured.add(container)
            writer = Writer(self._root, self._ask.sentinel)
            writer.add(container, b'""' if container.kind == OBJECT else None, b"0")
            tokens = self._cost((Values(STYLES[self._root.kind], writer.finish()),))
            self._around[container] = tokens + SEAM_TOKENS
            if tokens > self._limit + SEAM_TOKENS:
                self._too_deep = container
                return None
        return self._around[container]

    def _largest(self, units: Units, limit: int) -> Cut | None:
        """The largest cut within the limit; None if more has to be read to find it."""
        found = units.all
        if not found:
            return self._finished(None, (), None) if units.complete else None
        if self._ask.keep == "head":
            kept = self._largest_head(units, limit)
            if kept is None:
                if len(found) == 1 and not (units.complete or found[0].opaque):
                    # Long and cheap: it fits, and what comes behind it has to be known.
                    return None
                return self._without_mark(found, limit) or self._instead_of(found[0].node, limit)
            if not units.complete and kept == len(found) - 1:
                return None
            return self._shown(found, kept, len(found), limit)
        if self._ask.keep == "tail":
            first = self._largest_tail(units, 0, limit)
            if not units.complete and (first is None or first <= units.head + 1):
                return None
            if first is None:
                return self._instead_of(found[-1].node, limit)
            return self._shown(found, 0, first, limit)
        bare = self._cost((Values(STYLES[self._root.kind], (Mark(self._ask.sentinel),)),))
        head = self._largest_head(units, min(bare + (limit - bare) // 2, limit)) or 0
        first = self._largest_tail(units, head, limit)
        if first is None and not units.complete:
            return None
        if not head and first is None:
            return self._instead_of(found[0].node, limit)
        return self._shown(found, head, len(found) if first is None else first, limit)

    def _largest_head(self, units: Units, limit: int) -> int | None:
        """How many units at the beginning fit, with a mark behind them unless they are all."""
        # Of the last unit that was read, what follows is not known, unless nothing follows.
        most = units.head if units.head < len(units.all) or units.complete else units.head - 1
        best = largest_fit(most, lambda n: self._price(units.all, n + 1, len(units.all)), limit)
        return None if best is None else best + 1

    def _largest_tail(self, units: Units, head: int, limit: int) -> int | None:
        """The first unit of the largest tail that fits together with `head` units at the beginning."""
        least = head if units.complete else max(head, units.head) + 1
        number = len(units.all) - least
        best = largest_fit(number, lambda n: self._price(units.all, head, len(units.all) - 1 - n), limit)
        return None if best is None else len(units.all) - 1 - best

    def _price(self, units: Sequence[Unit], head: int, tail: int) -> int:
        return self._cost((self._values(units[:head], self._mark_at(units, head, tail), units[tail:]),))

    def _mark_at(self, units: Sequence[Unit], head: int, tail: int) -> Node | None:
        """The container in which units `head` to `tail` are left out; None if there are none."""
        if head == tail:
            return None
        before = units[head - 1] if head else units[tail - 1]
        after = units[tail] if tail < len(units) else units[head]
        return common_container(before.node, after.node)

    def _shown(self, units: Sequence[Unit], head: int, tail: int, limit: int) -> Cut:
        """The cut that shows all units but those from `head` to `tail`."""
        # Values that begin in one token stay together: else one of them would be shown twice.
        fitting = head
        while 0 < head < tail == len(units) and not self._begins_later(
            units[head - 1].node, units[head].node
        ):
            head -= 1
        if not head and tail == len(units):
            return self._apart(units, fitting) if fitting else self._instead_of(units[0].node, limit)
        kept = (*units[:head], *units[tail:])
        if head == tail:
            return self._finished(self._values(kept, None), kept, None)
        gap = Gap(
            self._tokens.token_at(units[head].node.begin) if head else self._first_token,
            None if tail == len(units) else self._tokens.token_at(units[tail].node.begin),
        )
        values = self._values(units[:head], self._mark_at(units, head, tail), units[tail:])
        return self._finished(values, kept, gap, units[head].node.pointer())

    def _apart(self, units: Sequence[Unit], fitting: int) -> Cut:
        """The first units of those that ought to stay together, where there is no room for all."""
        following = self._following(units[fitting].node.begin, self._last_begin(units[fitting - 1].node))
        mark_at = self._mark_at(units, fitting, len(units))
        shown = units[:fitting]
        cut = self._finished(self._values(shown, mark_at), shown, following.gap, following.pointer)
        return cut.but(notices=cut.notices + following.notices)

    def _following(self, byte: int, begun: int) -> Following:
        """What comes at `byte` or behind it, after a window whose last value began at `begun`.

        A window begins with a token. Where the next value begins in a token that began before, only
        the token after that can follow; what begins in between is in no window, and is told instead.
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
        return Following(Gap(token), reader.first_read.pointer(), notices)

    def _without_mark(self, units: Sequence[Unit], limit: int) -> Cut | None:
        """The first value alone, where the limit has no room for a mark beside it."""
        values = self._values(units[:1], None)
        if units[0].opaque or len(units) < 2 or self._cost((values,)) > limit:
            return None
        if not self._begins_later(units[0].node, units[1].node):
            return None
        gap = Gap(self._tokens.token_at(units[1].node.begin))
        return self._finished(values, units[:1], gap, units[1].node.pointer())

    def _begins_later(self, before: Node, after: Node) -> bool:
        """Whether the token in which a value begins lies behind the beginning of those before it."""
        return self._tokens.byte_at(self._tokens.token_at(after.begin)) > self._last_begin(before)

    def _last_begin(self, node: Node) -> int:
        """Where the last value inside a value begins; its own beginning if there is none."""
        while node.children and node.children[-1].index == node.count - 1:
            node = node.children[-1]
        if not node.count or node.end < 0:
            return node.begin
        # Its last child was passed over.
        inside = Reader(self._data[node.start : node.end], lines=False)
        inside.read_until(node.end)
        return node.start + max(leaf.begin for leaf in inside.root.leaves())

    def _instead_of(self, node: Node, limit: int) -> Cut:
        """Not even one value fits: the mark in its place, or in that of a container around it."""
        around = [node]
        while (parent := around[-1].parent) is not None and parent.parent is not None:
            around.append(parent)
        around.reverse()

        def shown(number: int) -> Values:
            unit = Unit(around[number], opaque=True)
            return self._values([unit], unit.node.parent)

        best = largest_fit(len(around), lambda number: self._cost((shown(number),)), limit)
        # Not even a key fits: one mark stands for the member and for what follows it.
        marked = self._nothing(limit)
        if best is None and not any(values.items for values in marked.parts if isinstance(values, Values)):
            return marked
        hidden = around[best or 0]
        end = hidden.end if hidden.end >= 0 else end_of_known_value(self._data, hidden.start)
        unit = Unit(hidden, opaque=True)
        following = Following() if self._ask.keep == "tail" else self._following(end, hidden.begin)
        marked_behind = hidden.parent if following.gap or following.notices else None
        values = None if best is None else self._values([unit], marked_behind)
        cut = self._finished(values, [unit], following.gap, following.pointer)
        parts = marked.parts if best is None else cut.parts
        return cut.but(parts=parts, notices=cut.notices + following.notices)

    def _nothing(self, limit: int) -> Cut:
        """Not even a mark in place of a value fits: one for everything, an empty container, or nothing."""
        style = STYLES[self._root.kind]
        gap = Gap(self._first_token)
        marked = () if not self._ask.sentinel else (Values(style, (Mark(self._ask.sentinel),)),)
        for values in (*marked, Values(style, ())):
            if self._cost((values,)) <= limit and (values.items or style in ("array", "object")):
                return Cut((values,), self._first_token, gap)
        return Cut((), self._first_token, gap)

    def _finished(
        self, values: Values | None, kept: Sequence[Unit], gap: Gap | None, next_pointer: str | None = None
    ) -> Cut:
        return Cut(
            parts=() if values is None else (values,),
            first_token=self._first_token,
            gap=gap,
            hint=note_of(gap, self._first_token, self._tokens.total, self._ask) if gap else "",
            first_pointer=kept[0].node.pointer() if kept else None,
            next_pointer=next_pointer,
            returned_count=self._records(kept),
            notices=tuple(self._notice(unit.node) for unit in kept if unit.opaque),
        )

    def _notice(self, node: Node) -> Notice:
        end = node.end if node.end >= 0 else end_of_known_value(self._data, node.start)
        pointer = node.pointer()
        place = f"at {shortened_pointer(pointer)}" if pointer else "of the document"
        if end - node.start > EXACT_VALUE_BYTES:
            tokens = round(self._tokens.total.tokens * (end - node.start) / len(self._data))
            message = f"the value {place} has about {tokens} tokens, more than a window of this limit admits"
            return Notice("FIELD_TRUNCATED", message, pointer=pointer, tokens_estimate=tokens)
        tokens = self._tokens.token_at(end - 1) + 1 - self._tokens.token_at(node.begin)
        with_key = " with its key" if node.key is not None else ""
        message = f"the value {place} has {tokens} tokens{with_key}, more than a window of this limit admits"
        return Notice("FIELD_TRUNCATED", message, pointer=pointer, tokens=tokens)

    def _records(self, kept: Sequence[Unit]) -> int:
        """How many whole records are shown: members of the array at the top, or of the one below it."""
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

    def _values(
        self, head: Sequence[Unit], mark_at: Node | None, tail: Sequence[Unit] = (), source: bytes = b""
    ) -> Values:
        """Units with their containers around them, and the mark at the gap."""
        writer = Writer(self._root, self._ask.sentinel)
        for unit in head:
            writer.add(unit.node.parent, unit.node.key, self._text(unit))
        if mark_at is not None and self._ask.sentinel:
            writer.mark(mark_at, hidden_between(head, mark_at, tail))
        for unit in tail:
            writer.add(unit.node.parent, unit.node.key, self._text(unit))
        style = STYLES[self._root.kind]
        return Values(style, writer.finish(), self._data[-1:] == b"\n", source)

    def _text(self, unit: Unit) -> bytes:
        if unit.opaque:
            return quoted(self._ask.sentinel)
        return compact(self._data[unit.node.start : unit.node.end])


class Writer:
    """Composes values into the children of the root, opening and closing containers as they come."""

    def __init__(self, root: Node, sentinel: str) -> None:
        self._open = [root]
        self._filled = [False]
        self._keys: list[list[bytes]] = [[]]
        self._sentinel = sentinel
        self._items: list[bytes | Mark] = []
        self._item: list[bytes] = []

    def add(self, container: Node | None, key: bytes | None, text: bytes) -> None:
        assert container is not None
        self._go_to(container)
        self._begin(key)
        self._item.append(text)
        self._end_item()

    def mark(self, container: Node, hidden: int | None) -> None:
        self._go_to(container)
        mark = Mark(self._free_key() if container.kind == OBJECT else self._sentinel, hidden=hidden)
        if len(self._open) == 1:
            self._items.append(mark)
            return
        self._begin(None)
        self._item.append(mark_member(mark) if container.kind == OBJECT else mark_element(mark))

    def finish(self) -> tuple[bytes | Mark, ...]:
        self._go_to(self._open[0])
        return tuple(self._items)

    def _go_to(self, container: Node) -> None:
        """Close what does not hold `container`, open what leads to it."""
        to_open = []
        node = container
        while node.depth >= len(self._open) or self._open[node.depth] is not node:
            to_open.append(node)
            assert node.parent is not None
            node = node.parent
        while self._open[-1] is not node:
            self._item.append(CLOSER[self._open.pop().kind])
            self._filled.pop()
            self._keys.pop()
            self._end_item()
        for opened in reversed(to_open):
            self._begin(opened.key)
            self._item.append(opened.kind)
            self._open.append(opened)
            self._filled.append(False)
            self._keys.append([])

    def _begin(self, key: bytes | None) -> None:
        if len(self._open) > 1 and self._filled[-1]:
            self._item.append(b",")
        self._filled[-1] = True
        if key is not None:
            self._item += (key, b":")
            self._keys[-1].append(key)

    def _end_item(self) -> None:
        if len(self._open) == 1:
            self._items.append(b"".join(self._item))
            self._item = []

    def _free_key(self) -> str:
        """The sentinel, or with as many underscores as no key of the object that is shown has."""
        key = self._sentinel
        taken = {key_text(raw) for raw in self._keys[-1]}
        while key in taken:
            key += "_"
        return key


def missed_notice(pointer: str) -> Notice:
    """Of a value that no window can show."""
    message = (
        f"the value at {shortened_pointer(pointer)} begins in one token with the value before it, "
        "and a window of this limit does not admit both"
    )
    return Notice("FIELD_TRUNCATED", message, pointer=pointer)


def shortened_pointer(pointer: str) -> str:
    """A pointer as it stands in a message."""
    return pointer if len(pointer) <= LONGEST_POINTER_SHOWN else pointer[: LONGEST_POINTER_SHOWN - 3] + "..."


def common_container(one: Node, other: Node) -> Node:
    """The innermost container that holds both values."""
    left, right = one.parent, other.parent
    assert left is not None
    assert right is not None
    while left is not right:
        if left.depth >= right.depth:
            assert left.parent is not None
            left = left.parent
        else:
            assert right.parent is not None
            right = right.parent
    return left


def hidden_between(head: Sequence[Unit], container: Node, tail: Sequence[Unit]) -> int | None:
    """How many children of the container are left out before a tail; None where there is none."""
    if not tail:
        return None
    first = child_towards(tail[0].node, container).index
    # Nothing between two children that are shown in part: then what is hidden lies inside them.
    return first - (child_towards(head[-1].node, container).index + 1 if head else 0) or None


def child_towards(node: Node, container: Node) -> Node:
    """The child of the container that is the node or holds it."""
    while node.parent is not container:
        assert node.parent is not None
        node = node.parent
    return node
