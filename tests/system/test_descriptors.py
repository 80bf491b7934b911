"""Writing to descriptors."""

import os

import pytest

from tokcap.system.descriptors import write_all


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
