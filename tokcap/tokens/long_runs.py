"""Safe cuts in text that has none which can be seen: long runs of letters, digits, signs, emoji or blanks.

Such a run is one piece of the pre-split, or many of equal kind. A cut is found by encoding, without encoding
all of the piece. Cuts are in bytes of the replacement text.

A sequence of tokens is the encoding of its bytes if and only if every two neighbours are the encoding of
theirs. So the beginning of a piece has tokens that are final, whatever follows: some token ends at one of the
last `longest` bytes of the known part, and what the encodings up to each of these bytes have in common at
their start stays.
"""

from __future__ import annotations

from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokcap.tokens.bpe import Engine
    from tokcap.tokens.pre_splits import PreSplit

# Texts of every kind that can follow. A pre-split decides by the kinds of the next few characters.
CONTINUATIONS = ("", *"aA中\u03011 \n-'/\t", "Ab", "中A", " a", " \n", "\n/", "\n a", "-a", "'s")
# A cut inside a run has at least this many characters of it on both sides: the first ones may belong to a
# contraction, and the last one may be split off.
MARGIN = 8
# The inside of a longer run does not matter for the borders of pieces.
SHORT_RUN = 512

# How far before the end of the known part to look for a settled token, in longest tokens. If that fails, look
# further.
REACHES = (3, 12, 48)
MOST_CHARACTER_BYTES = 4
# The tokens that must stay the same. One is enough for the proof.
WITNESSES = 4
# How many ends are returned. The last ones may be inside characters.
MOST_ENDS = 256


class LongRuns:
    """Cuts in long runs for one pre-split."""

    def __init__(self, pre_split: PreSplit, engine: Engine, longest: int) -> None:
        # tiktoken depends on `regex`, which reads the same patterns.
        import regex

        self._pattern = regex.compile(pre_split.pieces or pre_split.patterns[0])
        self._run = regex.compile(pre_split.runs)
        self._merge = engine.merge
        self._length_of = engine.lengths.__getitem__
        # Whether tokens end only between characters, or between all bytes of one: then it is enough to look
        # at places where a character begins.
        self._of_characters = engine.of_characters
        self._longest = longest + (MOST_CHARACTER_BYTES if engine.of_characters else 0)

    def cut_after_beginning(self, text: str) -> tuple[int | None, int]:
        """Cut text that begins at a safe cut, as late as possible.

        Return the cut, and the number of tokens before it if that is known, else 0.
        """
        pieces = [match.span() for match in self._pattern.finditer(text)]
        # A piece is certain if whole pieces follow it. White space is split differently before a word.
        ends = [end for _, end in pieces[:-2] if not text[end - 1].isspace()]
        if ends:
            return len(text[: ends[-1]].encode()), 0
        begin, end = max(pieces, key=lambda span: span[1] - span[0], default=(0, 0))
        piece = text[begin : end - MARGIN].encode()
        try:
            settled = self._settled(piece)
        except UnicodeDecodeError:
            # The engine cannot merge parts of characters.
            return None, 0
        for number, place in settled:
            if is_character_start(piece, place):
                cut = begin + len(piece[:place].decode())
                # Most places are good. Marks among signs are not: what follows them would be another piece.
                if self._pattern.match(text, cut).end() == end:
                    if not self._is_certain(text, begin, cut):
                        break
                    before = (text[start:stop].encode() for start, stop in pieces if stop <= begin)
                    number += sum(len(self._merge(piece)) for piece in before)
                    return len(text[:cut].encode()), number
        return None, 0

    def _is_certain(self, text: str, begin: int, cut: int) -> bool:
        """Return whether both sides of a cut keep their tokens, whatever follows the text."""
        inside = slice(begin + SHORT_RUN, cut - SHORT_RUN)
        if inside.start < inside.stop and self._run.fullmatch(text, inside.start, inside.stop):
            text = text[: inside.start] + text[inside.stop :]
            cut -= inside.stop - inside.start
        if [match.span() for match in self._pattern.finditer(text[:cut], begin)] != [(begin, cut)]:
            return False
        for more in CONTINUATIONS:
            whole = text + more
            start, stop = next(match.span() for match in self._pattern.finditer(whole) if match.end() > cut)
            if start != begin or self._pattern.match(whole, cut).end() != stop:
                return False
        return True

    def _settled(self, piece: bytes) -> Sequence[tuple[int, int]]:
        """Return where the last tokens of a piece end that stay the same whatever follows it, last one first.

        Each end comes with the number of tokens before it. There are at most `MOST_ENDS`.
        """
        size, longest = len(piece), self._longest
        if size < REACHES[0] * longest:
            return ()
        tokens = self._merge(piece)
        number, end = len(tokens), size
        for reach in REACHES:
            while number and end > size - reach * longest:
                number -= 1
                end -= self._length_of(tokens[number])
            if number < WITNESSES:
                return ()
            first = number - WITNESSES
            start = end - sum(map(self._length_of, tokens[first:number]))
            while self._of_characters and first and not is_character_start(piece, start):
                first -= 1
                start -= self._length_of(tokens[first])
            expected = tokens[first:number]
            stops: Sequence[int] = range(size - longest + 1, size + 1)
            if self._of_characters:
                stops = [stop for stop in stops if is_character_start(piece, stop)]
            if all(self._merge(piece[start:stop])[: len(expected)] == expected for stop in stops):
                break
        else:
            return ()
        found = [(number, end)]
        while number > 1 and len(found) < MOST_ENDS:
            number -= 1
            end -= self._length_of(tokens[number])
            found.append((number, end))
        return found


def is_character_start(data: bytes, place: int) -> bool:
    return place == len(data) or data[place] & 0xC0 != 0x80
