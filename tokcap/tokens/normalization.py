"""What a tokenizer does with a text before it divides it, and where its positions are in the source.

NFC is done as the package `tokenizers` does it. Its tables are those of an old version of Unicode: to it, a
mark that is newer combines with nothing. In vocabularies of characters, a written blank is a blank.
"""

from __future__ import annotations

import unicodedata
from itertools import accumulate

from tokcap.startup.record import TYPE_CHECKING, Record
from tokcap.tokens.replacement import in_source, whole_characters

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

# How a blank is written in vocabularies of characters.
WRITTEN_BLANK = "\u2581"
# Characters that combine in a newer version of Unicode, up to 17, and not in the tables of `tokenizers`.
NEWER = (
    "\u05c8-\u05c9\u07fd\u0897-\u089f\u08ca-\u08d3\u09fe\u0b53-\u0b54\u0c3c\u0cf3\u0d3b-\u0d3c\u0eba"
    "\u0ece\u1715\u1abf-\u1af0\u1df6-\u1dfa\ua82c\U000105c0-\U000105f3\U00010d24-\U00010d27"
    "\U00010d69-\U00010d6d\U00010eab-\U00010eac\U00010ecb-\U00010ecf\U00010ef0-\U00010eff"
    "\U00010f46-\U00010f50\U00010f82-\U00010f85\U00011070\U00011241\U0001133b\U00011380-\U000113e2"
    "\U0001145e\U00011839-\U0001183a\U00011930\U0001193d-\U0001193e\U00011943\U000119e0\U00011a34"
    "\U00011a47\U00011a99\U00011b60-\U00011b67\U00011d42\U00011d44-\U00011d45\U00011d97\U00011df0"
    "\U00011f00-\U00011f5a\U00013440\U00013447-\U00013455\U0001611e-\U0001612f\U00016d40-\U00016d79"
    "\U00016ff0-\U00016ff1\U0001d127-\U0001d128\U0001d250-\U0001d281\U0001e08f\U0001e130-\U0001e136"
    "\U0001e2ae\U0001e2ec-\U0001e2ef\U0001e4ec-\U0001e4ef\U0001e5ee-\U0001e5ef\U0001e6e3-\U0001e6f5"
)
# The vowels and final consonants of Korean syllables: the only letters that combine with what is before them.
JAMO = range(0x1160, 0x1200)


class Normalization(Record):
    """What is done with a text."""

    nfc: bool
    blanks: bool

    def of(self, text: str) -> str:
        """Return the text that the encoder sees."""
        if text.isascii():
            return text
        if self.blanks:
            text = text.replace(WRITTEN_BLANK, " ")
        # A text that is normalized by newer tables is so by the older ones too.
        if not self.nfc or unicodedata.is_normalized("NFC", text):
            return text
        import re

        parts = re.split(f"([{NEWER}])", text)
        return "".join([unicodedata.normalize("NFC", part) for part in parts])

    def lengths_in_source(self, text: str, lengths: Sequence[int]) -> Sequence[int]:
        """Translate the lengths of tokens of the normalized text to lengths in the text itself.

        A token that ends inside a cluster that changes ends inside its last character.
        """
        normal_ends, source_ends, changes = self._ends_of_clusters(text)
        found, last, number = [], 0, 0
        for end in accumulate(lengths):
            while normal_ends[number] < end:
                number += 1
            place = source_ends[number]
            left = normal_ends[number] - end
            # The last character of a cluster that changes is not ASCII, so its last byte is inside it.
            place -= left and (1 if changes[number] else left)
            found.append(place - last)
            last = place
        return found

    def cut_in_source(self, data: bytes, find: Callable[[bytes], int | None]) -> int | None:
        """Find a safe cut in normalized text, and return where it is in the source."""
        text = whole_characters(data)
        # What follows may combine with the last character.
        end = len(text) - 1
        while end > 0 and combines(text[end]):
            end -= 1
        text = text[: max(end, 0)]
        found = find(self.of(text).encode())
        if found is None:
            return None
        normal_ends, source_ends, _ = self._ends_of_clusters(text)
        from bisect import bisect_left

        number = bisect_left(normal_ends, found)
        if number == len(normal_ends) or normal_ends[number] != found:
            return None
        return in_source(data, source_ends[number])

    def _ends_of_clusters(self, text: str) -> tuple[Sequence[int], Sequence[int], Sequence[bool]]:
        """Return where clusters end, in bytes of the normalized text and of the source; which change."""
        pairs = [(self.of(part), part) for part in clusters(text)]
        normal_ends = accumulate(len(normal.encode()) for normal, _ in pairs)
        source_ends = accumulate(len(part.encode()) for _, part in pairs)
        return list(normal_ends), list(source_ends), [normal != part for normal, part in pairs]


def combines(character: str) -> bool:
    """Return whether a character may combine with the one before it."""
    if character.isascii():
        return False
    return unicodedata.category(character)[0] == "M" or ord(character) in JAMO


def clusters(text: str) -> Iterator[str]:
    """Divide a text into characters, each with all that may combine with it."""
    begin = 0
    for place in range(1, len(text)):
        if not combines(text[place]):
            yield text[begin:place]
            begin = place
    if text:
        yield text[begin:]


# By their names in descriptions.
NORMALIZATIONS = {
    "none": Normalization(nfc=False, blanks=False),
    "nfc": Normalization(nfc=True, blanks=False),
    "blanks": Normalization(nfc=False, blanks=True),
}
