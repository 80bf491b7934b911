"""Advice to install something is a command of the installer that installed tokcap."""

import json
import os
import subprocess
import sys
import sysconfig
import venv

import pytest

from tests.support.program import PACKAGE

METADATA = """Metadata-Version: 2.1
Name: tokcap
Version: 0.1.0
Requires-Dist: typer>=0.15
Requires-Dist: matplotlib<4,>=3.8; extra == "plot"
"""
WITHOUT_PACKAGES = "import sys; sys.modules['matplotlib'] = None\n"
CALL = "from tokcap.__main__ import main; main()"


@pytest.fixture
def environment(tmp_path, monkeypatch):
    """A virtual environment with tokcap in it, as an installer leaves it."""
    # Without links resolved: the path has blanks and a quote in it.
    root = tmp_path / "it's here" / "venvs" / "tokcap-x"
    venv.create(root, symlinks=True, with_pip=False)
    packages = next((root / "lib").glob("python*")) / "site-packages"
    everything = "\n".join((str(PACKAGE.parent), sysconfig.get_path("purelib"), *sys.path))
    (packages / "all.pth").write_text(everything + "\n")
    about = packages / "tokcap-0.1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(METADATA)
    direct = {"url": "file:///a%20checkout", "dir_info": {}}
    (about / "direct_url.json").write_text(json.dumps(direct))
    monkeypatch.delenv("PYTHONPATH", raising=False)
    return root


def advice(environment, *, without_pip=False):
    """What tokcap says must be run, when an optional package is missing."""
    no_pip = "import importlib.util as u; f = u.find_spec\n"
    no_pip += "u.find_spec = lambda name, *more: None if name == 'pip' else f(name, *more)\n"
    code = WITHOUT_PACKAGES + (no_pip if without_pip else "") + CALL
    done = subprocess.run(
        [environment / "bin" / "python", "-c", code, "stats", "--plot", "x.svg"],
        capture_output=True,
        text=True,
        env={**os.environ, "TOKCAP_DATA_DIR": str(environment / "data")},
        timeout=60,
        check=False,
    )
    assert done.returncode == 125, done
    assert done.stderr.count("\n") == 1
    return done.stderr.partition(" run: ")[2].strip()


def test_pip_in_a_virtual_environment(environment):
    python = "'" + str(environment / "bin" / "python").replace("'", "'\\''") + "'"
    assert advice(environment) == f"{python} -m pip install 'matplotlib<4,>=3.8'"


def test_an_environment_without_pip_was_made_by_uv(environment):
    command = advice(environment, without_pip=True)
    assert command.startswith("uv pip install --python '")
    assert command.endswith("' 'matplotlib<4,>=3.8'")


def test_pipx(environment):
    (environment / "pipx_metadata.json").write_text("{}")
    assert advice(environment) == "pipx inject tokcap-x 'matplotlib<4,>=3.8'"


@pytest.mark.parametrize(
    ("file", "content", "again"),
    [
        ("pipx_metadata.json", "{}", "pipx reinstall tokcap-x"),
        ("uv-receipt.toml", "", "uv tool upgrade --reinstall tokcap-x"),
        ("nothing", "", "-m pip install --force-reinstall '/a checkout'"),
    ],
)
def test_an_incomplete_installation_says_how_to_mend_it(environment, tmp_path, file, content, again):
    (environment / file).write_text(content)
    (tmp_path / "typer.py").write_text("raise ImportError('broken', name='typer')\n")
    done = subprocess.run(
        [environment / "bin" / "python", "-m", "tokcap", "doctor"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 125
    assert done.stderr.endswith(f"{again}\n")
