"""Inputs made from seeds: bytes changed, inserted and taken away, parts doubled, cut off and spliced."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from tests.fuzz.target import KNOBS, Target

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

LONGEST_BYTES = 20_000

# Bytes that mean something to one grammar or the other.
SIGNS = tuple(
    bytes((sign,)) for sign in b"\0\t\n\r\x1b \"#$&'(),-./0:;<=>@A[\\]_`a{|}~\x7f\x80\x85\x9b\xc2\xff"
)
WORDS = (
    *(b"\r\n", b"\\u", b"\\ud800", b"null", b"true", b"1e999", b"--", b"-c", b"\x1b[", b"\xef\xbf\xbd"),
    *(
        b"\xef\xbb\xbf",
        b"\xe2\x80\xa8",
        b"'''",
        b'"""',
        b"[[",
        b"]]",
        b"[TRUNCATED]",
        b"99999999999999999999",
    ),
)

PLACES = st.integers(0, 1 << 16)
MATERIAL = st.one_of(st.sampled_from(SIGNS), st.sampled_from(WORDS), st.binary(min_size=1, max_size=6))


def mutated(seeds: Sequence[bytes]) -> st.SearchStrategy[bytes]:
    """A payload: one of the seeds, changed in some places, or just any bytes."""
    # By number: hypothesis would spell out all of them wherever it names the strategy.
    one_of_them = st.integers(0, len(seeds) - 1).map(lambda number: seeds[number])
    edits = st.one_of(
        st.tuples(st.just("insert"), PLACES, MATERIAL),
        st.tuples(st.just("replace"), PLACES, MATERIAL),
        st.tuples(st.just("flip"), PLACES, st.integers(0, 7)),
        st.tuples(st.just("delete"), PLACES, st.integers(1, 60)),
        st.tuples(st.just("double"), PLACES, st.integers(1, 200)),
        st.tuples(st.just("repeat"), PLACES, st.integers(2, 300)),
        st.tuples(st.just("cut"), PLACES, st.just(0)),
        st.tuples(st.just("splice"), PLACES, one_of_them),
    )
    from_seeds = st.builds(edited, one_of_them, st.lists(edits, max_size=8))
    return st.one_of(from_seeds, from_seeds, from_seeds, st.binary(max_size=80))


def edited(data: bytes, edits: Sequence[tuple[str, int, bytes | int]]) -> bytes:
    for kind, place, what in edits:
        at = place % (len(data) + 1)
        if isinstance(what, bytes):
            kept = at if kind == "insert" else at + len(what)
            data = data[:at] + what + (data[kept:] if kind != "splice" else b"")
        elif kind == "flip" and at < len(data):
            data = data[:at] + bytes((data[at] ^ 1 << what,)) + data[at + 1 :]
        elif kind == "delete":
            data = data[:at] + data[at + what :]
        elif kind == "double":
            data = data[: at + what] + data[at:]
        elif kind == "repeat":
            data = data[:at] + data[at : at + 1] * what + data[at:]
        elif kind == "cut":
            data = data[:at]
    return data[:LONGEST_BYTES]


def inputs_of(target: Target) -> st.SearchStrategy[bytes]:
    """Whole inputs, knobs included."""
    knobs = st.binary(min_size=KNOBS, max_size=KNOBS)
    return st.builds(bytes.__add__, knobs, mutated(target.seeds))


def drawn(chance: random.Random, target: Target) -> bytes:
    """Draw a whole input without hypothesis: a changed seed, any bytes, or any characters."""
    knobs = chance.randbytes(KNOBS)
    kind = chance.randrange(8)
    if kind == 0:
        return knobs + chance.randbytes(chance.randrange(80))
    if kind <= 2:
        return knobs + any_characters(chance).encode()
    edits = [drawn_edit(chance, target.seeds) for _ in range(chance.randrange(8))]
    return knobs + edited(chance.choice(target.seeds), edits)


def drawn_edit(chance: random.Random, seeds: Sequence[bytes]) -> tuple[str, int, bytes | int]:
    name, what = chance.choice(
        (
            *((name, chance.choice((*SIGNS, *WORDS))) for name in ("insert", "replace")),
            ("insert", any_characters(chance).encode()[:40]),
            *(("flip", chance.randrange(8)), ("delete", chance.randrange(1, 60))),
            *(("double", chance.randrange(1, 200)), ("repeat", chance.randrange(2, 300)), ("cut", 0)),
            ("splice", chance.choice(seeds)),
        )
    )
    return name, chance.randrange(1 << 16), what


def any_characters(chance: random.Random) -> str:
    """Some characters of one or several blocks, with common ones between them."""
    first = [chance.choice(BLOCKS) for _ in range(chance.randrange(1, 4))]
    return "".join(
        chance.choice(COMMON) if chance.random() < 0.4 else chr(chance.choice(first) + chance.randrange(128))
        for _ in range(chance.randrange(60))
    )


# Common characters and strings, and the beginnings of all blocks of 128 characters that are in use.
COMMON = (
    *" \n\t'0aAzZ.-_/\r",
    "  ",
    "'s",
    "'LL",
    "12",
    "\r\n",
    "the",
    "\u0301",
    "\u2581",
    "e\u0301",
    "\u200d",
)
BLOCKS = tuple(
    first
    for first in range(0, 0x32000, 128)
    if not 0xD800 <= first < 0xE000 and unicodedata.category(chr(first + 5)) not in ("Cn", "Co")
)
