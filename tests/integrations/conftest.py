"""Two ways to call the test application: inside this process, and as a separate process."""

import subprocess
import sys

import pytest
from typer.testing import CliRunner

from tests.support import typer_groups
from tests.support.program import IMPORT_PATH, ROOT, Ran, checked


@pytest.fixture(autouse=True)
def applications_are_found(monkeypatch):
    """The applications of the tests are not installed, so their path is added."""
    monkeypatch.setenv("PYTHONPATH", IMPORT_PATH)


@pytest.fixture
def invoke():
    """Call the application with a test runner, which replaces `sys.stdout`."""

    def run(*args: str, app=typer_groups.app) -> Ran:
        done = CliRunner().invoke(app, args)
        if done.exception and not isinstance(done.exception, SystemExit):
            raise done.exception
        return checked(args, Ran(done.exit_code, done.stdout_bytes, b""))

    return run


@pytest.fixture
def process():
    """Call the application as a process."""

    def run(*args: str, **options) -> Ran:
        done = subprocess.run(
            [sys.executable, "-m", "tests.support.typer_groups", *args],
            capture_output=True, timeout=60, check=False, cwd=ROOT, **options,
        )  # fmt: skip
        return Ran(done.returncode, done.stdout, done.stderr)

    return run
