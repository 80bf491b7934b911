"""The digest of a stream does not depend on how its bytes arrive, and every bit of them counts."""

import hashlib
import random
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from tokcap.core.digest import BLOCK_BYTES, StreamDigest

DATA = random.Random(4).randbytes(3 * BLOCK_BYTES + 77)  # not a secret


def digest_of(*parts: bytes, most_bytes: int = len(DATA)) -> StreamDigest:
    digest = StreamDigest(most_bytes)
    for part in parts:
        digest.update(part)
    return digest


def blake(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=20).digest()


def test_a_stream_of_one_block_has_its_digest_and_a_longer_one_that_of_all_blocks():
    size = BLOCK_BYTES.to_bytes(8, "little")
    assert digest_of(DATA[:BLOCK_BYTES]).digest() == blake(DATA[:BLOCK_BYTES]) + size
    blocks = b"".join(blake(DATA[start : start + BLOCK_BYTES]) for start in range(0, len(DATA), BLOCK_BYTES))
    assert digest_of(DATA).digest() == blake(blocks) + len(DATA).to_bytes(8, "little")
    assert digest_of().digest() == blake(b"") + bytes(8)


@given(st.lists(st.integers(0, len(DATA)), max_size=9), st.integers(0, len(DATA)))
def test_every_chunking_gives_the_same_digest(cuts, most_bytes):
    parts = [DATA[start:stop] for start, stop in pairwise([0, *sorted(cuts), len(DATA)])]
    found, expected = digest_of(*parts, most_bytes=most_bytes), digest_of(DATA, most_bytes=most_bytes)
    assert found.digest() == expected.digest()
    assert found.checksums() == expected.checksums()
