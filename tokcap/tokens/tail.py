"""The last tokens of a large payload, without counting what is before them.

Reading starts at a safe cut near the end. It is searched for further and further back.
"""

from __future__ import annotations

from tokcap.core.tokenizer import after_cut
from tokcap.lean.record import TYPE_CHECKING
from tokcap.tokens.checkpoints import last_at_most
from tokcap.tokens.chunks import INSIDE_A_CHARACTER, as_text, split
from tokcap.tokens.index import READ_BYTES, blocks, token_ends

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeVar

    from tokcap.core.payload import Payload
    from tokcap.core.tokenizer import Tokenizer

    AnyTokenizer = TypeVar("AnyTokenizer", bound=Tokenizer)

# How far back to look first, and how that grows.
FIRST_BYTES = 1 << 16
BYTES_PER_TOKEN = 8
GROWTH = 8
# How much to search for a cut at each place.
LOOK_BYTES = 1 << 16
DIGITS = b"0123456789"


def last_starts(
    payload: Payload,
    tokenizer: AnyTokenizer,
    number: int,
    after_byte: int,
    starts_after: Callable[[Payload, AnyTokenizer, int, int], Sequence[int] | None],
) -> Sequence[int] | None:
    """Return where the last `number` tokens start, and the end; see `TokenMap.starts`.

    `starts_after` is the function of this module, or one for tokens that are estimated. None if no safe cut
    is found after `after_byte` with so many tokens behind it.
    """
    distance = max(FIRST_BYTES, BYTES_PER_TOKEN * number)
    while distance < payload.size - after_byte:
        cut = safe_cut_after(payload, tokenizer, payload.size - distance)
        if cut is not None and (found := starts_after(payload, tokenizer, cut, number)):
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
    chunk_number = last_at_most(counts, first)
    found: list[int] = []
    for begin, end in zip(places[chunk_number:], places[chunk_number + 1 :], strict=False):
        ends = token_ends(payload.read(begin, end), tokenizer)
        found.append(begin)
        found += [place if place == INSIDE_A_CHARACTER else begin + place for place in ends[:-1]]
    found.append(payload.size)
    return found[first - counts[chunk_number] :]


def safe_cut_after(payload: Payload, tokenizer: Tokenizer, place: int) -> int | None:
    """Return a safe cut soon after a place in a payload."""
    stop = min(place + LOOK_BYTES, payload.size)
    data = payload.read(place, stop)
    cut = tokenizer.safe_cut(bytearray(data), 0, 0) or tokenizer.cut_in_middle(
        data, is_end=stop == payload.size
    )
    if cut:
        return place + cut
    if tokenizer.digit_group and not data.strip(DIGITS):
        begin = begin_of_digits(payload, place)
        # A digit of another script may precede them.
        if begin == 0 or payload.read(begin - 1, begin).isascii():
            return place + (begin - place) % tokenizer.digit_group
    return None


def begin_of_digits(payload: Payload, place: int) -> int:
    """Return where the run of digits begins that contains a place."""
    while place > 0:
        start = max(place - READ_BYTES, 0)
        others = len(payload.read(start, place).rstrip(DIGITS))
        if others:
            return start + others
        place = start
    return 0
