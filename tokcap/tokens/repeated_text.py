"""Count large payloads whose parts repeat, as records and logs do: a part that was seen before costs nothing.

Parts end at safe cuts, so their counts add up to the count of the whole. If every group of digits is one
token, all digits are read as zeros, so that records that differ only in numbers are equal. What is new in a
chunk is counted by the tokenizer. Nothing is estimated.
"""

from __future__ import annotations

import re
from collections import Counter

from tokcap.lean.record import TYPE_CHECKING
from tokcap.tokens.chunks import as_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# A safe cut of `chunks.WORD_END`, with the signs after it: it is after the first byte.
SEPARATOR = re.compile(rb"[A-Za-z0-9][\x00-&(-/:-@\[-`{-\x7f]{1,8}")
# Never part of UTF-8. It marks the cuts.
CUT = b"\xff"
ZEROS = bytes.maketrans(b"123456789", b"0" * 9)
# Digits become zeros, bytes of other characters 0x80, all others blanks.
DIGITS_AND_OTHERS = bytes(0x30 if 0x30 <= byte <= 0x39 else max(byte & 0x80, 0x20) for byte in range(256))

# Separators are chosen from this much text, among this many that are frequent in it.
SAMPLE_BYTES = 1 << 15
MOST_CANDIDATES, MOST_SEPARATORS = 12, 6
# Nanoseconds for a part that is looked up, a byte that is counted, and a byte that is searched for one
# separator. Only the proportions matter.
PER_PART, PER_NEW_BYTE, PER_SEARCHED_BYTE = 80, 45, 0.7
# Cutting has to save this share of the work.
LEAST_SAVED = 0.3
# How many bytes of parts are remembered. Python needs about twice as much for them.
MOST_REMEMBERED_BYTES = 1 << 20
# After a choice that does not pay, this many chunks are counted whole. That doubles each time.
FIRST_PAUSE = 32
# Choose again after so many chunks in a row that had more new text than `LEAST_SAVED` allows.
MOST_BAD_CHUNKS = 8


class RepeatedTextCounter:
    """Counts chunks (see `tokens.chunks`) of one payload, in order. `count` counts what is new."""

    def __init__(self, count: Callable[[str], int], *, same_digits: bool) -> None:
        self._count = count
        self._same_digits = same_digits
        # Each separator, and the same with a cut in it.
        self._separators: Sequence[tuple[bytes, bytes]] = ()
        self._known: dict[bytes, int] = {}
        # Parts that were new once. The second time they are counted alone, and remembered.
        self._met: set[bytes] = set()
        self._remembered_bytes = 0
        self._sample = b""
        self._pause = FIRST_PAUSE
        self._paused_until = self._chunks = self._bad_chunks = 0

    @property
    def pays(self) -> bool:
        """Whether it saves time, as far as that is known."""
        return self._chunks >= self._paused_until

    def count(self, chunk: bytes) -> int:
        """Return the tokens of a chunk, which is valid UTF-8."""
        self._chunks += 1
        if self._chunks < self._paused_until:
            return self._count(as_text(chunk))
        text = chunk.translate(ZEROS) if self._same_digits and may_be_zeros(chunk) else chunk
        if self._separators:
            return self._count_parts(text)
        self._sample += text
        if len(self._sample) >= SAMPLE_BYTES:
            self._choose()
        return self._count(as_text(text))

    def _choose(self) -> None:
        """Choose separators from the sample; pause if none saves enough."""
        self._separators, self._sample = separators_of(self._sample), b""
        if not self._separators:
            self._start_again()

    def _start_again(self) -> None:
        self._separators = ()
        self._forget()
        self._bad_chunks = 0
        self._paused_until = self._chunks + self._pause
        self._pause *= 2

    def _forget(self) -> None:
        self._known.clear()
        self._met.clear()
        self._remembered_bytes = 0

    def _count_parts(self, text: bytes) -> int:
        parts = divided(text, self._separators)
        counts = [*map(self._known.get, parts)]
        if None not in counts:
            self._bad_chunks = 0
            return sum(counts)  # type: ignore[arg-type]  # mypy cannot see that none is None
        total = sum(filter(None, counts))
        new = Counter(part for part, count in zip(parts, counts, strict=True) if count is None)
        rest = []
        for part, times in new.items():
            if times > 1 or part in self._met:
                count = self._known[part] = self._count(as_text(part))
                total += times * count
            else:
                rest.append(part)
        self._met.update(rest)
        # The others are counted together, in order: where two of them meet is a safe cut.
        unknown = b"".join(rest)
        self._judge(len(unknown), len(text))
        return total + self._count(as_text(unknown))

    def _judge(self, unknown_bytes: int, size: int) -> None:
        """Remember less, or choose other separators, if too much is new."""
        self._remembered_bytes += unknown_bytes
        if self._remembered_bytes > MOST_REMEMBERED_BYTES:
            self._forget()
        is_bad = unknown_bytes > (1 - LEAST_SAVED) * size
        self._bad_chunks = self._bad_chunks + 1 if is_bad else 0
        if self._bad_chunks > MOST_BAD_CHUNKS:
            self._start_again()


def may_be_zeros(chunk: bytes) -> bool:
    """Return whether no digit is next to a character that is not ASCII: that may be a number too."""
    if chunk.isascii():
        return True
    kinds = chunk.translate(DIGITS_AND_OTHERS)
    return b"0\x80" not in kinds and b"\x800" not in kinds


def divided(text: bytes, separators: Sequence[tuple[bytes, bytes]]) -> Sequence[bytes]:
    """Return the parts of a text. They join to the same text."""
    for separator, with_cut in separators:
        text = text.replace(separator, with_cut)
    return text.split(CUT)


def separators_of(sample: bytes) -> Sequence[tuple[bytes, bytes]]:
    """Return what divides a text into parts of which many are equal; nothing if that saves too little."""
    frequent = Counter(SEPARATOR.findall(sample)).most_common(MOST_CANDIDATES)
    candidates = [(text, text[:1] + CUT + text[1:]) for text, times in frequent if times > 1]
    chosen: list[tuple[bytes, bytes]] = []
    least = (1 - LEAST_SAVED) * PER_NEW_BYTE * len(sample)
    while candidates and len(chosen) < MOST_SEPARATORS:
        cost, best = min((work_of(sample, [*chosen, each]), each) for each in candidates)
        if cost >= least:
            break
        least = cost
        chosen.append(best)
        candidates.remove(best)
    return chosen


def work_of(sample: bytes, separators: Sequence[tuple[bytes, bytes]]) -> float:
    """Return about how long a text takes if these separators divide it."""
    parts = divided(sample, separators)
    new_bytes = sum(map(len, set(parts)))
    searched = PER_SEARCHED_BYTE * len(separators) * len(sample)
    return PER_PART * len(parts) + PER_NEW_BYTE * new_bytes + searched
