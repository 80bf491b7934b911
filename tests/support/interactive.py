"""Interactive shells on a pseudo-terminal of their own, with tokcap's completions loaded and TAB pressed.

In each of them `tokcap` is a function that shows the words which would have reached it. The program that the
completions may call is another one, on PATH: it notes each of its calls.
"""

from __future__ import annotations

import fcntl
import os
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

from tests.support.program import IMPORT_PATH, PACKAGE, SYSTEM_PATH

DIRECTORY = PACKAGE / "cli" / "scripts"
SCRIPTS = {"bash": "tokcap.bash", "zsh": "_tokcap", "fish": "tokcap.fish"}

BASH_COMPLETION = [
    path
    for prefix in ("/usr", "/usr/local", "/opt/homebrew")
    if (path := Path(prefix, "share/bash-completion/bash_completion")).exists()
]

# A shell starts slowly on a busy machine. Nothing here depends on how slowly.
PATIENCE_SECONDS = 60

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
FISH_SHOW_WORDS = r"""
function tokcap; printf '<<'; printf '%s\037' $argv; printf '>>'; end
function fish_prompt; printf 'ready> '; end
function fish_greeting; end
"""
# What the scripts call.
TOKCAP = f"""#!/bin/sh
echo "$@" >> "$HOME/calls"
PYTHONPATH={shlex.quote(IMPORT_PATH)} exec {shlex.quote(sys.executable)} -m tokcap "$@"
"""

# A process of its own: code between fork and exec could wait for the locks of other threads.
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
        self.name, self.home = argv[0], home
        self.seen = b""
        # What was on the screen between the prompt and the words of the last line.
        self.shown = ""
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
        """Type a line, press keys and Enter. Return the words that reach the command."""
        os.write(self.screen, f"{line}{keys}\r".encode())
        self.shown = self.until(b"<<").decode()
        words = self.until(b">>").decode().split("\037")[:-1]
        self.until(b"ready> ")
        return words

    def until(self, awaited):
        """Return everything that is shown before `awaited`."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while awaited not in self.seen:
            ready, _, _ = select.select([self.screen], [], [], max(deadline - time.monotonic(), 0))
            assert ready, f"no {awaited!r} in {self.seen!r}"
            self.seen += os.read(self.screen, 1 << 16)
        before, _, self.seen = self.seen.partition(awaited)
        return before


def world(home):
    return {
        "HOME": str(home),
        "PATH": f"{home}:{SYSTEM_PATH}",
        "TERM": "dumb",
        "LC_ALL": "C",
        "TOKCAP_DATA_DIR": str(home / "data"),
    }


def furnished(shell, tmp_path):
    """Make a home for one shell, with `fruitbowl` and `tokcap` in it. Skip if the shell is not installed."""
    if not shutil.which(shell, path=SYSTEM_PATH):
        pytest.skip(f"{shell} is not installed")
    home = tmp_path / "shell"
    home.mkdir()
    for name, text in {"fruitbowl": "#!/bin/sh\n", "tokcap": TOKCAP}.items():
        (home / name).write_text(text)
        (home / name).chmod(0o755)
    return home


def calls(home):
    """Return how tokcap was called in this home since the last question."""
    try:
        return [line.strip() for line in (home / "calls").read_text().splitlines()]
    except FileNotFoundError:
        return []
    finally:
        (home / "calls").unlink(missing_ok=True)


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


def fish(home):
    (home / "config.fish").write_text(
        "\n".join([f"source {shlex.quote(str(DIRECTORY / 'tokcap.fish'))}", FISH_SETTINGS, FISH_SHOW_WORDS])
    )
    return Terminal(["fish", "--init-command", f"source {shlex.quote(str(home / 'config.fish'))}"], home)


# Typed into a shell that has read the user's own start-up files. In two parts: the line itself is echoed.
TYPED = {
    "bash": r"""PS1='rea''dy> '; tokcap() { printf '<''<'; printf '%s\037' "$@"; printf '>''>'; }""",
    "zsh": r"""PS1='rea''dy> '; tokcap() { printf '<''<'; printf '%s\037' "$@"; printf '>''>'; }""",
    "fish": r"function fish_prompt; printf 'rea''dy> '; end; "
    r"function tokcap; printf '<''<'; printf '%s\037' $argv; printf '>''>'; end",
}


def as_its_user_starts_it(shell, home):
    """Start an interactive shell that reads the start-up files in this home, and nothing else."""
    terminal = Terminal([shell, "-i"], home)
    os.write(terminal.screen, f"{TYPED[shell]}\r".encode())
    return terminal


def opened(shell, home):
    """Start an interactive shell with tokcap's completions."""
    return {"bash": bash, "zsh": zsh, "fish": fish}[shell](home)


def fish_rows(home, lines):
    """Return what fish offers for each line: words, some with a tab and a description."""
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
    return [answer.splitlines() for answer in answers]


def offered(terminal, *lines):
    """Return what the shell offers at the end of each line, without the typed part of the word."""
    if terminal.name == "fish":
        answers = [[row.split("\t")[0] for row in rows] for rows in fish_rows(terminal.home, lines)]
    else:
        answers = [new_words(terminal, line) for line in lines]
    return [
        {word.removeprefix(attached_to(line)) for word in words}
        for line, words in zip(lines, answers, strict=True)
    ]


def new_words(terminal, line):
    """Return all that can be completed at the end of the line, with the key that inserts everything."""
    words = terminal.words_after(line, INSERT_ALL)
    _, *typed = line.split()
    if words == typed:
        return []
    return words[len(typed) if line.endswith(" ") else len(typed) - 1 :]


def attached_to(line):
    """Return `--output=` for a line that ends in `--output=j`."""
    name, equals, _ = line.split(" ")[-1].partition("=")
    return name + equals if equals else ""
