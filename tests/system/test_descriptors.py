"""Writing to descriptors."""

import os
import threading

import pytest

from tokcap.system.descriptors import write_all

MUCH = bytes(range(251)) * 12_000


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_everything_is_written_when_the_system_takes_a_little_at_a_time(kind, tmp_path, monkeypatch):
    really = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: really(descriptor, data[:3]))
    with (tmp_path / "file").open("wb") as file:
        write_all(file.fileno(), kind(b"0123456789"))
        write_all(file.fileno(), kind(b""))
    assert (tmp_path / "file").read_bytes() == b"0123456789"


@pytest.mark.parametrize("blocking", [True, False])
@pytest.mark.parametrize(
    "data", [MUCH, bytearray(MUCH), memoryview(MUCH), b""], ids=lambda data: type(data).__name__
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
