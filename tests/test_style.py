"""Lint, format and types are part of the tests."""

import subprocess
import sys

import pytest

from tests.support.program import ROOT


@pytest.mark.parametrize(
    "command",
    [["ruff", "check"], ["ruff", "format", "--check"], ["mypy", "--strict", "tokcap"]],
    ids=" ".join,
)
def test_the_code_passes(command):
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
