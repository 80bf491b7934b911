"""Nasty command lines give the same bytes and status in a shell of tokcap as in the real shell."""

from __future__ import annotations

import shutil

import pytest

from tests.support.nasty_lines import BASH, ZSH
from tests.support.shells import run_line
from tests.support.tiers import some_everyday
from tokcap.hooks.own_files import bash_env

pytestmark = pytest.mark.usefixtures("with_store")

needs_bash = pytest.mark.skipif(not shutil.which("bash"), reason="bash is not installed")
needs_zsh = pytest.mark.skipif(not shutil.which("zsh"), reason="zsh is not installed")
WITHOUT_START_UP_FILE = {name: line for name, line in BASH.items() if "BASH_ENV" not in dict(line.variables)}


@pytest.fixture(autouse=True)
def no_bash_env(monkeypatch):
    monkeypatch.delenv("BASH_ENV", raising=False)
    monkeypatch.delenv("_", raising=False)
    # A login shell may reset the path.
    monkeypatch.setenv("PATH", "/usr/local/bin:/usr/bin:/bin")


@needs_bash
@pytest.mark.parametrize("name", some_everyday(BASH, 40))
def test_tokcap_bash_is_bash_with_both_streams_apart(name, programs, tmp_path):
    ours = run_line(str(programs / "tokcap-bash"), BASH[name], tmp_path / "x")
    shutil.rmtree(tmp_path / "x")
    assert ours == run_line("bash", BASH[name], tmp_path / "x")


@needs_bash
@pytest.mark.parametrize("name", some_everyday(BASH, 10))
def test_tokcap_bash_is_bash_with_both_streams_in_one_pipe(name, programs, tmp_path):
    ours = run_line(str(programs / "tokcap-bash"), BASH[name], tmp_path / "x", one_pipe=True)
    shutil.rmtree(tmp_path / "x")
    assert ours == run_line("bash", BASH[name], tmp_path / "x", one_pipe=True)


@needs_bash
@pytest.mark.parametrize("name", some_everyday(WITHOUT_START_UP_FILE, 15))
def test_a_start_up_file_changes_nothing_either(name, programs, tmp_path):
    (tmp_path / "env.sh").write_text(bash_env(str(programs / "tokcap-bash")))
    ours = run_line("bash", BASH[name], tmp_path / "x", variables={"BASH_ENV": str(tmp_path / "env.sh")})
    shutil.rmtree(tmp_path / "x")
    assert ours == run_line("bash", BASH[name], tmp_path / "x")


@needs_zsh
@pytest.mark.parametrize("name", some_everyday(ZSH, 10))
def test_tokcap_zsh_is_zsh_with_both_streams_apart(name, programs, tmp_path):
    ours = run_line(str(programs / "tokcap-zsh"), ZSH[name], tmp_path / "x")
    shutil.rmtree(tmp_path / "x")
    assert ours == run_line("zsh", ZSH[name], tmp_path / "x")


@needs_zsh
@pytest.mark.parametrize("name", some_everyday(ZSH, 2))
def test_tokcap_zsh_is_zsh_with_both_streams_in_one_pipe(name, programs, tmp_path):
    ours = run_line(str(programs / "tokcap-zsh"), ZSH[name], tmp_path / "x", one_pipe=True)
    shutil.rmtree(tmp_path / "x")
    assert ours == run_line("zsh", ZSH[name], tmp_path / "x", one_pipe=True)
