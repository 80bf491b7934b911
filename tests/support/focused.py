"""Read an answer of `--keep focus`: what it shows, what it hides, and whether both tile the source."""

from __future__ import annotations

import re
from typing import NamedTuple

from tests.support.reference import reference

GAP = re.compile(rb"\xe2\x80\xa6(?:(\d+)( similar)?)?\n?")
MARK = b"[TRUNCATED]"


class Hidden(NamedTuple):
    """A gap: where it begins, in bytes and tokens, and how many lines it says to hide."""

    byte: int
    lines: int | None
    similar: bool
    token: int


class Focused(NamedTuple):
    """An answer taken apart."""

    # The parts of the source that are shown, as pairs of bytes.
    shown: list[tuple[int, int]]
    hidden: list[Hidden]
    mark: bytes


def lines_of(data: bytes) -> list[bytes]:
    """Return the lines with their line ends."""
    parts = data.split(b"\n")
    return [part + b"\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def token_starts(source: bytes, tokenizer: str) -> list[int]:
    """Return where each token of the source begins, and its end."""
    encoding = reference(tokenizer)
    starts, byte = [0], 0
    for token in encoding.encode_ordinary(source.decode()):
        byte += len(encoding.decode_single_token_bytes(token))
        starts.append(byte)
    return starts


def taken_apart(answer: bytes, source: bytes, tokenizer: str = "cl100k_base") -> Focused:
    """Check that shown parts and gaps tile the source, token for token, and return them."""
    starts, place = token_starts(source, tokenizer), 0
    shown: list[tuple[int, int]] = []
    hidden: list[Hidden] = []
    *body, mark = lines_of(answer)
    assert mark.startswith(MARK), mark
    for number, line in enumerate(body):
        text = line.removesuffix(b"\n")
        gap = GAP.fullmatch(line)
        if gap and not source.startswith(text, place):
            count, similar = gap.groups()
            assert place in starts, (line, place)
            lines = None if count is None else int(count)
            hidden.append(Hidden(place, lines, bool(similar), starts.index(place)))
            if lines is None:
                # The next line that is shown is the rest of a line; a mark is at the end of everything.
                following = next((each.removesuffix(b"\n") for each in body[number + 1 :]), None)
                stop = len(source) if following is None else source.index(following, place + 1)
            else:
                assert place == 0 or source[place - 1 : place] == b"\n"
                stop = place + sum(map(len, lines_of(source[place:])[:lines]))
            assert stop > place
            place = stop
        else:
            assert source.startswith(text, place), (place, line, source[place : place + 80])
            # After a piece of a line there is no line end in the source.
            end = place + len(text)
            end += source[end : end + 1] == b"\n"
            shown.append((place, end))
            place = end
    assert place == len(source), (place, len(source))
    assert hidden, "nothing is hidden, so there should be no mark"
    return Focused(shown, hidden, mark)
