"""The completion scripts: current, complete, and right in the hands of real shells."""

from __future__ import annotations

import fcntl
import os
import re
import select
import shlex
import shutil
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

from tokcap.completions import SHELLS, TOKENIZERS, script_for
from tokcap.options import AVAILABLE, Choice, Switch, options_of
from tokcap.tokens import open_tokenizer

DIRECTORY = Path(__file__).parent.parent / "completions"
SCRIPTS = {"bash": "tokcap.bash", "zsh": "_tokcap", "fish": "tokcap.fish"}
RUN_OPTIONS = options_of("run")
LONG_FLAGS = {
    *(option.flag for option in RUN_OPTIONS),
    *(f"--no-{option.name}" for option in RUN_OPTIONS if isinstance(option.kind, Switch)),
    "--help",
    "--version",
}
SHORT_FLAGS = {*(f"-{option.short}" for option in RUN_OPTIONS if option.short), "-h", "-V"}

BASH_COMPLETION = [
    path
    for prefix in ("/usr", "/usr/local", "/opt/homebrew")
    if (path := Path(prefix, "share/bash-completion/bash_completion")).exists()
]

# A starting shell on a busy machine is slow; nothing here depends on how slow.
PATIENCE_SECONDS = 120

# In place of tokcap: shows the words that would have reached it.
SHOW_WORDS = r"""
tokcap() { printf '<<'; printf '%s\037' "$@"; printf '>>'; }
PS1='ready> '
"""
BASH_SETTINGS = r"""
_fruitbowl() { COMPREPLY=($(compgen -W 'apple banana --peel' -- "${COMP_WORDS[COMP_CWORD]}")); }
complete -F _fruitbowl fruitbowl
bind 'set bell-style none'
bind 'set enable-bracketed-paste off'
bind '"\C-x*": insert-completions'
"""
ZSH_SETTINGS = r"""
_fruitbowl() { _arguments '--peel' '*:fruit:(apple banana)' }
compdef _fruitbowl fruitbowl
zle -C insert-all complete-word _generic
zstyle ':completion:insert-all:*' completer _all_matches _complete
zstyle ':completion:insert-all:*' insert true
bindkey '^X*' insert-all
"""
END_OF_ANSWER = "=end="
FISH_SETTINGS = "complete -c fruitbowl -f -a 'apple banana'; complete -c fruitbowl -l peel"

# Run between fork and exec of this process, it could meet the locks of other threads.
TAKE_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execvp(sys.argv[1], sys.argv[1:])
"""

TAB = "\t"
BACK = "\x02"
INSERT_ALL = "\x18*"


class Terminal:
    """An interactive shell on a pseudo-terminal of its own."""

    def __init__(self, argv, home):
        self.seen = b""
        self.screen, terminal = os.openpty()
        # Wide enough that no line is broken.
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 500, 0, 0))
        self.shell = subprocess.Popen(
            [sys.executable, "-c", TAKE_TERMINAL, *argv],
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            cwd=home,
            env=world(home),
            start_new_session=True,
        )
        os.close(terminal)

    def __enter__(self):
        self.until(b"ready> ")
        return self

    def __exit__(self, *_):
        self.shell.kill()
        self.shell.wait()
        os.close(self.screen)

    def words_after(self, line, keys):
        """Type a line, press keys and Enter; the words that reach the command."""
        os.write(self.screen, f"{line}{keys}\r".encode())
        self.until(b"<<")
        words = self.until(b">>").decode().split("\037")[:-1]
        self.until(b"ready> ")
        return words

    def until(self, awaited):
        """Everything shown before `awaited` is."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while awaited not in self.seen:
            ready, _, _ = select.select([self.screen], [], [], max(deadline - time.monotonic(), 0))
            assert ready, f"no {awaited!r} in {self.seen!r}"
            self.seen += os.read(self.screen, 1 << 16)
        before, _, self.seen = self.seen.partition(awaited)
        return before


def world(home):
    return {"HOME": str(home), "PATH": f"{home}:{os.environ['PATH']}", "TERM": "dumb", "LC_ALL": "C"}


def furnished(shell, tmp_path):
    """A home for one shell, with a command `fruitbowl` in it; skips where there is no such shell."""
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    home = tmp_path / "shell"
    home.mkdir()
    command = home / "fruitbowl"
    command.write_text("#!/bin/sh\n")
    command.chmod(0o755)
    return home


def bash(home, library=True):
    lines = [f"source {shlex.quote(str(path))}" for path in BASH_COMPLETION[:1] if library]
    lines += [f"source {shlex.quote(str(DIRECTORY / 'tokcap.bash'))}", BASH_SETTINGS, SHOW_WORDS]
    (home / "rc").write_text("\n".join(lines))
    return Terminal(["bash", "--noprofile", "--rcfile", str(home / "rc"), "-i"], home)


def zsh(home, sourced=False):
    script = shlex.quote(str(DIRECTORY / "_tokcap"))
    lines = ["autoload -Uz compinit", "compinit -u -D", ZSH_SETTINGS, SHOW_WORDS]
    if sourced:
        lines.append(f"source {script}")
    else:
        lines.insert(0, f"fpath=({shlex.quote(str(DIRECTORY))} $fpath)")
    (home / ".zshrc").write_text("\n".join(lines))
    return Terminal(["zsh", "-d", "-i"], home)


def fish(home, lines):
    """What fish offers for each line."""
    script = "; ".join(
        [
            f"source {shlex.quote(str(DIRECTORY / 'tokcap.fish'))}",
            FISH_SETTINGS,
            f"for line in $argv; complete -C $line; echo {END_OF_ANSWER}; end",
        ]
    )
    done = subprocess.run(
        ["fish", "-c", script, *lines],
        capture_output=True,
        text=True,
        cwd=home,
        env=world(home),
        timeout=PATIENCE_SECONDS,
        check=True,
    )
    assert not done.stderr
    *answers, _ = done.stdout.split(f"{END_OF_ANSWER}\n")
    return [[row.split("\t")[0] for row in answer.splitlines()] for answer in answers]


def offered(shell, tmp_path, *lines):
    """What the shell offers at the end of each line, without what stands before it in the same word."""
    home = furnished(shell, tmp_path)
    if shell == "fish":
        answers = fish(home, lines)
    else:
        with bash(home) if shell == "bash" else zsh(home) as terminal:
            answers = [new_words(terminal, line) for line in lines]
    return [
        {word.removeprefix(attached_to(line)) for word in words}
        for line, words in zip(lines, answers, strict=True)
    ]


def new_words(terminal, line):
    """All that can be completed at the end of the line, by the key that inserts it at once."""
    words = terminal.words_after(line, INSERT_ALL)
    _, *typed = line.split()
    if words == typed:
        return []
    return words[len(typed) if line.endswith(" ") else len(typed) - 1 :]


def attached_to(line):
    """`--output=` of a line that ends in `--output=j`."""
    name, equals, _ = line.split(" ")[-1].partition("=")
    return name + equals if equals else ""


def test_the_scripts_are_current(tmp_path):
    shutil.copy(DIRECTORY / "generate.py", tmp_path)
    subprocess.run(
        [sys.executable, tmp_path / "generate.py"],
        env={**world(tmp_path), "PYTHONPATH": str(DIRECTORY.parent)},
        timeout=PATIENCE_SECONDS,
        check=True,
    )
    for shell, name in SCRIPTS.items():
        assert (tmp_path / name).read_text() == (DIRECTORY / name).read_text() == script_for(shell)


@pytest.mark.parametrize("shell", SHELLS)
def test_the_subcommand_prints_the_script(shell, tmp_path):
    printed = subprocess.run(
        [sys.executable, "-m", "tokcap", "completion", shell],
        capture_output=True,
        cwd=DIRECTORY.parent,
        env=world(tmp_path),
        timeout=PATIENCE_SECONDS,
        check=True,
    )
    assert printed.stdout == (DIRECTORY / SCRIPTS[shell]).read_bytes()


@pytest.mark.parametrize("shell", SHELLS)
def test_every_option_is_in_each_completion_script(shell):
    script = script_for(shell)
    if shell == "fish":
        # It writes `-s n -l token-limit`.
        script = script.replace(" -l ", " --").replace(" -s ", " -")
    words = set(re.findall(r"[-\w]+", script))
    assert words >= LONG_FLAGS | SHORT_FLAGS | set(TOKENIZERS) | set(AVAILABLE) | set(SHELLS)
    for option in RUN_OPTIONS:
        if isinstance(option.kind, Choice):
            assert words >= set(option.kind.words)


@pytest.mark.parametrize("shell", SHELLS)
def test_no_script_calls_tokcap(shell):
    assert not re.search(r"(^|[(;|&`])\s*(command\s+)?tokcap\b", script_for(shell), re.MULTILINE)


def test_every_tokenizer_offered_can_be_used_offline():
    for name in TOKENIZERS:
        assert open_tokenizer(name).count("to be counted") > 0


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_completes_the_names_of_options(shell, tmp_path):
    to, all_long, all_flags, after_value = offered(
        shell, tmp_path, "tokcap --to", "tokcap --", "tokcap -", "tokcap -n 5 --al"
    )
    assert to == {"--token-limit", "--token-offset", "--token-count", "--tokenizer"}
    assert all_long == LONG_FLAGS
    assert all_flags == LONG_FLAGS | SHORT_FLAGS
    assert after_value == {"--align"}


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_completes_the_values_of_options(shell, tmp_path):
    choices = [option for option in RUN_OPTIONS if isinstance(option.kind, Choice)]
    apart = [f"tokcap {option.flag} " for option in choices]
    attached = [f"tokcap {option.flag}=" for option in choices]
    begun = [
        "tokcap --output=j",
        "tokcap -o js",
        "tokcap --tokenizer ",
        "tokcap --tokenizer=cl",
        "tokcap -n ",
    ]
    answers = offered(shell, tmp_path, *apart, *attached, *begun)
    words = [set(option.kind.words) for option in choices]
    assert answers[: len(choices)] == words
    assert answers[len(choices) : 2 * len(choices)] == words
    assert answers[2 * len(choices) :] == [
        {"json", "jsonl"},
        {"json", "jsonl"},
        set(TOKENIZERS),
        {"cl100k_base"},
        set(),
    ]


@pytest.mark.parametrize("shell", SHELLS)
def test_behind_the_options_the_completion_of_the_command_takes_over(shell, tmp_path):
    if shell == "bash" and not BASH_COMPLETION:
        pytest.skip("the bash-completion library is not installed")
    lines = [
        "tokcap fruitbowl ",
        "tokcap -n 5 fruitbowl ",
        "tokcap -n5 --keep tail --output=json fruitbowl ",
        "tokcap -- fruitbowl ",
        "tokcap -n 5 --token-count -- fruitbowl ",
        "tokcap --sentinel -cut- fruitbowl ",
        "tokcap --sentinel a=b fruitbowl ",
        "tokcap --sentinel= fruitbowl ",
        "tokcap fruitbowl --keep ",
    ]
    *answers, options, begun = offered(
        shell, tmp_path, *lines, "tokcap -n 5 fruitbowl --", "tokcap -- fruitbowl ba"
    )
    for line, answer in zip(lines, answers, strict=True):
        assert answer - {"--peel"} == {"apple", "banana"}, line
    assert options == {"--peel"}
    assert begun == {"banana"}


@pytest.mark.parametrize("shell", SHELLS)
def test_two_dashes_end_the_options(shell, tmp_path):
    directly, behind_option = offered(shell, tmp_path, "tokcap -- --", "tokcap -n 5 -- --")
    assert not LONG_FLAGS & (directly | behind_option)


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_completes_the_name_of_the_command(shell, tmp_path):
    lines = ("tokcap fruitb", "tokcap -n 5 fruitb", "tokcap -- fruitb")
    assert offered(shell, tmp_path, *lines) == [{"fruitbowl"}] * 3


@pytest.mark.parametrize("shell", SHELLS)
def test_a_subcommand_is_completed_as_the_first_word_only(shell, tmp_path):
    first, shells, nothing, behind_option, behind_dashes = offered(
        shell,
        tmp_path,
        "tokcap completi",
        "tokcap completion ",
        "tokcap completion bash ",
        "tokcap -n 5 completi",
        "tokcap -- completi",
    )
    assert "completion" in first
    assert shells == set(SHELLS)
    assert not nothing
    assert "completion" not in behind_option | behind_dashes


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_tab_completes_the_word_at_the_cursor(shell, tmp_path):
    home = furnished(shell, tmp_path)
    with bash(home) if shell == "bash" else zsh(home) as terminal:
        assert terminal.words_after("tokcap --tokenizer o2", TAB) == ["--tokenizer", "o200k_base"]
        assert terminal.words_after("tokcap --tokenizer=o2", TAB) == ["--tokenizer=o200k_base"]
        assert terminal.words_after("tokcap --keep ta echo", 5 * BACK + TAB) == ["--keep", "tail", "echo"]


def test_bash_without_its_library_completes_commands_and_files(tmp_path):
    home = furnished("bash", tmp_path)
    (home / "notes of today").touch()
    with bash(home, library=False) as terminal:
        assert terminal.words_after("tokcap -n 5 fruitb", TAB) == ["-n", "5", "fruitbowl"]
        assert terminal.words_after("tokcap -n 5 cat no", TAB) == ["-n", "5", "cat", "notes of today"]
        assert terminal.words_after("tokcap --keep ta", TAB) == ["--keep", "tail"]


def test_the_zsh_script_can_be_sourced_too(tmp_path):
    with zsh(furnished("zsh", tmp_path), sourced=True) as terminal:
        assert terminal.words_after("tokcap --keep ta", TAB) == ["--keep", "tail"]
        assert terminal.words_after("tokcap -n 5 fruitbowl ba", TAB) == ["-n", "5", "fruitbowl", "banana"]


def test_zsh_takes_no_option_for_a_part_of_a_command(tmp_path):
    home = furnished("zsh", tmp_path)
    (home / "fruitbowl").rename(home / "fruit--bowl")
    with zsh(home) as terminal:
        terminal.words_after("zstyle ':completion:*' matcher-list 'l:|=* r:|=*'; tokcap", "")
        assert set(new_words(terminal, "tokcap --")) == LONG_FLAGS
