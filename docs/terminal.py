"""A shell on a real pseudo-terminal, in a fresh home, and the lines that the terminal finally shows."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import sys
import tempfile
import termios
import time
from pathlib import Path

from tokcap.filters.terminal import Terminal

SAMPLES = Path(__file__).parent / "samples"
ROWS, COLUMNS = 60, 96
# The shell's prompt while it is recorded: nothing that is recorded prints it.
PROMPT = "\u276f "
PATIENCE_SECONDS = 60
HOME = "/home/me"


def record(commands: list[str]) -> list[tuple[str, list[str]]]:
    """Type commands one after the other; each with the lines that appear below it."""
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory) / "home"
        home.mkdir()
        shell, screen = start_shell(home)
        try:
            seen = wait_for_prompt(screen)
            for command in commands:
                os.write(screen, f"{command}\n".encode())
                seen += wait_for_prompt(screen)
        finally:
            os.close(screen)
            os.waitpid(shell, 0)
        terminal = Terminal()
        terminal.feed(seen)
        text = terminal.finish().decode().replace(str(home), HOME)
    found = []
    # Before the first prompt stands the newline that let the shell begin, after the last one nothing.
    for part in text.split(PROMPT)[1:-1]:
        command, *lines = part.rstrip("\n").split("\n")
        found.append((command, lines))
    return found


def start_shell(home: Path) -> tuple[int, int]:
    """A shell without anybody's settings. Returns its process and our end of the terminal."""
    programs = home.parent / "bin"
    programs.mkdir()
    (programs / "tokcap").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m tokcap "$@"\n')
    (programs / "tokcap").chmod(0o755)
    world = {
        **{name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ},
        "HOME": str(home),
        "LC_ALL": "C.UTF-8",
        "PATH": f"{programs}:{os.environ['PATH']}",
        "PS1": PROMPT,
        "TERM": "xterm",
        "TZ": "UTC",
    }
    pid, screen = pty.fork()
    if not pid:
        try:
            os.chdir(SAMPLES)
            # Not before the size is set.
            os.read(0, 1)
            # Without line editing, the terminal itself echoes what is typed.
            os.execvpe("bash", ["bash", "--norc", "--noprofile", "--noediting", "-i"], world)
        finally:
            os._exit(127)
    fcntl.ioctl(screen, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    os.write(screen, b"\n")
    return pid, screen


def wait_for_prompt(screen: int) -> bytes:
    """All that appears until the shell asks for more."""
    seen, until = b"", time.monotonic() + PATIENCE_SECONDS
    while not seen.endswith(PROMPT.encode()):
        if time.monotonic() > until:
            raise TimeoutError(f"no prompt: {seen!r}")
        if select.select([screen], [], [], 0.2)[0]:
            seen += os.read(screen, 1 << 16)
    return seen
