"""Everything is written, to slow and to non-blocking descriptors too."""

import os
import threading

import pytest

from tokcap.system.descriptors import is_readable_within, write_all

DATA = bytes(range(256)) * 4096


@pytest.mark.parametrize("blocking", [True, False])
@pytest.mark.parametrize(
    "data", [DATA, bytearray(DATA), memoryview(DATA), b""], ids=lambda data: type(data).__name__
)
def test_all_bytes_arrive(blocking, data):
    read, write = os.pipe()
    os.set_blocking(write, blocking)
    received = bytearray()

    def drain():
        while block := os.read(read, 10_000):
            received.extend(block)

    reader = threading.Thread(target=drain)
    reader.start()
    write_all(write, data)
    os.close(write)
    reader.join()
    os.close(read)
    assert received == bytes(data)


def test_a_failure_is_raised():
    read, write = os.pipe()
    os.close(read)
    with pytest.raises(BrokenPipeError):
        write_all(write, b"x")
    os.close(write)


def test_a_descriptor_is_readable_when_it_has_data_or_has_ended():
    read, write = os.pipe()
    assert not is_readable_within(read, 0)
    os.write(write, b"x")
    assert is_readable_within(read, 0)
    os.read(read, 1)
    os.close(write)
    assert is_readable_within(read, 0)
    os.close(read)
