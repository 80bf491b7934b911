"""Spools keep everything, in memory or in a file."""

import os

from hypothesis import given
from hypothesis import strategies as st

from tokcap.core.spool import STEP_BYTES, Spool, in_memory


@given(
    blocks=st.lists(st.binary(max_size=40), max_size=20),
    memory=st.integers(0, 60),
    start=st.integers(0, 300),
    length=st.integers(0, 300),
)
def test_a_spool_reads_back_what_was_written_in_memory_or_on_disk(blocks, memory, start, length):
    spool = Spool(memory)
    for block in blocks:
        spool.write(block)
    data = b"".join(blocks)
    assert spool.size == len(data)
    start = min(start, len(data))
    stop = min(start + length, len(data))
    assert spool.read(start, stop) == data[start:stop]
    spool.close()


def test_no_output_is_lost_when_the_disk_is_full(monkeypatch):
    really = os.pwrite

    def nearly_full(descriptor, data, offset):
        room = 100 - offset
        if room <= 0:
            raise OSError(28, "No space left on device")
        return really(descriptor, data[:room], offset)

    monkeypatch.setattr(os, "pwrite", nearly_full)
    spool = Spool(memory_bytes=30)
    written = b"".join(bytes([n]) * 25 for n in range(40))
    for n in range(40):
        spool.write(written[n * 25 : n * 25 + 25])
    assert spool.size == len(written)
    assert spool.read(0, spool.size) == written
    assert spool.read(90, 130) == written[90:130]
    spool.close()


def test_no_output_is_lost_without_a_temporary_directory(tokcap):
    ran = tokcap(
        "--token-count",
        "--tokenizer",
        "approx",
        "--",
        "head",
        "-c",
        "20000000",
        "/dev/zero",
        env={"TMPDIR": "/nonexistent"},
    )
    assert (ran.status, ran.out, ran.err) == (0, b"5000000\n", b"")


def test_a_large_block_after_others_is_written_to_the_file_at_once():
    blocks = [b"a", b"b" * STEP_BYTES, b"c" * (STEP_BYTES + 1), b"d"]
    spool = Spool()
    for block in blocks:
        spool.write(block)
    assert spool._file is not None
    assert spool._memory == b"d"
    assert spool.read(0, spool.size) == b"".join(blocks)
    spool.close()


def test_a_file_that_cannot_be_opened_is_not_tried_for_every_block():
    tried = []

    def refuse():
        tried.append("once")
        raise OSError(28, "No space left on device")

    spool = Spool(open_file=refuse)
    for _ in range(6):
        spool.write(b"x" * STEP_BYTES)
    assert tried == ["once"]
    assert spool.read(0, spool.size) == b"x" * 6 * STEP_BYTES


def test_a_spool_in_memory_never_has_a_file():
    spool = in_memory(b"x" * STEP_BYTES)
    spool.write(b"y" * STEP_BYTES)
    assert spool._file is None
