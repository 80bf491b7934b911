"""Run commands in a shell on a pseudo-terminal, with an empty home, and return the lines on the screen."""

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

from tokcap.filters.clean import TerminalEmulator

SAMPLES = Path(__file__).parent / "samples"
ROWS, COLUMNS = 60, 96
# The prompt of the recorded shell. No recorded command prints this text.
PROMPT = "\u276f "
TIMEOUT_SECONDS = 60
HOME = "/home/me"


def record(commands: list[str]) -> list[tuple[str, list[str]]]:
    """Type commands one after another. Return each command with the lines that it prints."""
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
        terminal = TerminalEmulator()
        terminal.feed(seen)
        text = terminal.finish().decode().replace(str(home), HOME)
    found = []
    # Skip the newline before the first prompt and the empty text after the last one.
    for part in text.split(PROMPT)[1:-1]:
        command, *lines = part.rstrip("\n").split("\n")
        found.append((command, lines))
    return found


def start_shell(home: Path) -> tuple[int, int]:
    """Start a shell without user settings. Return its process id and our end of the terminal."""
    programs = home.parent / "bin"
    programs.mkdir()
    (programs / "tokcap").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m tokcap "$@"\n')
    (programs / "tokcap").chmod(0o755)
    variables = {
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
            # Wait for the newline below, which is sent when the terminal size is set.
            os.read(0, 1)
            # Without line editing, the terminal echoes the typed commands.
            os.execvpe("bash", ["bash", "--norc", "--noprofile", "--noediting", "-i"], variables)
        finally:
            os._exit(127)
    fcntl.ioctl(screen, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    os.write(screen, b"\n")
    return pid, screen


def wait_for_prompt(screen: int) -> bytes:
    """Read until the shell prints its prompt. Return what was read."""
    seen, until = b"", time.monotonic() + TIMEOUT_SECONDS
    while not seen.endswith(PROMPT.encode()):
        if time.monotonic() > until:
            raise TimeoutError(f"no prompt: {seen!r}")
        if select.select([screen], [], [], 0.2)[0]:
            seen += os.read(screen, 1 << 16)
    return seen
