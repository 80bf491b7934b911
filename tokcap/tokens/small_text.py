"""The tokens of small texts: an encoding in plain Python, without loading tiktoken.

Whole pieces of the pre-split are looked up first; only a piece that is not a token is merged. The result is
the same as tiktoken's, or None: for a character of unknown class, and when the work would take longer than
loading tiktoken.
"""

from __future__ import annotations

import os

# Importing `operator` would load one more file.
from _operator import add, mul

from tokcap.lean.patterns import compiled
from tokcap.lean.record import TYPE_CHECKING
from tokcap.tokens.buckets import NO_RANK, Ranks
from tokcap.tokens.embedded import ALLOWANCE, DIRECTORY, remember

if TYPE_CHECKING:
    import re
    from collections.abc import Iterable, Iterator

    from tokcap.tokens.added import AddedEncoding

# The pre-splits of `tokens.pre_split`, over the classes of `tokens.character_classes` instead of
# characters. `\p{L}` becomes the ASCII letters and the bytes for all other letters, and so on,
# so that `re` can run the patterns on bytes. The bytes: UPPER 80, LOWER 81, CASELESS 82, MARK 83, NUMBER
# 84, BLANK 85, REST 86, LONG_S 87.
LETTER = r"A-Za-z\x80-\x82\x87"
NUMBER = r"0-9\x84"
BLANK = r"\t-\r \x85"

# The engine passes over a branch at once if it begins with one character or one class that does not match. So
# no branch that is tried often begins with a repetition. Most pieces are words with or without a blank, and
# the first branches are theirs.
_CL100K = (
    rf" [{LETTER}]++"
    rf"|[{LETTER}][{LETTER}]*+"
    r"|'(?:[SDMTsdmt\x87]|[Ll][Ll]|[Vv][Ee]|[Rr][Ee])"
    rf"|[^\r\n{LETTER}{NUMBER}][{LETTER}]++"
    rf"|[{NUMBER}][{NUMBER}]{{0,2}}+"
    rf"|[^{BLANK}{LETTER}{NUMBER}][^{BLANK}{LETTER}{NUMBER}]*+[\r\n]*+"
    rf"| [^{BLANK}{LETTER}{NUMBER}]++[\r\n]*+"
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

# In ASCII no character is in both classes of letters, so that the engine need not try several ways.
_ASCII_BLANK = r"\t-\r "
_ASCII_CONTRACTION = r"(?:'(?:[SsTtMmDd]|[Rr][Ee]|[Vv][Ee]|[Ll][Ll])|)"
_ASCII_O200K = (
    rf"[^\r\nA-Za-z0-9]?+[A-Z]*+[a-z]++{_ASCII_CONTRACTION}"
    rf"|[^\r\nA-Za-z0-9]?+[A-Z]++{_ASCII_CONTRACTION}"
    r"|[0-9]{1,3}+"
    rf"| ?[^{_ASCII_BLANK}A-Za-z0-9]++[\r\n/]*+"
    rf"|[{_ASCII_BLANK}]*[\r\n]++"
    rf"|[{_ASCII_BLANK}]+(?![^{_ASCII_BLANK}])"
    rf"|[{_ASCII_BLANK}]"
)

# The same pre-splits for texts of ASCII alone.
ASCII_PRE_SPLIT = {"cl100k_base": CLASS_PRE_SPLIT["cl100k_base"], "o200k_base": _ASCII_O200K.encode()}

# Costs in nanoseconds, on the machine where loading tiktoken takes as long as `ALLOWANCE` says. Measured
# for source code, logs, Base64 and Chinese, from 16 KB to 1 MB. Only the proportions matter.
PER_BYTE = 80
PER_NEW_PIECE = 1_500
PER_MERGED_BYTE = 1_100
# Every merge scans the rest of its piece, so the cost of a piece grows with the square of its length.
PER_SQUARED_BYTE = 7

# The first 127 merges of ASCII in each vocabulary, two bytes for each. From 128 on, a byte stands for the
# merge of that number. `compile.first_merges` makes them.
FIRST_MERGES = {
    "cl100k_base": bytes.fromhex(
        "20208080696e20748181657280206f6e2061726561747374656e6f7283680a0a20636c6520736974616e6172616c8e65"
        "3b0a207020666f75203d69738186826765732077698765646963206220646574206d206f0909726f6173656c63746e64"
        "208220688c746964206e616d8486836f20892d2d207ba9666f6d2998696d0d0a2028696c2f2f88af75727365206c6578"
        "2053616420226368757469662a2a207d656d6f6c84847468290aba0a2067696769762c0a63656f6420768a6520546167"
        "6179202a6f7475732043208b2049756e756c756520416f7720276577203c8aa228299a8d61628d74756db565209d7065"
        "7472636b2079698bb9b92e8f6865"
    ),
    "o200k_base": bytes.fromhex(
        "20208080696e657220742061656e6f6e7265207361746f7265738181616e802020646865206320706973617269740a0a"
        "616c6c656f75206d20662077206261738267849169636574206f69876564656c206e726f86746e647374206c20823b0a"
        "6374818f6f6d696c2068616d203d6964846f2065696d208820766164846885aba4662067757263689065090920532075"
        "75746f6c2079696773656f74656d61676976202871758d8f2054207b2041617920496163756c29af20432e976f736966"
        "6f640d0a7472206b756e2d2d8c7461628a65697220946f7775738aa5207d8b74204d20222f2f756d9c8b696520507483"
        "63659a72208761707468d50a9287"
    ),
}
ASCII = 128
# The one byte that stands for no merge.
BETWEEN_PIECES = b"\xff"
# It takes as long to go through the first merges as they save in so many pieces.
MANY_PIECES = 8

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
        # The pre-splits of texts of ASCII alone, and of others.
        self._ascii_split: re.Pattern[bytes] | None = None
        self._split: re.Pattern[bytes] | None = None
        self._first_merges: FirstMerges | None = None
        # The lengths of the last texts.
        self._recent: dict[str, bytes] = {}

    def token_lengths(self, text: str) -> bytes | None:
        """Return the bytes of each token, as a sequence of numbers; None: ask tiktoken."""
        known = self._recent.get(text)
        if known is not None:
            return known
        if not self._affords(PER_BYTE * len(text)):
            return None
        try:
            pieces = self._pieces(text)
            if pieces is None or not self._learn(set(pieces).difference(self._known)):
                return None
        except (OSError, ValueError, IndexError):
            # Without its file, or with a damaged one, counting is slower but still exact.
            return None
        lengths = b"".join(map(self._known.__getitem__, pieces))
        remember(self._recent, text, lengths)
        return lengths

    def _affords(self, work: int) -> bool:
        self._work += work
        return self._work <= (self._added.allowance if self._added else ALLOWANCE[self._name])

    def _pieces(self, text: str) -> list[bytes] | None:
        """Return the pieces of the pre-split; None if a character has no known class."""
        if text.isascii():
            if self._ascii_split is None:
                added = self._added
                found = added.ascii_pattern() if added else compiled(ASCII_PRE_SPLIT[self._name])
                self._ascii_split = found or self._class_split()
            return self._ascii_split.findall(text.encode())
        if self._added:
            return self._added.pieces(text, self._class_split())
        from tokcap.tokens.character_classes import classes_of

        classes = classes_of(text)
        return None if classes is None else cut_like(self._class_split().findall(classes), text)

    def _class_split(self) -> re.Pattern[bytes]:
        if self._split is None:
            self._split = self._added.pattern() if self._added else compiled(CLASS_PRE_SPLIT[self._name])
        return self._split

    def _learn(self, new: set[bytes]) -> bool:
        """Find the tokens of new pieces; False if that exceeds the allowance."""
        if not self._affords(PER_NEW_PIECE * len(new)):
            return False
        if self._ranks is None:
            path = self._added.buckets if self._added else os.path.join(DIRECTORY, f"{self._name}.buckets")
            self._ranks = Ranks(path)
        known = self._known
        tokens = self._ranks.tokens_among(new)
        known.update(zip(tokens, map(SINGLE.__getitem__, map(len, tokens)), strict=True))
        others = [*new.difference(tokens)]
        sizes = [*map(len, others)]
        if not self._affords(PER_MERGED_BYTE * sum(sizes) + PER_SQUARED_BYTE * sum(map(mul, sizes, sizes))):
            return False
        for piece, parts in zip(others, self._first_parts(others), strict=True):
            known[piece] = merged_lengths(parts, self._ranks)
        return True

    def _first_parts(self, pieces: list[bytes]) -> Iterable[list[bytes]]:
        """Return the parts to start merging from, for each piece."""
        added = self._added
        known = bytes.fromhex(added.first_merges) if added else FIRST_MERGES[self._name]
        if known and len(pieces) >= MANY_PIECES and all(map(bytes.isascii, pieces)):
            if self._first_merges is None:
                self._first_merges = FirstMerges(known)
            return self._first_merges.parts_of(pieces)
        if added:
            ranks = self._ranks
            assert ranks is not None
            return (added.first_parts(piece, ranks) for piece in pieces)
        return ([*map(SINGLE.__getitem__, piece)] for piece in pieces)


class FirstMerges:
    """The first merges of a vocabulary, done in many pieces at once.

    Merging pairs by their rank is the same as going through all merges in the order of their ranks. In ASCII,
    half of the bytes are free to stand for what was merged, so one `replace` does a merge in all pieces.
    """

    def __init__(self, pairs: bytes) -> None:
        # What each byte stands for.
        self._texts = SINGLE[:ASCII]
        self._replacements = []
        for place in range(0, len(pairs), 2):
            left, right = pairs[place], pairs[place + 1]
            self._replacements.append((pairs[place : place + 2], SINGLE[len(self._texts)]))
            self._texts.append(self._texts[left] + self._texts[right])

    def parts_of(self, pieces: list[bytes]) -> Iterator[list[bytes]]:
        """Return the parts of each piece after these merges. The pieces must be ASCII."""
        joined = BETWEEN_PIECES.join(pieces)
        for pair, merged in self._replacements:
            joined = joined.replace(pair, merged)
        text = self._texts.__getitem__
        return ([*map(text, piece)] for piece in joined.split(BETWEEN_PIECES))


def cut_like(classes: list[bytes], text: str) -> list[bytes]:
    """Cut a text at the same places as its classes."""
    pieces = []
    end = 0
    for piece in classes:
        start, end = end, end + len(piece)
        pieces.append(piece if piece.isascii() else text[start:end].encode())
    return pieces


def merged_lengths(parts: list[bytes], ranks: Ranks) -> bytes:
    """Merge the first pair of the lowest rank until no pair is a token; return the lengths of the tokens."""
    rank = ranks.__getitem__
    # The rank of each part joined with the next one; the last part has none.
    pairs = [*map(rank, map(add, parts, parts[1:])), NO_RANK]
    while (lowest := min(pairs)) != NO_RANK:
        place = pairs.index(lowest)
        part = parts[place] = parts[place] + parts.pop(place + 1)
        del pairs[place]
        # Without a part after it, it takes the place of the last one, which has no rank.
        if place + 1 < len(parts):
            pairs[place] = rank(part + parts[place + 1])
        if place:
            pairs[place - 1] = rank(parts[place - 1] + part)
    return bytes(map(len, parts))
