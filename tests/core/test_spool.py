"""Spools keep everything, in memory or in a file."""

import os

from hypothesis import given
from hypothesis import strategies as st

from tokcap.core.payload import Spool


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
