"""Files below the data directory are private."""

import os
import stat
import subprocess

import pytest

from tokcap.errors import StoreError
from tokcap.system import private_files as private


def mode_of(path) -> int:
    return stat.S_IMODE(os.lstat(path).st_mode)


@pytest.fixture(params=[0o000, 0o022, 0o077, 0o777])
def umask(request):
    before = os.umask(request.param)
    yield request.param
    assert os.umask(before) == request.param, "the umask of the process was changed"


def test_modes_are_the_same_whatever_the_umask(umask, tmp_path):
    directory = str(tmp_path / "a" / "b")
    private.make_directory(directory)
    os.close(private.create_file(directory + "/new"))
    private.replace_file(directory + "/replaced", b"content")
    assert [mode_of(tmp_path / "a"), mode_of(directory)] == [0o700, 0o700]
    assert [mode_of(directory + "/new"), mode_of(directory + "/replaced")] == [0o600, 0o600]


def test_a_directory_of_ours_that_others_can_read_is_made_private(tmp_path):
    (tmp_path / "open").mkdir(mode=0o755)
    private.make_directory(str(tmp_path / "open"))
    assert mode_of(tmp_path / "open") == 0o700


def test_a_symbolic_link_is_never_followed(tmp_path):
    (tmp_path / "target").mkdir()
    (tmp_path / "target" / "file").write_bytes(b"kept")
    (tmp_path / "directory").symlink_to(tmp_path / "target")
    (tmp_path / "file").symlink_to(tmp_path / "target" / "file")
    (tmp_path / "nowhere").symlink_to(tmp_path / "target" / "planted")
    with pytest.raises(StoreError, match="symbolic link"):
        private.make_directory(str(tmp_path / "directory"))
    for name in ("file", "nowhere"):
        with pytest.raises(StoreError, match=r"symbolic link|File exists"):
            private.create_file(str(tmp_path / name))
        with pytest.raises(StoreError, match="symbolic link"):
            private.open_file(str(tmp_path / name))
    private.replace_file(str(tmp_path / "file"), b"new")
    assert (tmp_path / "target" / "file").read_bytes() == b"kept"
    assert not (tmp_path / "target" / "planted").exists()
    assert (tmp_path / "file").read_bytes() == b"new"


def test_a_named_pipe_does_not_block_the_reader(tmp_path):
    subprocess.run(["mkfifo", tmp_path / "pipe"], check=True)
    with pytest.raises(StoreError, match="not a regular file"):
        private.open_file(str(tmp_path / "pipe"))


def test_a_failed_replacement_keeps_the_old_file_and_leaves_no_temporary_file(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "inside").write_bytes(b"")
    with pytest.raises(StoreError):
        private.replace_file(str(tmp_path / "there"), b"content")
    assert [path.name for path in tmp_path.iterdir() if path.name != "home"] == ["there"]


def test_what_must_survive_a_crash_of_the_machine_is_synced_before_it_gets_its_name(tmp_path, monkeypatch):
    path, synced = tmp_path / "settings", []

    def sync(descriptor):
        synced.append((os.fstat(descriptor).st_size, path.exists()))

    monkeypatch.setattr(os, "fsync", sync)
    assert private.change_file(str(path), None, b"content")
    assert (synced, path.read_bytes()) == ([(7, False)], b"content")
