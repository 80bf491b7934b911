"""The importer of tokcap's own modules loads what Python itself would load."""

import os
import shutil
import subprocess
import sys

import pytest

from tests.support.program import PACKAGE

CACHED_ERRORS = f"__pycache__/errors.{sys.implementation.cache_tag}.pyc"


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """Return a copy of the package, with the bytecode of all that `--version` and `budget list` load."""
    package = tmp_path_factory.mktemp("compiled") / "tokcap"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    for words in (["--version"], ["budget", "list"]):
        run(package, *words)
    assert (package / CACHED_ERRORS).exists()
    return package


@pytest.fixture
def copy(compiled, tmp_path):
    """Return the directory of a copy of the package, with its bytecode, for one test."""
    return shutil.copytree(compiled, tmp_path / "site" / "tokcap")


def run(package, *arguments):
    """Run the program from a copy of the package."""
    # Python must not find the package in the checkout, and must cache bytecode whatever the user prefers.
    own = {"PYTHONPATH": str(package.parent), "PYTHONSAFEPATH": "1", "PYTHONDONTWRITEBYTECODE": ""}
    variables = {**os.environ, **own}
    command = [sys.executable, "-m", "tokcap", *arguments]
    return subprocess.run(command, env=variables, capture_output=True, check=False, timeout=60)


def test_a_package_hides_a_module_that_an_older_version_left(copy):
    (copy / "budget.py").write_text("raise SystemExit('the old module was loaded')\n")
    (copy / "cli" / "commands.py").write_text("raise SystemExit('the old module was loaded')\n")
    done = run(copy, "budget", "list", "-o", "json")
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_cached_file_that_cannot_be_read_is_not_used(copy):
    (copy / CACHED_ERRORS).unlink()
    (copy / CACHED_ERRORS).mkdir()
    done = run(copy, "--version")
    assert (done.returncode, done.stderr) == (0, b"")


def test_bytecode_of_another_source_is_not_used(copy):
    source = copy / "exits.py"
    times = source.stat()
    source.write_text(source.read_text() + "raise SystemExit(77)\n")
    os.utime(source, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert run(copy, "--version").returncode == 77


@pytest.mark.parametrize("damage", [lambda data: data[:300], lambda data: data[:16] + b"N"])
def test_damaged_bytecode_is_reported_as_python_reports_it(copy, damage):
    cached = copy / CACHED_ERRORS
    cached.write_bytes(damage(cached.read_bytes()))
    variables = {**os.environ, "PYTHONPATH": str(copy.parent)}
    plain = [sys.executable, "-c", "import tokcap.errors"]
    expected = subprocess.run(plain, env=variables, capture_output=True, check=False)
    assert run(copy, "--version").stderr.splitlines()[-1] == expected.stderr.splitlines()[-1]
