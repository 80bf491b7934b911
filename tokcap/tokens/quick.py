"""The tokens of small texts at once: an embedded encoding in plain Python, without loading tiktoken.

Whole pieces of the pre-split are looked up first, and only what is no token is merged. It gives tiktoken's
tokens or none at all: a character in doubt, or more work than loading tiktoken costs, and it declines.
"""

from __future__ import annotations

import os

# `operator` itself is one more file to load, for nothing.
from _operator import add

from tokcap.lean.patterns import compiled
from tokcap.lean.record import TYPE_CHECKING
from tokcap.tokens.buckets import NO_RANK, Ranks
from tokcap.tokens.presplit import PRE_SPLIT
from tokcap.tokens.vocabulary import DIRECTORY

if TYPE_CHECKING:
    import re

# What work costs, in nanoseconds on the machine on which loading tiktoken takes what `ALLOWANCE` says:
# counted there for source code, logs, Base64 and Chinese, from 16 KB to 1 MB. Only the proportions matter.
PER_BYTE = 80
PER_NEW_PIECE = 1_500
PER_MERGED_BYTE = 1_100
# Every merge looks at the whole rest of its piece: long pieces are quadratic, and soon cost too much.
PER_SQUARED_BYTE = 7

# As much is done here before tiktoken is loaded, which is just as dear: some 700 KB of source code, 90 KB of
# Base64. Who goes on to count much more has lost no more than that.
ALLOWANCE = {"cl100k_base": 95_000_000, "o200k_base": 200_000_000}

# Every byte on its own; and, where a whole piece is one token, its length as a sequence of one number.
SINGLE = [bytes((number,)) for number in range(256)]


class QuickEncoder:
    """One embedded encoding. Opens its file at the first text."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._work = 0
        # Pieces met so far, with the lengths of their tokens. Every byte is a token.
        self._known: dict[bytes, bytes] = dict.fromkeys(SINGLE, SINGLE[1])
        self._ranks: Ranks | None = None
        self._split: re.Pattern[bytes] | None = None
        # A text is mostly counted first, and then asked for its lengths.
        self._last = ("", b"")

    def token_lengths(self, text: str) -> bytes | None:
        """Bytes of each token, as a sequence of numbers; None: ask tiktoken."""
        # Taken once: another thread may put its own there meanwhile.
        last_text, last_lengths = self._last
        if text == last_text:
            return last_lengths
        if not self._affords(PER_BYTE * len(text)):
            return None
        try:
            pieces = self._pieces(text)
            if pieces is None or not self._learn(set(pieces).difference(self._known)):
                return None
        except (OSError, ValueError):
            # A file that is missing or damaged costs time, nothing else.
            return None
        lengths = b"".join(map(self._known.__getitem__, pieces))
        self._last = (text, lengths)
        return lengths

    def _affords(self, work: int) -> bool:
        self._work += work
        return self._work <= ALLOWANCE[self._name]

    def _pieces(self, text: str) -> list[bytes] | None:
        """The text as the pre-split cuts it; None if a character is in doubt."""
        if self._split is None:
            self._split = compiled(PRE_SPLIT[self._name])
        if text.isascii():
            return self._split.findall(text.encode())
        from tokcap.tokens.classes import classes_of

        classes = classes_of(text)
        return None if classes is None else own_bytes(text, self._split.findall(classes))

    def _learn(self, new: set[bytes]) -> bool:
        """Find the tokens of pieces not met before; False if the allowance does not reach so far."""
        if not self._affords(PER_NEW_PIECE * len(new)):
            return False
        if self._ranks is None:
            self._ranks = Ranks(os.path.join(DIRECTORY, f"{self._name}.buckets"))
        ranks, known = self._ranks, self._known
        tokens = ranks.tokens_among(new)
        known.update(zip(tokens, map(SINGLE.__getitem__, map(len, tokens)), strict=True))
        for piece in new.difference(tokens):
            size = len(piece)
            if not self._affords(size * (PER_MERGED_BYTE + PER_SQUARED_BYTE * size)):
                return False
            known[piece] = merged_lengths(piece, ranks)
        return True


def own_bytes(text: str, classes: list[bytes]) -> list[bytes]:
    """The pieces of a text, cut as its classes were."""
    pieces = []
    end = 0
    for piece in classes:
        start, end = end, end + len(piece)
        pieces.append(piece if piece.isascii() else text[start:end].encode())
    return pieces


def merged_lengths(piece: bytes, ranks: Ranks) -> bytes:
    """Merge the pair of lowest rank, the first of them, as long as there is one."""
    rank = ranks.__getitem__
    parts = [*map(SINGLE.__getitem__, piece)]
    # Of each part with the next one; the last has none.
    pairs = [*map(rank, map(add, parts, parts[1:])), NO_RANK]
    while (lowest := min(pairs)) != NO_RANK:
        place = pairs.index(lowest)
        part = parts[place] = parts[place] + parts.pop(place + 1)
        del pairs[place + 1]
        pairs[place] = rank(part + parts[place + 1]) if place + 1 < len(parts) else NO_RANK
        if place:
            pairs[place - 1] = rank(parts[place - 1] + part)
    return bytes(map(len, parts))
