"""Checkpoints: where some tokens of a payload begin. They can be stored, and counting can resume there."""

from __future__ import annotations

import sys

from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

MAGIC = b"tokcap index 2\n"
COMPLETE, VALID_UTF8, IN_PIECE, HAS_SAMPLE = 1, 2, 4, 8
# A file has at most about this many checkpoints, those of 128 MiB. In a larger payload they are further
# apart: a page reads the whole file and one stretch between two checkpoints, possibly over a network.
MOST_STORED = 1 << 13


def last_at_most(ordered: Sequence[int], value: int) -> int:
    """Return the index of the last number that is at most `value`; -1 if there is none.

    Importing `bisect` takes longer than all searches of a call.
    """
    low, high = 0, len(ordered)
    while low < high:
        middle = (low + high) // 2
        if ordered[middle] <= value:
            low = middle + 1
        else:
            high = middle
    return low - 1


class Checkpoints:
    """Token `tokens[i]` begins at byte `bytes[i]`, and that is a safe cut."""

    def __init__(self) -> None:
        # Lists, because there is one entry per 16 KiB and importing `array` takes longer than most counts.
        self.tokens = [0]
        self.bytes = [0]
        # Whether the last one is the end of the payload, and whether everything up to it is valid UTF-8.
        self.complete = False
        self.valid_utf8 = True
        # Whether the last one is a cut with `in_piece` (see `Cut`). The others need not know: their end is
        # known too.
        self.in_piece = False
        # How many tokens some bytes of the payload have, from which its total is estimated; None if unknown.
        self.sample: tuple[int, int] | None = None

    def add(self, tokens: int, size: int, *, valid_utf8: bool = True, in_piece: bool = False) -> None:
        """Add the end of the next chunk, given its number of tokens and its size in bytes."""
        self.in_piece = in_piece
        self.valid_utf8 = self.valid_utf8 and valid_utf8
        self.tokens.append(self.tokens[-1] + tokens)
        self.bytes.append(self.bytes[-1] + size)

    def finish(self) -> None:
        """Note that the last checkpoint is the end of the payload."""
        self.complete = True

    def join(self, other: Self) -> None:
        """Append the checkpoints of the part that follows; its own count starts at 0."""
        tokens, size = self.tokens[-1], self.bytes[-1]
        self.tokens += [tokens + token for token in other.tokens[1:]]
        self.bytes += [size + byte for byte in other.bytes[1:]]
        self.valid_utf8 = self.valid_utf8 and other.valid_utf8
        self.in_piece = other.in_piece

    def __len__(self) -> int:
        return len(self.tokens)

    def packed(self, size: int) -> bytes:
        """Return the content of an index file for a payload of this size."""
        flags = COMPLETE * self.complete | VALID_UTF8 * self.valid_utf8 | IN_PIECE * self.in_piece
        flags |= HAS_SAMPLE * (self.sample is not None)
        from tokcap.lean.digest import checksum

        tokens, places = self.tokens, self.bytes
        if len(self) > MOST_STORED:
            tokens, places = thinned(tokens, places)
        head = MAGIC + little_endian([size, flags, len(tokens)])
        body = head + little_endian(tokens) + little_endian(places) + little_endian(self.sample or ())
        return body + checksum(body)

    @classmethod
    def unpacked(cls, data: bytes, size: int) -> Self | None:
        """Read what `packed` wrote; None if the data is damaged or belongs to another payload."""
        from tokcap.lean.digest import checksum

        body, seal = data[:-4], data[-4:]
        if not body.startswith(MAGIC) or seal != checksum(body) or len(body) < len(MAGIC) + 24:
            return None
        head_end = len(MAGIC) + 24
        found_size, flags, number = from_little_endian(body[len(MAGIC) : head_end])
        body_end = head_end + 16 * number
        sample_bytes = 16 if flags & HAS_SAMPLE else 0
        if found_size != size or len(body) != body_end + sample_bytes or not number:
            return None
        found = cls()
        found.tokens = from_little_endian(body[head_end : head_end + 8 * number])
        found.bytes = from_little_endian(body[head_end + 8 * number : body_end])
        if sample_bytes:
            tokens, sampled = from_little_endian(body[body_end:])
            found.sample = tokens, sampled
        found.complete, found.valid_utf8 = bool(flags & COMPLETE), bool(flags & VALID_UTF8)
        found.in_piece = bool(flags & IN_PIECE)
        return found


def thinned(tokens: Sequence[int], places: Sequence[int]) -> tuple[list[int], list[int]]:
    """Return fewer checkpoints, with the first and the last. All are safe cuts, so any of them will do."""
    distance = places[-1] // MOST_STORED
    kept = [0]
    for number in range(1, len(places) - 1):
        if places[number] - places[kept[-1]] >= distance:
            kept.append(number)
    kept.append(len(places) - 1)
    return [tokens[number] for number in kept], [places[number] for number in kept]


def little_endian(numbers: Sequence[int]) -> bytes:
    # `array` and `struct` take longer to import than this takes to run.
    return b"".join(number.to_bytes(8, "little") for number in numbers)


def from_little_endian(data: bytes) -> list[int]:
    if sys.byteorder == "little":
        return memoryview(data).cast("q").tolist()
    return [int.from_bytes(data[place : place + 8], "little") for place in range(0, len(data), 8)]
