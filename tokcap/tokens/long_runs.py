"""Safe cuts in text that has none which can be seen: long runs of letters, digits, signs, emoji or blanks.

Such a run is one piece of the pre-split, or many of equal kind. A cut is found by encoding, from the
beginning of the run or in its middle (see `piece_cuts`). Cuts are in bytes of the replacement text.
"""

from __future__ import annotations

from tokcap.core.tokenizer import Cut
from tokcap.lean.record import TYPE_CHECKING
from tokcap.tokens.piece_cuts import WITNESSES

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokcap.tokens.piece_cuts import PieceCuts

# Texts of every kind that can follow. A pre-split decides by the kinds of the next few characters.
CONTINUATIONS = ("", *"aA中\u03011 \n-'/\t", "Ab", "中A", " a", " \n", "\n/", "\n a", "-a", "'s")
# A cut inside a run has at least this many characters of it on both sides: the first ones may belong to a
# contraction, and the last one may be split off.
MARGIN = 8
# The inside of a longer run does not matter for the borders of pieces.
SHORT_RUN = 512
# How far apart two possible beginnings of a piece may be, in characters.
MOST_DOUBT = 1 << 12

# Runs without the beginning of a piece inside, wherever their own piece began.
BLANKS = r"|[\r\n]+|[^\S\r\n]+"
OF_ANY_LENGTH = r"\p{L}+|\p{N}+|[^\s\p{L}\p{N}]+|\s+"
GPT2_FAMILY = ("gpt2", "r50k_base", "p50k_base", "p50k_edit")
CL100K_FAMILY = ("cl100k_base", "llama3", "qwen2")
O200K_FAMILY = ("o200k_base", "tekken")
RUNS = {
    **dict.fromkeys(CL100K_FAMILY, r"\p{L}+|[^\s\p{L}\p{N}]+" + BLANKS),
    # A capital may follow letters without case, unless there is a small letter further left.
    **dict.fromkeys(
        O200K_FAMILY,
        r"\p{Ll}(?:\p{Ll}|\p{M})+|(?P<caseless>\p{L}[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)|[\p{Lu}\p{Lt}]+"
        r"|[^\s\p{L}\p{N}\p{M}]+" + BLANKS,
    ),
    **dict.fromkeys(GPT2_FAMILY, OF_ANY_LENGTH),
    "gpt2_digits": r"\p{L}+|[^\s\p{L}\p{N}]+|\s+",
    "qwen35": r"[\p{L}\p{M}]+|[^\s\p{L}\p{M}\p{N}]+" + BLANKS,
    "sentencepiece": r"[^\x00-@\[-`{-\x7f]+|[\x00-\t\x0b-\x1f!-/:-@\[-`{-\x7f]+| +|\n+",
}
# Ends of pieces that can be seen without their beginnings. `chunks.PATTERNS` finds those in ASCII text.
PIECE_ENDS = {
    **dict.fromkeys(CL100K_FAMILY, r"\p{L}(?=[^\p{L}'])|\p{N}(?=\P{N})|[^\s\p{L}\p{N}](?=[^\S\r\n])"),
    **dict.fromkeys(
        O200K_FAMILY,
        r"\p{L}(?=[^\p{L}\p{M}'])|\p{N}(?=\P{N})|[^\s\p{L}\p{N}](?=[^\S\r\n])|\p{Ll}{3}(?=\p{Lu})",
    ),
    **dict.fromkeys((*GPT2_FAMILY, "gpt2_digits"), r"\p{L}(?=[^\p{L}'])|\p{N}(?=\P{N})"),
    "qwen35": r"[\p{L}\p{M}](?=[^\p{L}\p{M}'])|\p{N}(?=\P{N})|[^\s\p{L}\p{M}\p{N}](?=[^\S\r\n])",
    "sentencepiece": r"[A-Za-z](?=[\x00-@\[-`{-\x7f])|[0-9](?=[\s\S])|\n(?=[^\n])|[^\n](?=\n)|[^ >](?= )",
}
# Pieces with a small letter, up to any character of theirs: they end before the next capital. Letters without
# case after them, if counted alone, would take the next word in. So a cut inside such a piece has `in_piece`.
WITH_SMALL_LETTER = dict.fromkeys(
    O200K_FAMILY, r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*\p{Ll}[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
)
# The rest of such a piece.
REST_OF_LETTERS = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
CONTRACTIONS = {"o200k_base": r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"}
CONTRACTION_CHARACTERS = 3


class LongRuns:
    """Cuts in long runs for one pre-split, which is called `name`."""

    def __init__(self, name: str, pattern: str, merge: Callable[[bytes], list[int]], cuts: PieceCuts) -> None:
        # tiktoken depends on `regex`, which reads the same patterns.
        import regex

        self._pattern = regex.compile(pattern)
        self._run = regex.compile(RUNS[name])
        self._piece_end = regex.compile(PIECE_ENDS[name])
        self._with_small_letter = regex.compile(WITH_SMALL_LETTER.get(name, "(?!)"))
        self._rest = regex.compile(REST_OF_LETTERS)
        self._contraction = regex.compile(CONTRACTIONS.get(name, ""))
        self._merge = merge
        self._cuts = cuts

    def cut_after_beginning(self, text: str) -> tuple[Cut | None, int]:
        """Cut text that begins at a safe cut, as late as possible.

        Return the cut, and the number of tokens before it if that is known, else 0.
        """
        pieces = [match.span() for match in self._pattern.finditer(text)]
        # A piece is certain if whole pieces follow it. White space is split differently before a word.
        ends = [end for _, end in pieces[:-2] if not text[end - 1].isspace()]
        if ends:
            return Cut(len(text[: ends[-1]].encode())), 0
        begin, end = max(pieces, key=lambda span: span[1] - span[0], default=(0, 0))
        piece = text[begin : end - MARGIN].encode()
        for number, place in self._cuts.settled(piece):
            if is_character_start(piece, place):
                cut = begin + len(piece[:place].decode())
                # Most places are good. Marks among signs are not: what follows them would be another piece.
                if self._pattern.match(text, cut).end() == end:
                    in_piece = not self._is_certain(text, begin, cut)
                    if in_piece and not self._with_small_letter.fullmatch(text, begin, cut):
                        break
                    before = (text[start:stop].encode() for start, stop in pieces if stop <= begin)
                    number += sum(len(self._merge(piece)) for piece in before)
                    return Cut(len(text[:cut].encode()), in_piece), number
        return None, 0

    def cut_in_piece(self, text: str) -> tuple[Cut | None, int]:
        """Cut text that begins at a cut with `in_piece`: inside the same piece, or at its end."""
        end = self._rest.match(text).end()
        if end + CONTRACTION_CHARACTERS <= len(text):
            return Cut(self.piece_end(text)), 0
        piece = text[: end - MARGIN].encode()
        for number, place in self._cuts.settled(piece):
            if is_character_start(piece, place):
                return Cut(place, in_piece=True), number
        return None, 0

    def piece_end(self, text: str) -> int:
        """Return where a piece ends that a cut with `in_piece` has cut, in bytes. `text` begins there."""
        end = self._contraction.match(text, self._rest.match(text).end()).end()
        return len(text[:end].encode())

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
            if self._pattern.match(whole, cut).end() != stop:
                return False
            if start != begin and not self._same_tokens(text, min(start, begin), max(start, begin)):
                return False
        return True

    def _same_tokens(self, text: str, first: int, last: int) -> bool:
        """Return whether a piece that begins at `first` has the same tokens if another begins at `last`."""
        if last - first > MOST_DOUBT:
            return False
        divided = self._pattern.finditer(text[:last], first)
        left = [token for match in divided for token in self._merge(match.group().encode())]
        right = text[last : last + MOST_DOUBT].encode()
        expected = left + self._merge(right)[:WITNESSES]
        return self._merge(text[first:last].encode() + right)[: len(expected)] == expected

    def cut_in_middle(self, text: str, *, is_end: bool) -> int | None:
        """Cut text whose beginning is unknown. `is_end`: nothing follows it."""
        if found := self._piece_end.search(text, MARGIN):
            return len(text[: found.end()].encode())
        for run in self._run.finditer(text):
            following = text[run.end() : run.end() + 1] or ("" if is_end else "A")
            if run.groupdict().get("caseless") and (following.isupper() or following.istitle()):
                continue
            # A run at the beginning may be shorter than the margin, and a negative place counts from the end.
            piece = text[run.start() + MARGIN : max(run.end() - MARGIN, 0)].encode()
            for place in self._cuts.common(piece):
                if is_character_start(piece, place):
                    return len(text[: run.start() + MARGIN].encode()) + place
        return None


def is_character_start(data: bytes, place: int) -> bool:
    return place == len(data) or data[place] & 0xC0 != 0x80
