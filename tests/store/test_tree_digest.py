"""The digest of a long stream is BLAKE2b in its tree mode, whatever hashes it and however it arrives.

Only the root is marked as the last node of its level (see `tree_digest`).
"""

import hashlib
import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokcap.core.spool import in_memory
from tokcap.store.checksums import BlockChecksums, checksums_file, runs_of_blocks
from tokcap.store.digest import CHECKED_WHOLE_BYTES, StreamDigest, digest_of_stream
from tokcap.store.tree_digest import LEAF_BYTES, TreeDigest, hash_fours

DATA = random.Random(4).randbytes(11 * LEAF_BYTES + 77)  # not a secret
SIZES = [0, 1, LEAF_BYTES - 1, LEAF_BYTES, LEAF_BYTES + 1, 4 * LEAF_BYTES, 5 * LEAF_BYTES + 3, len(DATA)]

needs_compiled_code = pytest.mark.skipif(
    hash_fours is None, reason="built without a compiler, or the processor has no AVX2"
)


def node(data: bytes, **place) -> bytes:
    parameters = {"digest_size": 20, "fanout": 0, "depth": 2, "leaf_size": 65536, "inner_size": 20}
    return hashlib.blake2b(data, **parameters, **place).digest()


def leaves_of(data: bytes) -> list[bytes]:
    starts = range(0, len(data), LEAF_BYTES)
    return [
        node(data[start : start + LEAF_BYTES], node_offset=number, node_depth=0)
        for number, start in enumerate(starts)
    ]


def tree_of(*blocks: bytes) -> TreeDigest:
    tree = TreeDigest()
    for block in blocks:
        tree.update(block)
    return tree


def checksums_of(tree: TreeDigest, lost_bytes: int = 0) -> tuple[BlockChecksums, int]:
    return BlockChecksums.unpacked(checksums_file("out", tree, lost_bytes)[1])


@pytest.mark.parametrize("size", SIZES)
def test_leaves_and_root_are_those_of_the_tree_mode(size):
    tree = tree_of(DATA[:size])
    leaves = leaves_of(DATA[:size])
    assert tree.leaves() == b"".join(leaves)
    assert tree.digest() == node(b"".join(leaves), node_offset=0, node_depth=1, last_node=True)
    assert tree.size == size


@needs_compiled_code
@pytest.mark.parametrize("first", [0, 7, 1 << 40])
def test_compiled_code_hashes_whole_fours_and_nothing_else(first):
    leaves = [
        node(DATA[n * LEAF_BYTES : (n + 1) * LEAF_BYTES], node_offset=first + n, node_depth=0)
        for n in range(8)
    ]
    assert hash_fours(DATA, first) == b"".join(leaves)
    assert hash_fours(memoryview(DATA)[: 5 * LEAF_BYTES], first) == b"".join(leaves[:4])
    assert hash_fours(DATA[: 4 * LEAF_BYTES - 1], first) == b""


@given(st.lists(st.integers(0, len(DATA)), max_size=9))
def test_every_chunking_gives_the_same_digest(cuts):
    places = [0, *sorted(cuts), len(DATA)]
    blocks = [DATA[start:stop] for start, stop in pairwise(places)]
    assert tree_of(*blocks).leaves() == b"".join(leaves_of(DATA))


@given(st.integers(0, len(DATA) - 1), st.integers(0, 7))
def test_every_bit_counts(place, bit):
    changed = bytearray(DATA)
    changed[place] ^= 1 << bit
    tree, other = tree_of(DATA), tree_of(bytes(changed))
    assert tree.digest() != other.digest()
    sums, wrong, end = checksums_of(tree)[0], place // LEAF_BYTES, len(DATA) // LEAF_BYTES + 1
    for first in (0, 1, 5):
        part = bytes(changed[first * LEAF_BYTES :])
        assert sums.wrong_block(first, end, part) == (wrong if wrong >= first else None)


def test_checksums_come_back_from_their_file_and_a_shorter_block_does_not_match():
    found, lost = checksums_of(tree_of(DATA), 9)
    assert (found.size, lost) == (len(DATA), 9)
    assert found.wrong_block(0, 12, DATA) is None
    assert found.wrong_block(0, 12, DATA[:-1]) == found.wrong_block(11, 12, DATA[11 * LEAF_BYTES : -1]) == 11
    assert found.wrong_block(2, 12, DATA[2 * LEAF_BYTES : 7 * LEAF_BYTES]) == 7
    assert found.wrong_block(0, 12, DATA + b"x") == 11
    assert BlockChecksums.unpacked(checksums_file("out", tree_of(DATA), 9)[1][:-1]) is None


@given(st.integers(0, 40 * LEAF_BYTES), st.integers(0, 40 * LEAF_BYTES), st.sampled_from([0, 1, 77]))
def test_runs_have_each_block_of_a_range_once_and_in_order(one, other, more):
    start, stop = sorted((one, other))
    size = stop + more
    runs = [*runs_of_blocks(start, stop, size)]
    blocks = [block for first, end in runs for block in range(first, end)]
    assert blocks == [*range(start // LEAF_BYTES, -(-stop // LEAF_BYTES))]
    for first, end in runs:
        # A run of several blocks does not reach beyond the range: its bytes need not be read once more.
        assert end == first + 1 or (start <= first * LEAF_BYTES and min(end * LEAF_BYTES, size) <= stop)


def test_a_stream_without_compiled_code_is_hashed_in_a_thread_to_the_same_digest(monkeypatch):
    def sealed() -> bytes:
        digest = StreamDigest(len(DATA), as_tree=True)
        for start in range(0, len(DATA), 100_000):
            digest.update_in_thread(memoryview(DATA)[start : start + 100_000])
        return digest.sealed()

    expected = sealed()
    monkeypatch.setattr("tokcap.store.tree_digest.hash_fours", None)
    assert sealed() == expected == tree_of(DATA).digest() + len(DATA).to_bytes(8, "little")


def test_only_a_stream_that_is_not_checked_as_a_whole_has_a_tree():
    assert digest_of_stream(in_memory(bytes(CHECKED_WHOLE_BYTES))).tree is None
    assert digest_of_stream(in_memory(bytes(CHECKED_WHOLE_BYTES + 1))).tree
