"""Writing to descriptors, and reading from them."""

import fcntl
import os
from threading import Thread

import pytest

from tokcap.system.descriptors import LARGE_PIPE_BYTES, MUCH_BYTES, PIPE_BYTES, Inlet, write_all

GET_SIZE = getattr(fcntl, "F_GETPIPE_SZ", None)


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_everything_is_written_when_the_system_takes_a_little_at_a_time(kind, tmp_path, monkeypatch):
    really = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: really(descriptor, data[:3]))
    with (tmp_path / "file").open("wb") as file:
        write_all(file.fileno(), kind(b"0123456789"))
        write_all(file.fileno(), kind(b""))
    assert (tmp_path / "file").read_bytes() == b"0123456789"


def test_an_error_of_the_system_is_raised(tmp_path):
    (tmp_path / "file").touch()
    with (tmp_path / "file").open("rb") as read_only, pytest.raises(OSError, match="Bad file descriptor"):
        write_all(read_only.fileno(), b"x")


def read_through_pipe(data: bytes) -> tuple[bytes, int]:
    """Return what an inlet reads from a pipe, and the size of the pipe at the end."""
    read, write = os.pipe()

    def fill() -> None:
        write_all(write, data)
        os.close(write)

    writer = Thread(target=fill)
    writer.start()
    inlet = Inlet(read)
    found = b"".join(iter(inlet.read, b""))
    writer.join()
    size = fcntl.fcntl(read, GET_SIZE)
    os.close(read)
    return found, size


@pytest.mark.skipif(GET_SIZE is None, reason="the size of a pipe cannot be changed on this system")
class TestPipe:
    def test_becomes_larger_when_much_has_come_through_it(self):
        little, much = bytes(range(256)) * 64, bytes(range(251)) * (2 * MUCH_BYTES // 251)
        assert read_through_pipe(little) == (little, PIPE_BYTES)
        assert read_through_pipe(much) == (much, LARGE_PIPE_BYTES)

    def test_is_read_as_it_is_if_the_system_refuses_that(self, monkeypatch):
        really = fcntl.fcntl

        def refuse(descriptor, command, *more):
            if command == fcntl.F_SETPIPE_SZ:
                raise PermissionError
            return really(descriptor, command, *more)

        monkeypatch.setattr(fcntl, "fcntl", refuse)
        much = bytes(range(251)) * (2 * MUCH_BYTES // 251)
        assert read_through_pipe(much) == (much, PIPE_BYTES)


def test_a_file_is_read_to_its_end(tmp_path):
    data = bytes(range(251)) * (2 * MUCH_BYTES // 251)
    (tmp_path / "file").write_bytes(data)
    with (tmp_path / "file").open("rb", buffering=0) as file:
        inlet = Inlet(file.fileno())
        assert b"".join(iter(inlet.read, b"")) == data
