"""Writing to descriptors, and reading from them."""

import contextlib
import fcntl
import os
import threading

import pytest

from tokcap.system import descriptors
from tokcap.system.descriptors import (
    ENLARGE_AFTER_BYTES,
    LARGE_PIPE_BYTES,
    DescriptorReader,
    is_readable_within,
    write_all,
)

LITTLE, MUCH = bytes(range(256)) * 64, bytes(range(251)) * (3 * ENLARGE_AFTER_BYTES // 251)


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


def size_of_pipe(descriptor: int) -> int:
    return fcntl.fcntl(descriptor, fcntl.F_GETPIPE_SZ)


@pytest.fixture
def pipe():
    both = os.pipe()
    yield both
    for descriptor in both:
        with contextlib.suppress(OSError):
            os.close(descriptor)


def read_through(pipe: tuple[int, int], data: bytes) -> list[bytes]:
    """Return the blocks that are read from a pipe while somebody writes to it."""
    read, write = pipe

    def fill() -> None:
        write_all(write, data)
        os.close(write)

    writer = threading.Thread(target=fill)
    writer.start()
    blocks = [*iter(DescriptorReader(read).read, b"")]
    writer.join()
    assert b"".join(blocks) == data
    return blocks


@pytest.mark.skipif(not hasattr(fcntl, "F_SETPIPE_SZ"), reason="pipes cannot be enlarged on this system")
class TestPipe:
    def test_is_enlarged_when_much_has_come_through_it(self, pipe):
        before = size_of_pipe(pipe[0])
        read_through(pipe, LITTLE)
        assert size_of_pipe(pipe[0]) == before
        other = os.pipe()
        read_through(other, MUCH)
        assert size_of_pipe(other[0]) == LARGE_PIPE_BYTES
        os.close(other[0])

    def test_is_read_in_large_blocks_then(self, pipe):
        reader = DescriptorReader(pipe[0])
        for _ in range(ENLARGE_AFTER_BYTES >> 14):
            os.write(pipe[1], bytes(1 << 14))
            reader.read()
        os.write(pipe[1], bytes(300_000))
        assert len(reader.read()) == 300_000

    def test_does_not_become_smaller(self, pipe, monkeypatch):
        monkeypatch.setattr(descriptors, "LARGE_PIPE_BYTES", LARGE_PIPE_BYTES // 4)
        fcntl.fcntl(pipe[0], fcntl.F_SETPIPE_SZ, LARGE_PIPE_BYTES)
        read_through(pipe, MUCH)
        assert size_of_pipe(pipe[0]) == LARGE_PIPE_BYTES

    def test_is_read_as_it_is_if_the_system_refuses_that(self, pipe, monkeypatch):
        before, really = size_of_pipe(pipe[0]), fcntl.fcntl

        def refuse(descriptor, command, *more):
            if command == fcntl.F_SETPIPE_SZ:
                raise PermissionError
            return really(descriptor, command, *more)

        monkeypatch.setattr(fcntl, "fcntl", refuse)
        read_through(pipe, MUCH)
        assert size_of_pipe(pipe[0]) == before


def test_a_file_is_read_to_its_end(tmp_path):
    (tmp_path / "file").write_bytes(MUCH)
    with (tmp_path / "file").open("rb", buffering=0) as file:
        assert b"".join(iter(DescriptorReader(file.fileno()).read, b"")) == MUCH
