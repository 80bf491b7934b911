"""The tokens of small texts: an encoding in plain Python, without loading tiktoken.

Whole pieces of the pre-split are looked up first; only a piece that is not a token is merged. The result is
the same as tiktoken's, or None: for a character of unknown class, and when the work would take longer than
loading tiktoken.
"""

from __future__ import annotations

import os

# Importing `operator` would load one more file.
from _operator import add

from tokcap.lean.patterns import compiled
from tokcap.lean.record import TYPE_CHECKING
from tokcap.tokens.buckets import NO_RANK, Ranks
from tokcap.tokens.embedded import DIRECTORY

if TYPE_CHECKING:
    import re

    from tokcap.tokens.added import AddedEncoding

# The pre-splits of `tokens.pre_split`, over the classes of `tokens.character_classes` instead of
# characters. `\p{L}` becomes the ASCII letters and the bytes for all other letters, and so on,
# so that `re` can run the patterns on bytes. The bytes: UPPER 80, LOWER 81, CASELESS 82, MARK 83, NUMBER
# 84, BLANK 85, REST 86, LONG_S 87.
LETTER = r"A-Za-z\x80-\x82\x87"
NUMBER = r"0-9\x84"
BLANK = r"\t-\r \x85"

_CL100K = (
    r"'(?:[SDMTsdmt\x87]|[Ll][Ll]|[Vv][Ee]|[Rr][Ee])"
    rf"|[^\r\n{LETTER}{NUMBER}]?+[{LETTER}]++"
    rf"|[{NUMBER}]{{1,3}}+"
    rf"| ?[^{BLANK}{LETTER}{NUMBER}]++[\r\n]*+"
    rf"|[{BLANK}]++\Z"
    rf"|[{BLANK}]*[\r\n]"
    rf"|[{BLANK}]+(?![^{BLANK}])"
    rf"|[{BLANK}]"
)

# Letters without case, and marks, are in both classes of letters. A mark may also precede a word.
UPPER = r"A-Z\x80\x82\x83"
LOWER = r"a-z\x81-\x83\x87"
_CONTRACTION = r"(?:'(?:[SsTtMmDd\x87]|[Rr][Ee]|[Vv][Ee]|[Ll][Ll]))?"

_O200K = (
    rf"[^\r\n{LETTER}{NUMBER}]?[{UPPER}]*[{LOWER}]+{_CONTRACTION}"
    rf"|[^\r\n{LETTER}{NUMBER}]?[{UPPER}]+[{LOWER}]*{_CONTRACTION}"
    rf"|[{NUMBER}]{{1,3}}"
    rf"| ?[^{BLANK}{LETTER}{NUMBER}]+[\r\n/]*"
    rf"|[{BLANK}]*[\r\n]+"
    rf"|[{BLANK}]+(?![^{BLANK}])"
    rf"|[{BLANK}]+"
)

CLASS_PRE_SPLIT = {"cl100k_base": _CL100K.encode(), "o200k_base": _O200K.encode()}

# Costs in nanoseconds, on the machine where loading tiktoken takes as long as `ALLOWANCE` says. Measured
# for source code, logs, Base64 and Chinese, from 16 KB to 1 MB. Only the proportions matter.
PER_BYTE = 80
PER_NEW_PIECE = 1_500
PER_MERGED_BYTE = 1_100
# Every merge scans the rest of its piece, so the cost of a piece grows with the square of its length.
PER_SQUARED_BYTE = 7

# Do this much work before loading tiktoken, which costs the same: about 700 KB of source code, or 90 KB of
# Base64.
ALLOWANCE = {"cl100k_base": 95_000_000, "o200k_base": 200_000_000}

# Every byte as a byte string. Also the length of a piece that is one token, as a sequence of one number.
SINGLE = [bytes((number,)) for number in range(256)]


class SmallTextEncoder:
    """One encoding. It opens its file at the first text.

    `added`: it is not embedded.
    """

    def __init__(self, name: str, added: AddedEncoding | None = None) -> None:
        self._name = name
        self._added = added
        self._work = 0
        # The pieces seen so far, with the lengths of their tokens. Every single byte is a token.
        self._known: dict[bytes, bytes] = dict.fromkeys(SINGLE, SINGLE[1])
        self._ranks: Ranks | None = None
        self._split: re.Pattern[bytes] | None = None
        # Most texts are counted first, and then asked for their lengths.
        self._last = ("", b"")

    def token_lengths(self, text: str) -> bytes | None:
        """Return the bytes of each token, as a sequence of numbers; None: ask tiktoken."""
        # Read once: another thread may replace it at any time.
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
            # Without its file, or with a damaged one, counting is slower but still exact.
            return None
        lengths = b"".join(map(self._known.__getitem__, pieces))
        self._last = (text, lengths)
        return lengths

    def _affords(self, work: int) -> bool:
        self._work += work
        return self._work <= (self._added.allowance if self._added else ALLOWANCE[self._name])

    def _pieces(self, text: str) -> list[bytes] | None:
        """Return the pieces of the pre-split; None if a character has no known class."""
        if self._split is None:
            self._split = self._added.pattern() if self._added else compiled(CLASS_PRE_SPLIT[self._name])
        if text.isascii():
            return self._split.findall(text.encode())
        if self._added:
            classes = self._added.classes_of(text)
        else:
            from tokcap.tokens.character_classes import classes_of

            classes = classes_of(text)
        return None if classes is None else cut_like(self._split.findall(classes), text)

    def _learn(self, new: set[bytes]) -> bool:
        """Find the tokens of new pieces; False if that exceeds the allowance."""
        if not self._affords(PER_NEW_PIECE * len(new)):
            return False
        if self._ranks is None:
            path = self._added.buckets if self._added else os.path.join(DIRECTORY, f"{self._name}.buckets")
            self._ranks = Ranks(path)
        ranks, known = self._ranks, self._known
        tokens = ranks.tokens_among(new)
        known.update(zip(tokens, map(SINGLE.__getitem__, map(len, tokens)), strict=True))
        for piece in new.difference(tokens):
            size = len(piece)
            if not self._affords(size * (PER_MERGED_BYTE + PER_SQUARED_BYTE * size)):
                return False
            known[piece] = merged_lengths(piece, ranks)
        return True


def cut_like(classes: list[bytes], text: str) -> list[bytes]:
    """Cut a text at the same places as its classes."""
    pieces = []
    end = 0
    for piece in classes:
        start, end = end, end + len(piece)
        pieces.append(piece if piece.isascii() else text[start:end].encode())
    return pieces


def merged_lengths(piece: bytes, ranks: Ranks) -> bytes:
    """Merge the first pair of the lowest rank until no pair is a token; return the lengths of the tokens."""
    rank = ranks.__getitem__
    parts = [*map(SINGLE.__getitem__, piece)]
    # The rank of each part joined with the next one; the last part has none.
    pairs = [*map(rank, map(add, parts, parts[1:])), NO_RANK]
    while (lowest := min(pairs)) != NO_RANK:
        place = pairs.index(lowest)
        part = parts[place] = parts[place] + parts.pop(place + 1)
        del pairs[place + 1]
        pairs[place] = rank(part + parts[place + 1]) if place + 1 < len(parts) else NO_RANK
        if place:
            pairs[place - 1] = rank(parts[place - 1] + part)
    return bytes(map(len, parts))
