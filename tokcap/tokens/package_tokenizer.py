"""Added tokenizers that cannot be compiled exactly: the package `tokenizers` counts, slowly.

Every process loads the whole file, and a text is never divided, because its safe cuts are unknown.
"""

from __future__ import annotations

import os
from functools import cached_property
from itertools import accumulate

from tokcap.core.tokenizer import WholeTokens
from tokcap.errors import TokenizerFailed
from tokcap.lean.record import TYPE_CHECKING
from tokcap.tokens.added import SOURCE
from tokcap.tokens.plugins import ANY_LENGTH

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from tokcap.core.tokenizer import Cut
    from tokcap.tokens.added import Description

# A normalizer makes up to eleven bytes of one, and each of them can be a token.
MOST_GROWTH = 16


class PackageTokenizer(WholeTokens):
    """A `tokenizer.json` in a directory of the user."""

    stable = False
    cuts_anywhere = False
    digit_group = 0
    most_tokens_per_byte = MOST_GROWTH
    # It may put something before every text.
    prefix_tokens = 2
    longest_token_bytes = ANY_LENGTH

    def __init__(self, directory: str, described: Description) -> None:
        self.name, self.digest, self.described = described.name, described.digest, described
        self._directory = directory

    @cached_property
    def _package(self) -> Any:
        from tokcap.tokens.checking import reference_from

        try:
            with open(os.path.join(self._directory, SOURCE), "rb") as file:
                return reference_from(file.read())
        except (OSError, ValueError):
            raise TokenizerFailed(
                f"the files of {self.name} are damaged; remove it and add it again: "
                f"tokcap tokenizer remove {self.name}"
            ) from None

    def prepare(self) -> None:
        """Load the file."""
        _ = self._package

    def count(self, text: str) -> int:
        return len(self.token_lengths(text))

    def token_lengths(self, text: str) -> Sequence[int]:
        try:
            offsets = self._package.encode(text, add_special_tokens=False).offsets
        except Exception as error:
            # Code of another package can raise anything, and the output must still be delivered.
            raise TokenizerFailed(f"the package tokenizers failed for {self.name}: {error!r}") from error
        return lengths_of(text, offsets)

    def safe_cut(self, data: bytearray, begin: int, search_from: int) -> int | None:
        return None

    def find_safe_cut(self, data: bytes, *, in_piece: bool = False) -> Cut | None:
        return None

    def piece_end(self, data: bytes) -> int:
        return len(data)

    def cut_in_middle(self, data: bytes, *, is_end: bool) -> int | None:
        return None


def lengths_of(text: str, offsets: Sequence[tuple[int, int]]) -> Sequence[int]:
    """Return the bytes of each token, from its first and last character.

    A token that shares its last character with the next one ends inside it. Text without a token belongs to
    the token before it, or is one.
    """
    if not text:
        return ()
    ends = list(accumulate((len(character.encode()) for character in text), initial=0))
    found: list[int] = []
    last = 0
    for number, (_, end) in enumerate(offsets[:-1]):
        is_shared = offsets[number + 1][0] < end
        place = max(ends[end] - is_shared, last)
        found.append(place - last)
        last = place
    return [*found, ends[-1] - last]
