"""tokcap completion install: real shells and `man` find what it installs, and removal leaves no trace."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import stat
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.interactive import (
    BASH_COMPLETION,
    PATIENCE_SECONDS,
    TAB,
    as_its_user_starts_it,
    furnished,
    world,
)
from tests.support.program import run_inside
from tests.support.tiers import as_nightly, nightly
from tokcap.cli.completions import asking, script_for, startup_file
from tokcap.cli.completions.stamp import stamped, unstamped

COMPINIT = "autoload -Uz compinit; compinit "
# In these cases the shell finds the script by itself; in the others a block in a start-up file loads it.
BASHRC = f". {shlex.quote(str(BASH_COMPLETION[0]))}\n" if BASH_COMPLETION else ""
BEFORE = {
    "bash": {
        "nothing": {},
        "library": {".bashrc": BASHRC},
        "own directory": {".bashrc": "export BASH_COMPLETION_USER_DIR=~/mine\n" + BASHRC},
        "no newline at the end": {".bashrc": "alias ll='ls -l'"},
    },
    "zsh": {
        "nothing": {},
        "compinit": {".zshrc": COMPINIT + "\n"},
        "own functions": {".zshrc": "fpath=(~/.zfunc $fpath)\n" + COMPINIT + "\n", ".zfunc/mine": "true\n"},
        "a checkout": {
            ".zshrc": "fpath=(~/.omz $fpath)\n" + COMPINIT + "\n",
            ".omz/.git/HEAD": "",
            ".omz/f": "",
        },
        "stale dump": {
            ".zshrc": "fpath=(~/.zfunc $fpath)\nautoload -Uz compinit; compinit -C\n",
            ".zfunc/m": "",
        },
        "no newline at the end": {".zshrc": "alias ll='ls -l'"},
        "empty file": {".zshrc": ""},
        "another directory": {".zshenv": "ZDOTDIR=~/'z sh'\n", "z sh/.zshrc": COMPINIT + "\n"},
    },
    "fish": {
        "nothing": {},
        "used before": {".config/fish/config.fish": "set -g fish_greeting\n"},
    },
}
# One with a block in a start-up file, one without, and one for each other shell.
EVERYDAY = {
    ("bash", "nothing"),
    ("bash", "library"),
    ("zsh", "nothing"),
    ("fish", "nothing"),
}
CASES = [
    case if case in EVERYDAY else as_nightly(case)
    for case in ((shell, name) for shell, cases in BEFORE.items() for name in cases)
]
# Only the paths and the questions differ between shells, and zsh answers slowly.
bash_everyday = pytest.mark.parametrize("shell", ["bash", as_nightly("zsh"), as_nightly("fish")])
fish_everyday = pytest.mark.parametrize("shell", [as_nightly("bash"), as_nightly("zsh"), "fish"])
bash_and_zsh = pytest.mark.parametrize("shell", ["bash", as_nightly("zsh")])


def furnished_as(shell, name, tmp_path):
    if name not in ("library", "own directory"):
        return furnished_with(tmp_path, shell, BEFORE[shell][name])
    if not BASH_COMPLETION:
        pytest.skip("the bash-completion library is not installed")
    # The library cannot read directories with a blank in their path. Then a block is needed.
    return furnished_with(tmp_path, shell, BEFORE[shell][name], "me")


def furnished_with(tmp_path, shell, files, name="it's me"):
    place = tmp_path / name
    place.mkdir()
    home = furnished(shell, place)
    for name, text in files.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text)
    return home


def call(home, *words, **variables):
    """Call tokcap in a home; its status, and what it says."""
    ran = run_inside(words, b"", {**world(home), **variables})
    return ran.status, (ran.out + ran.err).decode()


def everything_in(home):
    """All files, with modes and contents, but for the cache that zsh writes and the log of `tokcap`."""
    return {
        str(path.relative_to(home)): (path.lstat().st_mode, path.read_bytes() if path.is_file() else b"")
        for path in home.rglob("*")
        if not path.name.startswith((".zcompdump", "calls"))
    }


def completes(shell, home):
    """Whether TAB completes the words of tokcap in a new shell."""
    with as_its_user_starts_it(shell, home) as terminal:
        words = terminal.words_after("tokcap --token-li", TAB)
        return words == ["--token-limit"] and terminal.words_after("tokcap budget stat", TAB)[-1] == "status"


@pytest.mark.parametrize(("shell", "name"), CASES)
def test_an_installed_completion_works_and_its_removal_leaves_no_trace(shell, name, tmp_path):
    home = furnished_as(shell, name, tmp_path)
    before = everything_in(home)
    install_with_umask_0(home, shell)
    installed = everything_in(home)
    blocks = [path for path, (_, data) in installed.items() if startup_file.BEGIN in data]
    finds_it_alone = ("library", "own directory", "own functions", "used before")
    assert bool(blocks) == (name not in finds_it_alone and shell != "fish")
    # zsh refuses directories that others can write to.
    for path in installed.keys() - before.keys():
        mode, _ = installed[path]
        assert not stat.S_ISDIR(mode) or not mode & 0o022
    if shell != "fish":
        # fish creates files of its own when it is started.
        assert completes(shell, home)
    assert call(home, "completion", "install", shell)[0] == 0
    assert everything_in(home) == installed
    status, said = call(home, "completion", "uninstall", shell)
    assert status == 0, said
    assert everything_in(home) == before
    if shell == "fish":
        assert call(home, "completion", "install", shell)[0] == 0
        assert completes(shell, home)


def install_with_umask_0(home, shell):
    umask = os.umask(0)
    try:
        status, said = call(home, "completion", "install", shell)
    finally:
        os.umask(umask)
    assert status == 0, said


def test_where_nothing_is_installed_nothing_can_be_removed(tmp_path):
    status, said = call(furnished_with(tmp_path, "bash", {}), "completion", "uninstall", "bash")
    assert (status, "nothing is installed" in said) == (1, True)


@bash_everyday
def test_what_was_added_to_a_start_up_file_later_stays(shell, tmp_path):
    name = {"bash": ".bashrc", "zsh": ".zshrc", "fish": ".config/fish/config.fish"}[shell]
    home = furnished_with(tmp_path, shell, {name: "# mine"})
    call(home, "completion", "install", shell)
    with (home / name).open("a") as file:
        file.write("\n# later\n" if shell == "fish" else "# later\n")
    assert call(home, "completion", "uninstall", shell)[0] == 0
    assert (home / name).read_text() == "# mine\n# later\n"


@bash_everyday
def test_the_script_of_another_version_is_replaced(shell, tmp_path):
    home = furnished_with(tmp_path, shell, {})
    call(home, "completion", "install", shell)
    (path,) = [path for path in home.rglob("*tokcap*") if b"tokcap completion install" in path.read_bytes()]
    created = unstamped(path.read_bytes()).created
    older = script_for(shell).replace("token-limit", "token-limbo").encode()
    path.write_bytes(stamped(older, "#", created))
    assert not completes(shell, home)
    assert call(home, "completion", "install", shell)[0] == 0
    assert completes(shell, home)
    assert unstamped(path.read_bytes()).created == created


@fish_everyday
def test_a_file_that_was_edited_is_neither_replaced_nor_removed(shell, tmp_path):
    home = furnished_with(tmp_path, shell, {})
    call(home, "completion", "install", shell)
    (path,) = [path for path in home.rglob("*tokcap*") if b"tokcap completion install" in path.read_bytes()]
    path.write_bytes(path.read_bytes().replace(b"token-limit", b"token-limbo"))
    edited = path.read_bytes()
    status, said = call(home, "completion", "uninstall", shell)
    assert status == 1
    assert f"{path}: not written by tokcap completion install, or edited; not removed" in said
    status, said = call(home, "completion", "install", shell)
    assert (status, path.read_bytes()) == (1, edited)
    remedy = said.strip().partition("to replace it: ")[2]
    subprocess.run(["sh", "-c", remedy], env=world(home), check=True, timeout=PATIENCE_SECONDS)
    assert completes(shell, home)
    assert path.with_name(path.name + "~").read_bytes() == edited


@fish_everyday
def test_a_script_of_an_installer_is_used_and_stays(shell, tmp_path):
    home = furnished_with(tmp_path, shell, {})
    name = {
        "bash": ".local/share/bash-completion/completions/tokcap",
        "zsh": ".local/share/zsh/site-functions/_tokcap",
        "fish": ".local/share/fish/vendor_completions.d/tokcap.fish",
    }[shell]
    (home / "venv").write_text(script_for(shell))
    (home / name).parent.mkdir(parents=True)
    # As pipx does it.
    (home / name).symlink_to(home / "venv")
    before = everything_in(home)
    assert call(home, "completion", "install", shell)[0] == 0
    assert completes(shell, home)
    status, said = call(home, "completion", "uninstall", shell)
    assert (status, "not removed" in said) == (int(shell == "fish"), False)
    assert (home / name).is_symlink()
    if shell != "fish":
        # fish creates files of its own when it is started.
        assert everything_in(home) == before


@bash_and_zsh
def test_a_block_whose_script_is_gone_does_nothing(shell, tmp_path):
    home = furnished_with(tmp_path, shell, {})
    call(home, "completion", "install", shell)
    shutil.rmtree(home / ".local")
    with as_its_user_starts_it(shell, home) as terminal:
        assert terminal.words_after("tokcap --token-li", TAB) == ["--token-li"]
        assert "tokcap:" not in terminal.shown
        assert "not found" not in terminal.shown


@bash_and_zsh
def test_a_block_that_was_edited_is_kept(shell, tmp_path):
    home = furnished_with(tmp_path, shell, {})
    call(home, "completion", "install", shell)
    startup = home / f".{shell}rc"
    startup.write_text(startup.read_text().replace(">>>\n", ">>>\n# mine\n", 1))
    edited = startup.read_text()
    status, said = call(home, "completion", "uninstall", shell)
    assert status == 1
    assert "the block of tokcap was edited; remove it by hand" in said
    assert startup.read_text() == edited


def test_a_link_to_a_start_up_file_stays_a_link(tmp_path):
    home = furnished_with(tmp_path, "bash", {"dotfiles/bashrc": "# mine\n"})
    (home / ".bashrc").symlink_to("dotfiles/bashrc")
    assert call(home, "completion", "install", "bash")[0] == 0
    assert (home / ".bashrc").is_symlink()
    assert completes("bash", home)
    assert call(home, "completion", "uninstall", "bash")[0] == 0
    assert (home / "dotfiles" / "bashrc").read_text() == "# mine\n"


@nightly
def test_zsh_accepts_the_directory_whatever_the_umask(tmp_path):
    home = furnished_with(tmp_path, "zsh", {})
    install_with_umask_0(home, "zsh")
    with (home / ".zshrc").open("a") as file:
        # It asks a question if a directory is not safe.
        file.write("compinit\n")
    assert completes("zsh", home)


def test_where_a_start_up_file_loads_the_script_nothing_is_installed(tmp_path):
    home = furnished_with(tmp_path, "bash", {".bashrc": 'eval "$(tokcap completion bash)"\n'})
    before = everything_in(home)
    status, said = call(home, "completion", "install", "bash")
    assert (status, "already" in said) == (0, True)
    assert everything_in(home) == before


def test_without_a_name_it_is_for_the_users_shell_and_man(tmp_path):
    home = furnished_with(tmp_path, "bash", {})
    before = everything_in(home)
    path = f"{home}/.local/bin:{world(home)['PATH']}"
    assert call(home, "completion", "install", SHELL="/usr/bin/bash", PATH=path)[0] == 0
    assert completes("bash", home)
    assert not (home / ".zshrc").exists()
    assert not (home / ".config").exists()
    found = subprocess.run(
        ["man", "-w", "tokcap"],
        env={**world(home), "PATH": path},
        capture_output=True,
        check=False,
        text=True,
    )
    assert found.stdout.strip().startswith(str(home)) or not shutil.which("man")
    assert call(home, "completion", "uninstall", PATH=path)[0] == 0
    assert everything_in(home) == before


def test_a_shell_that_has_no_completion_is_named(tmp_path):
    home = furnished_with(tmp_path, "bash", {})
    status, said = call(home, "completion", "install", SHELL="/bin/sh")
    assert status == 2
    assert said == (
        "tokcap: completion install: /bin/sh is not one of bash, zsh, fish;"
        " name the shell: tokcap completion install bash|zsh|fish\n"
    )


def test_a_shell_that_is_not_there_is_refused(tmp_path):
    home = furnished_with(tmp_path, "bash", {})
    status, said = call(home, "completion", "install", "fish", PATH="/nowhere")
    assert (status, said) == (1, "tokcap: completion: fish was not found on PATH\n")


def test_man_pages_go_where_man_looks(tmp_path):
    if not shutil.which("man"):
        pytest.skip("man is not installed")
    home = furnished_with(tmp_path, "bash", {})
    before = everything_in(home)
    path = f"{home}/.local/bin:{world(home)['PATH']}"
    status, said = call(home, "completion", "install", "man", PATH=path)
    assert status == 0, said
    for page in ("tokcap-show", "tokcap-json"):
        shown = subprocess.run(
            ["man", page], env={**world(home), "PATH": path}, capture_output=True, text=True, check=True
        )
        assert "tokcap completion install" not in shown.stdout
        assert "NAME" in shown.stdout
    assert call(home, "completion", "install", "man", PATH=path)[0] == 0
    assert call(home, "completion", "uninstall", "man", PATH=path)[0] == 0
    assert everything_in(home) == before


def test_man_pages_that_man_does_not_find_are_reported(tmp_path):
    home = furnished_with(tmp_path, "bash", {})
    status, said = call(home, "completion", "install", "man")
    assert status == 1
    assert f"man: does not find the man pages: it does not look in {home}/.local/share/man/man1" in said


class TestStartUpFile:
    @given(st.binary().filter(lambda data: startup_file.BEGIN not in data), st.text(), st.integers(0, 5))
    def test_adding_a_block_and_removing_it_gives_the_same_bytes(self, data, lines, created):
        added = startup_file.with_block(data, lines + "\n", created)
        assert startup_file.has_block(added)
        removal = startup_file.without_block(added)
        assert (removal.data, removal.created) == (data, created)

    @given(st.binary(max_size=200), st.integers(0, 200), st.integers(1, 255))
    def test_a_changed_byte_makes_a_text_not_ours(self, lines, place, change):
        text = lines + b"\n"
        ours = bytearray(stamped(text, "#", 3))
        assert unstamped(bytes(ours)).text == text
        ours[place % len(text)] ^= change
        assert unstamped(bytes(ours)) is None


class TestAsking:
    def test_a_program_that_does_not_answer_is_stopped(self):
        questions = [asking.Question(("sh", "-c", "sleep 1000"), os.environ)] * 2
        for spoken in asking.ask_all(questions, 0.2):
            assert spoken == asking.Spoken(failure="it did not answer in time")

    def test_a_daemon_that_it_starts_does_not_delay_the_answer(self):
        script = f"sleep 1000 & printf '%s\\n' noise '{asking.BEGIN}' $! '{asking.END}' noise"
        (spoken,) = asking.ask_all([asking.Question(("sh", "-c", script), os.environ)])
        os.kill(int(spoken.lines[0]), signal.SIGKILL)

    @pytest.mark.parametrize("script", ["true", "exit 3", f"echo '{asking.BEGIN}'", "kill -9 $$"])
    def test_a_program_that_ends_without_an_answer_is_reported(self, script):
        (spoken,) = asking.ask_all([asking.Question(("sh", "-c", script), os.environ)])
        assert "before it can answer" in spoken.failure

    def test_a_program_that_cannot_be_started_is_reported(self):
        (spoken,) = asking.ask_all([asking.Question(("/nowhere",), os.environ)])
        assert spoken.failure == "No such file or directory"
