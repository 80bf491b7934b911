"""Fixtures for attacks on the program: small disks, and a data directory with known content."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.support.faults import LINES, Disk, run_tokcap

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def tiny_disk(tmp_path):
    """Mount a small tmpfs and return it as a `Disk`. `options` are those of mount."""
    mounted = []

    def mount(options: str = "size=256k") -> Disk:
        path = tmp_path / f"disk{len(mounted)}"
        path.mkdir()
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"{options},mode=700", "none", path],
            capture_output=True,
            check=False,
        )
        if done.returncode:
            pytest.skip("a small file system cannot be mounted here")
        mounted.append(path)
        return Disk(path)

    yield mount
    for path in mounted:
        subprocess.run(["umount", "--lazy", path], check=True)


@pytest.fixture(scope="session")
def full_data_directory(tmp_path_factory) -> Path:
    """Return a data directory with LINES and a session `s`. Tests change only a copy of it: see `stored`."""
    data = tmp_path_factory.mktemp("template") / "data"
    world = {"TOKCAP_DATA_DIR": str(data), "TOKCAP_SPILL": "auto"}
    run_tokcap("-n", "60", stdin=LINES, env=world)
    run_tokcap("budget", "start", "s", "--total", "100000", env=world)
    return data


@pytest.fixture
def stored(with_store, full_data_directory) -> str:
    """Return the handle of LINES in the test's own store. The ledger has the session `s`."""
    shutil.copytree(full_data_directory, with_store)
    return (with_store / "spill" / "last").read_text().split()[0]
