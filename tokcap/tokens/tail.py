"""The last tokens of a large payload, without counting what is before them.

Reading starts at a safe cut near the end. It is searched for further and further back.
"""

from __future__ import annotations

from bisect import bisect_right

from tokcap.core.tokenizer import after_cut
from tokcap.startup.record import TYPE_CHECKING
from tokcap.tokens.chunks import INSIDE_A_CHARACTER, as_text, split
from tokcap.tokens.index import blocks, token_ends

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokcap.core.payload import Payload
    from tokcap.core.tokenizer import Tokenizer

# How far back to look first, and how that grows.
FIRST_BYTES = 1 << 16
BYTES_PER_TOKEN = 8
GROWTH = 8
# How much to search for a cut at each place.
LOOK_BYTES = 1 << 16


def last_starts(
    payload: Payload,
    tokenizer: Tokenizer,
    number: int,
    after_byte: int,
) -> Sequence[int] | None:
    """Return where the last `number` tokens start, and the end; see `TokenMap.starts`.

    None if no safe cut is found after `after_byte` with this many tokens behind it.
    """
    distance = max(FIRST_BYTES, BYTES_PER_TOKEN * number)
    while distance < payload.size - after_byte:
        place = payload.size - distance
        text = payload.read(place, min(place + LOOK_BYTES, payload.size))
        cut = tokenizer.safe_cut(bytearray(text), 0, 0)
        if cut and (found := starts_after(payload, tokenizer, place + cut, number)):
            return found
        distance *= GROWTH
    return None


def starts_after(payload: Payload, tokenizer: Tokenizer, cut: int, number: int) -> Sequence[int] | None:
    """Return where the last `number` tokens start; None if there are fewer after the safe cut."""
    tokenizer = after_cut(tokenizer)
    places, counts = [cut], [0]
    for chunk in split(blocks(payload, cut), tokenizer):
        counts.append(counts[-1] + tokenizer.count(as_text(chunk)))
        places.append(places[-1] + len(chunk))
    first = counts[-1] - number
    if first < 0:
        return None
    # Only the chunks at the end are encoded again.
    chunk_number = bisect_right(counts, first) - 1
    found: list[int] = []
    for begin, end in zip(places[chunk_number:], places[chunk_number + 1 :], strict=False):
        ends = token_ends(payload.read(begin, end), tokenizer)
        found.append(begin)
        found += [place if place == INSIDE_A_CHARACTER else begin + place for place in ends[:-1]]
    found.append(payload.size)
    return found[first - counts[chunk_number] :]
