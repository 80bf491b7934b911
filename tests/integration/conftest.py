"""Two ways to call an application: inside this process, and as one of its own."""

import subprocess
import sys

import pytest
from typer.testing import CliRunner

from tests.conftest import IMPORT_PATH, ROOT, Ran, checked
from tests.integration import twenty


@pytest.fixture(autouse=True)
def applications_are_found(monkeypatch):
    """Those of the tests are not installed."""
    monkeypatch.setenv("PYTHONPATH", IMPORT_PATH)


@pytest.fixture
def invoke():
    """Call it as tests of applications do, with `sys.stdout` replaced."""

    def run(*args: str, app=twenty.app) -> Ran:
        done = CliRunner().invoke(app, args)
        if done.exception and not isinstance(done.exception, SystemExit):
            raise done.exception
        return checked(args, Ran(done.exit_code, done.stdout_bytes, b""))

    return run


@pytest.fixture
def process():
    """Call it as its users do."""

    def run(*args: str, **options) -> Ran:
        done = subprocess.run(
            [sys.executable, "-m", "tests.integration.twenty", *args],
            capture_output=True, timeout=60, check=False, cwd=ROOT, **options,
        )  # fmt: skip
        return Ran(done.returncode, done.stdout, done.stderr)

    return run
