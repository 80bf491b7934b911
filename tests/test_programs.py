"""The programs in `bin/`, as installers write them: what they import, and the bytecode that they leave."""

import json
import os
import shutil
import subprocess
import sys
from importlib.util import cache_from_source

import pytest

from tests.support.faults import without_power
from tests.support.program import PACKAGE, ROOT
from tests.support.shells import install_programs
from tokcap.system.shell import OWN_NAMES

FORBIDDEN = {"PYTHONDONTWRITEBYTECODE": "1"}


class Copy:
    """A copy of the package without bytecode, and the programs that run it."""

    def __init__(self, directory):
        self.package = directory / "site" / "tokcap"
        self.programs = install_programs(directory / "bin")
        # Nothing is counted here, so the vocabularies are left out.
        shutil.copytree(PACKAGE, self.package, ignore=shutil.ignore_patterns("__pycache__", "data"))

    def run(self, *words, **variables):
        left_out = ("PYTHONDONTWRITEBYTECODE", "PYTHONSAFEPATH")
        world = {name: value for name, value in os.environ.items() if name not in left_out}
        world |= {"PYTHONPATH": str(self.package.parent), **variables}
        done = subprocess.run(
            words,
            capture_output=True,
            text=True,
            env=world,
            # `python -m` looks for the package there first.
            cwd=self.package.parent,
            timeout=60,
            check=False,
        )
        assert "Traceback" not in done.stderr
        return done

    def has_bytecode(self, *names):
        return [os.path.exists(cache_from_source(str(self.package / f"{name}.py"))) for name in names]


@pytest.fixture
def copy(tmp_path):
    return Copy(tmp_path)


def test_there_is_a_program_for_each_name():
    assert sorted(path.name for path in (ROOT / "bin").iterdir()) == sorted(OWN_NAMES)


@pytest.mark.parametrize("name", OWN_NAMES)
def test_bytecode_is_written_although_a_variable_forbids_it(copy, name):
    if not shutil.which(name.rpartition("-")[2]) and name != "tokcap":
        pytest.skip(f"{name} needs its shell")
    words = ("--", "printenv") if name == "tokcap" else ("-c", 'printenv "$0"')
    done = copy.run(copy.programs / name, *words, "PYTHONDONTWRITEBYTECODE", **FORBIDDEN)
    # The command still finds the variable.
    assert (done.stdout, done.returncode) == ("1\n", 0)
    assert copy.has_bytecode("__init__", "__main__", "pipeline") == [True, True, True]


def test_an_option_of_python_still_forbids_bytecode(copy):
    assert copy.run(sys.executable, "-B", copy.programs / "tokcap", "--", "true").returncode == 0
    assert [*copy.package.rglob("__pycache__")] == []


def test_nothing_is_imported_from_the_directory_of_the_programs(copy):
    for name in ("tokcap", "errno", "itertools", "gc", "re"):
        (copy.programs / f"{name}.py").write_text("raise SystemExit('imported from there')\n")
    assert copy.run(copy.programs / "tokcap", "--version").returncode == 0


def test_an_installation_that_cannot_be_written_works_and_doctor_has_the_remedy(copy):
    directories = [copy.package, *(path for path in copy.package.rglob("*") if path.is_dir())]
    for directory in directories:
        directory.chmod(0o555)
    doctor = (copy.programs / "tokcap", "doctor", "-o", "json")
    done = copy.run(*without_power(), *doctor, **FORBIDDEN)
    assert copy.has_bytecode("pipeline") == [False]
    (found,) = [one for one in json.loads(done.stdout)["data"] if one["name"] == "bytecode"]
    assert found["status"] == "note"
    for directory in directories:
        directory.chmod(0o755)
    # The owner runs the remedy.
    assert copy.run("sh", "-c", found["remedy"], **FORBIDDEN).returncode == 0
    assert copy.has_bytecode("pipeline") == [True]
