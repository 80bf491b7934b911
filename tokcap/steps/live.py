"""Pass text on while it arrives, as long as it is certain to be inside the window.

That is certain if the text fits together with the mark and stderr's share. What was passed on is the
beginning of the answer, and is skipped when the answer is written. A session hears of it before it is out.
"""

from __future__ import annotations

import time

from tokcap.core.payload import RUNS_LONG, RUNS_ON, TextPayload
from tokcap.core.tokenizer import after_cut, most_tokens, tokens_of
from tokcap.shapes.beginning import BEGINNING_BYTES
from tokcap.startup.record import TYPE_CHECKING, Record
from tokcap.tokens import open_index
from tokcap.tokens.chunks import LONG_STRETCH_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from tokcap.core.payload import Sink, Spool
    from tokcap.core.tokenizer import Tokenizer
    from tokcap.steps.charging import Charge

    Write: TypeAlias = Callable[[bytes], None]


# Count in steps of this many bytes.
STEP_BYTES = 1 << 12
# How far back to search for a safe cut.
LOOK_BACK_BYTES = 512
# A block that does not fit is divided only if more arrives after this time. Most commands have ended by then.
FULL_SECONDS = 0.1
# The first announcement to a session covers at least this many tokens: a few short lines need only one.
FIRST_TOKENS = 64
# Count when there are this many uncounted bytes, even if no announcement needs it: that bounds memory.
MOST_UNCOUNTED_BYTES = 1 << 20
ALL_TOKENS = 1 << 62
NEWLINE = ord("\n")


class RunningCount:
    """Counts the tokens of text that is still arriving. Only tokens that can no longer change are counted."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        # Units and tokens up to the last safe cut, the bytes after it, and how many tokens these can have.
        self._units = self.at_least = 0
        self._uncounted = bytearray()
        self._most_uncounted_tokens = 0
        # Number of uncounted bytes at which `add` counts.
        self._most_uncounted_bytes = MOST_UNCOUNTED_BYTES
        # Number of uncounted bytes at which `is_above` counts text without a safe cut again.
        self._recount_bytes = 0
        # Number of uncounted bytes in which a safe cut is searched for by encoding.
        self._stretch_bytes = LONG_STRETCH_BYTES
        self._has_failed = False

    def add(self, block: bytes) -> None:
        self._uncounted += block
        # A character that two blocks share is replaced in both of them here, so this may be too many.
        self._most_uncounted_tokens += most_tokens(block, self._tokenizer)

    def add_to_bounded(self, block: bytes) -> None:
        """Add a block; count when much is uncounted, which bounds memory."""
        self.add(block)
        if len(self._uncounted) > self._most_uncounted_bytes:
            self.count(ALL_TOKENS)
            # Text without a safe cut stays uncounted. Do not search it again with every block.
            self._most_uncounted_bytes = max(MOST_UNCOUNTED_BYTES, 2 * len(self._uncounted))

    def at_most(self) -> int:
        """The tokens if every uncounted byte were a token, or as many as the tokenizer makes of one."""
        return self.at_least + self._most_uncounted_tokens

    def copy(self) -> RunningCount:
        """Return an independent count of the same text."""
        copied = RunningCount(self._tokenizer)
        copied.__dict__.update(self.__dict__, _uncounted=self._uncounted[:])
        return copied

    def is_within(self, tokens: int, *, certainly: bool = True) -> bool:
        """Return whether there are no more tokens; `certainly`: whatever follows. Count only if needed."""
        if self.at_most() > tokens > 0:
            self.count(tokens)
            if not certainly and self.at_least <= tokens:
                return self.total() <= tokens
        return self.at_most() <= tokens

    @property
    def is_long(self) -> bool:
        """Whether more is uncounted than a beginning that is examined."""
        return len(self._uncounted) > BEGINNING_BYTES

    def count(self, enough: int) -> None:
        """Count up to the last safe cut; stop when there are more than `enough` tokens."""
        while self.at_least <= enough and (cut := self._next_cut()):
            self._units += self._count(cut)
            self.at_least = tokens_of(self._units, self._tokenizer)
            del self._uncounted[:cut]
            self._tokenizer = after_cut(self._tokenizer)
            self._recount_bytes = 0
        self._most_uncounted_tokens = most_tokens(self._uncounted, self._tokenizer)

    def total(self) -> int:
        """Return the tokens of the text if it is complete now."""
        return tokens_of(self._units + self._count(len(self._uncounted)), self._tokenizer)

    def is_above(self, tokens: int) -> bool:
        """Return whether there are more tokens. In text without a safe cut that may be noticed late."""
        if self.at_least > tokens or self.at_most() <= tokens or len(self._uncounted) < self._recount_bytes:
            return self.at_least > tokens
        # Counted as a whole, and again when its size has doubled: such text may never end.
        self._recount_bytes = 2 * len(self._uncounted)
        return self.total() > tokens

    def _count(self, end: int) -> int:
        """Return the units of the first uncounted bytes."""
        if not self._has_failed:
            try:
                return self._tokenizer.units(self._uncounted[:end].decode("utf-8", "replace"))
            except Exception:
                # The command is running, so nothing may fail here: from now on, count bytes. The answer
                # counts everything, and reports what is wrong.
                self._has_failed = True
        return most_tokens(self._uncounted[:end], self._tokenizer) * self._tokenizer.units_per_token

    def _next_cut(self) -> int | None:
        """Return a safe cut within the next step, or the last one near the end."""
        size = len(self._uncounted)
        step = STEP_BYTES if size > 2 * STEP_BYTES else size - LOOK_BACK_BYTES
        cut = 0
        search_from = max(step, 0)
        while (found := self._tokenizer.safe_cut(self._uncounted, 0, search_from)) is not None:
            if found <= search_from:
                break
            cut = search_from = found
            if step == STEP_BYTES:
                break
        if not cut and size > self._stretch_bytes:
            # A long run without a cut that can be seen. Most runs have one that encoding finds.
            stretch = bytes(self._uncounted[: self._stretch_bytes])
            found_cut = self._tokenizer.find_safe_cut(stretch)
            self._stretch_bytes = LONG_STRETCH_BYTES if found_cut else 2 * self._stretch_bytes
            return found_cut
        return cut or None


class Room(Record):
    """How many tokens one stream may pass on: alone, and together with all that was passed on before."""

    alone: int
    together: int
    # Whether it has to fit whatever follows. If not, there must be some room left.
    certainly: bool = True


class WriteOrder:
    """The bytes that were passed on, of both streams in the order in which they were written.

    A reader may get both from one pipe, where they cost more tokens than in two. As long as only one stream
    was passed on, its own count covers it.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._first: LiveSink | None = None
        self._tokens: RunningCount | None = None
        # Empty unless both streams were passed on.
        self.together = bytearray()

    def add(self, stream: LiveSink, data: bytes, room: Room) -> bool:
        """Add what is about to be written; False if it is not certain to fit, and must not be written."""
        self._first = self._first or stream
        if self._tokens is None and stream is self._first:
            return True
        before = self._first.spool.read(0, self._first.passed) if self._tokens is None else b""
        tokens = self._tokens.copy() if self._tokens else RunningCount(self._tokenizer)
        tokens.add(before + data)
        if not tokens.is_within(room.together, certainly=room.certainly):
            return False
        self._tokens = tokens
        self.together += before + data
        return True


class LiveSink:
    """A sink that keeps everything in its spool, and passes the beginning on at once."""

    is_out = False

    def __init__(
        self,
        spool: Spool,
        write: Callable[[bytes], None],
        tokenizer: Tokenizer,
        is_text: Callable[[bytes], bool],
        order: WriteOrder,
        *,
        room: Room,
        prompt_room: Room,
        is_late: bool = False,
        way_on: Callable[[int], str] | None = None,
    ) -> None:
        """`is_text` returns whether a beginning is certain to be text; nothing is passed on before that.

        An exception is what a command has written before it waits for input. `prompt_room` is for that.

        With `is_late`, nothing is passed on before the first empty block. If there is no `room`, only prompts
        are passed on. `way_on` returns how a reader gets what follows a byte, for a line of tokcap's own.
        """
        self.spool = spool
        self._write = write
        self._tokenizer = tokenizer
        self._tokens = RunningCount(tokenizer)
        self._is_text = is_text
        self._order = order
        self._room = room
        self._prompt_room = prompt_room
        self._way_on = way_on
        # That line: it is not a part of the output.
        self.words = b""
        # No token is longer, so a block of more bytes does not fit.
        self._most_bytes = (max(room.alone, prompt_room.alone) + 1) * tokenizer.longest_token_bytes
        self._is_certainly_text = False
        self._passes_on = prompt_room.alone > 0
        self._has_begun = not is_late
        # Whether there is more than fits, and since when.
        self._is_full = False
        self._full_since = 0.0
        # Number of bytes that were passed on.
        self.passed = 0

    def write(self, block: bytes) -> None:
        """Keep a block, and pass on what is certain to be shown. If it is empty, the command waits."""
        self.spool.write(block)
        if block is RUNS_ON:
            return
        if not self._passes_on or not (self._has_begun or self._begin(block)):
            return
        if len(block) > self._most_bytes:
            self._note_full()
        if not self._is_full:
            self._tokens.add(block)
            if self._pass_on(is_prompt=not block and block is not RUNS_LONG):
                return
            if block is RUNS_LONG and self._room.alone > 0 and self._has_begun_as_text():
                # More than fits is there already.
                self._note_full()
        if self._is_full and (not block or time.monotonic() > self._full_since + FULL_SECONDS):
            self._passes_on = False
            self._pass_on_lines()
            self._tell_way_on()

    def _begin(self, block: bytes) -> bool:
        """Begin to pass on what has been kept so far. Return whether to go on with this block."""
        if block or (block is RUNS_LONG and self._room.alone <= 0):
            return False
        self._has_begun = True
        if self.spool.size > BEGINNING_BYTES:
            self._is_full = True
        else:
            self._tokens.add(self.spool.read(0, self.spool.size))
        return True

    def _pass_on(self, *, is_prompt: bool) -> bool:
        """Pass on all that has arrived, if it is certain to be shown."""
        room = self._prompt_room if is_prompt else self._room
        may_pass = is_prompt or (room.alone > 0 and self._has_begun_as_text())
        if may_pass and self._tokens.is_within(room.alone, certainly=room.certainly):
            return self._pass_up_to(self.spool.size, room)
        if is_prompt or self._tokens.at_least > self._prompt_room.alone or self._tokens.is_long:
            self._note_full()
        return False

    def _note_full(self) -> None:
        if not self._is_full:
            self._is_full = True
            self._full_since = time.monotonic()

    def _has_begun_as_text(self) -> bool:
        if not self._is_certainly_text:
            beginning = self.spool.read(0, min(self.spool.size, BEGINNING_BYTES))
            self._is_certainly_text = self._is_text(beginning)
        return self._is_certainly_text

    def _pass_on_lines(self) -> None:
        """Pass on the lines that fit: the rest may take long, or may never end."""
        if self._room.alone <= 0 or not self._has_begun_as_text():
            return
        data = self.spool.read(0, min(self.spool.size, BEGINNING_BYTES))
        try:
            index = open_index(TextPayload(data), self._tokenizer)
            starts = index.starts(0, index.reach(self._room.alone))
        except Exception:
            # As in `RunningCount`: the answer reports it.
            return
        # As in a window: end where both a line and a token end.
        ends = [start for start in starts if start > self.passed and data[start - 1] == NEWLINE]
        if ends:
            self._pass_up_to(ends[-1], self._room)

    def _tell_way_on(self) -> None:
        """Say where the rest can be read while it is written: nothing more is passed on before the end."""
        way = self._way_on(self.passed) if self._way_on else ""
        if way and (not self.passed or self.spool.read(self.passed - 1, self.passed) == b"\n"):
            self.words = f"[RUNNING] {way}\n".encode()
            self._write(self.words)

    def _pass_up_to(self, end: int, room: Room) -> bool:
        data = self.spool.read(self.passed, end)
        if not self._order.add(self, data, room):
            return False
        self.passed = end
        # What is passed on is shown as text, whatever follows.
        self._is_certainly_text = True
        self._write(data)
        return True

    @property
    def tail(self) -> bytes:
        return self.spool.tail

    def finish(self) -> None:
        """Write nothing: the answer shows the bytes that were not passed on."""
        self.spool.finish()

    def close(self) -> None:
        self.spool.close()


class UntilFull:
    """A sink that writes to another one, and calls `full` once there is more than a window holds."""

    def __init__(
        self, sink: Sink, tokenizer: Tokenizer, window_tokens: int, full: Callable[[], None]
    ) -> None:
        self._sink = sink
        self._tokens = RunningCount(tokenizer)
        self._window_tokens = window_tokens
        # No token is longer, so a block of more bytes need not be counted.
        self._most_bytes = (window_tokens + 1) * tokenizer.longest_token_bytes
        self._full: Callable[[], None] | None = full

    def write(self, block: bytes) -> None:
        self._sink.write(block)
        if self._full is None:
            return
        self._tokens.add(block)
        if len(block) <= self._most_bytes and self._tokens.at_most() > self._window_tokens:
            self._tokens.count(self._window_tokens)
        if len(block) > self._most_bytes or self._tokens.is_above(self._window_tokens):
            self._full()
            self._full = None

    def finish(self) -> None:
        self._sink.finish()


class Meter:
    """What one call has written of both streams before its answer. The session pays for it."""

    def __init__(self, charge: Charge, tokenizer: Tokenizer, *, announces: bool) -> None:
        """`announces` is False if nothing is out before the call ends, as in a library call."""
        self._charge = charge
        self._tokenizer = tokenizer
        self._announces = announces
        self._announced = 0
        self._streams: list[RunningCount] = []
        # Both streams in the order of writing. A reader may get both from one pipe, and pays for that.
        self._together: RunningCount | None = None

    def counting(self, *writes: Write) -> tuple[Write, ...]:
        """Return functions that write one stream, and count and announce it before that."""
        text = RunningCount(self._tokenizer)

        def counted(write: Write) -> Write:
            def count_and_write(block: bytes) -> None:
                if block:
                    self._count(block, text)
                write(block)

            return count_and_write

        return tuple(map(counted, writes))

    def tokens_written(self) -> int:
        """Return the tokens of everything that was written."""
        return self._dearest(RunningCount.total)

    def close(self) -> None:
        """Charge what is out if the call ends before its answer was charged."""
        if self._announced and not self._charge.is_settled:
            self._charge.settle(self.tokens_written())

    def _count(self, block: bytes, text: RunningCount) -> None:
        if text not in self._streams:
            if self._streams:
                self._together = self._streams[0].copy()
            self._streams.append(text)
        for counted in (text, self._together):
            if counted:
                counted.add_to_bounded(block)
        if self._announces:
            self._announce()

    def _dearest(self, tokens: Callable[[RunningCount], int]) -> int:
        """Return the tokens of both streams, in the more expensive way to read them."""
        apart = sum(map(tokens, self._streams))
        return max(apart, tokens(self._together)) if self._together else apart

    def _announce(self) -> None:
        if self._dearest(RunningCount.at_most) <= self._announced:
            return
        for text in (*self._streams, self._together):
            if text:
                text.count(ALL_TOKENS)
        if (tokens := self._dearest(RunningCount.at_most)) > self._announced:
            self._announced = max(2 * tokens, FIRST_TOKENS)
            if self._charge.limit is not None:
                self._announced = max(min(self._announced, self._charge.limit), tokens)
            self._announces = self._charge.announce(self._announced)
